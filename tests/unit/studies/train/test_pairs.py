"""Pairs of autoencoders: rigid errors, stretches, the filter and what Theorem 1 promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.train import Network, Training, train_ensemble
from upto_studies.train.pairs import (
    DecoderStretches,
    Pair,
    RigidErrors,
    converged_pairs,
    decoder_stretches,
    measure_pairs,
    rigid_errors,
)

torch = pytest.importorskip("torch")


def turned(rows, rng):
    rotation, _ = np.linalg.qr(rng.normal(size=(rows.shape[1],) * 2))
    return rows @ rotation + 3.0


def test_a_rigid_motion_leaves_no_error(rng):
    codes, held = rng.normal(size=(100, 4)), rng.normal(size=(30, 4))
    both = turned(np.concatenate([codes, held]), rng)
    errors = rigid_errors(codes, both[:100], held, both[100:])
    assert max(errors.mean, errors.worst, errors.held_mean) < 1e-12
    distances = np.linalg.norm(codes[:, None] - codes, axis=2)
    assert errors.diameter == pytest.approx(distances.max())


def test_the_error_is_the_mean_distance_of_rows(rng):
    codes = rng.normal(size=(2000, 2))
    # Noise of one length in every direction: no motion can undo it.
    angles = rng.uniform(0, 2 * np.pi, size=2000)
    moved = codes + 0.1 * np.column_stack([np.cos(angles), np.sin(angles)])
    errors = rigid_errors(codes, moved, codes[:50], moved[:50])
    assert errors.mean == pytest.approx(0.1, rel=0.01)
    assert errors.relative == pytest.approx(errors.mean / errors.diameter)
    assert errors.held_relative == pytest.approx(errors.held_mean / errors.held_diameter)


@pytest.fixture(scope="module")
def ensemble():
    rows = np.random.default_rng(0).normal(size=(60, 8))
    network = Network.autoencoder((8, 6, 3), orthogonal=True, bias=False)
    training = Training(epochs=3, batch_rows=20)
    return rows, train_ensemble(
        network, rows, seeds=range(6), leaks=[0.2, 0.2, 0.6, 0.6, 1.0, 1.0], training=training
    )


def test_stretches_are_the_extreme_singular_values_of_the_decoder(ensemble, rng):
    rows, members = ensemble
    codes = members.encode(rows[:7])
    found = decoder_stretches(members, codes, directions=rng.normal(size=(6, 7, 10, 3)))
    weights = [members.parameters[f"{layer}.weight"].numpy() for layer in (2, 3)]
    for member in range(6):
        for row in range(7):
            hidden = codes[member, row] @ weights[0][member]
            slopes = np.where(hidden > 0, 1.0, members.leaks[member])
            jacobian = (weights[0][member] * slopes) @ weights[1][member]
            values = np.linalg.svd(jacobian, compute_uv=False)
            exact = max(values[0], 1 / values[-1])
            assert found.exact[member, row] == pytest.approx(exact, rel=1e-9)
    assert (found.estimate <= found.exact * (1 + 1e-12)).all()
    assert (found.estimate >= 1 - 1e-12).all()


def test_the_estimate_approaches_the_constant_with_more_directions(ensemble, rng):
    rows, members = ensemble
    codes = members.encode(rows[:5])
    found = decoder_stretches(members, codes, directions=rng.normal(size=(6, 5, 20_000, 3)))
    assert np.allclose(found.estimate, found.exact, rtol=0.01)


def test_constants_stay_below_the_certified_bound_and_are_one_for_linear_decoders(ensemble):
    rows, members = ensemble
    for pair in measure_pairs(members, rows, rows[:20], n_samples=30, n_directions=10, seed=0):
        # One rectifier lies between the two layers of these decoders.
        assert pair.stretches.exact.max() <= 1 / pair.leak + 1e-9
        assert pair.excess(exact=True, worst=True) >= pair.excess(exact=True, worst=False)
        assert pair.excess(exact=True, worst=False) >= pair.excess(exact=False, worst=False)
        if pair.leak == 1:
            assert pair.excess(exact=True, worst=True) < 1e-9


def test_pairs_are_measured_on_the_same_rows_and_by_seed(ensemble):
    rows, members = ensemble
    given = {"n_samples": 30, "n_directions": 10}
    first, again, other = (
        measure_pairs(members, rows, rows[:20], seed=seed, **given) for seed in (0, 0, 1)
    )
    assert [pair.leak for pair in first] == [0.2, 0.6, 1.0]
    assert first[0].errors.mean == again[0].errors.mean != other[0].errors.mean
    assert first[0].stretches.exact.shape == (2, 30)
    assert first[2].reconstruction == tuple(members.errors(rows)[4:])


def test_pairs_of_a_member_that_diverged_are_not_measured(ensemble):
    rows, members = ensemble
    lost = replace(members, stopped_by=("limit",) * 5 + ("divergence",))
    given = {"n_samples": 30, "n_directions": 10, "seed": 0}
    with pytest.raises(InputError, match="1 of 6 members diverged, the first with seed 5"):
        measure_pairs(lost, rows, rows[:20], **given)
    assert len(measure_pairs(lost.select(range(4)), rows, rows[:20], **given)) == 2


def a_pair(leak=0.5, reconstruction=(1.0, 1.0), constants=(1.0, 1.0), worst=0.0, mean=0.0):
    errors = RigidErrors(mean=mean, worst=worst, held_mean=mean, diameter=2.0, held_diameter=2.0)
    exact = np.array(constants)[:, None]
    return Pair(
        leak=leak,
        n_code=4,
        about="",
        reconstruction=reconstruction,
        errors=errors,
        stretches=DecoderStretches(exact=exact, estimate=exact),
    )


def test_a_pair_is_left_out_if_either_member_is_worse_than_most_at_the_reference():
    reference = [a_pair(1.0, (1.0 + k / 100, 1.0)) for k in range(20)]
    limit = np.percentile([pair.reconstruction for pair in reference], 95)
    good, bad = a_pair(0.5, (limit, 0.1)), a_pair(0.5, (0.1, limit + 1e-9))
    kept = converged_pairs([*reference, good, bad], reference_leak=1.0, percentile=95)
    assert good in kept
    assert bad not in kept
    assert len(kept) == 19  # two of the reference are above their own percentile
    assert converged_pairs([bad], reference_leak=1.0, percentile=95) == [bad]


def test_a_promise_is_broken_by_the_worst_or_the_mean_error():
    e = 1.1 * 1.2 - 1
    mean = float(8 ** (1 / 4) * np.sqrt(e + e**2 / 2) * 2.0)
    pair = a_pair(constants=(1.1, 1.2))
    worst_promise, mean_promise = map(float, pair.promises())
    assert mean_promise == pytest.approx(mean)
    assert worst_promise > mean_promise
    for worst, average, broken in [
        (worst_promise * 0.99, mean * 0.99, False),
        (worst_promise * 1.01, 0.0, True),
        (worst_promise * 0.99, mean * 1.01, True),
    ]:
        errors = replace(pair.errors, worst=worst, mean=average)
        assert replace(pair, errors=errors).breaks_promise is broken
