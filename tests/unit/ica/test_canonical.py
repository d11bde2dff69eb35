"""One order and one sign, by the rule that is documented, and a flag where the rule cannot tell."""

from __future__ import annotations

import numpy as np
import pytest
from mixtures import mixed, planted, some_gaussian, sources_of

from upto import ICA, ThreadsEngine
from upto.ica import find_components
from upto.ica.contrasts import Cube, Exp, LogCosh

ENGINE = ThreadsEngine(n_threads=1)
CONTRASTS = {"logcosh": LogCosh(), "exp": Exp(), "cube": Cube()}
SAME = 1e-5


def excess(contrast, sources):
    """Return |E[g′(s)] - E[g(s)s]| of every source."""
    _, score, slope = contrast(np, sources)
    return np.abs(slope.mean(axis=0) - (score * sources).mean(axis=0))


def sidedness(sources):
    return (sources * np.abs(sources)).mean(axis=0)


@pytest.mark.parametrize("contrast", CONTRASTS.values(), ids=CONTRASTS)
@pytest.mark.parametrize("seed", range(3))
def test_components_come_by_falling_non_gaussianity_and_lean_to_the_right(seed, contrast):
    kinds = ("laplace", "uniform", "two values", "skewed", "laplace")
    _, rows = mixed(np.random.default_rng(seed), 2000, kinds)
    found = find_components(ENGINE, rows, contrast=contrast)
    sources = sources_of(found, rows)
    assert np.all(np.diff(excess(contrast, sources)) < 0)
    assert np.all(sidedness(sources) > 0)
    assert found.form.unsettled_order == ()
    assert found.form.unsettled_signs == ()


@pytest.mark.parametrize("seed", range(3))
def test_components_that_turn_come_last_by_the_variance_they_carry(seed):
    rng = np.random.default_rng(seed)
    sources = planted(rng, 5000, some_gaussian(6, 8)) * [1.0, 3.0, 0.1, 0.3, 9.0, 0.03, 1.0, 1.0]
    found = find_components(ENGINE, sources @ np.linalg.qr(rng.normal(size=(8, 8)))[0])
    np.testing.assert_array_equal(found.frozen, [False] * 2 + [True] * 6)
    carried = np.square(found.mixing).sum(axis=0)[2:]
    np.testing.assert_allclose(np.sqrt(carried), [9.0, 3.0, 1.0, 0.3, 0.1, 0.03], rtol=0.4)
    # Axes of most variance are orthogonal in the space of the rows.
    axes = found.mixing[:, 2:] / np.sqrt(carried)
    np.testing.assert_allclose(axes.T @ axes, np.eye(6), atol=1e-9)


def test_other_starts_and_solvers_give_the_same_file(rng):
    _, rows = mixed(rng, 2000, ("laplace", "uniform", "two values", "skewed", "laplace"))
    wanted = ICA(random_state=0).fit(rows)
    for seed in range(1, 4):
        for solver in ("auto", "fastica", "picard"):
            found = ICA(random_state=seed, solver=solver).fit(rows)
            np.testing.assert_allclose(found.components_, wanted.components_, atol=SAME)
            np.testing.assert_allclose(found.mixing_, wanted.mixing_, atol=SAME)


def test_tiny_changes_of_the_rows_change_neither_order_nor_signs(rng):
    _, rows = mixed(rng, 2000, ("laplace", "uniform", "two values", "skewed"))
    wanted = find_components(ENGINE, rows)
    for seed in range(3):
        other = rows + 1e-7 * np.random.default_rng(seed).normal(size=rows.shape)
        found = find_components(ENGINE, other, seed=seed)
        np.testing.assert_allclose(found.components, wanted.components, atol=SAME)


@pytest.mark.parametrize("seed", range(3))
def test_components_that_symmetry_ties_are_flagged(seed):
    """Exchange two sources in a copy of the rows: nothing in them tells the two apart."""
    rng = np.random.default_rng(seed)
    sources = planted(rng, 1500, ("two values", "laplace", "laplace", "uniform"))
    sources = sources / sources.std(axis=0)
    rows = np.concatenate([sources, sources[:, [0, 2, 1, 3]]])
    found = find_components(ENGINE, rows, tolerance=1e-10)
    tied = np.argsort(np.abs(found.components[:, 1]) + np.abs(found.components[:, 2]))[-2:]
    assert sorted(found.form.unsettled_order) == sorted(tied)
    assert len(found.form.unsettled_order) == 2
    assert found.form.unsettled_signs == ()


@pytest.mark.parametrize("seed", range(3))
def test_signs_that_symmetry_ties_are_flagged_and_follow_the_largest_coefficient(seed):
    """Mirror the rows: every component is as large to the left as to the right."""
    _, rows = mixed(np.random.default_rng(seed), 1000, ("laplace", "uniform", "two values"))
    found = find_components(ENGINE, np.concatenate([rows, -rows]), tolerance=1e-10)
    assert found.form.unsettled_signs == (0, 1, 2)
    assert found.form.unsettled_order == ()
    largest = np.abs(found.components).argmax(axis=1)
    assert np.all(found.components[np.arange(3), largest] > 0)


def test_one_mirrored_source_is_the_only_one_flagged(rng):
    sources = planted(rng, 1500, ("skewed", "two values", "laplace"))
    mirrored = sources * [1.0, 1.0, -1.0]
    found = find_components(ENGINE, np.concatenate([sources, mirrored]), tolerance=1e-10)
    (flagged,) = found.form.unsettled_signs
    assert np.abs(found.components[flagged]).argmax() == 2


def test_the_form_says_how_the_search_was_reordered(rng):
    _, rows = mixed(rng, 2000)
    form = find_components(ENGINE, rows).form
    assert sorted(form.order) == [0, 1, 2, 3]
    np.testing.assert_array_equal(np.abs(form.signs), 1)
