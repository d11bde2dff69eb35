"""Decompositions by way of the product of a matrix with itself, against the direct ones."""

from __future__ import annotations

import numpy as np
import pytest

from upto.measures import factors
from upto.measures.factors import nearest_orthogonal, singular_vectors


def with_values(rng, values, shape):
    """A matrix with the singular values given."""
    size = len(values)
    left, right = (np.linalg.qr(rng.normal(size=(side, size)))[0] for side in shape)
    return (left * values) @ right.T


SPECTRA = {
    "flat": np.linspace(1, 2, 30),
    "steep": np.logspace(0, -4.5, 30),
    "lost in squares": np.logspace(0, -9, 30),
    "lost at once": np.r_[1.0, np.full(29, 1e-7)],
    "equal": np.full(30, 1.5),
    "with equal ones": np.repeat([2.0, 1.0], 15),
    "with zeros": np.r_[np.linspace(1, 2, 20), np.zeros(10)],
}


@pytest.mark.parametrize("shape", [(30, 30), (50, 30), (30, 45)])
@pytest.mark.parametrize("values", SPECTRA.values(), ids=list(SPECTRA))
def test_singular_vectors_rebuild_the_matrix(shape, values, rng):
    matrix = with_values(rng, values, shape)
    left, found, right = singular_vectors(matrix)
    np.testing.assert_allclose(found, np.sort(values)[::-1], atol=1e-14)
    np.testing.assert_allclose((left * found) @ right, matrix, atol=1e-14)
    for each in (left.T @ left, right @ right.T):
        np.testing.assert_allclose(each, np.eye(30), atol=1e-9)


@pytest.mark.parametrize("shape", [(30, 30), (50, 30), (30, 45)])
@pytest.mark.parametrize("values", SPECTRA.values(), ids=list(SPECTRA))
def test_the_nearest_orthogonal_matrix_is_that_of_the_singular_vectors(shape, values, rng):
    matrix = with_values(rng, values, shape)
    left, found, right = np.linalg.svd(matrix, full_matrices=False)
    rank = np.count_nonzero(found > 1e-12 * found[0])
    expected = left[:, :rank] @ right[:rank]
    # The direct decomposition itself knows the narrowest directions to no more digits.
    np.testing.assert_allclose(nearest_orthogonal(matrix, 1e-12), expected, atol=1e-6)
    inner = np.vdot(nearest_orthogonal(matrix, 1e-12), matrix)
    assert inner == pytest.approx(found.sum(), rel=1e-13)


@pytest.mark.parametrize("shape", [(30, 30), (50, 30), (30, 45)])
def test_nearly_equal_values_count_as_equal(shape, rng, monkeypatch):
    values = 1.5 * (1.0 + 1e-10 * rng.random(30))
    matrix = with_values(rng, values, shape)
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    monkeypatch.setattr(np.linalg, "eigh", None)
    np.testing.assert_allclose(nearest_orthogonal(matrix, 1e-12), left @ right, atol=1e-14)
    left, found, right = singular_vectors(matrix)
    np.testing.assert_allclose(found, values, rtol=1e-10)
    np.testing.assert_allclose((left * found) @ right, matrix, atol=1e-9)
    for each in (left.T @ left, right @ right.T):
        np.testing.assert_allclose(each, np.eye(30), atol=1e-14)


def test_nothing_has_no_directions():
    left, found, right = singular_vectors(np.zeros((30, 20)))
    assert not found.any()
    np.testing.assert_allclose((left * found) @ right, 0.0)


def test_dead_coordinates_stay_dead(rng):
    matrix = np.zeros((40, 35))
    assert not nearest_orthogonal(matrix, 1e-12).any()
    matrix[5:30, 3:28] = rng.normal(size=(25, 25))
    found = nearest_orthogonal(matrix, 1e-12)
    np.testing.assert_allclose(
        found[5:30, 3:28], nearest_orthogonal(matrix[5:30, 3:28], 1e-12), atol=1e-10
    )
    assert np.count_nonzero(found) == 25 * 25
    assert not nearest_orthogonal(np.zeros((20, 30)), 1e-12).any()


def test_small_matrices_are_decomposed_directly(rng, monkeypatch):
    monkeypatch.setattr(np.linalg, "eigh", None)
    size = factors._SMALL - 1
    matrix = rng.normal(size=(size, size))
    found = nearest_orthogonal(matrix, 1e-12)
    np.testing.assert_allclose(found @ found.T, np.eye(size), atol=1e-12)
