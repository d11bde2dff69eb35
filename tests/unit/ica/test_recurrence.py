"""Components found again in parts of the rows, and the non-Gaussianity they are judged by."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from mixtures import mixed, some_gaussian

from upto import ThreadsEngine
from upto.ica import find_components
from upto.ica.contrasts import Cube, LogCosh
from upto.ica.gaussianity import NonGaussianity, laplace_nongaussianity, pooled_nongaussianity
from upto.ica.recurrence import find_in_part, found_limit, recurrence

ENGINE = ThreadsEngine(n_threads=1)


def test_parts_find_sources_again_but_not_gaussian_axes(rng):
    _, rows = mixed(rng, 4000, some_gaussian(4, 8))
    whole = find_components(ENGINE, rows)
    parts = [
        find_in_part(ENGINE, part, n_components=8, contrast=LogCosh(), seed=seed)
        for seed, part in enumerate((rows[:2000], rows[2000:]))
    ]
    again = recurrence(whole, *parts)
    assert again.similarity[:4].min() > 0.95 > again.similarity[4:].max()
    assert again.found[:4].all()
    assert not again.found[4:].all()
    assert np.all(again.similarity <= again.between)
    # Matched to themselves, components are where they are.
    same = recurrence(whole, whole, whole)
    np.testing.assert_allclose(same.similarity, 1.0, atol=1e-9)
    assert same.first.tolist() == list(range(8))


def test_more_is_asked_for_where_few_axes_come_close_by_chance(rng):
    assert [found_limit(k) for k in (1, 2, 5, 64)] == [0.7, 0.9, 0.9, 0.7]
    directions = rng.normal(size=(40_000, 10))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    close = np.abs(directions).max(axis=1) >= found_limit(10)
    assert close.mean() == pytest.approx(0.05, abs=0.005)


def test_what_a_part_does_not_span_is_not_found(rng):
    _, rows = mixed(rng, 2000)
    rows = np.column_stack([rows, np.where(np.arange(2000) == 3, 100.0, 0.0)])
    whole = find_components(ENGINE, rows)
    parts = [
        find_in_part(ENGINE, part, n_components=5, contrast=LogCosh(), seed=0)
        for part in (rows[:1000], rows[1000:])
    ]
    again = recurrence(whole, *parts)
    assert np.count_nonzero(again.known) == np.count_nonzero(again.found) == 4
    assert np.isnan(again.similarity[~again.known]).all()


def test_the_non_gaussianity_of_a_laplace_distribution_is_its_integral():
    def density(u):
        return np.exp(-np.sqrt(2.0) * np.abs(u)) / np.sqrt(2.0)

    laplace, gaussian = (
        scipy.integrate.quad(lambda u, of=of: of(u) * np.log(np.cosh(u)), -40, 40, points=[0])[0]
        for of in (density, scipy.stats.norm.pdf)
    )
    assert laplace_nongaussianity(LogCosh()) == pytest.approx(gaussian - laplace, abs=1e-7)
    # The fourth moments of unit variance are 6 and 3, and the contrast is a quarter of them.
    assert laplace_nongaussianity(Cube()) == pytest.approx(0.75, abs=1e-9)


def test_two_parts_that_differ_in_sign_are_not_far_from_gaussian():
    first, second = (
        NonGaussianity(difference=np.array([0.1, side * 0.1]), error=np.array([0.02, 0.02]))
        for side in (1, -1)
    )
    both = pooled_nongaussianity(first, second, (100, 100))
    np.testing.assert_allclose(both.value, [0.1, 0.0])
    np.testing.assert_allclose(both.error, 0.02 / np.sqrt(2))
    assert both.below(0.05).tolist() == [False, True]
    np.testing.assert_allclose(both.widened(2).z, both.z / 2)
