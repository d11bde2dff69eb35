"""The estimator of an affine map plus a small network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from upto.alignment.base import MapEstimator
from upto.alignment.fold_moments import fold_rows
from upto.alignment.kernel_aligner import seed_of
from upto.alignment.network_fit import train_network
from upto.alignment.network_map import NetworkMap
from upto.alignment.ridge import fit_ridge
from upto.alignment.row_lengths import chosen_length
from upto.core.arguments import check_whole
from upto.core.extras import check_extra
from upto.engines import ThreadsEngine, varying
from upto.engines.row_keys import mixed_keys, row_keys

if TYPE_CHECKING:
    from upto.alignment.maps import AffineMap
    from upto.core.array_types import Float

SHARE = 8
"""One distinct row in so many validates the network."""
FEWEST = 5
"""Rows that validate a network at least; with fewer, the map is affine."""
_ROUNDING = 1e-9


class NetworkAligner(MapEstimator):
    """Map a source run onto a target run by an affine map plus a network with one hidden layer.

    The network predicts what the affine map of `RidgeAligner` leaves. It is trained by torch (the
    extra ``torch``) and applied without it. One distinct row in eight, chosen by its values, is
    not fitted but ends the training; if the network does not predict these rows better than the
    affine map, the map is affine and fitted to all rows.

    Parameters
    ----------
    n_hidden
        Width of the hidden layer.
    n_epochs
        Largest number of passes over the rows; the training ends after 500 steps of 128 rows
        without a smaller error.
    length
        Euclidean length that every mapped row is scaled to, which indexes under cosine or inner
        product need: a positive number, or ``"target"`` for that of the target's rows if they have
        one (their lengths differ by less than a thousandth). By default, rows are not scaled.
    device
        Device of the training, such as ``"cuda"``; by default the GPU if there is one.
    random_state
        Seed of the first weights, the order of rows, and the choice of rows.

    Attributes
    ----------
    map_ : NetworkMap, AffineMap or LengthMap
        The fitted map.
    linear_ : ndarray of shape (n_features_in_, n_features_out_) or None
        The linear part if the map is affine; None otherwise.
    shrinkage_ : float
        The shrinkage of the affine map, as in `RidgeAligner`.
    n_iter_ : int
        Number of epochs that the network was trained for; 0 if the map is affine.
    length_ : float or None
        Length of every mapped row; None if rows are not scaled.
    target_names_ : tuple of str or None
        Names of the target's coordinates, if it had any.

    See Also
    --------
    upto.Aligner : One of the groups of `compare`, in closed form.
    upto.RidgeAligner : An affine map with shrinkage, of any rank.
    upto.KernelAligner : An affine map plus kernel ridge regression.
    upto.align : Choose among them by what retrieval loses.

    Notes
    -----
    On a CPU, the same rows in any order and the same seed give the same map.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> source = np.random.default_rng(0).normal(size=(600, 2))
    >>> target = source + 0.5 * np.sin(2 * source[:, ::-1])
    >>> aligner = upto.NetworkAligner(n_hidden=32, n_epochs=40, device="cpu", random_state=0)
    >>> aligner = aligner.fit(source[:500], target[:500])
    >>> bool(aligner.score(source[500:], target[500:]) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        n_hidden: int = 256,
        n_epochs: int = 100,
        length: float | str | None = None,
        device: str | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_epochs = n_epochs
        self.length = length
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the map from the rows of `X` (source) to the rows of `y` (target).

        Both are anything `upto.as_embeddings` takes; paths are loaded into memory. Rows are matched
        by ids if both have ids, and by position otherwise.

        Raises
        ------
        InputError
            If torch is not installed.
        """
        check_extra("torch", type(self).__name__)
        check_whole(1, n_hidden=self.n_hidden, n_epochs=self.n_epochs)
        X, target, names = self.paired(X, y)
        engine = ThreadsEngine()
        seed = seed_of(self.random_state)
        keys = row_keys(engine, X, seed)
        is_new = fold_rows(mixed_keys(keys + np.uint64(1)), SHARE) == 0
        fitted: AffineMap | NetworkMap | None = None
        self.n_iter_ = 0
        if np.count_nonzero(is_new) >= FEWEST:
            # In the order of their keys: the order of the rows given does not matter.
            parts = [np.flatnonzero(each) for each in (~is_new, is_new)]
            train, new = (
                (X[order], target[order])
                for order in (part[np.argsort(keys[part])] for part in parts)
            )
            found = fit_ridge(engine, *train)
            fitted, self.n_iter_ = self._trained(found.map, train, new, seed)
        if fitted is None:
            found = fit_ridge(engine, X, target)
            fitted = found.map
        self.shrinkage_ = found.shrinkage
        length = chosen_length(engine, target, self.length)
        return self.keep(fitted, X.shape[1], target_names=names, length=length)

    def _trained(
        self, affine: AffineMap, train: tuple[Float, Float], new: tuple[Float, Float], seed: int
    ) -> tuple[NetworkMap | None, int]:
        """Return the affine map with a network, None if it predicts new rows no better."""
        scale = train[0].std(axis=0, dtype=np.float64)
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=varying(scale))
        left = [target - affine.predict(rows) for rows, target in (train, new)]
        unit = float(np.sqrt(np.mean(left[0] ** 2)))
        # What rounding leaves of an exact fit is not learned.
        if unit <= _ROUNDING * float(train[1].std()):
            return None, 0
        # In single precision from here on, as the network is.
        ready = [
            (
                ((rows - affine.source_mean) * inverse).astype(np.float32),
                (rest / unit).astype(np.float32),
            )
            for (rows, _), rest in zip((train, new), left, strict=True)
        ]
        del left
        network = train_network(
            *ready,
            n_hidden=int(self.n_hidden),
            n_epochs=int(self.n_epochs),
            device=self.device,
            seed=seed,
        )
        if network.n_epochs == 0:
            return None, 0
        return (
            NetworkMap(
                source_mean=affine.source_mean,
                target_mean=affine.target_mean,
                constant=affine.target_mean + unit * network.output_bias,
                matrix=affine.linear(),
                hidden_weights=inverse[:, None] * network.hidden_weights,
                hidden_bias=network.hidden_bias,
                output_weights=unit * network.output_weights,
            ),
            network.n_epochs,
        )
