"""Corrections of batch effects that can be used on batches never seen."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from upto.corrections.biology import BiologyComponents
    from upto.corrections.combat import ComBat
    from upto.corrections.harmony import Harmony
    from upto.corrections.rotating import RandomRotation
    from upto.corrections.scaling import BatchScaler
    from upto.corrections.scoring import BatchScorer
    from upto.corrections.sphering import ControlSphering
    from upto.corrections.typical import TypicalVariation

# The estimators bring scikit-learn, which takes a second to import.
_LATER = {
    "BatchScaler": "scaling",
    "BatchScorer": "scoring",
    "BiologyComponents": "biology",
    "ComBat": "combat",
    "ControlSphering": "sphering",
    "Harmony": "harmony",
    "RandomRotation": "rotating",
    "TypicalVariation": "typical",
}

__all__ = [
    "BatchScaler",
    "BatchScorer",
    "BiologyComponents",
    "ComBat",
    "ControlSphering",
    "Harmony",
    "RandomRotation",
    "TypicalVariation",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
