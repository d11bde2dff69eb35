"""The pinwheel: its points, layouts of runs, distances of densities, and the study."""

from __future__ import annotations

import numpy as np
import pytest

from upto.measures import Mixture
from upto_studies.pinwheel import density_distances, draw_pinwheel, layout_of
from upto_studies.run import run_study

pytest.importorskip("torch")


def test_points_of_an_arm_are_turned_by_their_distance():
    given = {"n_arms": 4, "radial": 0.2, "rate": 0.3, "seed": 1, "purpose": "a test"}
    wheel = draw_pinwheel(200, tangential=1e-9, **given)
    assert np.bincount(wheel.arms).tolist() == [200] * 4
    assert (np.diff(wheel.arms) != 0).any()
    distance = np.hypot(*wheel.rows.T)
    angle = np.arctan2(wheel.rows[:, 1], wheel.rows[:, 0])
    known = 2 * np.pi * wheel.arms / 4 + 0.3 * np.exp(distance)
    inside = distance > 0.01
    away = np.angle(np.exp(1j * (angle - known)))[inside]
    assert np.abs(away).max() < 1e-4
    assert distance.mean() == pytest.approx(1.0, abs=0.03)


def test_a_layout_has_the_arms_of_each_axis(rng):
    arms = np.repeat(np.arange(3), 50)
    wide = np.array([[3.0, 0.1], [0.1, 3.0], [3.0, 0.1]])[arms]
    codes = rng.normal(size=(150, 2)) * wide
    assert layout_of(codes, arms) == layout_of(codes[:, ::-1], arms)
    assert layout_of(codes, arms) == {frozenset({0, 2}), frozenset({1})}


def test_affine_images_of_a_density_have_no_distance_and_units_count_only_unscaled():
    near = Mixture(
        weights=[0.3, 0.7],
        means=[[0.0, 0.0], [4.0, 1.0]],
        covariances=[np.diag([1.0, 0.2]), np.diag([0.1, 1.0])],
    )
    far = Mixture(weights=near.weights, means=10 * near.means, covariances=100 * near.covariances)
    blob = Mixture(weights=[1.0], means=[[0.0, 0.0]], covariances=[np.eye(2)])
    scaled, unscaled = density_distances([near, far, blob])
    assert scaled[0, 1] < 1e-5
    assert scaled[0, 2] == pytest.approx(scaled[1, 2], rel=1e-3)
    assert unscaled[0, 2] == pytest.approx(10 * unscaled[1, 2], rel=1e-3)
    assert len(scaled) == 6


@pytest.mark.slow
def test_the_tiny_study_measures_all_it_names():
    settings = {"n_runs": 2, "epochs": 10}
    result = run_study("pinwheel", size="tiny", settings=settings)
    by_name = {each.name: each.measured for each in result.quantities}
    assert None not in by_name.values()
    assert by_name["diverged"].value == 0
    assert "find the 3 arms" in result.verdict


@pytest.mark.slow
def test_the_tiny_study_finds_the_arms():
    result = run_study("pinwheel", size="tiny")
    by_name = {each.name: each.measured for each in result.quantities}
    assert by_name["living components"].value == 3
    rows = result.details[1].records()
    (accuracy,) = [row["accuracy"] for row in rows if row["runs"] == "trained"]
    assert accuracy > 0.9
