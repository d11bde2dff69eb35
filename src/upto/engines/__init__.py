"""Engines carry the passes: where rows live and how blocks of them are summed."""

from upto.engines.base import Engine, add, block_length, maximum
from upto.engines.choose import ENGINE_NAMES, choose_engine
from upto.engines.passes import (
    RANK_TOLERANCE,
    CrossMoments,
    Moments,
    Survey,
    cross_moments,
    cross_scatters,
    moments,
    pseudo_inverse,
    survey,
)
from upto.engines.threads import ThreadsEngine

__all__ = [
    "ENGINE_NAMES",
    "RANK_TOLERANCE",
    "CrossMoments",
    "Engine",
    "Moments",
    "Survey",
    "ThreadsEngine",
    "add",
    "block_length",
    "choose_engine",
    "cross_moments",
    "cross_scatters",
    "maximum",
    "moments",
    "pseudo_inverse",
    "survey",
]
