"""The precision of stored numbers, from their type and from the numbers themselves."""

import numpy as np
import pytest

from upto.theory import head_diversity
from upto.theory.precision import stored_precision
from upto_studies.trials.heads import STORED, as_bfloat16


def low_rank(rng, rows=100, width=16, rank=12):
    return rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, width))


COARSE = ("int", "Q", "float8", "float16 of tiny numbers")


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float32 widened", "float32"),
        ("float16", "float16"),
        ("float16 widened", "float16"),
        ("float16 scaled", "float16, scaled"),
        ("float16, unit rows", "float16, scaled"),
        ("bfloat16", "bfloat16"),
        ("bfloat16 cut off", "bfloat16"),
        ("bfloat16 scaled", "bfloat16, scaled"),
        ("bfloat16, unit rows", "bfloat16, scaled"),
        ("bfloat16, columns scaled", "bfloat16, scaled"),
        ("int8", "int8"),
        ("int8 widened", "multiples of 1"),
        ("int8, rows scaled", "multiples of a step for each row"),
        ("int8, columns scaled", "multiples of a step for each column"),
        ("int4, rows scaled", "multiples of a step for each row"),
        ("three decimals", "multiples of 0.001"),
        ("float8 e4m3", "float8 (e4m3)"),
        ("float8 e5m2", "float8 (e5m2)"),
        ("float8 e4m3 scaled", "float8 (e4m3), scaled"),
    ],
)
def test_numbers_keep_the_gaps_they_were_stored_with(rng, stored, name):
    assert stored_precision(STORED[stored](rng.normal(size=(200, 16)))).name == name


@pytest.mark.parametrize("stored", [name for name in STORED if name != "float64"])
def test_a_head_of_low_rank_is_diverse_by_rounding_only(rng, stored):
    found = head_diversity(STORED[stored](low_rank(rng)))
    assert not found.holds or found.is_ill_conditioned


@pytest.mark.parametrize("stored", list(STORED))
def test_a_diverse_head_stays_so_however_it_is_stored(rng, stored):
    """Also of a spectrum that falls to a hundredth."""
    fallen = rng.normal(size=(300, 16)) * np.geomspace(1, 0.01, 16)
    turned = fallen @ np.linalg.qr(rng.normal(size=(16, 16)))[0]
    for head in (rng.normal(size=(300, 16)), turned):
        if stored.startswith(COARSE) and head is turned:
            continue
        found = head_diversity(STORED[stored](head))
        assert found.holds
        assert not found.is_ill_conditioned


def test_zeros_have_the_gap_of_the_type_and_whole_numbers_one(rng):
    halves = stored_precision(np.array([[0.0, 1.5], [2.0**-20, 1.0]], dtype=np.float16))
    np.testing.assert_array_equal(
        halves.gaps(np.array([0.0, 1.5, 2.0**-20])), [2.0**-24, 2.0**-7, 2.0**-24]
    )
    assert stored_precision(np.array([[100, -3]])).gaps(np.zeros(2)).tolist() == [1.0, 1.0]
    for ones in (np.eye(3, dtype=int), np.eye(3, dtype=bool)):
        assert stored_precision(ones).gaps(np.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", [float, np.float32, np.float16, int])
def test_one_hot_heads_are_diverse(kind):
    head = np.vstack([np.eye(5), np.zeros((1, 5))]).astype(kind)
    found = head_diversity(head)
    assert found.holds
    assert not found.is_ill_conditioned


def test_rounding_to_bfloat16_is_to_the_nearest_and_to_even():
    step = 2.0**-7
    values = 1.0 + step * np.array([0.0, 0.4, 0.5, 0.6, 1.5, -0.2, -0.25])
    expected = 1.0 + step * np.array([0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0])
    expected[-2:] = [1.0, 1.0]
    np.testing.assert_array_equal(as_bfloat16(values), expected)
