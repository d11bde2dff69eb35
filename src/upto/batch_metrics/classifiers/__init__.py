"""Classifiers that share their prepared training rows, and scores derived from them."""

from upto.batch_metrics.classifiers.auroc import auroc, auroc_within
from upto.batch_metrics.classifiers.boosting import FAST, TABLE_6
from upto.batch_metrics.classifiers.concentration import (
    concentration_difference,
    concentration_ratio,
    hoyer_sparsity,
    normalised_concentration,
    top_features,
)
from upto.batch_metrics.classifiers.parallel import side_by_side
from upto.batch_metrics.classifiers.prepared import CLASSIFIERS, Fitted, Prepared, n_cores, prepare

__all__ = [
    "CLASSIFIERS",
    "FAST",
    "TABLE_6",
    "Fitted",
    "Prepared",
    "auroc",
    "auroc_within",
    "concentration_difference",
    "concentration_ratio",
    "hoyer_sparsity",
    "n_cores",
    "normalised_concentration",
    "prepare",
    "side_by_side",
    "top_features",
]
