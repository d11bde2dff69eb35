"""The claims of the papers, each made again by one command; trainers and searches they need.

`upto` never imports this package: it finds the command ``upto study`` by its entry point.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from upto_studies.outcome import Outcome, Work
    from upto_studies.run import run_study

STUDIES = {
    "leaky-autoencoders": "upto_studies.leaky_autoencoders",
    "sprite-isometry": "upto_studies.sprite_isometry",
    "bounds-hold": "upto_studies.bounds_hold",
    "misspecified-regression": "upto_studies.misspecified_regression",
    "metric-behaviour": "upto_studies.metric_behaviour",
    "autoencoder-ica": "upto_studies.autoencoder_ica",
    "plate-holdout-synthetic": "upto_studies.plate_holdout_synthetic",
    "cell-painting": "upto_studies.cell_painting",
    "speakers": "upto_studies.speakers",
    "rxrx3-openphenom": "upto_studies.rxrx3_openphenom",
}
"""The module of each study; its folder has the study's own name."""

_HOMES = {"Outcome": "outcome", "Work": "outcome", "run_study": "run"}

__all__ = ["STUDIES", "Outcome", "Work", "run_study"]


def __getattr__(name: str) -> Any:
    # The command lists studies without waiting for NumPy.
    if name in _HOMES:
        return getattr(import_module(f"upto_studies.{_HOMES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
