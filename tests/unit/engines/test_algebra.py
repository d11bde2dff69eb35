"""Algebra of d×d matrices: inverses, white and leading directions."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest

from upto.engines import (
    algebra,
    leading_eigenvectors,
    pseudo_inverse,
    side_by_side,
)
from upto.testing import random_element

WIDTH = 160
ROUNDING = 1e-9


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e7, 1e9])
def test_the_inverse_of_a_scatter_matrix(condition, rng):
    axes = random_element("rigid", 40, rng)[0]
    scales = 10.0 ** rng.uniform(-6, 6, size=40)
    scatter = (axes * np.geomspace(1, 1 / condition, 40)) @ axes.T
    wanted = (axes * np.geomspace(1, condition, 40)) @ axes.T
    found = pseudo_inverse(scatter * np.outer(scales, scales)) * np.outer(scales, scales)
    np.testing.assert_allclose(found, wanted, atol=1e-12 * condition**2)
    np.testing.assert_allclose(found, found.T, atol=1e-12 * condition)


@pytest.mark.parametrize("rank", [0, 1, 10, 39])
def test_the_inverse_of_a_singular_scatter_matrix_is_that_of_moore_and_penrose(rank, rng):
    # Rounding makes some singular matrices regular.
    for _ in range(10):
        rows = rng.normal(size=(60, rank)) @ rng.normal(size=(rank, 40))
        scatter = rows.T @ rows
        found = pseudo_inverse(scatter)
        size = np.abs(scatter).max(initial=1)
        np.testing.assert_allclose(scatter @ found @ scatter, scatter, atol=1e-7 * size)
        tolerance = 1e-9 * np.abs(found).max(initial=1)
        assert np.linalg.matrix_rank(found, tol=tolerance) == rank


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5])
def test_well_conditioned_covariances_are_whitened_by_a_factor(condition, rng):
    axes = random_element("rigid", 40, rng)[0]
    covariance = (axes * np.geomspace(1, 1 / condition, 40)) @ axes.T
    white = algebra.whitening_by_factor(covariance)
    np.testing.assert_allclose(
        white.T @ covariance @ white, np.eye(40), atol=1e-14 * condition * 40
    )


@pytest.mark.parametrize("least", [1e-9, 0.0, -1.0])
def test_others_are_left_to_eigenvectors(least, rng):
    axes = random_element("rigid", 40, rng)[0]
    covariance = (axes * np.r_[np.ones(39), least]) @ axes.T
    assert algebra.whitening_by_factor(covariance) is None
    white = algebra.whitening_of(covariance, 1e-6)
    assert white.shape == (40, 39)
    np.testing.assert_allclose(white.T @ covariance @ white, np.eye(39), atol=1e-12)


@pytest.mark.parametrize("count", [1, 8, 40, 50])
def test_leading_eigenvectors_are_the_last_of_all(count, rng):
    rows = rng.normal(size=(100, 40)) * np.geomspace(1, 5, 40)
    scatter = rows.T @ rows
    values, vectors = leading_eigenvectors(scatter, count)
    wanted = np.linalg.eigvalsh(scatter)[-count:]
    np.testing.assert_allclose(values, wanted)
    np.testing.assert_allclose(scatter @ vectors, vectors * values, atol=1e-9 * wanted[-1])


@pytest.mark.parametrize("kind", ["random", "equal", "zero", "low rank"])
def test_widths_at_which_the_cache_collides_give_the_same_eigenvectors(kind, rng, monkeypatch):
    monkeypatch.setattr(algebra, "COLLIDING", 8)
    rows = rng.normal(size=(3 if kind == "low rank" else 50, 16))
    matrix = {"equal": np.eye(16), "zero": np.zeros((16, 16))}.get(kind, rows.T @ rows)
    values, vectors = algebra.eigh(matrix)
    size = np.abs(matrix).max() + 1.0
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-12 * size)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(16), atol=1e-12)
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-12 * size)


def test_calls_side_by_side_see_the_context_and_keep_their_order():
    token = algebra._compute.set(lambda function, *arrays: ("here", *arrays))
    try:
        calls = [lambda number=number: algebra.compute(None, number) for number in range(7)]
        assert side_by_side(calls) == [("here", number) for number in range(7)]
    finally:
        algebra._compute.reset(token)
    assert side_by_side([]) == []


def test_an_error_of_one_call_is_raised():
    with pytest.raises(ZeroDivisionError):
        side_by_side([lambda: 1, lambda: 1 / 0])


def test_an_error_or_an_interrupt_stops_the_other_calls():
    for error in (ZeroDivisionError, KeyboardInterrupt):
        stop, ended = Event(), []

        def fail(error=error):
            raise error

        def go_on(stop=stop, ended=ended):
            ended.append(stop.wait(20))

        with pytest.raises(error):
            side_by_side([go_on, fail], stop=stop)
        assert ended == [True]
