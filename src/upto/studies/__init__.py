"""The claims of the papers, each made again by one command."""

from upto.studies.outcome import Outcome, Work

STUDIES = {
    "leaky-autoencoders": "upto.studies.leaky_autoencoders",
    "sprite-isometry": "upto.studies.sprite_isometry",
    "bounds-hold": "upto.studies.bounds_hold",
    "misspecified-regression": "upto.studies.misspecified_regression",
    "metric-behaviour": "upto.studies.metric_behaviour",
    "autoencoder-ica": "upto.studies.autoencoder_ica",
    "plate-holdout-synthetic": "upto.studies.plate_holdout_synthetic",
    "cell-painting": "upto.studies.cell_painting",
    "speakers": "upto.studies.speakers",
    "rxrx3-openphenom": "upto.studies.rxrx3_openphenom",
}
"""The module of each study; its folder has the study's own name."""

__all__ = ["STUDIES", "Outcome", "Work"]
