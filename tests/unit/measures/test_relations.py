"""What every relation measure keeps to, whatever it relates."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.measures import dissimilarities, kernels, neighbours, relations
from upto.measures.dissimilarities import EUCLIDEAN_RSA_SPEARMAN
from upto.measures.kinds import RelationMeasure, permuted
from upto.measures.relations import inner_product, permuted_inner_product

pytestmark = pytest.mark.slow

MEASURES = {
    value.name.split(":")[0]: value
    for module in (kernels, dissimilarities, neighbours)
    for value in vars(module).values()
    if isinstance(value, RelationMeasure)
}
ANGLES = {name for name in MEASURES if "cosine" in name and "rsa" not in name} | {"cknna"}
SINGLE = 1e-6
"""Relations are kept in single precision."""


@pytest.fixture(params=MEASURES.values(), ids=list(MEASURES))
def measure(request):
    return request.param


def cloud(name, seed=0):
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(40, 5))
    turn = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    return {
        "normal": normal,
        "more columns than rows": rng.normal(size=(25, 60)),
        "grid": rng.integers(0, 3, size=(40, 3)) / 10,
        "grid far away": 1e6 + rng.integers(0, 3, size=(40, 3)),
        "duplicated rows": np.tile(normal[:10], (4, 1)),
        "mostly one row": np.concatenate([np.full((30, 5), 0.1), normal[:10]]),
        "constant": np.full((40, 5), 0.1),
        "zeros": np.zeros((40, 5)),
        "simplex": np.eye(40),
        "turned simplex": turn / 3,
        "turned grid": rng.integers(0, 3, size=(40, 3)) @ turn[:3],
        "one direction": np.abs(normal[:, :1]) * [[0.1, 0.2, 0.3]],
        "one coordinate": normal[:, :1],
        "dead coordinate": normal * [1, 1, 0, 1, 1],
        "few far rows": normal + 1e7 * np.eye(40)[:, :5],
        "tiny": 1e-200 * normal,
        "huge": 1e200 * normal,
    }[name]


CLOUDS = [
    "normal", "more columns than rows", "grid", "grid far away", "duplicated rows",
    "mostly one row", "constant", "zeros", "simplex", "turned simplex", "turned grid",
    "one direction", "one coordinate", "dead coordinate", "few far rows", "tiny", "huge",
]  # fmt: skip


@pytest.mark.parametrize("name", CLOUDS)
def test_relating_reordered_rows_reorders_the_relation(measure, name, rng):
    rows = cloud(name)
    order = rng.permutation(len(rows))
    expected = permuted(measure.related(rows), order)
    for found, wanted in zip(measure.related(rows[order]), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, atol=SINGLE, rtol=SINGLE)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("other", ["normal", "grid", "constant"])
def test_the_order_of_pairs_does_not_matter(measure, name, other, rng):
    first, second = cloud(name), cloud(other, seed=1)
    n_rows = min(len(first), len(second))
    order = rng.permutation(n_rows)
    value = measure(first[:n_rows], second[:n_rows])
    assert measure.low <= value <= measure.high
    assert measure(first[order], second[order]) == pytest.approx(value, abs=SINGLE)


EQUALLY_FAR = {
    "rbf-cka", "rsa-euclidean-pearson", "rsa-euclidean-spearman", "distance-correlation-unbiased",
    "cknna",
}  # fmt: skip
# Equal distances, equal angles and a single coordinate leave these nothing to compare.
NOTHING_LEFT = {
    "simplex": EQUALLY_FAR | {"rsa-correlation-pearson", "rsa-correlation-spearman"},
    "turned simplex": EQUALLY_FAR,
    "one direction": {"rsa-correlation-pearson", "rsa-correlation-spearman", "cknna"},
    "one coordinate": {"rsa-correlation-pearson", "rsa-correlation-spearman"},
}


@pytest.mark.parametrize("name", [each for each in CLOUDS if each not in ("constant", "zeros")])
def test_a_run_is_like_itself_however_it_is_tied(measure, name):
    rows = cloud(name)
    if measure.name.split(":")[0] in NOTHING_LEFT.get(name, ()):
        assert measure(rows, rows) == 0.0
    else:
        assert measure(rows, rows) == pytest.approx(1.0, abs=SINGLE)


@pytest.mark.parametrize("name", ["constant", "zeros"])
def test_a_run_without_variance_is_like_none(measure, name):
    value = measure(cloud("normal"), cloud(name))
    chance = {
        "mutual-knn": 10 / 39,
        "mutual-knn-cosine": 10 / 39,
        "jaccard-knn": 10 / 39,
        "jaccard-knn-cosine": 10 / 39,
    }
    stem = measure.name.split(":")[0]
    if stem.startswith("rank-knn"):
        # Every rank is the harmonic mean of 1 to 39; those of the other run are 1 to 10.
        ranks, tied = np.arange(1, 11), 39 / np.sum(1 / np.arange(1, 40))
        agreement = np.sum(2 / ((ranks + tied) * (1 + np.abs(ranks - tied))))
        assert value == pytest.approx(agreement / np.sum(1 / ranks), abs=SINGLE)
    elif stem == "second-order-cosine" and name == "zeros":
        # A row of zeros is at right angles to all: its distances are all one.
        assert 0.0 < value < 1.0
    else:
        assert value == pytest.approx(chance.get(stem, 0.0), abs=SINGLE)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
@pytest.mark.parametrize("name", [each for each in MEASURES if MEASURES[each].parameter != 10])
def test_few_rows_give_a_value(name, n_rows, rng):
    first, second = rng.normal(size=(2, n_rows, 3))
    value = MEASURES[name](first, second)
    assert MEASURES[name].low <= value <= MEASURES[name].high
    if n_rows == 1 or (n_rows < 4 and name in ("rbf-cka", "distance-correlation-unbiased")):
        assert value == 0.0


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_squares_neither_overflow_nor_vanish(measure, scale):
    first, second = cloud("normal"), cloud("normal", seed=1)
    assert measure(scale * first, second) == pytest.approx(measure(first, second), abs=SINGLE)


def test_more_rows_than_fit_are_refused_before_anything_is_made(measure):
    rows = np.zeros((16385, 1))
    with pytest.raises(InputError, match=r"16385 rows need 2 GiB .* at most 16384 rows"):
        measure.related(rows)


@pytest.mark.parametrize("measure", [MEASURES[name] for name in sorted(ANGLES)], ids=sorted(ANGLES))
def test_measures_of_angles_ignore_the_length_of_every_row(measure, rng):
    first, second = cloud("normal"), cloud("normal") + rng.normal(size=(40, 5))
    lengths = np.exp(3 * rng.normal(size=(40, 1)))
    assert measure(lengths * first, second) == pytest.approx(measure(first, second), abs=SINGLE)


@pytest.mark.parametrize(
    "name", ["rbf-cka", "distance-correlation-unbiased", "rsa-euclidean-pearson", "cknna"]
)
def test_noise_is_near_zero_where_rows_are_fewer_than_coordinates(name):
    rng = np.random.default_rng(5)
    values = [MEASURES[name](*rng.normal(size=(2, 256, 1024))) for _ in range(3)]
    assert np.abs(values).max() < 0.04


@pytest.mark.parametrize(
    ("name", "least"), [("rbf-cka-biased", 0.5), ("distance-correlation", 0.8)]
)
def test_biased_estimates_are_far_from_zero_there(name, least):
    assert MEASURES[name](*np.random.default_rng(5).normal(size=(2, 256, 1024))) > least


def test_single_precision_is_enough_where_rows_are_many():
    rng = np.random.default_rng(0)
    first = rng.normal(size=(1000, 4))
    second = first + rng.normal(size=(1000, 4))
    for name in ("rsa-euclidean-spearman", "rsa-squared-euclidean-cosine", "rbf-cka"):
        measure = MEASURES[name]
        x, y = (measure.related(rows)[0].astype(np.float64) for rows in (first, second))
        exact = np.vdot(x, y) / np.sqrt(np.vdot(x, x) * np.vdot(y, y))
        assert measure(first, second) == pytest.approx(exact, abs=1e-7)


def test_unbiased_centring_leaves_no_sum_of_a_row(rng):
    values = rng.normal(size=(9, 9))
    values += values.T
    centred = relations.unbiasedly_centred(values)
    np.testing.assert_allclose(centred.sum(axis=0), 0, atol=1e-12)
    assert not np.diag(centred).any()
    shifted = values + np.add.outer(values[0], values[0])
    np.testing.assert_allclose(relations.unbiasedly_centred(shifted), centred, atol=1e-12)


@pytest.mark.parametrize("n", [1, 5, 128, 300])
def test_an_inner_product_of_reordered_rows_needs_no_copy(n, rng):
    x, y = (rng.normal(size=(n, n)) for _ in range(2))
    first, second = ((each + each.T,) for each in (x, y))
    order = rng.permutation(n)
    expected = np.vdot(first[0], second[0][np.ix_(order, order)])
    found = permuted_inner_product(first, second, order)
    assert found == pytest.approx(expected, rel=1e-12)
    assert inner_product(first, second) == pytest.approx(np.vdot(first[0], second[0]), rel=1e-12)


def test_pairings_that_exchange_equal_rows_score_exactly_the_same(rng):
    first, second = (EUCLIDEAN_RSA_SPEARMAN.related(rng.normal(size=(300, 2))) for _ in range(2))
    twins = EUCLIDEAN_RSA_SPEARMAN.related(np.repeat(rng.normal(size=(150, 2)), 2, axis=0))
    order = np.arange(300) ^ 1
    assert permuted_inner_product(first, twins, order) == inner_product(first, twins)
    assert permuted_inner_product(first, second, order) != inner_product(first, second)


def test_scores_of_reordered_rows_and_of_some_rows_are_those_of_the_rows(measure, rng):
    x, y = rng.integers(0, 4, size=(2, 60, 5)).astype(np.float64)
    order, chosen = rng.permutation(60), np.sort(rng.permutation(60)[:31])
    first, second = measure.related(x), measure.related(y)
    found = measure.scored_permuted(first, second, order)
    assert found == pytest.approx(measure(x, y[order]), abs=SINGLE)
    some = [measure.among(measure.inherited(rows), chosen) for rows in (x, y)]
    assert measure.scored(*some) == pytest.approx(measure(x[chosen], y[chosen]), abs=SINGLE)
