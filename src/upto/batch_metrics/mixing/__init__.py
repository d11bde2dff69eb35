"""Scores of batch mixing and label conservation, computed from plain arrays."""

from upto.batch_metrics.mixing.catalogue import MIXING, MixingKind, find_mixing
from upto.batch_metrics.mixing.compute import MixingScore, evaluate_mixing, scib_total
from upto.batch_metrics.mixing.neighbour_scores import clisi, graph_connectivity, ilisi, kbet
from upto.batch_metrics.mixing.silhouette_scores import (
    bras,
    isolated_labels,
    silhouette_batch,
    silhouette_label,
)
from upto.batch_metrics.mixing.whole import ClusterAgreement
from upto.batch_metrics.mixing.whole_scores import (
    batch_variance,
    kmeans_agreement,
    pcr_comparison,
)

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
