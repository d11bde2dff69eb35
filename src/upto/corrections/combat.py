"""ComBat: empirical Bayes estimates of batch shifts and scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float
from upto.corrections.column_shifts import BatchMoments, ColumnCorrection, moments_of

if TYPE_CHECKING:
    from upto.corrections.batch_groups import Batches

_SETTLED = 1e-12
_MOST_STEPS = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priors:
    """Hyperparameters, one line per batch: normal for shifts, inverse gamma for variances.

    The inverse gamma prior is stored as its mean and variance, because a variance of zero has no
    shape parameter.
    """

    shift: Float
    shift_variance: Float
    level: Float
    level_variance: Float


class ComBat(ColumnCorrection):
    r"""Remove shifts and scales of batches, estimated by empirical Bayes.

    Johnson, Li and Rabinovic (2007), parametric and without covariates, as in ``scanpy.pp.combat``
    but iterated to convergence. Rows are standardised by the grand mean and pooled variance of the
    training rows. A training batch is shrunk towards its own mean shift over columns, an unseen
    batch towards the shifts and scales of all training batches and columns.

    Attributes
    ----------
    batches_ : ndarray
        Names of the training batches.
    mean_, deviation_ : ndarray of shape (n_features_in_,)
        Grand mean and pooled standard deviation within batches.
    shift_, scale_ : ndarray of shape (n_batches, n_features_in_)
        Shift and divisor of each column of each training batch.
    priors_ : Priors
        Priors of unseen batches.

    See Also
    --------
    BatchScaler : The same moments without shrinkage.
    Harmony : Mixing within clusters, for the rows at hand only.
    upto.batches : Whether a correction helps in unseen batches.

    Notes
    -----
    With the grand mean α and the pooled deviation σ of a column, rows become z = (x - α)/σ. The
    mean :math:`\hat\gamma` and variance of z in a batch of n rows are shrunk towards priors
    :math:`\gamma \sim N(\bar\gamma, \tau^2)` and :math:`\delta^2 \sim` inverse gamma of shape λ and
    rate θ, which are fitted by moments:

    .. math::

        \gamma^* = \frac{n \tau^2 \hat\gamma + \delta^{*2} \bar\gamma}{n \tau^2 + \delta^{*2}},
        \qquad
        \delta^{*2} = \frac{\theta + \frac{1}{2} \sum_i (z_i - \gamma^*)^2}{n / 2 + \lambda - 1}

    Then :math:`x' = \sigma (z - \gamma^*) / \delta^* + \alpha`.

    References
    ----------
    Johnson et al. (2007). Adjusting batch effects in microarray expression data using empirical
    Bayes methods. Biostatistics 8, 118-127.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.corrections import ComBat
    >>> rng = np.random.default_rng(0)
    >>> plates = np.repeat(["p1", "p2"], 50)
    >>> rows = rng.normal(size=(100, 20)) + 2.0 * (plates == "p2")[:, None]
    >>> corrected = ComBat().fit_transform(rows, groups=plates)
    >>> apart = corrected[plates == "p1"].mean(axis=0) - corrected[plates == "p2"].mean(axis=0)
    >>> bool(abs(apart.mean()) < 0.01), bool(abs(apart).max() < 0.5)
    (True, True)
    """

    __metadata_request__fit = {"groups": True, "controls": False}  # noqa: RUF012
    __metadata_request__transform = {"groups": True, "controls": False}  # noqa: RUF012

    def _fit(self, rows: Any, batches: Batches) -> None:
        found = _moments(rows, batches)
        weights = found.counts / found.counts.sum()
        self.mean_ = weights @ found.means
        # A column that is constant within every batch has no scale and stays unchanged.
        self._alive = ~found.constant.all(axis=0)
        pooled = np.sqrt(weights @ found.variances)
        self.deviation_ = np.where(self._alive, pooled, 1.0)
        if not self._alive.any():
            message = (
                f"{rows.shape[1]} of {rows.shape[1]} columns do not vary within any of "
                f"{len(batches)} batches: fit ComBat on rows that vary."
            )
            raise InputError(message)
        shifts, levels = self._standardised(found)
        own = Priors(
            shift=shifts.mean(axis=1, keepdims=True),
            shift_variance=shifts.var(axis=1, keepdims=True),
            level=levels.mean(axis=1, keepdims=True),
            level_variance=_variance(levels, axis=1),
        )
        self.priors_ = Priors(
            shift=np.full((1, 1), shifts.mean()),
            shift_variance=np.full((1, 1), shifts.var()),
            level=np.full((1, 1), levels.mean()),
            level_variance=_variance(levels, axis=None),
        )
        self.offset_ = self.mean_
        self.shift_, self.scale_ = self._corrections(found, own)

    def _of_new(self, rows: Any, batches: Batches) -> tuple[Float, Float]:
        if len(self.batches_) < 2:
            message = (
                "ComBat was fitted to 1 batch, but differences between batches need at least "
                "two: fit ComBat on more batches."
            )
            raise InputError(message)
        return self._corrections(_moments(rows, batches), self.priors_)

    def _refuse_unmarked(self, batches: Batches, places: Any) -> None:
        """Accept everything: controls are not used."""

    def _standardised(self, found: BatchMoments) -> tuple[Float, Float]:
        alive = self._alive
        shifts = (found.means[:, alive] - self.mean_[alive]) / self.deviation_[alive]
        unbiased = found.counts[:, None] / (found.counts[:, None] - 1.0)
        levels = found.variances[:, alive] * unbiased / self.deviation_[alive] ** 2
        return shifts, levels

    def _corrections(self, found: BatchMoments, priors: Priors) -> tuple[Float, Float]:
        shifts, levels = self._standardised(found)
        shifts, levels = _posterior(found.counts[:, None], shifts, levels, priors)
        all_shifts = np.tile(self.mean_, (len(found.means), 1))
        all_shifts[:, self._alive] += shifts * self.deviation_[self._alive]
        scales = np.ones_like(all_shifts)
        scales[:, self._alive] = np.sqrt(levels)
        return all_shifts, scales


def _moments(rows: Any, batches: Batches) -> BatchMoments:
    single = sum(len(batch.rows) < 2 for batch in batches)
    if single:
        message = (
            f"{single} of {len(batches)} batches have one row and so no variance: leave these "
            "batches out."
        )
        raise InputError(message)
    return moments_of(rows, [batch.rows for batch in batches])


def _variance(levels: Float, axis: int | None) -> Float:
    if levels.shape[1] < 2:
        return np.zeros((len(levels) if axis == 1 else 1, 1))
    return np.asarray(levels.var(axis=axis, ddof=1, keepdims=True))


def _posterior(counts: Float, shifts: Float, levels: Float, priors: Priors) -> tuple[Float, Float]:
    """Return the fixed point of the two conditional means, for all batches and columns at once.

    The sum of squares about a shift needs no second pass over the rows: it is that about the mean
    plus the number of rows times the squared distance of the two.
    """
    tied = (priors.level_variance <= _SETTLED * priors.level**2) | (priors.level <= 0)
    spread = np.where(tied, 1.0, priors.level_variance)
    shape = (2.0 * spread + priors.level**2) / spread
    rate = (priors.level * spread + priors.level**3) / spread
    found, level = shifts, levels
    for _ in range(_MOST_STEPS):
        weight = counts * priors.shift_variance
        total = weight + level
        pulled = weight * shifts + level * priors.shift
        # Without variation of shifts or rows, the shift itself is the estimate.
        new = np.divide(pulled, total, out=shifts + 0.0 * pulled, where=total > 0)
        squares = (counts - 1.0) * levels + counts * (shifts - new) ** 2
        new_level = (0.5 * squares + rate) / (0.5 * counts + shape - 1.0)
        new_level = np.where(tied, priors.level, new_level)
        moved = max(
            float(np.abs(new - found).max(initial=0.0)),
            float((np.abs(new_level - level) / new_level.clip(min=1e-300)).max(initial=0.0)),
        )
        found, level = new, new_level
        if moved <= _SETTLED:
            break
    return found, np.where(level > 0, level, 1.0)
