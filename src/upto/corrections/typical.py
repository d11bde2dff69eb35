"""Typical variation normalisation: whiten by controls, then align each batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from upto.core import InputError
from upto.core.array_types import Float
from upto.corrections.base import Correction, new_batches, signs_of
from upto.corrections.batch_groups import refuse_few_controls
from upto.corrections.column_shifts import moments_of
from upto.engines import choose_engine, row_moments
from upto.ica.white_directions import RANK_TOLERANCE

if TYPE_CHECKING:
    from upto.corrections.batch_groups import Batches


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alignment:
    """Alignment of one batch with the others: a shift, a scale and the root of a covariance.

    The inverse root differs from a multiple of the identity only along `axes`, which are few for a
    batch with few controls: full matrices of a thousand batches would not fit in memory.
    """

    shift: Float
    scale: Float
    axes: Float
    gains: Float
    level: float

    def align(self, rows: Float) -> Float:
        """Align whitened rows of the batch with the others."""
        rows = (rows - self.shift) / self.scale
        aligned: Float = rows * self.level + ((rows @ self.axes) * self.gains) @ self.axes.T
        return aligned


class TypicalVariation(ClassNamePrefixFeaturesOutMixin, Correction):
    r"""Whiten rows by the controls of all batches, then align each batch by its own controls.

    The steps are: centre and scale on controls, project on the controls' principal components,
    centre and scale again, and CORAL: each batch is multiplied by
    ``(cov(controls of the batch) + ridge I) ** -1/2``. With ``scale_batches=False`` these are the
    steps of EFAAR's ``tvn_on_controls``.

    Parameters
    ----------
    coral
        Remove the covariance of each batch's controls.
    scale_batches
        Before that, centre and scale each batch on its own controls. Otherwise, as in EFAAR, the
        mean of a plate remains.
    ridge
        Constant added to the variances of each batch's controls, which are few.
    rank_tolerance
        Directions whose variance is below this fraction of the largest are left out.

    Attributes
    ----------
    batches_ : ndarray
        Names of the training batches.
    mean_ : ndarray of shape (n_features_in_,)
        Mean of the controls.
    whitening_ : ndarray of shape (rank_, n_features_in_)
        The first three steps combined: ``(X - mean_) @ whitening_.T``.
    rank_ : int
        Number of directions in which controls vary, and of output columns.
    alignments_ : list of Alignment
        Alignment of each training batch.

    See Also
    --------
    ControlSphering : Whitening by controls alone.
    BatchScaler : Centring and scaling alone.
    upto.batches : Whether a correction helps in unseen batches.

    Notes
    -----
    A row x of batch b becomes, with w = W(x - m) whitened by the controls of all batches,

    .. math::

        x' = (C_b + r I)^{-1/2} \, \frac{w - m_b}{s_b}

    where :math:`m_b` and :math:`s_b` are the mean and deviation of the batch's whitened controls (0
    and 1 without `scale_batches`), :math:`C_b` is the covariance of these controls after that, and
    r is the ridge. Without `coral` the matrix is left out.

    References
    ----------
    Ando et al. (2017). Improving phenotypic measurements in high-content imaging screens. bioRxiv
    161422.

    Sun, Feng and Saenko (2016). Return of frustratingly easy domain adaptation. AAAI Conference on
    Artificial Intelligence.

    Celik et al. (2024). Building, benchmarking, and exploring perturbative maps of transcriptional
    and morphological data. PLoS Computational Biology 20.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.corrections import TypicalVariation
    >>> rng = np.random.default_rng(0)
    >>> plates = np.repeat(["p1", "p2"], 100)
    >>> rows = rng.normal(size=(200, 4)) + 3.0 * (plates == "p2")[:, None]
    >>> aligned = TypicalVariation().fit_transform(rows, groups=plates)
    >>> means = [aligned[plates == plate].mean(axis=0) for plate in ("p1", "p2")]
    >>> bool(np.allclose(*means))
    True
    """

    def __init__(
        self,
        *,
        coral: bool = True,
        scale_batches: bool = True,
        ridge: float = 0.5,
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> None:
        self.coral = coral
        self.scale_batches = scale_batches
        self.ridge = ridge
        self.rank_tolerance = rank_tolerance

    def _fit(self, rows: Any, batches: Batches) -> None:
        if not self.ridge > 0:
            message = f"ridge is {self.ridge:g}: it must be above 0."
            raise InputError(message)
        self._refuse_few(batches)
        chosen = np.sort(np.concatenate([batch.controls for batch in batches]))
        controls = rows if len(chosen) == len(rows) else rows[chosen]
        engine = choose_engine(None)
        part = row_moments(engine, engine.place(controls))
        self.mean_ = part.mean
        self.whitening_ = _whitening(part.scatter / part.weight, self.mean_, self.rank_tolerance)
        self.rank_ = self._n_features_out = len(self.whitening_)
        self.alignments_ = self._alignments(rows, batches)

    def _transform(self, rows: Any, batches: Batches) -> Any:
        places = self._places(batches)
        new = new_batches(batches, places)
        if self.coral or self.scale_batches:
            self._refuse_unmarked(batches, places)
            self._refuse_few(new)
        fresh = iter(self._alignments(rows, new))
        corrected = np.empty((len(rows), self.rank_), dtype=rows.dtype)
        for batch, place in zip(batches, places, strict=True):
            alignment = next(fresh) if place is None else self.alignments_[place]
            corrected[batch.rows] = alignment.align(self._whitened(rows[batch.rows]))
        return corrected

    def _whitened(self, rows: Any) -> Float:
        white: Float = (rows - self.mean_) @ self.whitening_.T
        return white

    def _refuse_few(self, batches: Batches) -> None:
        refuse_few_controls(batches, least=2, remedy="leave these batches out")

    def _alignments(self, rows: Any, batches: Batches) -> list[Alignment]:
        return [self._alignment(self._whitened(rows[batch.controls])) for batch in batches]

    def _alignment(self, controls: Float) -> Alignment:
        width = self.rank_
        shift, scale = np.zeros(width), np.ones(width)
        axes, gains, level = np.zeros((width, 0)), np.zeros(0), 1.0
        if self.scale_batches:
            found = moments_of(controls, [np.arange(len(controls))])
            shift = found.means[0]
            scale = np.where(found.constant[0], 1.0, np.sqrt(found.variances[0]))
            controls = (controls - shift) / scale
        if self.coral:
            variances, axes = _axes(controls - controls.mean(axis=0))
            level = self.ridge**-0.5
            gains = (variances + self.ridge) ** -0.5 - level
        return Alignment(shift=shift, scale=scale, axes=axes, gains=gains, level=level)


def _whitening(covariance: Float, mean: Float, rank_tolerance: float) -> Float:
    deviation = np.sqrt(np.diag(covariance))
    alive = deviation > np.finfo(float).eps * np.abs(mean)
    if not alive.any():
        message = (
            f"{len(mean)} of {len(mean)} columns do not vary among controls: mark other controls."
        )
        raise InputError(message)
    unit = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=alive)
    values, vectors = np.linalg.eigh(covariance * np.outer(unit, unit))
    kept = values > rank_tolerance * values[-1]
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    whitening: Float = (vectors * signs_of(vectors) / np.sqrt(values)).T * unit
    return whitening


def _axes(centred: Float) -> tuple[Float, Float]:
    """Return the variances and axes of centred rows, from the smaller Gram matrix."""
    n_rows, width = centred.shape
    if n_rows > width:
        values, vectors = np.linalg.eigh(centred.T @ centred / (n_rows - 1.0))
        return values.clip(min=0.0), vectors
    values, vectors = np.linalg.eigh(centred @ centred.T / (n_rows - 1.0))
    kept = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
    lengths = np.sqrt(values[kept] * (n_rows - 1.0))
    return values[kept], (centred.T @ vectors[:, kept]) / lengths
