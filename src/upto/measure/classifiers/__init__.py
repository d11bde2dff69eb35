"""Classifiers that share what is prepared once, and what is read off them."""

from upto.measure.classifiers.boosting import FAST, TABLE_6
from upto.measure.classifiers.concentrating import (
    concentration_difference,
    concentration_ratio,
    hoyer_sparsity,
    normalised_concentration,
    top_features,
)
from upto.measure.classifiers.preparing import CLASSIFIERS, Fitted, Prepared, n_cores, prepare
from upto.measure.classifiers.ranking import auroc, auroc_within
from upto.measure.classifiers.threads import side_by_side

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
