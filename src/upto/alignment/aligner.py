"""The estimator that maps one run onto another."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from upto.alignment.base import MapEstimator
from upto.alignment.maps import fit_map, needs_full_scatter
from upto.alignment.monotone import MonotoneFit
from upto.alignment.residuals import errors_of_map
from upto.alignment.row_lengths import chosen_length, with_length
from upto.alignment.supremum import smallest_worst_error
from upto.core import Group, InputError
from upto.engines import RANK_TOLERANCE, choose_engine, cross_moments

if TYPE_CHECKING:
    from upto.alignment.row_lengths import FittedMap
    from upto.engines.base import Engine


class Aligner(MapEstimator):
    r"""Map a source run onto a target run by the best element of a group.

    Parameters
    ----------
    up_to
        The group: ``"identity"``, ``"signed-permutation"``, ``"signed-similarity"``,
        ``"scaled-permutation"``, ``"rigid"``, ``"similarity"``, ``"affine"`` or
        ``"monotone-permutation"``.
    norm
        Error to minimise: ``"least-squares"`` has a closed form; ``"supremum"`` refines it by
        Lawson's reweighting towards the smallest worst error, the ε of Definition 1.
    rank_tolerance
        Directions whose variance is below this fraction of the largest count as absent.
    length
        Euclidean length that every mapped row is scaled to, which indexes under cosine or inner
        product need: a positive number, or ``"target"`` for that of the target's rows if they have
        one (their lengths differ by less than a thousandth). By default, rows are not scaled.
    engine
        Engine of the passes, as an object or a name.

    Attributes
    ----------
    map_ : AffineMap, MonotoneMap or LengthMap
        The fitted map.
    linear_ : ndarray of shape (n_features_in_, n_features_out_) or None
        Its linear part; maps act on the right. None for monotone functions and with a length.
    length_ : float or None
        Length of every mapped row; None if rows are not scaled.
    worst_error_ : float or None
        Largest error of a row in sample; None if `compare` fitted the map.
    target_names_ : tuple of str or None
        Names of the target's coordinates, if it had any.

    See Also
    --------
    upto.RidgeAligner : An affine map with shrinkage, of any rank.
    upto.KernelAligner : An affine map plus kernel ridge regression.
    upto.NetworkAligner : An affine map plus a small network.
    upto.compare : Judge the maps of all groups.
    upto.save_transform : Keep a fitted map.

    Notes
    -----
    With centred rows X and Y, the best rigid motion solves the orthogonal Procrustes problem:

    .. math::

        \min_{Q^\top Q = I} \lVert X Q - Y \rVert^2, \qquad
        X^\top Y = U S V^\top \;\Rightarrow\; Q = U V^\top

    Permutations are an assignment problem, affine maps least squares.

    References
    ----------
    Schönemann (1966). A generalized solution of the orthogonal Procrustes problem.
    Psychometrika 31.

    Kuhn (1955). The Hungarian method for the assignment problem. Naval Research Logistics
    Quarterly 2.

    Lawson (1961). Contributions to the theory of linear least maximum approximations. PhD
    thesis, University of California, Los Angeles.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> source = np.random.default_rng(0).normal(size=(100, 2))
    >>> target = source @ [[0, 1], [-1, 0]] + 5
    >>> aligner = upto.Aligner("rigid").fit(source[:50], target[:50])
    >>> float(aligner.score(source[50:], target[50:])) > 0.999
    True
    """

    def __init__(
        self,
        up_to: Group | str = "rigid",
        *,
        norm: str = "least-squares",
        rank_tolerance: float = RANK_TOLERANCE,
        length: float | str | None = None,
        engine: Engine | str | None = None,
    ) -> None:
        self.up_to = up_to
        self.norm = norm
        self.rank_tolerance = rank_tolerance
        self.length = length
        self.engine = engine

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the map from the rows of `X` (source) to the rows of `y` (target).

        Both are anything `upto.as_embeddings` takes; paths are loaded into memory. Rows are matched
        by ids if both have ids, and by position otherwise.

        Warns
        -----
        UserWarning
            If the rows are too few for the group, so the map does not generalise.
        """
        group = _group(self.up_to)
        if self.norm not in ("least-squares", "supremum"):
            message = f"norm is {self.norm!r}: choose 'least-squares' or 'supremum'."
            raise InputError(message)
        X, target, names = self.paired(X, y)
        engine = choose_engine(self.engine)
        fitted: FittedMap
        if group is Group.MONOTONE_PERMUTATION:
            if self.norm == "supremum":
                message = "monotone functions are fitted by least squares only: omit norm."
                raise InputError(message)
            fitted = MonotoneFit(X.astype(np.float64), target.astype(np.float64)).fit()
        else:
            _warn_of_few_rows(group, *X.shape)
            moments = cross_moments(engine, X, target, full=needs_full_scatter(group, X, target))
            fitted = start = fit_map(group, moments, rank_tolerance=self.rank_tolerance)
            if self.norm == "supremum":
                fitted = smallest_worst_error(
                    group, X, target, start, rank_tolerance=self.rank_tolerance, engine=engine
                ).map
        length = chosen_length(engine, target, self.length)
        errors = errors_of_map(engine, X, target, with_length(fitted, length))
        return self.keep(fitted, X.shape[1], float(errors.max()), names, length)

    def keep(
        self,
        fitted: FittedMap,
        n_features: int,
        worst: float | None = None,
        target_names: tuple[str, ...] = (),
        length: float | None = None,
    ) -> Self:
        """Set the fitted attributes from a map of rows with `n_features` coordinates.

        `worst` is its largest error of a fitted row, `target_names` are the names of the target's
        coordinates, if known, and `length` is the one that images are scaled to, if any.
        """
        self.worst_error_: Any = worst
        return super().keep(fitted, n_features, target_names=target_names, length=length)


def _warn_of_few_rows(group: Group, n_samples: int, n_features: int) -> None:
    needed = {Group.RIGID: 1, Group.SIMILARITY: 1, Group.AFFINE: 2}.get(group, 0) * n_features
    if n_samples <= needed:
        message = (
            f"{n_samples} rows of {n_features} coordinates are too few for the group {group}: the "
            f"map does not generalise. Use more than {needed} rows, a stricter group or fewer "
            "coordinates."
        )
        warnings.warn(message, stacklevel=3)


def _group(up_to: Group | str) -> Group:
    try:
        return Group(up_to)
    except ValueError:
        message = f"there is no group {up_to!r}: choose one of {', '.join(Group)}."
        raise InputError(message) from None
