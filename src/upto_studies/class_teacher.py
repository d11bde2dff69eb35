"""A teacher with a known representation, whose classes students learn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax, xlogy

from upto.core import random_stream
from upto.core.array_types import Float

_WHITENED_ROWS = 20000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Teacher:
    """Classes drawn with probabilities ∝ exp(f(x)·g(y)), where f is known.

    Parameters
    ----------
    first, second
        Weights of f, a layer of hyperbolic tangents followed by a linear one. f is white.
    shift
        Shift that centres f.
    classes
        Class vectors g, one row each. With fewer classes, the first of them.
    """

    first: Float
    second: Float
    shift: Float
    classes: Float

    def draw(self, count: int, *, seed: int, purpose: str) -> Float:
        """Draw inputs from a standard normal distribution."""
        stream = random_stream(seed, "inputs", purpose)
        return stream.standard_normal((count, len(self.first)))

    def f(self, rows: Float) -> Float:
        """Return the representation of inputs."""
        values: Float = np.tanh(rows @ self.first) @ self.second - self.shift
        return values

    def scores(self, rows: Float, n_classes: int) -> Float:
        """Return the scores of the first classes."""
        values: Float = self.f(rows) @ self.classes[:n_classes].T
        return values

    def probabilities(self, rows: Float, n_classes: int) -> Float:
        """Return the probabilities of the first classes."""
        shares: Float = softmax(self.scores(rows, n_classes), axis=1)
        return shares

    def divergence(self, rows: Float, scores: Float) -> float:
        """Return the mean divergence of a student's scores from the teacher's classes, in nats."""
        own = self.scores(rows, scores.shape[1])
        shares = softmax(own, axis=1)
        gaps = log_softmax(own, axis=1) - log_softmax(scores, axis=1)
        return float((shares * gaps).sum(axis=1).mean())

    def information(self, rows: Float, n_classes: int) -> float:
        """Return the mutual information of inputs and classes, in nats.

        It is the divergence of a student that knows only how frequent the classes are.
        """
        shares = self.probabilities(rows, n_classes)
        mean = shares.mean(axis=0)
        return float(xlogy(shares, shares).sum(axis=1).mean() - xlogy(mean, mean).sum())


def draw_teacher(
    *,
    n_inputs: int,
    n_units: int,
    n_outputs: int,
    n_classes: int,
    logit_scale: float,
    corners: bool,
    seed: int,
) -> Teacher:
    """Draw a teacher at random.

    Parameters
    ----------
    n_inputs, n_units, n_outputs
        Numbers of inputs, units and outputs of f.
    n_classes
        Number of class vectors.
    logit_scale
        Standard deviation of a score over inputs, on average over classes.
    corners
        Whether the first class vectors, one more than f has outputs, are the corners of a regular
        simplex: their differences are as well conditioned as those of so few can be.
    seed
        Seed of the weights.
    """
    stream = random_stream(seed, "teacher")
    first = stream.standard_normal((n_inputs, n_units)) * math.sqrt(2.0 / n_inputs)
    hidden = np.tanh(stream.standard_normal((_WHITENED_ROWS, n_inputs)) @ first)
    mixed = stream.standard_normal((n_units, n_outputs))
    made = hidden @ mixed
    # Dividing by the Cholesky factor gives every direction of f the same variance.
    factor = np.linalg.cholesky(np.cov(made, rowvar=False))
    second = np.linalg.solve(factor, mixed.T).T
    classes = stream.standard_normal((n_classes, n_outputs)) * logit_scale / math.sqrt(n_outputs)
    if corners:
        kept = classes[: n_outputs + 1]
        turn, _ = np.linalg.qr(stream.standard_normal((n_outputs, n_outputs)))
        kept[:] = logit_scale * (_simplex(n_outputs) @ turn)[: len(kept)]
    return Teacher(
        first=first, second=second, shift=(hidden @ second).mean(axis=0), classes=classes
    )


def _simplex(n_outputs: int) -> Float:
    """Return the corners of a regular simplex, at distance one from zero."""
    centred = np.eye(n_outputs + 1) - 1.0 / (n_outputs + 1)
    # All singular values but the last, which is zero, are equal.
    left, _, _ = np.linalg.svd(centred)
    corners: Float = left[:, :n_outputs]
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    return corners
