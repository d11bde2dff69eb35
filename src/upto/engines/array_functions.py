"""Functions of blocks that the array API lacks, for NumPy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from upto.engines.device_rows import host_array, load_torch


def is_torch(array: Any) -> bool:
    """Return whether an array is a torch tensor."""
    return type(array).__module__.partition(".")[0] == "torch"


def bits_of(array: Any) -> Any:
    """Return the bits of float64 values as signed integers."""
    if is_torch(array):
        return array.contiguous().view(load_torch().int64)
    return np.ascontiguousarray(host_array(array)).view(np.int64)


def interpolate_columns(xp: Any, x: Any, knots: Any, values: Any) -> Any:
    """Interpolate linearly in every column, with the end values beyond the ends.

    Parameters
    ----------
    xp
        Array namespace of the result.
    x
        Places, one column for each function.
    knots, values
        Ascending knots of each function, and its values there, in columns.
    """
    if not is_torch(x):
        # By column, which is faster where each is contiguous.
        columns = [np.ascontiguousarray(host_array(each).T) for each in (x, knots, values)]
        found = np.empty(columns[0].shape)
        for column, each in zip(found, zip(*columns, strict=True), strict=True):
            column[:] = np.interp(*each)
        return xp.asarray(found.T)
    torch = load_torch()
    # Searched by column, which must be contiguous.
    places, knots, values = x.T.contiguous(), knots.T.contiguous(), values.T.contiguous()
    last = knots.shape[1] - 2
    below = torch.searchsorted(knots, places, right=True).sub_(1).clamp_(0, max(last, 0))
    above = (below + 1).clamp_(max=knots.shape[1] - 1)
    start, low = knots.gather(1, below), values.gather(1, below)
    run = knots.gather(1, above) - start
    share = torch.where(run > 0, (places - start) / torch.where(run > 0, run, 1.0), 0.0)
    found = low + share.clamp_(0.0, 1.0) * (values.gather(1, above) - low)
    return found.T
