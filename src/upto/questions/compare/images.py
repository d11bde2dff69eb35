"""Images of the re-paired rows under every map, each computed when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.alignment import AffineMap
from upto.core import Group
from upto.engines.algebra import product

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.questions.compare.pair import Map, Pair

TURNS = (
    Group.IDENTITY,
    Group.SIGNED_PERMUTATION,
    Group.SIGNED_SIMILARITY,
    Group.RIGID,
    Group.SIMILARITY,
)
"""Groups whose best maps of runs of equal width, in both directions, are an orthogonal matrix and
its transpose, each times a factor."""


_ONE_IN = 8
"""Directions for each one that is evaluated to bound the average over all."""


class Images:
    """Images of the re-paired rows of the source; a group and its scaled version share products.

    Parameters
    ----------
    pair
        The pair.
    maps
        Maps of its source onto its target, by name.
    """

    def __init__(self, pair: Pair, maps: dict[str, Map]) -> None:
        self.maps = maps
        self.known: dict[str, Float] = {}
        self._source, self._target = pair.source.paired, pair.target
        self._side = pair.side(pair.target)
        self._same_width = pair.source.summary.n_features == pair.target.summary.n_features
        self._products: dict[tuple[int, bytes], Float] = {}
        self._along: tuple[tuple[int, bytes], Float] | None = None
        self._targets: dict[int, Float] = {}
        self._r2: dict[str, Float] = {}

    def is_turn(self, name: str) -> bool:
        """Return whether a map is orthogonal up to a factor."""
        return self._same_width and name in TURNS

    def of(self, name: str) -> Float:
        """Return the images under a map."""
        if name in self.known:
            return self.known[name]
        found = self.maps[name]
        if isinstance(found, AffineMap):
            return self.turned(name) * self.factor(name) + found.target_mean
        self.known[name] = found.predict(self._source)
        return self.known[name]

    def factor(self, name: str) -> float:
        """Return the factor of a map: the size of its scales if they have one size, else one."""
        found = self.maps[name]
        if not isinstance(found, AffineMap) or not len(found.scale):
            return 1.0
        sizes = np.abs(found.scale)
        return float(sizes[0]) if sizes.min() == sizes.max() else 1.0

    def turned(self, name: str) -> Float:
        """Return the images about the target's mean, without the factor."""
        found = self.maps[name]
        assert isinstance(found, AffineMap)
        key, scale = self._key(found)
        if key not in self._products:
            centred = self._source - found.source_mean
            if found.matrix is not None:
                image = product(centred, found.matrix)
            else:
                image = centred[:, found.index]
            self._products[key] = image if (scale == 1.0).all() else image * scale
        return self._products[key]

    def target(self, name: str) -> Float:
        """Return the re-paired rows of the target about the mean that a map uses."""
        mean = self.maps[name].target_mean
        if id(mean) not in self._targets:
            self._targets[id(mean)] = self._target.paired - mean
        return self._targets[id(mean)]

    def r2(self, name: str) -> Float:
        """Return R² along the principal directions of the target, widest first."""
        if len(self._source) == 0:
            return np.empty(0)
        if name not in self._r2:
            if self._side.is_even:
                self._r2[name] = self._side.r2_along(self._image_along(name))
            else:
                # Wide directions would leave their rounding in the narrow ones.
                left = product(self._target.paired - self.of(name), self._target.axes)
                self._r2[name] = self._side.r2_left(left)
        return self._r2[name]

    def is_less_even(self, name: str, limit: float) -> bool:
        """Return whether one direction in eight proves that R² averaged over all is below a limit.

        The others explain at most everything.
        """
        if len(self._source) == 0 or name in self._r2:
            return False
        some = slice(None, None, _ONE_IN)
        axes = np.ascontiguousarray(self._target.axes[:, some])
        r2 = self._side.r2_left(product(self._target.paired - self.of(name), axes), some)
        n_all = self._target.axes.shape[1]
        at_most = float(np.clip(r2, 0.0, 1.0).sum()) + float(n_all - len(r2))
        return at_most < limit * float(n_all)

    def _image_along(self, name: str) -> Float:
        """Return the images along the principal directions, about the mean of the fitted rows."""
        axes, mean = self._target.axes, self._target.fitted.mean
        found = self.maps[name]
        if not isinstance(found, AffineMap):
            return product(self.of(name) - mean, axes)
        offset = (found.target_mean - mean) @ axes
        factor = self.factor(name)
        if factor == 0.0:
            return np.broadcast_to(offset, self._side.along.shape)
        key, _ = self._key(found)
        # A group and its scaled version follow each other, so one of them is kept.
        if self._along is None or self._along[0] != key:
            self._along = key, product(self.turned(name), axes)
        return self._along[1] * factor + offset

    def _key(self, found: AffineMap) -> tuple[tuple[int, bytes], Float]:
        """Return what identifies the images without their factor, and the scales left."""
        sizes = np.abs(found.scale)
        scale = found.scale
        if len(sizes) and sizes.min() == sizes.max():
            scale = np.where(found.scale < 0, -1.0, 1.0)
        operand = found.matrix if found.index is None else found.index
        return (id(operand), scale.tobytes()), scale
