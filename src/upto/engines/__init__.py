"""Engines run passes over rows: they decide where rows are stored and how blocks are summed."""

from upto.engines.algebra import (
    RANK_TOLERANCE,
    algebra_on,
    column_medians,
    compute,
    leading_eigenvectors,
    product,
    pseudo_inverse,
    varying,
)
from upto.engines.base import Engine, add, block_length
from upto.engines.choose import ENGINE_NAMES, choose_engine
from upto.engines.cluster import DaskEngine
from upto.engines.concurrent_steps import (
    has_cores_to_spare,
    items_side_by_side,
    meanwhile,
    side_by_side,
)
from upto.engines.cores import blas_threads_for
from upto.engines.device import TorchEngine
from upto.engines.device_rows import host_array
from upto.engines.passes import (
    CrossMoments,
    Moments,
    Survey,
    cross_moments,
    cross_scatters,
    match,
    moments,
    row_moments,
    select_rows,
    survey,
)
from upto.engines.rotations import nearest_rotation, rotation_of_rows, rotation_slack
from upto.engines.threads import ThreadsEngine

__all__ = [
    "ENGINE_NAMES",
    "RANK_TOLERANCE",
    "CrossMoments",
    "DaskEngine",
    "Engine",
    "Moments",
    "Survey",
    "ThreadsEngine",
    "TorchEngine",
    "add",
    "algebra_on",
    "blas_threads_for",
    "block_length",
    "choose_engine",
    "column_medians",
    "compute",
    "cross_moments",
    "cross_scatters",
    "has_cores_to_spare",
    "host_array",
    "items_side_by_side",
    "leading_eigenvectors",
    "match",
    "meanwhile",
    "moments",
    "nearest_rotation",
    "product",
    "pseudo_inverse",
    "rotation_of_rows",
    "rotation_slack",
    "row_moments",
    "select_rows",
    "side_by_side",
    "survey",
    "varying",
]
