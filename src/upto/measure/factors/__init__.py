"""How well codes match known factors: every score by its source's name, from plain arrays."""

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
from upto.measure.factors.modularity import ridgeway_modularity
from upto.measure.factors.predictive import explicitness
from upto.measure.factors.probes import downstream_probe, linear_probe, ridgeway_explicitness
from upto.measure.factors.sap import sap_score
from upto.measure.factors.score import FactorScore
from upto.measure.factors.shared_information import Information, information

__all__ = [
    "Dci",
    "FactorScore",
    "InfoMEC",
    "Information",
    "beta_vae_score",
    "dci_scores",
    "dcimig",
    "downstream_probe",
    "explicitness",
    "factor_vae_score",
    "gaussian_total_correlation",
    "importance_completeness",
    "importance_disentanglement",
    "infomec",
    "information",
    "irs_score",
    "jemmig",
    "linear_probe",
    "mig",
    "mig_sup",
    "ridgeway_explicitness",
    "ridgeway_modularity",
    "rmig",
    "sap_score",
    "wasserstein_correlation",
]
