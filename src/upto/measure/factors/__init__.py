"""How well codes match known factors: every score by its source's name, from plain arrays."""

from upto.measure.factors.calibrating import CalibratedScore, evaluate_scores
from upto.measure.factors.catalogue import (
    DEFAULT_SCORES,
    SCORES,
    NamedScore,
    ScoreKind,
    find_scores,
)
from upto.measure.factors.dci import (
    Dci,
    dci_scores,
    importance_completeness,
    importance_disentanglement,
)
from upto.measure.factors.gaps import dcimig, jemmig, mig, mig_sup, rmig
from upto.measure.factors.gaussian_tc import gaussian_total_correlation, wasserstein_correlation
from upto.measure.factors.info_scores import InfoMEC, infomec
from upto.measure.factors.interventions import beta_vae_score, factor_vae_score, irs_score
from upto.measure.factors.matching_classes import (
    ClassSimilarities,
    class_similarities,
    latent_matching_score,
    most_similar_averaging_score,
    most_similar_gap_score,
)
from upto.measure.factors.modularity import ridgeway_modularity
from upto.measure.factors.predictive import explicitness
from upto.measure.factors.probes import downstream_probe, linear_probe, ridgeway_explicitness
from upto.measure.factors.sap import sap_score
from upto.measure.factors.score import FactorScore
from upto.measure.factors.shared_information import Information, information

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
