"""Rotations nearest to cross-covariances: polar factors, and how far rounding moves them."""

from __future__ import annotations

import numpy as np
import pytest

from upto.engines import nearest_rotation, rotation_of_rows, rotation_slack, rotations
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
        rotations, "_polar_factor", lambda xp, matrix, least: (matrix, xp.max(xp.abs(matrix)))
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
