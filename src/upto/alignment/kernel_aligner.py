"""The estimator of an affine map plus a smooth correction by kernel ridge regression."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state

from upto.alignment.base import MapEstimator
from upto.alignment.kernel_ridge import fit_kernel
from upto.alignment.ridge_path import check_penalty
from upto.alignment.row_lengths import chosen_length
from upto.core import InputError
from upto.core.arguments import check_whole
from upto.engines import choose_engine

if TYPE_CHECKING:
    from upto.engines.base import Engine


class KernelAligner(MapEstimator):
    r"""Map a source run onto a target run by an affine map plus kernel ridge regression.

    The correction to the affine map is a sum of Gaussian functions about some rows of the source
    (the Nyström method), so the map is affine far from them. Rows are read in a few passes and
    their features are never in memory all at once.

    Parameters
    ----------
    n_centres
        Largest number of rows that are centres of Gaussian functions. They are chosen by the values
        of the rows.
    bandwidth
        Standard deviation of the Gaussian function, in the units of the source. By default, the
        best of 0.5, 1 and 2 times the median distance between centres on a third of up to 10,000
        rows.
    shrinkage
        Penalty on the squared coefficients, over the mean eigenvalue of the scatter matrix of the
        features: the coordinates of a row over the root mean squared distance from the mean, and
        its Nyström features, as many as there are centres. By default, the one among 26 with the
        smallest squared error over three folds of the rows; copies of a row are in one fold. If the
        affine map of `RidgeAligner` has a smaller error, that is the map.
    length
        Euclidean length that every mapped row is scaled to, which indexes under cosine or inner
        product need: a positive number, or ``"target"`` for that of the target's rows if they have
        one (their lengths differ by less than a thousandth). By default, rows are not scaled.
    engine
        Engine of the passes, as an object or a name.
    random_state
        Seed of the choice of centres and folds.

    Attributes
    ----------
    map_ : KernelMap, AffineMap or LengthMap
        The fitted map.
    linear_ : ndarray of shape (n_features_in_, n_features_out_) or None
        The linear part if the map is affine; None otherwise.
    shrinkage_ : float
        The shrinkage of the map.
    bandwidth_ : float or None
        The bandwidth of the map; None if it is affine.
    length_ : float or None
        Length of every mapped row; None if rows are not scaled.
    target_names_ : tuple of str or None
        Names of the target's coordinates, if it had any.

    See Also
    --------
    upto.Aligner : One of the groups of `compare`, in closed form.
    upto.RidgeAligner : An affine map with shrinkage, of any rank.
    upto.NetworkAligner : An affine map plus a small network.
    upto.align : Choose among them by what retrieval loses.

    Notes
    -----
    With centres :math:`c_1, \dots, c_m` and bandwidth h, a row x is mapped to

    .. math::

        \hat y = b + A^\top x + \sum_j w_j \exp\left( -\frac{\lVert x - c_j \rVert^2}{2 h^2} \right)

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> source = np.random.default_rng(0).normal(size=(600, 2))
    >>> target = source + 0.5 * np.sin(2 * source[:, ::-1])
    >>> aligner = upto.KernelAligner(n_centres=100).fit(source[:500], target[:500])
    >>> bool(aligner.score(source[500:], target[500:]) > 0.95)
    True
    """

    def __init__(
        self,
        *,
        n_centres: int = 1000,
        bandwidth: float | str = "auto",
        shrinkage: float | str = "auto",
        length: float | str | None = None,
        engine: Engine | str | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_centres = n_centres
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage
        self.length = length
        self.engine = engine
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the map from the rows of `X` (source) to the rows of `y` (target).

        Both are anything `upto.as_embeddings` takes; paths are loaded into memory. Rows are matched
        by ids if both have ids, and by position otherwise.
        """
        check_whole(1, n_centres=self.n_centres)
        check_penalty(self.shrinkage)
        _check_bandwidth(self.bandwidth)
        X, target, names = self.paired(X, y)
        engine = choose_engine(self.engine)
        source, placed = engine.place(X), engine.place(target)
        found = fit_kernel(
            engine,
            source,
            placed,
            n_centres=int(self.n_centres),
            bandwidth=self.bandwidth,
            shrinkage=self.shrinkage,
            seed=seed_of(self.random_state),
        )
        self.shrinkage_, self.bandwidth_ = found.shrinkage, found.bandwidth
        length = chosen_length(engine, placed, self.length)
        return self.keep(found.map, X.shape[1], target_names=names, length=length)


def seed_of(random_state: Any) -> int:
    """Return a whole number from what scikit-learn takes as `random_state`."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _check_bandwidth(bandwidth: Any) -> None:
    if isinstance(bandwidth, str) and bandwidth == "auto":
        return
    is_number = isinstance(bandwidth, numbers.Real) and not isinstance(bandwidth, bool)
    if not is_number or not math.isfinite(bandwidth) or bandwidth <= 0:
        message = f"bandwidth is {bandwidth!r}: give 'auto' or a positive number."
        raise InputError(message)
