"""Sources have the moments, entropies and supports they declare."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from upto.core import InputError
from upto.simulate import (
    SOURCES,
    Source,
    bimodal,
    draw_ball,
    draw_clusters,
    draw_sources,
    generalised_normal,
    sparse,
    student_t,
)

N_ROWS = 400_000
KINDS = [
    *SOURCES.values(),
    student_t(9.0),
    generalised_normal(1.0),
    generalised_normal(2.0),
    generalised_normal(0.8),
    bimodal(0.5),
    sparse(0.5),
]
DENSITIES = {
    "gaussian": scipy.stats.norm(),
    "laplace": scipy.stats.laplace(scale=math.sqrt(0.5)),
    "logistic": scipy.stats.logistic(scale=math.sqrt(3) / math.pi),
    "uniform": scipy.stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    "exponential": scipy.stats.expon(loc=-1),
    "student-t(5)": scipy.stats.t(5, scale=math.sqrt(3 / 5)),
    "student-t(9)": scipy.stats.t(9, scale=math.sqrt(7 / 9)),
    "generalised-normal(4)": scipy.stats.gennorm(
        4, scale=math.sqrt(math.gamma(1 / 4) / math.gamma(3 / 4))
    ),
    "generalised-normal(1)": scipy.stats.gennorm(1, scale=math.sqrt(0.5)),
    "generalised-normal(2)": scipy.stats.gennorm(2, scale=math.sqrt(2)),
    "generalised-normal(0.8)": scipy.stats.gennorm(
        0.8, scale=math.sqrt(math.gamma(1 / 0.8) / math.gamma(3 / 0.8))
    ),
}


def by_name(kind: Source) -> str:
    return kind.name


@pytest.mark.parametrize("kind", KINDS, ids=by_name)
def test_mean_and_variance_are_zero_and_one(kind):
    rows = draw_sources(kind, N_ROWS, 1, seed=1).rows
    kurtosis = 10.0 if kind.excess_kurtosis is None else kind.excess_kurtosis
    assert abs(rows.mean()) < 5 / math.sqrt(N_ROWS)
    assert abs(rows.var() - 1) < 6 * math.sqrt((kurtosis + 2) / N_ROWS) + 1e-3


@pytest.mark.parametrize("kind", [k for k in KINDS if k.name in DENSITIES], ids=by_name)
def test_declared_moments_and_negentropy_are_those_of_the_density(kind):
    density = DENSITIES[kind.name]
    mean, variance, skewness, kurtosis = density.stats("mvsk")
    assert (float(mean), float(variance)) == pytest.approx((0, 1), abs=1e-12)
    assert float(skewness) == pytest.approx(kind.skewness, abs=1e-12)
    assert float(kurtosis) == pytest.approx(kind.excess_kurtosis, abs=1e-9)
    gaussian = scipy.stats.norm().entropy()
    assert gaussian - float(density.entropy()) == pytest.approx(kind.negentropy, abs=1e-6)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.name in DENSITIES], ids=by_name)
def test_values_follow_the_density(kind):
    rows = draw_sources(kind, 20_000, 1, seed=5).rows[:, 0]
    assert scipy.stats.kstest(rows, DENSITIES[kind.name].cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", ["bimodal", "sparse", "two-valued"])
def test_declared_kurtosis_is_found_where_no_library_has_the_density(name):
    kind = SOURCES[name]
    values = draw_sources(kind, N_ROWS, 1, seed=2).rows[:, 0]
    spread = np.std(values**4) / math.sqrt(N_ROWS)
    assert abs((values**4).mean() - 3 - kind.excess_kurtosis) < 5 * spread + 1e-12


@pytest.mark.parametrize("kind", KINDS, ids=by_name)
def test_values_stay_in_the_support_and_come_near_its_ends(kind):
    values = draw_sources(kind, N_ROWS, 1, seed=3).rows
    if kind.low is not None:
        assert kind.low <= values.min() < kind.low + 1e-3
    if kind.high is not None:
        assert kind.high - 1e-3 < values.max() <= kind.high


def test_infinite_moments_are_none():
    assert student_t(3.5).excess_kurtosis is None
    assert student_t(2.5).skewness is None
    assert SOURCES["two-valued"].negentropy is None


def test_only_gaussians_are_gaussian():
    gaussian = {kind.name for kind in [*KINDS, sparse(1.0)] if kind.is_gaussian}
    assert gaussian == {"gaussian", "generalised-normal(2)", "sparse(1)"}


def test_kinds_are_taken_in_turn_and_columns_do_not_depend_on_their_neighbours():
    two = draw_sources(("laplace", "uniform"), 50, 2, seed=0)
    five = draw_sources(("laplace", "uniform"), 50, 5, seed=0)
    assert [kind.name for kind in five.kinds] == ["laplace", "uniform"] * 2 + ["laplace"]
    np.testing.assert_array_equal(two.rows, five.rows[:, :2])
    assert not np.allclose(five.rows[:, 0], five.rows[:, 2])


def test_the_diameter_is_that_of_the_box():
    assert draw_sources("uniform", 5, 4, seed=0).diameter == pytest.approx(4 * math.sqrt(3))
    assert draw_sources(("uniform", "laplace"), 5, 2, seed=0).diameter is None
    assert draw_sources("exponential", 5, 1, seed=0).diameter is None


@pytest.mark.parametrize("n_dimensions", [1, 2, 7])
def test_the_ball_is_filled_evenly_and_white(n_dimensions):
    points = draw_ball(100_000, n_dimensions, seed=0)
    radius = math.sqrt(n_dimensions + 2)
    shares = (np.linalg.norm(points, axis=1) / radius) ** n_dimensions
    assert scipy.stats.kstest(shares, "uniform").pvalue > 1e-4
    np.testing.assert_allclose(np.cov(points.T), np.eye(n_dimensions), atol=0.03)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=0.02)


def test_clusters_are_white_in_truth_and_follow_their_labels():
    drawn = draw_clusters(200_000, 3, n_classes=4, separation=0.7, seed=2)
    np.testing.assert_allclose(drawn.weights @ drawn.means, 0, atol=1e-12)
    np.testing.assert_allclose(drawn.weights @ (drawn.means**2 + drawn.variances), 1, atol=1e-12)
    for label in range(4):
        rows = drawn.rows[drawn.labels == label]
        assert len(rows) / len(drawn.rows) == pytest.approx(drawn.weights[label], abs=0.01)
        np.testing.assert_allclose(rows.mean(axis=0), drawn.means[label], atol=0.03)
        np.testing.assert_allclose(np.cov(rows.T), np.diag(drawn.variances[label]), atol=0.03)
    found = scipy.stats.kurtosis(drawn.rows)
    np.testing.assert_allclose(found, drawn.excess_kurtosis, atol=0.06)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: draw_sources("gauss", 5, 2, seed=0), "no source 'gauss': choose one of gaussian"),
        (lambda: draw_sources("laplace", 0, 2, seed=0), "0 rows of 2 sources"),
        (lambda: draw_sources((), 5, 2, seed=0), "0 kinds of sources"),
        (lambda: student_t(2.0), "degrees of freedom of 2 cannot"),
        (lambda: generalised_normal(0.0), "a shape of 0 cannot"),
        (lambda: bimodal(1.0), "a separation of 1 is impossible"),
        (lambda: sparse(0.0), "a density of 0 is not a fraction"),
        (lambda: draw_ball(5, 2, radius=-1.0, seed=0), "a radius of -1 cannot"),
        (lambda: draw_clusters(5, 2, n_classes=1, seed=0), "in 1 classes"),
        (lambda: draw_clusters(5, 2, separation=1.5, seed=0), "a separation of 1.5"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(call, words):
    with pytest.raises(InputError, match=words):
        call()
