"""Sphering: whitening of all rows by the controls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from upto.core import InputError
from upto.corrections.base import Correction, mapped, signs_of
from upto.engines import choose_engine, row_moments
from upto.ica.white_directions import RANK_TOLERANCE
from upto.ica.whiten import find_whitening, shrunk

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.corrections.batch_groups import Batches
    from upto.ica.whiten import Whitening

ENOUGH_CONTROLS = 10
"""Controls per column from which their covariance is used without shrinkage."""


class ControlSphering(ClassNamePrefixFeaturesOutMixin, Correction):
    r"""Whiten all rows by the mean and the covariance of the controls.

    Directions in which the controls do not vary are scaled like the narrowest one in which they do,
    so that variation of treated rows alone is neither lost nor inflated.

    Parameters
    ----------
    method
        ``"zca"`` stays closest to the columns, ``"pca"`` orders directions by variance.
    shrinkage
        Shrink the covariance towards a multiple of the identity: ``"ledoit-wolf"``, ``"oas"``, a
        number between 0 and 1, or None. ``"auto"`` uses none with ten or more controls per column,
        and Ledoit and Wolf's amount with fewer.
    rank_tolerance
        Directions whose variance is below this fraction of the largest count as absent.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features_in_,)
        Mean of the controls.
    whitening_, unwhitening_ : ndarray of shape (n_features_in_, n_features_in_)
        ``white = (X - mean_) @ whitening_.T`` and ``X = white @ unwhitening_.T + mean_``.
    rank_ : int
        Directions in which the controls vary.
    n_controls_ : int
        Number of controls behind the covariance.
    shrinkage_ : float
        Amount of shrinkage, between 0 and 1.
    deviation_ : float
        Largest deviation of a variance of the sphered controls from one, over the directions in
        which they vary.

    See Also
    --------
    TypicalVariation : The same, followed by an alignment of each batch.
    upto.Whitener : Whitening by all rows.
    BatchScaler : Centring and scaling alone.
    upto.batches : Whether a correction helps in unseen batches.

    Notes
    -----
    With the mean m and the covariance C = U Λ Uᵀ of the controls,

    .. math::

        x' = W (x - m), \qquad W_{\mathrm{zca}} = U \Lambda^{-1/2} U^\top, \qquad
        W_{\mathrm{pca}} = \Lambda^{-1/2} U^\top

    References
    ----------
    Kessy, Lewin and Strimmer (2018). Optimal whitening and decorrelation. The American Statistician
    72, 309-314.

    Ledoit and Wolf (2004). A well-conditioned estimator for large-dimensional covariance matrices.
    Journal of Multivariate Analysis 88, 365-411.

    Ando et al. (2017). Improving phenotypic measurements in high-content imaging screens. bioRxiv
    161422.

    Kessy, Lewin and Strimmer (2018). Optimal whitening and decorrelation. The American Statistician
    72, 309-314.

    Ledoit and Wolf (2004). A well-conditioned estimator for large-dimensional covariance matrices.
    Journal of Multivariate Analysis 88, 365-411.

    Ando et al. (2017). Improving phenotypic measurements in high-content imaging screens. bioRxiv
    161422.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.corrections import ControlSphering
    >>> rng = np.random.default_rng(0)
    >>> controls = np.arange(300) < 200
    >>> rows = rng.normal(size=(300, 3)) @ np.diag([5.0, 1.0, 0.2])
    >>> white = ControlSphering().fit_transform(rows, controls=controls)
    >>> bool(np.allclose(np.cov(white[controls].T), np.eye(3)))
    True
    """

    __metadata_request__fit = {"groups": False, "controls": True}  # noqa: RUF012
    # fit_transform needs identical requests, though only fit uses controls.
    __metadata_request__transform = {"groups": False, "controls": True}  # noqa: RUF012

    def __init__(
        self,
        *,
        method: Literal["zca", "pca"] = "zca",
        shrinkage: Literal["auto", "ledoit-wolf", "oas"] | float | None = "auto",
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> None:
        self.method = method
        self.shrinkage = shrinkage
        self.rank_tolerance = rank_tolerance

    def _fit(self, rows: Any, batches: Batches) -> None:
        if self.method not in ("zca", "pca"):
            message = f"method is 'zca' or 'pca', not {self.method!r}."
            raise InputError(message)
        chosen = np.sort(np.concatenate([batch.controls for batch in batches]))
        controls = rows if len(chosen) == len(rows) else rows[chosen]
        if len(controls) < 2:
            message = (
                f"{len(controls)} of {len(rows)} rows are controls: sphering needs at least two."
            )
            raise InputError(message)
        engine = choose_engine(None)
        placed = engine.place(controls)
        plain = row_moments(engine, placed)
        shrinkage = self.shrinkage
        if shrinkage == "auto":
            enough = len(controls) >= ENOUGH_CONTROLS * rows.shape[1]
            shrinkage = None if enough else "ledoit-wolf"
        pulled = shrunk(engine, placed, plain, shrinkage)
        freedom = len(controls) - 1.0
        own = find_whitening(replace(plain, weight=freedom), rank_tolerance=self.rank_tolerance)
        found = find_whitening(
            replace(pulled, weight=freedom),
            method=self.method,
            rank_tolerance=self.rank_tolerance,
        )
        self.mean_ = plain.mean
        self.rank_, self.n_controls_ = own.rank, len(controls)
        self.shrinkage_ = _amount(plain.scatter, pulled.scatter)
        self.whitening_, self.unwhitening_ = _completed(found, self.method)
        white = self.whitening_ @ (plain.scatter / freedom) @ self.whitening_.T
        variances = np.linalg.eigvalsh(white)[-own.rank :]
        self.deviation_ = float(np.abs(variances - 1.0).max())
        self._n_features_out = rows.shape[1]

    def _transform(self, rows: Any, batches: Batches) -> Any:
        return mapped(rows, self.mean_, self.whitening_.T)

    def inverse_transform(self, X: Any) -> Any:
        """Undo the sphering."""
        rows = self._rows_to_bring_back(X)
        return mapped(rows, 0.0, self.unwhitening_.T, self.mean_)


def _completed(found: Whitening, method: str) -> tuple[Float, Float]:
    """Return a whitening and its inverse, with absent directions as wide as the narrowest."""
    inward, outward = found.matrix, found.inverse
    if found.rank < len(outward):
        axes, widths, _ = np.linalg.svd(outward)
        widths[found.rank :] = widths[found.rank - 1]
        widths = np.append(widths, np.repeat(widths[-1], len(axes) - len(widths)))
        turn = axes if method == "zca" else np.eye(len(axes))
        inward, outward = turn @ (axes / widths).T, (axes * widths) @ turn.T
    if method == "zca":
        return inward, outward
    signs = signs_of(outward)
    return inward * signs.T, outward * signs


def _amount(plain: Any, pulled: Any) -> float:
    """Return the amount of shrinkage of a scatter matrix towards a multiple of the identity."""
    target = np.eye(len(plain)) * np.trace(plain) / len(plain)
    width = float(np.linalg.norm(target - plain))
    return float(np.linalg.norm(pulled - plain)) / width if width > 0 else 0.0
