"""The estimator of an affine map with shrinkage, of full or reduced rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from upto.alignment.base import MapEstimator
from upto.alignment.ridge import fit_ridge
from upto.alignment.ridge_path import check_penalty
from upto.alignment.row_lengths import chosen_length
from upto.engines import choose_engine

if TYPE_CHECKING:
    from upto.engines.base import Engine


class RidgeAligner(MapEstimator):
    r"""Map a source run onto a target run by the affine map of a ridge regression.

    Where rows are few or coordinates nearly dependent, it predicts new rows better than
    ``Aligner("affine")``. It takes two passes over rows, whatever is chosen.

    Parameters
    ----------
    shrinkage
        Penalty on the squared coefficients, over the mean eigenvalue of the scatter matrix of the
        source; that is ``alpha`` of scikit-learn's `Ridge` divided by
        ``((X - X.mean(axis=0)) ** 2).sum() / X.shape[1]``. By default, the one among 26 with the
        smallest squared error over five folds of the rows; copies of a row are in one fold. Without
        shrinkage, directions whose variance is below 1e-12 of the largest count as absent.
    rank
        Rank of the map: any by default, a number (reduced-rank regression), or ``"auto"`` for the
        one with the smallest error, chosen together with the shrinkage.
    length
        Euclidean length that every mapped row is scaled to, which indexes under cosine or inner
        product need: a positive number, or ``"target"`` for that of the target's rows if they have
        one (their lengths differ by less than a thousandth). By default, rows are not scaled.
    engine
        Engine of the passes, as an object or a name.

    Attributes
    ----------
    map_ : AffineMap or LengthMap
        The fitted map.
    linear_ : ndarray of shape (n_features_in_, n_features_out_) or None
        Its linear part; maps act on the right. None with a length.
    shrinkage_ : float
        The shrinkage of the map.
    rank_ : int
        The largest rank that the map may have.
    length_ : float or None
        Length of every mapped row; None if rows are not scaled.
    target_names_ : tuple of str or None
        Names of the target's coordinates, if it had any.

    See Also
    --------
    upto.Aligner : One of the groups of `compare`, in closed form.
    upto.KernelAligner : An affine map plus kernel ridge regression.
    upto.NetworkAligner : An affine map plus a small network.
    upto.align : Choose among them by what retrieval loses.

    Notes
    -----
    With centred rows X and Y, of d coordinates in X, and shrinkage λ, the map is

    .. math::

        \min_A \lVert X A - Y \rVert^2
        + \lambda \, \frac{\operatorname{tr}(X^\top X)}{d} \lVert A \rVert^2

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rng = np.random.default_rng(0)
    >>> source = rng.normal(size=(100, 40))
    >>> target = source[:, :3] + rng.normal(size=(100, 3))
    >>> aligner = upto.RidgeAligner().fit(source[:50], target[:50])
    >>> bool(0.1 < aligner.shrinkage_ < 10)
    True
    >>> bool(aligner.score(source[50:], target[50:]) > 0)
    True
    """

    def __init__(
        self,
        *,
        shrinkage: float | str = "auto",
        rank: int | str | None = None,
        length: float | str | None = None,
        engine: Engine | str | None = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.rank = rank
        self.length = length
        self.engine = engine

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the map from the rows of `X` (source) to the rows of `y` (target).

        Both are anything `upto.as_embeddings` takes; paths are loaded into memory. Rows are matched
        by ids if both have ids, and by position otherwise.
        """
        check_penalty(self.shrinkage)
        X, target, names = self.paired(X, y)
        engine = choose_engine(self.engine)
        source, placed = engine.place(X), engine.place(target)
        found = fit_ridge(engine, source, placed, shrinkage=self.shrinkage, rank=self.rank)
        self.shrinkage_, self.rank_ = found.shrinkage, found.rank
        length = chosen_length(engine, placed, self.length)
        return self.keep(found.map, X.shape[1], target_names=names, length=length)
