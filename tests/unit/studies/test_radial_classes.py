"""Classes around a circle: labels, likelihoods and pairs, and the study at its smallest."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.radial_classes import Members, accuracies, draw_points, held_out_losses
from upto_studies.run import run_study
from upto_studies.train.softmax_members import TrainedMembers

pytest.importorskip("torch")


def members_of(f, g):
    return TrainedMembers(
        looks=(1,),
        f=np.asarray(f, np.float32)[None],
        g=np.asarray(g, np.float32)[None],
        losses=np.zeros((1, len(f))),
        steps=(1,),
    )


def test_points_are_labelled_by_their_angle():
    points = draw_points(20_000, 18, seed=0, purpose="a test")
    assert points.rows.std(axis=0) == pytest.approx([3.0, 3.0], rel=0.02)
    angles = np.degrees(np.arctan2(points.rows[:, 1], points.rows[:, 0])) % 360
    # Points on a border may be rounded across it.
    inside = np.abs(angles / 20 - np.rint(angles / 20)) > 1e-4
    assert np.array_equal(points.labels[inside], np.floor(angles[inside] / 20))
    assert np.bincount(points.labels, minlength=18) == pytest.approx(20_000 / 18, rel=0.15)
    again = draw_points(20_000, 18, seed=0, purpose="another")
    assert not np.array_equal(points.rows, again.rows)


def test_the_plane_itself_is_the_best_representation():
    points = draw_points(500, 18, seed=0, purpose="a test")
    middles = 2 * np.pi * (np.arange(18) + 0.5) / 18
    centres = np.stack([np.cos(middles), np.sin(middles)], axis=1)
    trained = members_of([points.rows, -points.rows], [centres, centres])
    right = accuracies(trained, points.labels)
    assert right[0, 0] > 0.995
    assert right[0, 1] < 0.05


def test_losses_are_cross_entropies(rng):
    f, g = rng.normal(size=(2, 30, 2)), rng.normal(size=(2, 5, 2))
    labels = rng.integers(5, size=30)
    found = held_out_losses(members_of(f, g), labels)
    for member in range(2):
        scores = f[member] @ g[member].T
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        wanted = -np.log(shares[np.arange(30), labels]).mean()
        assert found[0, member] == pytest.approx(wanted, rel=1e-5)


def test_only_members_of_equal_likelihood_are_paired(rng):
    trained = members_of(rng.normal(size=(5, 3, 2)), rng.normal(size=(5, 4, 2)))
    losses = np.array([[0.1, 0.5, 0.11, 0.12, 0.4]])
    found = Members(
        trained=trained, right=1 - losses, losses=losses, solved=[0, 2, 3], stuck=[1, 4]
    )
    assert found.solved_pairs() == [0, 2]
    assert found.stuck_pairs() == [0, 1, 2, 4]
    alone = Members(
        trained=trained, right=1 - losses, losses=losses, solved=[0], stuck=[1, 2, 3, 4]
    )
    assert alone.solved_pairs() == [0, 2]
    assert alone.stuck_pairs() == [0, 1, 0, 2, 0, 3, 0, 4]


@pytest.mark.slow
def test_a_pair_and_a_member_over_are_enough():
    settings = {"n_members": 3, "looks": [0, 30], "n_held_out": 100}
    result = run_study("radial-classes", size="tiny", settings=settings)
    assert {each.name for each in result.quantities if each.measured is None} == set()
    assert len(result.plots) == 4


def test_looks_that_do_not_ascend_are_refused():
    with pytest.raises(InputError, match="do not ascend"):
        run_study("radial-classes", size="tiny", settings={"looks": [5, 2]})


@pytest.mark.slow
def test_the_tiny_study_bears_out_what_it_claims():
    result = run_study("radial-classes", size="tiny")
    assert result.missed == ()
    assert result.claims.held == result.claims.total == 1
