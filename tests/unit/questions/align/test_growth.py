"""Recall of `upto.align` in an index of the user's size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import upto
from upto.core import Estimate
from upto.measures.nearest import nearest_rows
from upto.questions.align.growth import extrapolate, origin

LAST, NEARER = Estimate(value=0.9, low=0.88, high=0.92), [0.6, 0.7, 0.8, 0.9]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def next_version(rng, n_rows, noise, width=32):
    """Draw rows of a model, and of a next version: rotated, with noise."""
    old = unit(rng.normal(size=(n_rows, width)))
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    return old, unit(old @ turn + noise * rng.normal(size=old.shape) / np.sqrt(width))


def bent_version(rng, n_rows, bend=0.2, noise=0.2):
    """Draw rows in topics, and of a next version that no affine map gives."""
    topics, mixing, bending = (np.random.default_rng(5).normal(size=(12, 12)) for _ in range(3))
    old = topics[rng.integers(12, size=n_rows)] + 0.6 * rng.normal(size=(n_rows, 12))
    new = old @ mixing / np.sqrt(12) + bend * np.sin(2 * old @ bending / np.sqrt(12))
    return old, new + noise * rng.normal(size=new.shape)


def recall_of(new, carried, queries):
    """Return the recall@10 of some rows as queries, each without itself."""
    near = [nearest_rows(new[queries], rows, 11) for rows in (new, carried)]
    hits = [
        len((set(first) & set(second)) - {own})
        for first, second, own in zip(*(each.tolist() for each in near), queries, strict=True)
    ]
    return np.mean(hits) / 10


def predicted(seed, n_pairs, n_rows, noise):
    """Align some rows of an index; return the result, and the recall in the whole of it."""
    rng = np.random.default_rng(seed)
    old, new = next_version(rng, n_rows, noise)
    result = upto.align(old[:n_pairs], new[:n_pairs], up_to="rigid", at=(10,), index_size=n_rows)
    queries = np.arange(n_pairs, min(n_rows, n_pairs + 500))
    return result, recall_of(new, result.aligner().transform(old), queries)


def test_a_larger_index_has_lower_recall_and_says_so():
    old, new = bent_version(np.random.default_rng(3), 900)
    result = upto.align(old, new, up_to="ridge", index_size=1_000_000)
    assert result.at_size.value < result.recall().value
    assert result.at_size.low < result.at_size.value < result.at_size.high
    assert "in an index of 1,000,000 rows" in result.verdict
    assert "UP105" in {finding.code for finding in result.findings}
    for name in ("ridge", "ridge back", "old model"):
        sizes = [point.size for point in result.sizes if point.name == name]
        assert sizes == [67, 135, 270, 1_000_000]


def test_every_recall_of_the_verdict_is_in_an_index_of_one_size():
    old, new = bent_version(np.random.default_rng(3), 900)
    result = upto.align(old, new, up_to="ridge", index_size=20_000)
    ends = {each.name: each.recall for each in result.sizes if each.size == 20_000}
    assert ends["ridge"] == result.at_size
    assert ends["ridge back"].value < result.map().back[result.at.index(10)].value
    others = result.verdict.partition("Among the 20,000 rows: ")[2]
    shares = [f"{ends[name].value:.1%} [" for name in ("ridge back", "old model")]
    assert all(share in others for share in shares)
    assert others.endswith("less than 0.1% by chance.")


def test_queries_carried_back_are_measured_in_parts_too():
    """By a rotation, they find what the carried index finds."""
    old, new = next_version(np.random.default_rng(0), 600, 0.2)
    sizes = upto.align(old, new, up_to="rigid", index_size=600).sizes
    there, back = (
        [each.recall.value for each in sizes if each.name == name]
        for name in ("rigid", "rigid back")
    )
    assert len(there) == 3
    assert back == pytest.approx(there, abs=0.03)


def test_recall_in_a_larger_index_is_that_among_fewer_nearest_rows():
    source = Estimate(value=0.7, low=0.65, high=0.74)
    doubled, quadrupled = (extrapolate(LAST, NEARER, source, 1000, size) for size in (2000, 4000))
    assert doubled.value == pytest.approx(ndtr(ndtri(0.7) + 0.02))
    assert quadrupled.value == pytest.approx(ndtr(ndtri(0.6) + 0.04))
    below, above = ndtri(doubled.value) - ndtri([doubled.low, doubled.high])
    assert below == pytest.approx(np.hypot(0.06, ndtri(0.7) - ndtri(0.65)))
    assert above == pytest.approx(-np.hypot(0.06, ndtri(0.74) - ndtri(0.7)))
    assert [origin(10, 1000, size) for size in (1000, 2000, 3000, 10_000, 10**9)] == [
        10,
        5,
        3,
        1,
        1,
    ]


def test_beyond_the_nearest_row_the_slope_goes_on_or_nothing_is_known():
    source = Estimate(value=0.6, low=0.55, high=0.65)
    unknown = extrapolate(LAST, NEARER, source, 1000, 8000)
    assert (unknown.value, unknown.low, unknown.high) == (0.9, 0.0, 1.0)
    falling = extrapolate(LAST, NEARER, source, 1000, 8000, slopes=[-0.2, -0.1])
    assert falling.value == pytest.approx(ndtr(ndtri(0.6) + 0.04 - 0.85 * 0.15))
    assert falling.low < falling.value < falling.high
    # The error of the slope counts beside that of the recall it starts at.
    assert ndtri(falling.value) - ndtri(falling.low) > 1.4 * (ndtri(0.6) - ndtri(0.55))


def test_no_more_is_found_among_more_rows():
    flat = Estimate(value=0.9, low=0.86, high=0.93)
    assert extrapolate(LAST, [0.9] * 10, flat, 1000, 16_000).value == 0.9
    # All of the nearest rows were found, but not all of the ten nearest.
    all_found = Estimate(value=1.0, low=0.99, high=1.0)
    found = extrapolate(LAST, [1.0] * 5 + [0.9] * 5, all_found, 1000, 16_000)
    assert found.value == 0.9
    assert 0.85 < found.low <= LAST.low


def test_what_is_lossless_may_be_all_that_is_asked_for(rng):
    """No number of rows shows that a recall is 1; that is no reason to embed everything again."""
    old = rng.normal(size=(400, 6))
    for size in (400, 1000, 100_000):
        result = upto.align(old, old[:, ::-1], up_to="rigid", enough=1.0, index_size=size)
        assert (result.advice, result.at_size.high) == ("unclear", 1.0)
    nothing = Estimate(value=0.0, low=0.0, high=0.01)
    assert extrapolate(nothing, [0.0] * 10, nothing, 1000, 2000).low == 0.0


def test_the_error_of_a_prediction_is_that_of_the_recall_it_is_made_of():
    """From 150 held-out rows, the recall among the nearest few is not known within 0.02."""
    found = [predicted(seed, 500, 2000, 0.03) for seed in range(6, 12)]
    covered = [each.at_size.low <= truth <= each.at_size.high for each, truth in found]
    assert sum(covered) >= 5
    widths = [result.at_size.high - result.at_size.low for result, _ in found]
    assert np.mean(widths) > 0.07


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_pairs", "n_rows", "noise"), [(500, 8000, 0.03), (1000, 3000, 0.035), (1000, 16_000, 0.03)]
)
def test_few_pairs_license_nothing_that_a_larger_index_refutes(n_pairs, n_rows, noise):
    found = [predicted(seed, n_pairs, n_rows, noise) for seed in range(30)]
    covered = [each.at_size.low <= truth <= each.at_size.high for each, truth in found]
    assert np.mean(covered) >= 0.9
    assert sum(result.advice == "carry" and truth < 0.95 for result, truth in found) <= 1


@pytest.mark.slow
def test_the_extrapolation_covers_what_a_larger_index_shows():
    """Judged on 900 rows and predicted for 8,000, beside 8,000 rows that were searched."""
    covered = []
    for seed in range(12):
        old, new = bent_version(np.random.default_rng(seed), 11_000)
        result = upto.align(old[:3000], new[:3000], up_to="ridge", index_size=8000)
        carried = result.aligner().transform(old[3000:])
        truth = recall_of(new[3000:], carried, np.arange(400))
        covered.append(result.at_size.low <= truth <= result.at_size.high)
    assert np.mean(covered) >= 0.8
