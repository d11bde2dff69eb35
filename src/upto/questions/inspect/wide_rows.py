"""Runs with more coordinates than rows, in the coordinates that their rows span.

Products of all coordinates would be larger than the rows. Sizes, distances, spectrum and components
do not depend on the coordinates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from upto.core import Embeddings, InputError
from upto.engines.directions import stored_rounding
from upto.evidence.split import take_rows

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.engines.base import Engine

WIDE = 256
"""Number of coordinates up to which all products take hardly any time."""
MOST_BYTES = 2**33
_COPIES = 8
"""Matrices of the size of a covariance that are in memory at the same time."""
_MARGIN, _NARROWEST = 4.0, 1e-13
"""Factor by which a direction must be wider than rounding, and the smallest relative width."""


def refuse_large(run: Embeddings) -> None:
    """Raise if the matrices of a run would not fit in memory."""
    side = min(run.n_samples, run.n_features)
    size = _COPIES * 8 * side**2
    if size > MOST_BYTES:
        most = int((MOST_BYTES / (8 * _COPIES)) ** 0.5)
        message = (
            f"{run.name} has {run.n_samples} rows of {run.n_features} coordinates, whose principal "
            f"directions need about {size / 2**30:.0f} GiB, but the limit is "
            f"{MOST_BYTES / 2**30:.0f} GiB: inspect at most {most} rows, or {most} of the "
            "coordinates."
        )
        raise InputError(message)


def spanned(engine: Engine, run: Embeddings) -> Embeddings:
    """Return a run with more than `WIDE` coordinates, and fewer rows, in those the rows span."""
    if run.n_features <= max(WIDE, run.n_samples):
        return run
    rows = take_rows(engine, run.rows, np.arange(run.n_samples))
    rounding = stored_rounding(rows)
    rows -= rows.mean(axis=0)
    return replace(run, rows=engine.place(_rotated(rows, rounding)), features=())


def _rotated(rows: Float, rounding: Float) -> Float:
    """Return centred rows in their principal axes that are wider than rounding."""
    basis, triangle = scipy.linalg.qr(rows.T, mode="economic", check_finite=False)
    turned, lengths, _ = scipy.linalg.svd(triangle, full_matrices=False, check_finite=False)
    noise = np.square(basis @ turned).T @ np.square(_MARGIN * rounding)
    least = np.maximum(np.sqrt(noise * len(rows)), _NARROWEST * lengths[0])
    kept = lengths > least
    kept[0] = True
    found: Float = rows @ (basis @ turned[:, kept])
    return found
