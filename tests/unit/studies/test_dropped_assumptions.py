"""Assumptions of the hierarchy dropped: pairs of models, fits, and the study at its smallest."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import Group
from upto.theory import check_decoder
from upto_studies.dropped_assumptions import Compared, Settings, divergence_of
from upto_studies.fitted_decoders import (
    KINDS,
    Bent,
    draw_bent,
    prior_distance_up_to_affine,
    search_fits,
)
from upto_studies.hierarchy_tables import holds, loses, tally
from upto_studies.population_curves import population_of
from upto_studies.rival_pairs import CASES, transported_pair
from upto_studies.run import recorded_result, run_study, study_plan
from upto_studies.trials.group_distance import prior_distance

PREDICTED = {
    "none": Group.SCALED_PERMUTATION,
    "P2: equal variance ratios": Group.AFFINE,
    "P2: one component": Group.AFFINE,
}
UNPAIRED = ("noise of known law", "F1: 64 pieces of a smooth f")
SETTINGS = Settings(**study_plan("hierarchy", size="tiny").settings)


@pytest.mark.parametrize("case", CASES)
def test_rivals_have_one_law_and_the_predicted_relation(rng, case):
    pair = CASES[case](rng, 0.3, 300)
    assert pair.predicted is PREDICTED.get(case)
    if case not in UNPAIRED:
        images = [
            model.network(latents)
            for model, latents in zip((pair.model, pair.rival), pair.latents, strict=True)
        ]
        assert images[0] == pytest.approx(images[1], abs=1e-9)
        assert abs(divergence_of(rng, SETTINGS, pair)) < 1e-3
    if pair.predicted is not None:
        assert prior_distance(pair.model, pair.rival, pair.predicted) < 1e-6
    else:
        assert prior_distance(pair.model, pair.rival, Group.AFFINE) > 1e-3


def compared(predicted, **changes):
    values = {"up_to_affine": 0.0, "up_to_scale": 0.0, "mean_cca": 1.0, "mcc": 1.0} | changes
    return Compared(predicted=predicted, divergence=0.0, densities=None, chance=0.0, **values)


def test_only_rivals_that_could_break_a_promise_are_counted():
    kept = compared(Group.SCALED_PERMUTATION)
    broken = compared(Group.SCALED_PERMUTATION, mcc=0.7)
    moved = compared(Group.SCALED_PERMUTATION, up_to_scale=0.3)
    turned, straight = compared(Group.AFFINE, mcc=0.7), compared(Group.AFFINE)
    built, fewer = compared(None, up_to_affine=0.5), compared(None, up_to_affine=1.0)
    every = [kept, broken, moved, turned, straight, built, fewer]
    assert [holds(SETTINGS, each) for each in every] == [True, False, False, *[None] * 4]
    assert [loses(each) for each in every] == [*[None] * 3, True, False, True, None]
    assert tally(holds(SETTINGS, each) for each in every) == (1, 3)
    assert tally([None]) == (0, 0)


def test_the_recorded_verdict_counts_what_could_fail():
    result = recorded_result("hierarchy")
    assert "20 of 20 rivals searched for" in str(result.verdict)
    assert "140 others are made to show what is lost" in str(result.verdict)
    sure = [each for each in result.quantities if "by construction" in each.source]
    assert len(sure) == 2
    assert all(each.claimed is None and each.expected is None for each in sure)


def test_noise_and_deviations_are_exchanged(rng):
    pair = CASES["noise of known law"](rng, 0.3, 300)
    assert pair.noises[1] < pair.noises[0]
    assert abs(divergence_of(rng, SETTINGS, pair)) < 1e-12


def test_more_pieces_take_a_gaussian_closer_to_a_mixture():
    found = []
    for count in (2, 8, 32):
        rng = np.random.default_rng(4)
        found.append(divergence_of(rng, SETTINGS, transported_pair(count)(rng, 0.3, 100)))
    assert found[0] > 2 * found[1] > 4 * found[2] > 0


@pytest.mark.parametrize(("kind", "expected"), [*zip(KINDS, [3, 2, 1, 0], strict=True)])
def test_drawn_decoders_are_injective_in_their_kind(rng, kind, expected):
    network, (weights, _, _) = draw_bent(rng, kind).parts
    holds = [each.holds for each in check_decoder(network) if each.name in ("F2", "F3", "F4")]
    assert sum(holds) == expected
    assert weights.sum() == pytest.approx(1.0)


def test_parameters_of_a_bent_model_are_its_slopes_and_heights(rng):
    numbers = np.array([2.0, -1.0, 0.5, 1.0, np.log(3.0), 7.0, 0.0, -1.0, 1.0, 0.0, 0.0])
    network, _ = Bent(parameters=numbers).parts
    places = np.array([[0.0], [1.0], [4.0], [6.0]])
    assert network(places).ravel() == pytest.approx([5.0, 7.0, 4.0, 5.0])


def test_a_search_recovers_an_injective_model_and_finds_a_rival_of_a_fold():
    rng = np.random.default_rng(8)
    straight = search_fits(rng, draw_bent(rng, "injective"), noise=0.2, n_starts=3, n_steps=25)
    assert straight.divergences.min() < 1e-3
    assert straight.farthest(1e-3) < 0.2
    assert straight.farthest(-1.0) is None
    folded = search_fits(rng, draw_bent(rng, "fold"), noise=0.2, n_starts=2, n_steps=25)
    assert folded.farthest(1e-3) > 0.1


def test_distances_of_priors_ignore_affine_maps(rng):
    model = draw_bent(rng, "injective")
    weights, means, variances = model.parts[1]
    moved = (weights, 3.0 - 2.0 * means, 4.0 * variances)
    assert prior_distance_up_to_affine((weights, means, variances), moved) < 1e-5
    assert population_of(model.parts, noise=0.2, step=0.9).total == pytest.approx(1.0)


@pytest.mark.slow
def test_the_study_at_its_smallest():
    result = run_study("hierarchy", size="tiny", settings={"n_steps": 2}, progress=False)
    measured = {each.name: each.measured for each in result.quantities}
    assert measured["predictions that hold"].value == 1.0
    assert measured["MCC of latents, none"].value > 0.999
    assert measured["MCC of latents, P2: one component"].value < 0.99
    assert len(result.tables()[1].rows) == len(CASES)
