"""Steps of which the numbers of a matrix are multiples."""

import numpy as np
import pytest

import upto
from upto.theory import head_diversity
from upto.theory.precision import stored_precision
from upto.theory.quantised import find_steps
from upto_studies.trials.heads import STORED, as_bfloat16


def low_rank(rng, rows, width, rank):
    return rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, width))


def test_whole_numbers_are_as_coarse_in_any_type():
    rng = np.random.default_rng(1)
    head = low_rank(rng, 500, 64, 60)
    whole = np.rint(head * 127 / np.abs(head).max())
    expected = upto.diversity(whole.astype(np.int8))
    assert expected.ill_conditioned
    for kind in (np.float32, np.float64):
        found = upto.diversity(whole.astype(kind))
        assert found.ill_conditioned
        np.testing.assert_allclose(found.rounding, expected.rounding, rtol=1e-6)
        scaled = upto.diversity((0.0123 * whole).astype(kind))
        np.testing.assert_allclose(scaled.rounding, 0.0123 * expected.rounding, rtol=1e-6)


@pytest.mark.parametrize("rank", [48, 60, 63])
@pytest.mark.parametrize(
    "stored",
    ["int8 scaled", "int8, rows scaled", "int8 scaled, as bfloat16", "int4, rows scaled",
     "Q8_0", "Q4_0", "three decimals", "float8 e4m3", "float8 e5m2"],
)  # fmt: skip
@pytest.mark.slow
def test_a_rank_just_too_low_is_seen(rng, stored, rank):
    assert head_diversity(STORED[stored](low_rank(rng, 500, 64, rank))).is_ill_conditioned
    assert not head_diversity(STORED[stored](rng.normal(size=(500, 64)))).is_ill_conditioned


def test_few_numbers_of_four_bits_are_seen(rng):
    for stored in ("int4 scaled", "int4, rows scaled"):
        assert head_diversity(STORED[stored](low_rank(rng, 100, 16, 12))).is_ill_conditioned
        assert head_diversity(STORED[stored](low_rank(rng, 200, 3, 2))).is_ill_conditioned


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_whole_numbers_may_count_from_an_offset(rng, kind):
    head = low_rank(rng, 200, 32, 28)
    least = head.min(axis=1, keepdims=True)
    step = np.ptp(head, axis=1, keepdims=True) / 15
    stored = (np.rint((head - least) / step) * step + least).astype(kind)
    assert stored_precision(stored).name == "multiples of a step for each row"
    assert head_diversity(stored).is_ill_conditioned


def test_steps_of_blocks_are_those_planted(rng):
    whole = rng.integers(-127, 128, size=(40, 64)).astype(float)
    whole[:, ::32] = 127
    steps = rng.uniform(0.5, 2.0, size=(40, 2))
    found = find_steps((whole * np.repeat(steps, 32, axis=1)).astype(np.float32), 24)
    assert found.name == "multiples of a step for each 32 numbers"
    expected = np.repeat(np.square(steps).mean(axis=0), 32)
    np.testing.assert_allclose(found.squares, expected, rtol=1e-5)


def test_numbers_of_all_bits_have_no_step(rng):
    for rows, width in ((17, 16), (40, 3), (300, 64), (2000, 20)):
        head = rng.normal(size=(rows, width))
        assert find_steps(head, 53) is None
        assert find_steps(head.astype(np.float32), 24) is None
        assert find_steps(as_bfloat16(head), 8) is None


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_codes_are_no_rounded_numbers(rng, scale):
    codes = [np.eye(64), np.vstack([np.eye(40), -np.eye(40)]), rng.integers(0, 2, size=(90, 5))]
    for code in codes:
        assert find_steps(scale * np.asarray(code, dtype=float), 53) is None
    assert not head_diversity(np.vstack([np.eye(64), np.zeros(64)])).is_ill_conditioned


def test_a_few_small_whole_numbers_may_be_meant(rng):
    assert find_steps(np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 5.0]]), 53) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_coarse_step_is_found_behind_the_bits_it_was_stored_with(seed):
    rng = np.random.default_rng(seed)
    head = rng.normal(size=(220, 1)) @ rng.normal(size=(1, 2 + seed))
    step = np.abs(head).max() / 127
    kept = as_bfloat16(np.rint(head / step) * step)
    assert np.sqrt(find_steps(kept, 8).squares) == pytest.approx(step, rel=0.01)
    assert head_diversity(kept).is_ill_conditioned
