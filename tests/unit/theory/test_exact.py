"""Exact ranks, and exactly opposite rows."""

import numpy as np
import pytest

from upto.theory import PiecewiseNetwork
from upto.theory.exact import are_opposite, layer_residues, loses_rank, piece_loses_rank


def test_ranks_are_those_of_the_stored_numbers(rng):
    matrix = rng.normal(size=(30, 8))
    assert not loses_rank(matrix)
    assert loses_rank(np.column_stack([matrix, matrix[:, 0]]))
    # 0.1 + 0.2 is not 0.3 in stored numbers.
    assert not loses_rank(np.array([[0.1, 0.2], [0.3 - 0.1, 0.4]]))
    assert loses_rank(np.array([[0.1, 0.2], [0.2, 0.4]]))
    assert not loses_rank(np.diag([1.0, 5e-324, 1e300]))
    whole = rng.integers(-9, 9, size=(20, 3)) @ rng.integers(-9, 9, size=(3, 5))
    assert loses_rank(whole.astype(float))
    assert not loses_rank(rng.normal(size=(20, 3)) @ rng.normal(size=(3, 5)))


def loses(network, *active):
    return piece_loses_rank(network, np.array(active), layer_residues(network))


def test_pieces_lose_rank_where_units_are_silent(rng):
    network = PiecewiseNetwork(weights=[rng.normal(size=(3, 2)), rng.normal(size=(4, 3))])
    assert loses(network, True, False, False)
    assert not loses(network, True, False, True)
    leaky = PiecewiseNetwork(weights=network.weights, leak=1e-200)
    assert not loses(leaky, True, False, False)


@pytest.mark.parametrize(
    ("other", "expected"),
    [([-1.0, -2.0], True), ([-0.1, -0.2], True), ([-3.0, -6.0], True), ([1.0, 2.0], False),
     ([-1.0, np.nextafter(-2.0, 0)], False), ([0.0, -2.0], False)],
)  # fmt: skip
def test_opposite_rows(other, expected):
    assert are_opposite(np.array([1.0, 2.0]), np.array(other)) is expected
