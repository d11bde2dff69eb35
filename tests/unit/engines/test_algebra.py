"""Algebra of d×d matrices: polar factors, inverses and leading directions."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest

from upto.engines import (
    algebra,
    leading_eigenvectors,
    nearest_rotation,
    pseudo_inverse,
    rotation_of_rows,
    rotation_slack,
    side_by_side,
)
from upto.testing import random_element

WIDTH = 160
ROUNDING = 1e-9


def with_singular_values(values, rng):
    left, right = (np.linalg.qr(rng.normal(size=(len(values),) * 2))[0] for _ in range(2))
    return (left * values) @ right, left @ right


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4, 1e5, 1e6, 1e8])
@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])
def test_the_polar_factor_is_that_of_the_singular_value_decomposition(condition, scale, rng):
    cross, wanted = with_singular_values(np.geomspace(1, 1 / condition, WIDTH), rng)
    found = nearest_rotation(scale * cross)
    np.testing.assert_allclose(found.T @ found, np.eye(WIDTH), atol=1e-12)
    # A polar factor is determined to rounding times the condition number.
    np.testing.assert_allclose(found, wanted, atol=1e-11 + 1e-14 * condition)
    # Rows are as wide as the roots of the singular values of their own cross product.
    np.testing.assert_allclose(np.vdot(found, cross), np.vdot(wanted, cross), rtol=1e-13)


@pytest.mark.parametrize("rank", [0, 1, WIDTH // 2, WIDTH - 1])
def test_on_a_null_space_the_polar_factor_is_nearest_to_the_identity(rank, rng):
    cross = rng.normal(size=(WIDTH, rank)) @ rng.normal(size=(rank, WIDTH))
    found = nearest_rotation(cross)
    np.testing.assert_allclose(found.T @ found, np.eye(WIDTH), atol=ROUNDING)
    reached = np.linalg.svd(cross, compute_uv=False).sum()
    np.testing.assert_allclose(np.vdot(found, cross), reached, atol=ROUNDING * (1 + reached))
    if rank == 0:
        np.testing.assert_allclose(found, np.eye(WIDTH), atol=ROUNDING)
    noisy = nearest_rotation(cross * (1 + 1e-15 * rng.normal(size=cross.shape)))
    np.testing.assert_allclose(noisy, found, atol=1e-6)


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e5])
def test_a_rough_polar_factor_is_orthogonal_and_nearly_the_best(condition, rng):
    cross, wanted = with_singular_values(np.geomspace(1, 1 / condition, WIDTH), rng)
    found = nearest_rotation(cross, rough=True)
    np.testing.assert_allclose(found.T @ found, np.eye(WIDTH), atol=1e-11)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert np.vdot(found, cross) == pytest.approx(np.vdot(wanted, cross), rel=1e-12)


@pytest.mark.parametrize(
    "shape", [(WIDTH, WIDTH // 2), (WIDTH // 2, WIDTH), (2 * WIDTH, WIDTH), (WIDTH, 2 * WIDTH)]
)
def test_rectangular_matrices_have_semi_orthogonal_polar_factors(shape, rng):
    cross = rng.normal(size=shape)
    left, _, right = np.linalg.svd(cross, full_matrices=False)
    np.testing.assert_allclose(nearest_rotation(cross), left @ right, atol=1e-12)
    lost = cross.copy()
    lost[:, 1] = lost[:, 0]
    lost[1] = lost[0]
    found = nearest_rotation(lost)
    small = found.T @ found if shape[0] > shape[1] else found @ found.T
    np.testing.assert_allclose(small, np.eye(min(shape)), atol=ROUNDING)
    reached = np.linalg.svd(lost, compute_uv=False).sum()
    assert np.vdot(found, lost) == pytest.approx(reached)


def test_a_polar_factor_that_is_not_orthogonal_is_computed_again(rng, monkeypatch):
    cross, wanted = with_singular_values(np.geomspace(1, 0.1, WIDTH), rng)
    # As if eigenvectors were inaccurate.
    monkeypatch.setattr(
        algebra, "_polar_factor", lambda xp, matrix, least: (matrix, xp.max(xp.abs(matrix)))
    )
    np.testing.assert_allclose(nearest_rotation(cross), wanted, atol=ROUNDING)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6, 1e10, 1e14])
@pytest.mark.parametrize("below", [0.0, np.inf])
def test_no_rotation_beats_the_nearest_one_by_more_than_the_slack(condition, below, rng):
    exact, best = with_singular_values(np.geomspace(1, 1 / condition, WIDTH), rng)
    rounding = 1e-13 * rng.normal(size=exact.shape) / WIDTH
    found = nearest_rotation(exact + rounding)
    slack = rotation_slack(exact + rounding, float(np.linalg.norm(rounding)), below=below)
    # The exact traces are sums of many numbers, which are rounded too.
    assert np.vdot(best, exact) - np.vdot(found, exact) <= slack + 1e-14 * WIDTH


def test_without_any_covariance_no_slack_is_left():
    assert rotation_slack(np.zeros((3, 3)), 0.0, below=-1.0) == 0.0


@pytest.mark.parametrize("shape", [(40, 8, 8), (40, 6, 9), (7, 9, 9)])
def test_rows_of_a_wide_spectrum_are_rotated_exactly(shape, rng):
    n_rows, width, other = shape
    rows = rng.normal(size=(n_rows, width)) * np.logspace(0, -9, width)
    rows = rows @ random_element("rigid", width, rng)[0]
    turned = rows @ random_element("rigid", other, rng)[0][:width]
    found = rotation_of_rows(rows, turned)
    np.testing.assert_allclose(found @ found.T, np.eye(width), atol=1e-12)
    np.testing.assert_allclose(rows @ found, turned, atol=1e-13)


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
