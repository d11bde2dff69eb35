"""Pairs of models with one law of x: a mixture, a decoder, and moves that change both.

A decoder is B s(W z) with a piecewise linear s for each coordinate, so that all its preimages are
known. A move turns a model into a rival: it maps each component of the mixture by its own affine
map, and changes the decoder. Whether the rival has the same law of x is then checked, not assumed
from its construction: the image of μ + R ε must equal that of its partner for every ε, near and
far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core.array_types import Float
from upto.theory.piecewise import PiecewiseNetwork

_BENDS = ("straight", "bent", "flat", "zigzag", "fold")
_POINTS = 48
_SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bend:
    """A continuous piecewise linear function: slopes from left to right, and breakpoints."""

    kind: str
    ends: Float
    slopes: Float

    def pieces(self) -> list[tuple[float, float]]:
        """Return slope and offset of every piece; the function is zero at zero."""
        offsets = [0.0]
        for end, (before, after) in zip(
            self.ends, zip(self.slopes, self.slopes[1:], strict=False), strict=True
        ):
            offsets.append(offsets[-1] + (before - after) * end)
        return list(zip(self.slopes.tolist(), offsets, strict=True))

    def piece_at(self, place: float) -> int:
        """Return the index of the piece at a point."""
        return int(np.searchsorted(self.ends, place))

    def facts(self) -> set[str]:
        """Return the kinds of injectivity of the function."""
        found = set()
        if self.slopes[0] > 0 and self.slopes[-1] > 0:
            found.add("F2")
            if self.slopes.min() >= 0:
                found.add("F3")
            if self.slopes.min() > 0:
                found.add("F4")
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """A mixture (weights, means and covariance roots) and a decoder."""

    weights: Float
    means: Float
    roots: Float
    network: PiecewiseNetwork
    facts: frozenset[str]
    kind: str

    @property
    def covariances(self) -> Float:
        """Covariances of the components."""
        found: Float = self.roots @ self.roots.swapaxes(1, 2)
        return found

    @property
    def mixture(self) -> tuple[Float, Float, Float]:
        """Arguments of `check_prior`."""
        return self.weights, self.means, self.covariances


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rival:
    """A second model: the origin of each of its components, and the map from z to its z."""

    model: Model
    source: NDArray[np.intp]
    link: Callable[[Float], Float]
    move: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """A model with the properties of its decoder that moves need."""

    model: Model
    rows: Float
    bends: tuple[Bend, ...]


def draw_model(rng: np.random.Generator, width: int) -> Drawn:
    """Draw a mixture, possibly with flat or point components, and a decoder, possibly folding."""
    count = int(rng.integers(1, 5))
    shape = str(rng.choice(["full", "some degenerate", "flat", "points"]))
    ratio = np.exp(rng.normal(size=width))
    roots = np.zeros((count, width, width))
    for number in range(count):
        deviations = np.exp(rng.normal(scale=0.5, size=width))
        if rng.random() < 0.3:
            # Coordinates can be rotated where variance ratios are equal.
            deviations = ratio * np.exp(rng.normal(scale=0.5))
        degenerate = shape == "points" or (shape == "some degenerate" and rng.random() < 0.5)
        if degenerate:
            deviations = deviations * (rng.random(size=width) < 0.3) * (shape != "points")
        if shape == "flat":
            deviations[0] = 0.0
        roots[number] = np.diag(deviations)
    if rng.random() < 0.3:
        roots = draw_matrix(rng, width) @ roots
    rows = draw_matrix(rng, width) if rng.random() < 0.5 else np.eye(width)
    bends = tuple(_draw_bend(rng) for _ in range(width))
    outputs = np.vstack([draw_matrix(rng, width), rng.normal(size=(rng.integers(2), width))])
    facts = set.intersection(*(bend.facts() for bend in bends))
    model = Model(
        weights=rng.dirichlet(np.full(count, 5.0)),
        means=rng.normal(scale=2.0, size=(count, width)),
        roots=roots,
        network=_bent_network(rows, bends, outputs),
        facts=frozenset(facts),
        kind=f"{shape}, {'+'.join(sorted({bend.kind for bend in bends}))}",
    )
    return Drawn(model=model, rows=rows, bends=bends)


def draw_rival(rng: np.random.Generator, drawn: Drawn) -> Rival:
    """Draw a move and apply it, without checking that it preserves the law of x."""
    moves = (_affine, _turn, _kink, _kink, _fibre, _fibre, _split)
    return moves[int(rng.integers(len(moves)))](rng, drawn)


def one_law(rng: np.random.Generator, model: Model, rival: Rival) -> bool:
    """Return whether both models have one law of x, component by component."""
    other = rival.model
    counted = np.bincount(rival.source, weights=other.weights, minlength=len(model.weights))
    if not np.allclose(counted, model.weights, rtol=0, atol=1e-12):
        return False
    for number, source in enumerate(rival.source):
        reach = 10.0 ** rng.uniform(-2.0, 3.0, size=(_POINTS, 1))
        noise = reach * rng.normal(size=(_POINTS, model.means.shape[1]))
        here = model.network(noise @ model.roots[source].T + model.means[source])
        there = other.network(noise @ other.roots[number].T + other.means[number])
        if np.abs(here - there).max() > _SAME * (1.0 + np.abs(here).max()):
            return False
    return True


def draw_matrix(rng: np.random.Generator, width: int) -> Float:
    """Draw a well-conditioned invertible matrix."""
    left, right = (np.linalg.qr(rng.normal(size=(width, width)))[0] for _ in range(2))
    found: Float = left * np.exp(rng.uniform(-0.7, 0.7, size=width)) @ right
    return found


def _draw_bend(rng: np.random.Generator) -> Bend:
    kind = str(rng.choice(_BENDS))
    ends = np.sort(rng.normal(scale=2.0, size=2))
    slopes = np.exp(rng.uniform(-0.7, 0.7, size=3))
    if kind == "straight":
        slopes[:] = slopes[0]
    elif kind == "flat":
        slopes[1] = 0.0
    elif kind == "zigzag":
        slopes[1] *= -1.0
    elif kind == "fold":
        slopes = np.array([-slopes[0], slopes[0], slopes[0]])
    return Bend(kind=kind, ends=ends, slopes=slopes)


def _bent_network(rows: Float, bends: tuple[Bend, ...], outputs: Float) -> PiecewiseNetwork:
    first, offsets, second = [], [], []
    for number, (row, bend) in enumerate(zip(rows, bends, strict=True)):
        column = outputs[:, number]
        changes = np.diff(bend.slopes)
        # The identity is t = max(t, 0) - max(-t, 0).
        first += [row, -row, *([row] * len(changes))]
        offsets += [0.0, 0.0, *(-bend.ends)]
        second += [bend.slopes[0] * column, -bend.slopes[0] * column]
        second += [change * column for change in changes]
    return PiecewiseNetwork(
        weights=(np.array(first), np.array(second).T),
        biases=(np.array(offsets), np.zeros(len(outputs))),
    )


def _after(network: PiecewiseNetwork, inner: PiecewiseNetwork) -> PiecewiseNetwork:
    """Return the composition of a network with an inner map."""
    (matrix, offset), *rest = network.layers
    *before, (last, shift) = inner.layers
    joined = [*before, (matrix @ last, matrix @ shift + offset), *rest]
    return PiecewiseNetwork(
        weights=tuple(each for each, _ in joined), biases=tuple(each for _, each in joined)
    )


def _mapped(
    drawn: Drawn, maps: list[tuple[Float, Float]], network: PiecewiseNetwork, **known: Any
) -> Rival:
    """Map each component by its own matrix and offset."""
    model = drawn.model
    moved = Model(
        weights=model.weights,
        means=np.array([a @ mu + b for (a, b), mu in zip(maps, model.means, strict=True)]),
        roots=np.array([a @ root for (a, _), root in zip(maps, model.roots, strict=True)]),
        network=network,
        facts=model.facts,
        kind=model.kind,
    )
    return Rival(model=moved, source=np.arange(len(model.weights)), **known)


def _everywhere(drawn: Drawn, matrix: Float, shift: Float, move: str) -> Rival:
    inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    inner = PiecewiseNetwork(weights=(inverse,), biases=(-inverse @ shift,))
    maps = [(matrix, shift)] * len(drawn.model.weights)
    network = _after(drawn.model.network, inner)
    return _mapped(drawn, maps, network, link=lambda z: z @ matrix.T + shift, move=move)


def _affine(rng: np.random.Generator, drawn: Drawn) -> Rival:
    width = drawn.model.means.shape[1]
    shift = rng.normal(size=(width,))
    return _everywhere(drawn, draw_matrix(rng, width), shift, "affine")


def _turn(rng: np.random.Generator, drawn: Drawn) -> Rival:
    """Rotate coordinates in units in which a full component is spherical."""
    width = drawn.model.means.shape[1]
    chosen = drawn.model.roots[rng.integers(len(drawn.model.roots))]
    scale = np.diag(np.where(np.diag(chosen) > 0, np.diag(chosen), 1.0))
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    return _everywhere(drawn, scale @ turn @ np.linalg.inv(scale), np.zeros(width), "turn")


def _kink(rng: np.random.Generator, drawn: Drawn) -> Rival:
    """Bend the latents at a plane, and undo it in the decoder."""
    model = drawn.model
    width = model.means.shape[1]
    across = np.eye(width)[0] if rng.random() < 0.5 else rng.normal(size=(width,))
    along = rng.normal(size=(width,))
    at = float(rng.normal(scale=2.0))
    # w·v > -1 keeps the two sides apart.
    along *= rng.uniform(-0.8, 2.0) / (along @ across)
    step = np.outer(along, across)
    undone = -along / (1.0 + along @ across)
    inner = PiecewiseNetwork(
        weights=(
            np.vstack([np.eye(width), -np.eye(width), across]),
            np.hstack([np.eye(width), -np.eye(width), undone[:, None]]),
        ),
        biases=(np.append(np.zeros(2 * width), -at), np.zeros(width)),
    )
    beyond = model.means @ across > at
    maps = [
        (np.eye(width) + step, -at * along) if far else (np.eye(width), np.zeros(width))
        for far in beyond
    ]
    return _mapped(
        drawn,
        maps,
        _after(model.network, inner),
        link=lambda z: z + np.maximum(z @ across - at, 0.0)[:, None] * along,
        move="kink",
    )


def _fibre(rng: np.random.Generator, drawn: Drawn) -> Rival:
    """Move some components to other preimages of their images."""
    model = drawn.model
    width = model.means.shape[1]
    back = np.asarray(np.linalg.inv(drawn.rows), dtype=np.float64)
    maps = []
    for mean in model.means:
        number = int(rng.integers(width))
        bend, row = drawn.bends[number], drawn.rows[number]
        pieces = bend.pieces()
        slope, offset = pieces[bend.piece_at(float(row @ mean))]
        other, other_offset = pieces[int(rng.integers(len(pieces)))]
        factor, shift = 1.0, 0.0
        if rng.random() < 0.7:
            if other != 0.0:
                factor, shift = slope / other, (offset - other_offset) / other
            elif slope == 0.0:
                shift = float(rng.normal())
        direction = back[:, number]
        maps.append((np.eye(width) + (factor - 1.0) * np.outer(direction, row), shift * direction))
    return _mapped(drawn, maps, model.network, link=lambda z: z, move="fibre")


def _split(rng: np.random.Generator, drawn: Drawn) -> Rival:
    """Split one component into two equal ones."""
    model = drawn.model
    number = int(rng.integers(len(model.weights)))
    source = np.append(np.arange(len(model.weights)), number)
    weights = model.weights[source]
    share = float(rng.uniform(0.1, 0.9))
    weights[number] *= share
    weights[-1] *= 1.0 - share
    split = Model(
        weights=weights,
        means=model.means[source],
        roots=model.roots[source],
        network=model.network,
        facts=model.facts,
        kind=model.kind,
    )
    return Rival(model=split, source=source, link=lambda z: z, move="split")
