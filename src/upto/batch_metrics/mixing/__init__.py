"""Scores of batch mixing and label conservation, computed from plain arrays."""

from upto.batch_metrics.mixing.catalogue import MIXING, MixingKind, find_mixing
from upto.batch_metrics.mixing.compute import MixingScore, evaluate_mixing, scib_total
from upto.batch_metrics.mixing.scores import (
    batch_variance,
    bras,
    clisi,
    graph_connectivity,
    ilisi,
    isolated_labels,
    kbet,
    kmeans_agreement,
    pcr_comparison,
    silhouette_batch,
    silhouette_label,
)
from upto.batch_metrics.mixing.whole import ClusterAgreement

__all__ = [
    "MIXING",
    "ClusterAgreement",
    "MixingKind",
    "MixingScore",
    "batch_variance",
    "bras",
    "clisi",
    "evaluate_mixing",
    "find_mixing",
    "graph_connectivity",
    "ilisi",
    "isolated_labels",
    "kbet",
    "kmeans_agreement",
    "pcr_comparison",
    "scib_total",
    "silhouette_batch",
    "silhouette_label",
]
