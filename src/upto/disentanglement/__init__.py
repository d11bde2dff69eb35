"""Scores of codes against known factors, by the names of their sources, from plain arrays."""

from upto.disentanglement.calibrate import CalibratedScore, evaluate_scores
from upto.disentanglement.catalogue import (
    DEFAULT_SCORES,
    SCORES,
    NamedScore,
    ScoreKind,
    find_scores,
)
from upto.disentanglement.class_matching import (
    latent_matching_score,
    most_similar_averaging_score,
    most_similar_gap_score,
)
from upto.disentanglement.code_gaps import dcimig, mig_sup
from upto.disentanglement.codes_and_classes import ClassSimilarities, class_similarities
from upto.disentanglement.dci import (
    Dci,
    dci_scores,
    importance_completeness,
    importance_disentanglement,
)
from upto.disentanglement.gaps import jemmig, mig, rmig
from upto.disentanglement.gaussian_tc import gaussian_total_correlation, wasserstein_correlation
from upto.disentanglement.info_scores import InfoMEC, infomec
from upto.disentanglement.interventions import beta_vae_score, factor_vae_score
from upto.disentanglement.modularity import ridgeway_modularity
from upto.disentanglement.predictive import explicitness
from upto.disentanglement.probes import downstream_probe, linear_probe, ridgeway_explicitness
from upto.disentanglement.sap import sap_score
from upto.disentanglement.score import FactorScore
from upto.disentanglement.shared_information import Information, information
from upto.disentanglement.stability import irs_score

__all__ = [
    "DEFAULT_SCORES",
    "SCORES",
    "CalibratedScore",
    "ClassSimilarities",
    "Dci",
    "FactorScore",
    "InfoMEC",
    "Information",
    "NamedScore",
    "ScoreKind",
    "beta_vae_score",
    "class_similarities",
    "dci_scores",
    "dcimig",
    "downstream_probe",
    "evaluate_scores",
    "explicitness",
    "factor_vae_score",
    "find_scores",
    "gaussian_total_correlation",
    "importance_completeness",
    "importance_disentanglement",
    "infomec",
    "information",
    "irs_score",
    "jemmig",
    "latent_matching_score",
    "linear_probe",
    "mig",
    "mig_sup",
    "most_similar_averaging_score",
    "most_similar_gap_score",
    "ridgeway_explicitness",
    "ridgeway_modularity",
    "rmig",
    "sap_score",
    "wasserstein_correlation",
]
