"""Likelihood surfaces: simulated models, population curves, and the study at its smallest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from upto.core import Span
from upto.theory import check_decoder, mixture_likelihood
from upto_studies import likelihood_surfaces
from upto_studies.likelihood_surfaces import FOLDED, INJECTIVE, Settings, Surface, drawn_case
from upto_studies.mixture_models import Shape, draw_mixture_model, with_one_fewer, with_twins
from upto_studies.population_curves import Curve, curve_along, population_of
from upto_studies.run import recorded_result, run_study, study_plan
from upto_studies.surface_tables import CASES, measured_of

SHAPE = Shape(n_latents=1, n_hidden=3, n_outputs=1, n_components=3)


def test_parameters_are_those_of_the_parts(rng):
    model = draw_mixture_model(rng, SHAPE)
    assert len(SHAPE.kinds) == len(model.parameters) == 3 + 3 + 3 + 1 + 2 + 3 + 3
    network, (weights, means, variances) = model.parts
    assert weights.sum() == pytest.approx(1.0)
    assert weights.min() >= 0.1 - 1e-12
    again = model.with_prior((weights, means, variances))
    assert again.parameters == pytest.approx(model.parameters)
    moved = next(model.along(6, np.array([5.0])))
    assert moved.network.weights[1].ravel()[0] == 5.0
    assert moved.network.weights[0] == pytest.approx(network.weights[0])


def test_a_twin_changes_no_law_and_a_merged_component_keeps_the_moments(rng):
    model = draw_mixture_model(rng, SHAPE)
    rows = rng.normal(size=(20, 1))
    expected = mixture_likelihood(*model.parts, rows, noise=0.3)
    assert mixture_likelihood(*with_twins(model).parts, rows, noise=0.3) == pytest.approx(expected)
    fewer = with_one_fewer(model)
    assert fewer.shape.n_components == 2
    (w, m, v), (w2, m2, v2) = model.prior, fewer.prior
    assert w2 @ m2 == pytest.approx(w @ m)
    assert w2 @ (v2 + m2**2) == pytest.approx(w @ (v + m**2))


@pytest.mark.parametrize("case", [INJECTIVE, FOLDED])
def test_drawn_models_are_of_the_case(rng, case):
    settings = Settings(**study_plan("likelihood-surfaces").settings)
    for number in range(3):
        model = drawn_case(rng, settings, case, number)
        holds = {each.name: each.holds for each in check_decoder(model.network)}
        assert holds["F4"] is (case == INJECTIVE)
        assert model.shape.n_components == 2 + number % 2


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_grid_carries_the_whole_law(rng, n_outputs):
    shape = Shape(n_latents=1, n_hidden=2, n_outputs=n_outputs, n_components=2)
    population = population_of(draw_mixture_model(rng, shape).parts, noise=0.3, step=0.9)
    assert population.total == pytest.approx(1.0, abs=1e-8)
    assert population.masses.sum() == pytest.approx(1.0)


def test_divergences_of_normal_laws_are_those_by_hand(rng):
    shape = Shape(n_latents=1, n_hidden=2, n_outputs=1, n_components=1)
    model = draw_mixture_model(rng, shape)
    # Both units together are the identity, so x is normal.
    straight = np.array([1.0, -1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.5, np.log(0.7)])
    model = type(model)(shape=shape, parameters=straight)
    population = population_of(model.parts, noise=0.3, step=0.9)
    values = np.array([0.2, 0.5, 0.9])
    found = population.divergences([each.parts for each in model.along(7, values)])
    assert found == pytest.approx((values - 0.5) ** 2 / (2 * (0.7**2 + 0.3**2)), abs=1e-9)
    spread = np.sqrt(0.7**2 + 0.3**2)
    assert population.logs == pytest.approx(norm.logpdf(population.rows[:, 0], 0.5, spread))


def test_the_minimiser_of_a_curve_is_the_truth_or_one_of_equals(rng):
    model = draw_mixture_model(rng, SHAPE)
    population = population_of(model.parts, noise=0.3, step=0.9)
    number = SHAPE.kinds.index("mean")
    curve = curve_along(population, model, number, np.linspace(-1.9, 2.1, 20), 1e-8)
    assert curve.kind == "mean"
    assert curve.distance < 1e-6
    assert curve.is_lowest_at_truth


def test_the_share_of_one_of_two_equal_components_is_free(rng):
    shape = Shape(n_latents=1, n_hidden=3, n_outputs=1, n_components=1)
    model = draw_mixture_model(rng, shape)
    population = population_of(model.parts, noise=0.3, step=0.9)
    twins = with_twins(model)
    number = twins.shape.kinds.index("mixture weight")
    curve = curve_along(population, twins, number, np.linspace(-1.9, 2.1, 20), 1e-8)
    assert curve.flat_share == 1.0
    assert curve.is_lowest_at_truth
    assert len(curve.other_minima) == 0


def test_a_merged_component_moves_the_minimiser(rng):
    model = draw_mixture_model(rng, SHAPE)
    population = population_of(model.parts, noise=0.3, step=0.9)
    number = SHAPE.kinds.index("bias of layer 2")
    curve = curve_along(population, with_one_fewer(model), number, np.linspace(-1.9, 2.1, 20), 1e-8)
    assert curve.lowest > 1e-6
    assert not curve.is_lowest_at_truth


def test_curves_are_kept_and_read_again(rng):
    model = draw_mixture_model(rng, SHAPE)
    population = population_of(model.parts, noise=0.3, step=0.9)
    curve = curve_along(population, model, 0, np.linspace(-1.9, 2.1, 6), 1e-3)
    again = Curve.from_numbers(curve.kind, curve.numbers)
    assert again.numbers.tolist() == curve.numbers.tolist()
    assert (again.minimiser, again.height) == (curve.minimiser, curve.height)


def test_an_interrupted_run_resumes(tmp_path, monkeypatch):
    calls = []
    stops = [60]

    def drawn(_, model, number, offsets, __):
        calls.append(number)
        if len(calls) in stops:
            raise KeyboardInterrupt
        truth = float(model.parameters[number])
        return Curve(
            kind=model.shape.kinds[number],
            truth=truth,
            height=0.0,
            values=truth + offsets,
            divergences=offsets**2 + len(model.parameters),
            minimiser=truth + 1e-5 * number,
            lowest=0.0,
        )

    monkeypatch.setattr(likelihood_surfaces, "curve_along", drawn)
    given = {"size": "tiny", "settings": {"plane_nodes": 2}, "progress": False}
    with pytest.raises(KeyboardInterrupt):
        run_study("likelihood-surfaces", folder=tmp_path, **given)
    done = len(calls)
    resumed = run_study("likelihood-surfaces", folder=tmp_path, resume=True, **given)
    again = len(calls) - done
    whole = run_study("likelihood-surfaces", **given)
    assert [each.measured for each in resumed.quantities] == [
        each.measured for each in whole.quantities
    ]
    total = sum(row[2] for row in whole.tables()[1].rows)
    assert total - done < again < total


def test_one_exception_refutes_what_is_claimed_of_all():
    settings = Settings(**study_plan("likelihood-surfaces").settings)
    values = np.linspace(-1.9, 2.1, 5)

    def curve(minimiser):
        return Curve(
            kind="weight of layer 1",
            truth=0.0,
            height=0.0,
            values=values,
            divergences=values**2,
            minimiser=minimiser,
            lowest=0.0,
        )

    flat = (curve(0.0), curve(0.7))
    surfaces = [
        Surface(case=case, n_components=2, n_outputs=1, total=1.0, curves=own)
        for case in CASES
        for own in (flat, *[(curve(0.0),)] * 3)
    ]
    measured = measured_of(settings, surfaces)
    share, number = (measured[f"{name}, {INJECTIVE}"] for name in ("at truth", "not at truth"))
    assert (share.value, share.high, number.value) == (0.875, 1.0, 1.0)
    assert Span(high=0.0).judge(number) == "no"


def test_the_recorded_counts_are_those_of_the_recorded_table():
    result = recorded_result("likelihood-surfaces")
    table = result.details[0]
    names = [column.name for column in table.columns]
    measured = {each.name: each.measured for each in result.quantities}
    for row in table.rows:
        cells = dict(zip(names, row, strict=True))
        missed = cells["flat there"] + cells["elsewhere"]
        assert measured[f"not at truth, {cells['case']}"].value == missed


@pytest.mark.slow
def test_the_study_at_its_smallest():
    result = run_study(
        "likelihood-surfaces",
        size="tiny",
        settings={"n_values": 12, "plane_values": 5, "plane_nodes": 3},
        progress=False,
    )
    measured = {each.name: each.measured for each in result.quantities}
    assert measured["truth not lowest"].value == 0
    assert measured["median distance at truth"].value < 1e-6
    assert measured["moved, one component too few"].value > 0.01
    assert [len(table.rows) for table in result.tables()[1:3]] == [5, 7]
    assert "the truth is the only minimiser along" in result.verdict
