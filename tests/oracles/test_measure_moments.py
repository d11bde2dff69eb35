"""Measures of second moments against the packages they are known from.

Values of packages that cannot be installed from an index are in ``tests/golden``, written by
``checks/oracles_moments.py``; its rows are drawn again here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from upto.measures import alignment, correlations, regression, weighted_correlations
from upto.measures import shape_distances as shapes
from upto.measures.alignment import minibatch_linear_cka
from upto.measures.correlations import MEAN_CCA, RIDGE_CCA, STANDARDISED_SVCCA
from upto.measures.kinds import MomentMeasure
from upto.measures.moments import pair_moments
from upto.measures.regression import LINEAR_R2, MEAN_COLUMN_R2
from upto.measures.weighted_correlations import PWCCA

pytestmark = pytest.mark.slow

AGREEMENT = 1e-6
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "measures_moments.json").read_text(encoding="utf-8")
)
N_SAMPLES, N_FIT, BATCH = (GOLDEN[name] for name in ("n_samples", "n_fit", "batch"))
MEASURES = {
    each.name.split(":")[0]: each
    for module in (alignment, correlations, weighted_correlations, regression, shapes)
    for each in vars(module).values()
    if isinstance(each, MomentMeasure)
}
SEEDS = range(3)
WIDTHS = [(6, 6), (5, 8), (8, 5)]

each_seed = pytest.mark.parametrize("seed", SEEDS)
all_widths = pytest.mark.parametrize("widths", WIDTHS, ids=str)


def planted(seed, n_samples, widths):
    rng = np.random.default_rng(seed)
    source = rng.laplace(size=(n_samples, max(widths)))
    return [
        source @ rng.normal(size=(source.shape[1], width)) * rng.uniform(0.5, 2.0, size=width)
        + rng.normal(size=(n_samples, width))
        + rng.normal(size=width)
        for width in widths
    ]


def centred(rows):
    return rows - rows.mean(axis=0)


def in_form(rows, form):
    size = np.linalg.norm(centred(rows))
    return {
        "as drawn": rows,
        "centred": centred(rows),
        "of norm one": centred(rows) / size,
        "of norm one a direction": centred(rows) * np.sqrt(rows.shape[1]) / size,
    }[form]


def found(name):
    stem, _, number = name.partition(":")
    return MEASURES[stem].with_parameter(float(number)) if number else MEASURES[stem]


def held_out(measure, first, second, n_fit=N_FIT):
    fit, held = (
        pair_moments(first[part], second[part]) for part in (slice(n_fit), slice(n_fit, None))
    )
    return measure.scored(fit, held)


def named(case):
    return f"{case['measure']}, {'held out' if case['held_out'] else 'in sample'}, {case['peer']}"


def computed(case):
    runs = planted(case["seed"], N_SAMPLES, case["widths"])
    first, second = (in_form(each, case["form"]) for each in runs)
    if case["measure"] == "minibatch_linear_cka":
        starts = range(0, N_SAMPLES, BATCH)
        return minibatch_linear_cka((first[i : i + BATCH], second[i : i + BATCH]) for i in starts)
    measure = found(case["measure"])
    return held_out(measure, first, second) if case["held_out"] else measure(first, second)


@pytest.mark.parametrize("name", dict.fromkeys(named(case) for case in GOLDEN["values"]))
def test_a_measure_agrees_with_its_package(name):
    cases = [case for case in GOLDEN["values"] if named(case) == name]
    wanted = [case["value"] for case in cases]
    assert len(wanted) >= 4
    np.testing.assert_allclose([computed(case) for case in cases], wanted, rtol=0, atol=AGREEMENT)


def test_every_measure_is_compared_with_another_implementation():
    here = {MEAN_CCA, PWCCA, RIDGE_CCA, STANDARDISED_SVCCA, LINEAR_R2, MEAN_COLUMN_R2}
    golden = {case["measure"].split(":")[0] for case in GOLDEN["values"]}
    assert golden | {each.name.split(":")[0] for each in here} >= set(MEASURES)


@each_seed
@all_widths
def test_r2_is_that_of_scikit_learn_in_sample_and_held_out(seed, widths):
    first, second = planted(seed, N_SAMPLES, widths)
    map_of_all = LinearRegression().fit(first, second)
    assert MEAN_COLUMN_R2(first, second) == pytest.approx(map_of_all.score(first, second))
    fitted = LinearRegression().fit(first[:N_FIT], second[:N_FIT])
    for measure, averaging in (
        (LINEAR_R2, "variance_weighted"),
        (MEAN_COLUMN_R2, "uniform_average"),
    ):
        for rows, chosen, value in (
            (slice(None), map_of_all, measure(first, second)),
            (slice(N_FIT, None), fitted, held_out(measure, first, second)),
        ):
            wanted = r2_score(second[rows], chosen.predict(first[rows]), multioutput=averaging)
            assert value == pytest.approx(wanted, abs=AGREEMENT)


@each_seed
@all_widths
def test_r2_of_unrelated_runs_is_below_zero_as_in_scikit_learn(seed, widths):
    rng = np.random.default_rng(seed)
    first, second = (rng.normal(size=(60, width)) + rng.normal(size=width) for width in widths)
    fitted = LinearRegression().fit(first[:30], second[:30])
    wanted = r2_score(second[30:], fitted.predict(first[30:]), multioutput="variance_weighted")
    assert wanted < 0
    assert held_out(LINEAR_R2, first, second, 30) == pytest.approx(max(wanted, -1), abs=AGREEMENT)


def variate_correlations(model, first, second):
    variates = model.transform([first, second])
    return np.array(
        [np.corrcoef(x, y)[0, 1] for x, y in zip(*(each.T for each in variates), strict=True)]
    )


@each_seed
@all_widths
def test_mean_cca_is_that_of_cca_zoo_in_sample_and_held_out(seed, widths):
    linear = pytest.importorskip("cca_zoo.linear")
    first, second = planted(seed, N_SAMPLES, widths)
    model = linear.CCA(min(widths)).fit([first[:N_FIT], second[:N_FIT]])
    wanted = variate_correlations(model, first[N_FIT:], second[N_FIT:]).mean()
    assert held_out(MEAN_CCA, first, second) == pytest.approx(wanted, abs=AGREEMENT)
    model.fit([first, second])
    wanted = variate_correlations(model, first, second).mean()
    assert MEAN_CCA(first, second) == pytest.approx(wanted, abs=AGREEMENT)


@each_seed
@all_widths
@pytest.mark.parametrize("ridge", [0.0, 0.1, 0.6, 1.0])
def test_regularised_cca_is_that_of_cca_zoo_for_mean_variance_one(seed, widths, ridge):
    linear = pytest.importorskip("cca_zoo.linear")
    first, second = (
        each / np.sqrt(np.var(each[:N_FIT], axis=0, ddof=1).mean())
        for each in planted(seed, N_SAMPLES, widths)
    )
    fit = [first[:N_FIT], second[:N_FIT]]
    model = linear.RidgeCCA(min(widths), shrinkage=ridge).fit(fit)
    measure = RIDGE_CCA.with_parameter(ridge)
    assert measure(*fit) == pytest.approx(variate_correlations(model, *fit).mean(), abs=AGREEMENT)
    wanted = variate_correlations(model, first[N_FIT:], second[N_FIT:]).mean()
    assert held_out(measure, first, second) == pytest.approx(wanted, abs=AGREEMENT)


@each_seed
@all_widths
@pytest.mark.parametrize("count", [2, 4])
def test_standardised_svcca_is_cca_of_principal_components_of_scaled_columns(seed, widths, count):
    linear = pytest.importorskip("cca_zoo.linear")
    first, second = planted(seed, N_SAMPLES, widths)
    narrowed = [
        PCA(count).fit_transform(StandardScaler().fit_transform(each)) for each in (first, second)
    ]
    wanted = variate_correlations(linear.CCA(count).fit(narrowed), *narrowed).mean()
    measure = STANDARDISED_SVCCA.with_parameter(count)
    assert measure(first, second) == pytest.approx(wanted, abs=AGREEMENT)
    assert measure(first * 1e3, second) == pytest.approx(wanted, abs=AGREEMENT)


@each_seed
@all_widths
def test_pwcca_weighs_variates_by_their_projections_on_the_rows(seed, widths):
    """No package computes the weights of the paper, so they are written out on the rows."""
    first, second = planted(seed, N_SAMPLES, widths)
    if widths[0] > widths[1]:
        first, second = second, first
    bases = [np.linalg.svd(centred(each), full_matrices=False)[0] for each in (first, second)]
    turned, correlated, _ = np.linalg.svd(bases[0].T @ bases[1], full_matrices=False)
    weights = np.abs((bases[0] @ turned).T @ centred(first)).sum(axis=1)
    wanted = weights @ correlated / weights.sum()
    runs = planted(seed, N_SAMPLES, widths)
    assert PWCCA(*runs) == pytest.approx(wanted, abs=AGREEMENT)
    assert abs(PWCCA(*runs) - MEAN_CCA(*runs)) > 1e-3
