"""Centring and scaling of each batch by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.core import InputError
from upto.corrections.batch_groups import refuse_few_controls
from upto.corrections.column_shifts import ColumnCorrection, moments_of

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.corrections.batch_groups import Batches

NORMAL = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""


class BatchScaler(ColumnCorrection):
    r"""Centre and scale every column of every batch.

    ``(x - centre) / (spread + epsilon)`` with the centre and spread of the batch's own rows or
    controls. A column without spread in a batch is only centred there.

    Parameters
    ----------
    reference
        Rows that define centre and spread: ``"all"`` or ``"controls"``.
    statistic
        ``"mean"`` (with the standard deviation) or ``"median"`` (with the median absolute deviation
        times 1.4826).
    scale
        Divide by the spread; otherwise columns are only centred.
    epsilon
        Constant added to the spread.

    Attributes
    ----------
    batches_ : ndarray
        Names of the training batches.
    shift_, scale_ : ndarray of shape (n_batches, n_features_in_)
        Centre and divisor of each training batch.
    unscaled_ : int
        Number of columns without spread, summed over the training batches.

    See Also
    --------
    ComBat : The same moments, shrunk towards those of the other columns.
    TypicalVariation : Whitening by controls as well.
    upto.batches : Whether a correction helps in unseen batches.

    Notes
    -----
    With the centre c and spread s of column j in batch b,

    .. math::

        x'_{ij} = \frac{x_{ij} - c_{bj}}{s_{bj} + \epsilon}

    Unseen batches are corrected by their own moments, so a batch that differs in its labels is
    changed by that difference too, unless ``reference="controls"``.

    With the centre c and spread s of column j in batch b,

    .. math::

        x'_{ij} = \frac{x_{ij} - c_{bj}}{s_{bj} + \epsilon}

    Unseen batches are corrected by their own moments, so a batch that differs in its labels is
    changed by that difference too, unless ``reference="controls"``.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.corrections import BatchScaler
    >>> rows = np.random.default_rng(0).normal(size=(6, 2)) + 5
    >>> plates = ["a", "a", "a", "b", "b", "b"]
    >>> scaler = BatchScaler().fit(rows, groups=plates)
    >>> new = scaler.transform(3 * rows[:3] + 7, groups=["c"] * 3)
    >>> bool(np.allclose(new, scaler.transform(rows[:3], groups=["a"] * 3)))
    True
    """

    def __init__(
        self,
        *,
        reference: Literal["all", "controls"] = "all",
        statistic: Literal["mean", "median"] = "mean",
        scale: bool = True,
        epsilon: float = 1e-18,
    ) -> None:
        self.reference = reference
        self.statistic = statistic
        self.scale = scale
        self.epsilon = epsilon

    def _fit(self, rows: Any, batches: Batches) -> None:
        if self.reference not in ("all", "controls"):
            message = f"reference is 'all' or 'controls', not {self.reference!r}."
            raise InputError(message)
        if self.statistic not in ("mean", "median"):
            message = f"statistic is 'mean' or 'median', not {self.statistic!r}."
            raise InputError(message)
        self.shift_, spread = self._spreads(rows, batches)
        self.scale_ = self._divisors(spread)
        self.unscaled_ = int((spread == 0).sum()) if self.scale else 0
        self.offset_ = np.zeros(rows.shape[1])

    def _of_new(self, rows: Any, batches: Batches) -> tuple[Float, Float]:
        shift, spread = self._spreads(rows, batches)
        return shift, self._divisors(spread)

    def _refuse_unmarked(self, batches: Batches, places: Any) -> None:
        if self.reference == "controls":
            super()._refuse_unmarked(batches, places)

    def _spreads(self, rows: Any, batches: Batches) -> tuple[Float, Float]:
        if self.reference == "controls":
            refuse_few_controls(
                batches,
                least=2 if self.scale else 1,
                remedy="leave these batches out, or use reference='all'",
            )
            positions = [batch.controls for batch in batches]
        else:
            positions = [batch.rows for batch in batches]
            single = sum(len(part) < 2 for part in positions)
            if single and self.scale:
                message = (
                    f"{single} of {len(batches)} batches have one row and so no spread: leave "
                    "these batches out, or use scale=False."
                )
                raise InputError(message)
        if self.statistic == "median":
            return _medians(rows, positions)
        found = moments_of(rows, positions)
        return found.means, np.where(found.constant, 0.0, np.sqrt(found.variances))

    def _divisors(self, spread: Float) -> Float:
        if not self.scale:
            return np.ones_like(spread)
        return np.where(spread == 0, 1.0, spread + self.epsilon)


def _medians(rows: Any, positions: list[Any]) -> tuple[Float, Float]:
    centres = np.empty((len(positions), rows.shape[1]))
    spreads = np.empty_like(centres)
    for place, part in enumerate(positions):
        # Contiguous columns make the medians of many batches fast.
        values = np.ascontiguousarray(rows[part].T, dtype=np.float64)
        centres[place] = np.median(values, axis=1)
        values -= centres[place][:, None]
        spreads[place] = NORMAL * np.median(np.abs(values, out=values), axis=1)
    return centres, spreads
