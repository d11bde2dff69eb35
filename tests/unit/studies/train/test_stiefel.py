"""Orthonormal matrices: tangent directions, steps and the way back."""

from __future__ import annotations

import math

import pytest

from upto_studies.train.stiefel import (
    nearest_orthonormal,
    orthonormal,
    orthonormality_defect,
    polished,
    retraction_steps,
    tangent_part,
)

torch = pytest.importorskip("torch")

shapes = pytest.mark.parametrize("shape", [(3, 12, 5), (3, 5, 12), (2, 6, 6)])


def drawn(shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def gram(matrices):
    tall = matrices.mT if matrices.shape[-2] < matrices.shape[-1] else matrices
    return tall.mT @ tall


@shapes
def test_a_basis_is_orthonormal_and_spans_what_it_came_from(shape):
    given = drawn(shape)
    basis = orthonormal(given)
    assert torch.allclose(gram(basis), torch.eye(min(shape[1:]), dtype=basis.dtype), atol=1e-12)
    tall, tall_basis = (given, basis) if shape[1] >= shape[2] else (given.mT, basis.mT)
    assert torch.allclose(tall_basis @ (tall_basis.mT @ tall), tall, atol=1e-12)


def test_the_sign_of_a_basis_is_that_of_its_matrix():
    basis = orthonormal(-torch.eye(4, dtype=torch.float64)[None, :, :2])
    assert torch.allclose(basis, -torch.eye(4, dtype=torch.float64)[None, :, :2], atol=1e-12)


@shapes
def test_a_tangent_direction_keeps_the_gram_matrix_to_first_order(shape):
    matrices, directions = orthonormal(drawn(shape)), drawn(shape, seed=1)
    tangent = tangent_part(matrices, directions)
    tall, along = (matrices, tangent) if shape[1] >= shape[2] else (matrices.mT, tangent.mT)
    change = tall.mT @ along
    assert torch.allclose(change, -change.mT, atol=1e-12)
    assert torch.allclose(tangent_part(matrices, tangent), tangent, atol=1e-12)
    # What was removed is orthogonal to what stayed: it is the nearest tangent direction.
    assert torch.allclose((tangent * (directions - tangent)).sum(), torch.zeros(1).double())


@shapes
@pytest.mark.parametrize("length", [0.02, 0.2, 0.6])
def test_the_steps_back_are_enough_for_any_tangent_step_of_their_length(shape, length):
    matrices = orthonormal(drawn(shape))
    # All of the length in one direction is the worst case.
    first, second = drawn((shape[0], shape[1], 1), 2), drawn((shape[0], 1, shape[2]), 3)
    tangent = tangent_part(matrices, first @ second)
    tangent *= length / torch.linalg.matrix_norm(tangent)[:, None, None]
    back = nearest_orthonormal(matrices - tangent, retraction_steps(length, torch.float64))
    assert orthonormality_defect(back).max() < 1e-13


@shapes
def test_the_way_back_is_the_polar_factor(shape):
    matrices = orthonormal(drawn(shape)) + 0.05 * drawn(shape, seed=4)
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    assert torch.allclose(nearest_orthonormal(matrices, 8), left @ right, atol=1e-12)


def test_longer_steps_take_more_newton_schulz_steps():
    steps = [retraction_steps(length, torch.float32) for length in (0.02, 0.1, 0.3, 0.6)]
    assert steps == [1, 2, 3, 4]
    assert retraction_steps(0.02, torch.float64) == 3


def test_polished_matrices_are_as_orthonormal_as_float32_can_say():
    matrices = orthonormal(drawn((2, 50, 20))).float() + 1e-4 * drawn((2, 50, 20), 1).float()
    assert orthonormality_defect(matrices).min() > 1e-4
    assert orthonormality_defect(polished(matrices)).max() < 1e-6


@pytest.mark.parametrize("n_columns", [64, 256, 1024])
def test_what_float32_leaves_grows_with_the_root_of_the_columns(n_columns):
    matrices = orthonormal(drawn((1, n_columns + 50, n_columns))).float()
    tangent = tangent_part(matrices, drawn(matrices.shape, 1, torch.float32))
    tangent *= 0.3 / torch.linalg.matrix_norm(tangent)
    back = nearest_orthonormal(matrices - tangent, retraction_steps(0.3, torch.float32))
    unit = torch.finfo(torch.float32).eps * math.sqrt(n_columns)
    assert unit < orthonormality_defect(back) < 4 * unit
    assert orthonormality_defect(polished(back)) < 0.5 * unit


def test_the_defect_is_the_frobenius_norm_of_what_the_gram_matrix_has_too_much():
    matrices = torch.diag_embed(torch.tensor([[1.0, 2.0], [1.0, 1.0]]))
    assert torch.allclose(orthonormality_defect(matrices), torch.tensor([3.0, 0.0]).double())
    wide = torch.tensor([[[math.sqrt(2.0), 0.0, 0.0]]])
    assert torch.allclose(orthonormality_defect(wide), torch.tensor([1.0]).double())
