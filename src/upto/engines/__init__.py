"""Engines carry the passes: where rows live and how blocks of them are summed."""

from upto.engines.algebra import RANK_TOLERANCE, nearest_rotation, pseudo_inverse, varying
from upto.engines.base import Engine, add, block_length
from upto.engines.choose import ENGINE_NAMES, choose_engine
from upto.engines.passes import (
    CrossMoments,
    Moments,
    Survey,
    cross_moments,
    cross_scatters,
    moments,
    select_rows,
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
    "moments",
    "nearest_rotation",
    "pseudo_inverse",
    "select_rows",
    "survey",
    "varying",
]
