"""The algebra of a consensus: rotations and matchings that bring many runs together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

from upto.alignment.consensus import (
    Scatters,
    generalised_procrustes,
    kept_matches,
    pairwise_matches,
    predict_left_out,
    principal_axes,
    signed_matching,
    synchronise,
    turn_runs,
    weights_by_spread,
)
from upto.questions.consensus.result import number_ranges


def scatters_of(runs):
    runs = [run - run.mean(axis=0) for run in runs]
    return Scatters(
        own=tuple(run.T @ run for run in runs),
        cross={
            (i, j): runs[i].T @ runs[j] for i in range(len(runs)) for j in range(i + 1, len(runs))
        },
    )


def rotation(rng, width):
    return np.linalg.qr(rng.normal(size=(width, width)))[0]


def turned(rng, *, n_runs=4, width=5, noise=0.3, n_rows=400):
    latent = rng.laplace(size=(n_rows, width)) * np.linspace(2, 0.5, width)
    return [
        latent @ rotation(rng, width) + noise * rng.normal(size=latent.shape) for _ in range(n_runs)
    ]


def total_agreement(scatters, elements):
    return sum(np.vdot(elements[i], s @ elements[j]) for (i, j), s in scatters.cross.items())


def test_two_runs_are_turned_as_procrustes_turns_them(rng):
    first, second = turned(rng, n_runs=2)
    scatters = scatters_of([first, second])
    found = generalised_procrustes(scatters)
    wanted, _ = scipy.linalg.orthogonal_procrustes(
        first - first.mean(axis=0), second - second.mean(axis=0)
    )
    np.testing.assert_allclose(found.elements[0] @ found.elements[1].T, wanted, atol=1e-9)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_agreement_never_falls_and_ends_where_no_run_can_be_turned_better(seed, scaled):
    rng = np.random.default_rng(seed)
    # Unrelated runs take the most sweeps.
    scatters = scatters_of([rng.normal(size=(60, width)) for width in (4, 6, 5, 6)])
    found = generalised_procrustes(scatters, scaled=scaled)
    assert len(found.totals) > 3
    assert all(b >= a - 1e-9 * abs(a) for a, b in itertools.pairwise(found.totals))
    for i, element in enumerate(found.elements):
        np.testing.assert_allclose(element @ element.T, np.eye(len(element)), atol=1e-9)
        towards = sum(
            found.scales[j] * scatters.between(i, j) @ found.elements[j] for j in range(4) if j != i
        )
        best = np.linalg.svd(towards, compute_uv=False).sum()
        assert np.vdot(element, towards) == pytest.approx(best, rel=1e-5)
    maps = found.maps
    assert total_agreement(scatters, maps) == pytest.approx(found.totals[-1], rel=1e-6)


def test_rows_averaged_and_turned_by_hand_reach_the_same_agreement(rng):
    runs = [run - run.mean(axis=0) for run in turned(rng, noise=1.0)]
    found = generalised_procrustes(scatters_of(runs))
    aligned = list(runs)
    for _ in range(300):
        for i, run in enumerate(runs):
            others = sum(aligned[j] for j in range(len(runs)) if j != i)
            aligned[i] = run @ scipy.linalg.orthogonal_procrustes(run, others)[0]
    mean = sum(aligned) / len(aligned)
    ours = sum(run @ a for run, a in zip(runs, found.elements, strict=True)) / len(runs)
    assert np.sum(ours**2) == pytest.approx(np.sum(mean**2), rel=1e-9)
    np.testing.assert_allclose(ours @ ours.T, mean @ mean.T, atol=1e-5 * np.sum(mean**2))


def test_scales_undo_those_that_were_planted_and_keep_the_variance(rng):
    planted = np.array([0.2, 1.0, 5.0, 30.0])
    runs = [c * run for c, run in zip(planted, turned(rng, noise=0.01), strict=True)]
    scatters = scatters_of(runs)
    found = generalised_procrustes(scatters, scaled=True)
    ratio = found.scales * planted
    np.testing.assert_allclose(ratio / ratio.mean(), 1, rtol=1e-2)
    spreads = np.array([np.trace(own) for own in scatters.own])
    assert np.sum(found.scales**2 * spreads) == pytest.approx(spreads.sum())
    assert np.array_equal(generalised_procrustes(scatters).scales, np.ones(4))


def test_the_axes_are_those_of_the_mean_and_leave_out_what_does_not_vary(rng):
    flat = [np.hstack([run, np.zeros((len(run), 2))]) for run in turned(rng)]
    flat = [run @ rotation(rng, 7) for run in flat]
    scatters = scatters_of(flat)
    found = generalised_procrustes(scatters)
    axes, spread = principal_axes(scatters, found)
    centred = [run - run.mean(axis=0) for run in flat]
    mean = sum(run @ a for run, a in zip(centred, found.maps, strict=True)) / 4
    assert axes.shape == (7, 5)
    np.testing.assert_allclose(spread, np.linalg.svd(mean, compute_uv=False)[:5] ** 2, rtol=1e-8)
    assert np.all(np.diff(spread) < 0)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("widest", [4, 9])
def test_the_others_are_aligned_without_the_run_they_predict(rng, scaled, widest):
    runs = turned(rng, n_rows=80)
    runs[3] = rng.normal(size=(80, widest))
    found = []
    for odd in (runs[3], rng.laplace(size=(80, widest)) * 50):
        scatters = scatters_of([*runs[:3], odd])
        prediction = predict_left_out(
            scatters, generalised_procrustes(scatters, scaled=scaled), 3, scaled=scaled
        )
        assert sorted(prediction.maps) == [0, 1, 2]
        assert prediction.back.shape[1] == widest
        maps = prediction.maps
        if not scaled:
            # Only how much they count depends on the spread of the run.
            maps = {i: a / np.linalg.norm(a) for i, a in maps.items()}
        mean = sum((runs[i] - runs[i].mean(axis=0)) @ a for i, a in maps.items())
        found.append(mean @ mean.T)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3 * np.abs(found[0]).max())


def test_the_others_are_scaled_without_the_run_they_predict(rng):
    planted = (0.1, 1.0, 20.0, 3.0)
    runs = [c * run for c, run in zip(planted, turned(rng, noise=0.01), strict=True)]
    scatters = scatters_of(runs)
    agreement = generalised_procrustes(scatters, scaled=True)
    prediction = predict_left_out(scatters, agreement, 3, scaled=True)
    lengths = np.array([planted[i] * np.linalg.norm(a) for i, a in prediction.maps.items()])
    np.testing.assert_allclose(lengths / lengths[0], 1, rtol=1e-2)


def test_a_prediction_is_the_least_squares_one_of_its_group(rng):
    runs = [run - run.mean(axis=0) for run in turned(rng, noise=1.0)]
    scatters = scatters_of(runs)
    for scaled in (False, True):
        agreement = generalised_procrustes(scatters, scaled=scaled)
        prediction = predict_left_out(scatters, agreement, 1, scaled=scaled)
        mean = sum(runs[i] @ a for i, a in prediction.maps.items())
        wanted, gain = scipy.linalg.orthogonal_procrustes(mean, runs[1])
        scale = gain / np.sum(mean**2) if scaled else 1.0
        np.testing.assert_allclose(prediction.back, scale * wanted, atol=1e-8)


def test_a_broad_run_counts_little_where_another_is_predicted(rng):
    runs = turned(rng, noise=0.05)
    runs[2] = 40 * rng.laplace(size=runs[2].shape)
    scatters = scatters_of(runs)
    weights = weights_by_spread(scatters)
    np.testing.assert_array_equal(np.diag(weights), np.zeros(4))
    np.testing.assert_allclose(weights, weights.T)
    assert weights[0, 1] > 0.9
    assert weights[0, 2] < 0.01
    agreement = turn_runs(scatters)
    assert np.array_equal(agreement.scales, np.ones(4))
    centred = [run - run.mean(axis=0) for run in runs]
    # Runs that agree are turned onto each other, whatever a broad one does.
    first, second = (centred[i] @ agreement.elements[i] for i in (0, 1))
    assert np.sum((first - second) ** 2) < 0.05 * np.sum(first**2)
    maps = predict_left_out(scatters, agreement, 0).maps
    lengths = {i: np.linalg.norm(a) for i, a in maps.items()}
    assert lengths[2] < 0.01 * lengths[1]


def signed_permutation(rng, width):
    return np.eye(width)[rng.permutation(width)] * rng.choice([-1.0, 1.0], size=width)


def planted_correlations(rng, *, n_runs=4, width=6, noise=0.1):
    hidden = [signed_permutation(rng, width) for _ in range(n_runs)]
    cross = {
        (i, j): hidden[i] @ hidden[j].T + noise * rng.normal(size=(width, width))
        for i in range(n_runs)
        for j in range(i + 1, n_runs)
    }
    return hidden, Scatters(own=(np.eye(width),) * n_runs, cross=cross)


@pytest.mark.parametrize("seed", range(5))
def test_planted_orders_and_signs_are_found(seed):
    hidden, correlations = planted_correlations(np.random.default_rng(seed), noise=0.3)
    found = synchronise(correlations)
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(found.totals))
    for i, j in correlations.cross:
        np.testing.assert_array_equal(
            found.elements[i] @ found.elements[j].T, hidden[i] @ hidden[j].T
        )


def test_matches_that_close_along_every_cycle_are_all_kept(rng):
    _, correlations = planted_correlations(rng)
    assert kept_matches(correlations, synchronise(correlations), 0.5) == 1.0


def test_many_runs_correct_what_two_of_them_mistake():
    _, correlations = planted_correlations(np.random.default_rng(3), noise=0.3)
    kept = kept_matches(correlations, synchronise(correlations), 0.5)
    assert 0.9 < kept < 1


def test_synchronisation_reaches_the_best_of_all_matchings(rng):
    _, correlations = planted_correlations(rng, n_runs=3, width=3, noise=0.4)
    signs = [np.array(s) for s in itertools.product((-1.0, 1.0), repeat=3)]
    orders = [np.eye(3)[list(order)] for order in itertools.permutations(range(3))]
    group = [order * sign for order in orders for sign in signs]
    best = max(
        total_agreement(correlations, (np.eye(3), second, third))
        for second in group
        for third in group
    )
    assert synchronise(correlations).totals[-1] == pytest.approx(best)


def test_runs_with_fewer_components_leave_places_empty(rng):
    _, correlations = planted_correlations(rng, n_runs=3, width=5)
    fewer = Scatters(
        own=(np.eye(5), np.eye(3), np.eye(5)),
        cross={
            (0, 1): correlations.cross[0, 1][:, :3],
            (0, 2): correlations.cross[0, 2],
            (1, 2): correlations.cross[1, 2][:3],
        },
    )
    elements = synchronise(fewer).elements
    assert [element.shape for element in elements] == [(5, 5), (3, 5), (5, 5)]
    assert np.abs(elements[1]).sum(axis=0).tolist().count(0.0) == 2
    assert np.array_equal(np.abs(elements[1]).sum(axis=1), np.ones(3))


def test_matches_that_do_not_close_along_a_cycle_are_noticed():
    """Two components a run, each like the next one of a ring of six: a turn exchanges them."""
    straight, exchanged = 0.5 * np.eye(2), 0.5 * np.eye(2)[::-1]
    ring = Scatters(
        own=(np.eye(2),) * 3, cross={(0, 1): straight, (1, 2): straight, (0, 2): exchanged}
    )
    found = synchronise(ring)
    assert len(pairwise_matches(ring)) == 3
    assert kept_matches(ring, found, 0.2) == pytest.approx(2 / 3)
    assert kept_matches(ring, found, 0.6) is None


def test_two_runs_have_nothing_to_contradict():
    _, correlations = planted_correlations(np.random.default_rng(0), n_runs=2)
    assert kept_matches(correlations, synchronise(correlations), 0.5) is None


def test_a_signed_matching_maximises_the_trace(rng):
    gain = rng.normal(size=(3, 4))
    found = signed_matching(gain)
    best = max(
        sum(abs(gain[row, column]) for row, column in enumerate(columns))
        for columns in itertools.permutations(range(4), 3)
    )
    assert np.vdot(found, gain) == pytest.approx(best)


@pytest.mark.parametrize(
    ("members", "text"),
    [((), ""), ((3,), "3"), ((0, 1, 2, 7, 8), "0–2, 7–8"), ((1, 3, 5, 6, 7), "1, 3 and 3 more")],
)
def test_numbers_are_written_by_their_stretches(members, text):
    assert number_ranges(members, limit=2) == text
