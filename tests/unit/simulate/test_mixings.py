"""Closed forms of single mixings, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.simulate import (
    ball_inversion,
    compose,
    draw_mixing,
    leaky_mixing,
    linear_mixing,
    radial_warp,
    rigid_mixing,
    shear_wave,
    spiral,
    twist,
)


def test_a_spiral_turns_by_the_logarithm_of_the_radius():
    mixing = spiral(2, lipschitz=1.0, seed=0)
    first, second = mixing([[1.0, 0.0], [np.e, 0.0]])
    np.testing.assert_allclose(first, [1, 0])
    angle = np.arctan2(second[1], second[0])
    # A constant of 2 is a shear of 2 - 1/2.
    assert abs(angle) == pytest.approx(1.5)
    assert np.hypot(*second) == pytest.approx(np.e)


def test_a_twist_turns_the_surface_by_half_its_shear():
    mixing = twist(2, lipschitz=1.0, radius=3.0, seed=0)
    image = mixing([[3.0, 0.0]])[0] / 3
    assert abs(np.arctan2(image[1], image[0])) == pytest.approx(0.75)


def test_the_axis_of_an_odd_twist_stays():
    mixing = twist(3, lipschitz=0.5, seed=4)
    axis = np.linalg.svd(mixing.generator)[2][-1:]
    np.testing.assert_allclose(mixing(axis), axis, atol=1e-12)


def test_an_inversion_has_both_ends_of_its_constant_at_its_poles():
    mixing = ball_inversion(3, lipschitz=0.5, radius=2.0, seed=0)
    poles = 2.0 * np.stack([mixing.direction, -mixing.direction])
    values = np.linalg.svd(mixing.jacobian(poles), compute_uv=False)
    np.testing.assert_allclose(values, [[1.5] * 3, [1 / 1.5] * 3])


def test_a_radial_warp_has_its_smallest_stretch_halfway():
    mixing = radial_warp(2, lipschitz=0.25, radius=2.0)
    values = np.linalg.svd(mixing.jacobian([[0.0, 0.0], [0.0, 1.0]]), compute_uv=False)
    np.testing.assert_allclose(values, [[1.2, 1.2], [1.0, 0.8]], atol=1e-12)


def test_a_wave_slides_across_its_front():
    mixing = shear_wave(4, lipschitz=0.5, radius=2.0, seed=1)
    moved = mixing(mixing.front[None])[0] - mixing.front
    np.testing.assert_allclose(moved @ mixing.front, 0, atol=1e-12)
    # A quarter of the wave: the largest slide, shear over frequency.
    assert np.linalg.norm(moved) == pytest.approx((1.5 - 1 / 1.5) / (np.pi / 2))


def test_linear_mixings_have_the_singular_values_asked_for():
    mixing = linear_mixing([3.0, 1.0, 0.5], n_out=5, seed=0)
    np.testing.assert_allclose(np.linalg.svd(mixing.matrix)[1], [3, 1, 0.5])
    assert mixing.lipschitz == 2.0
    assert not mixing.keeps_balls
    assert rigid_mixing(3, seed=0).keeps_balls


def test_leaky_networks_say_when_their_bound_is_exact():
    exact = {
        (3, 3): True,
        (3, 3, 5): True,
        (3, 5, 5): False,
        (3, 3, 3, 3): False,
    }
    assert {w: leaky_mixing(w, leak=0.5, seed=0).attained for w in exact} == exact
    assert leaky_mixing((3, 3, 3, 3), leak=1.0, seed=0).attained


def test_rotations_have_no_favourite_sign():
    corners = [rigid_mixing(2, seed=seed).matrix[0, 0] for seed in range(200)]
    assert abs(np.mean(np.sign(corners))) < 0.3


def test_a_composition_is_exact_around_isometries_only():
    turn = rigid_mixing(2, n_out=3, seed=0)
    warp = radial_warp(2, lipschitz=0.1)
    assert compose(warp, turn).attained
    assert compose(warp, turn).lipschitz == 0.1
    assert not compose(warp, warp).attained
    assert compose(warp, warp).lipschitz == pytest.approx(0.21)
    assert compose(warp) is warp


def test_the_same_seed_gives_the_same_map():
    points = np.eye(3)
    first, second, other = (
        draw_mixing("wave", 3, lipschitz=0.2, seed=seed)(points) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: draw_mixing("bend", 2, lipschitz=0.1, seed=0), "no mixing 'bend'"),
        (lambda: draw_mixing("twist", 1, lipschitz=0.1, seed=0), "1 dimensions are too few"),
        (lambda: draw_mixing("radial", 2, lipschitz=-0.1, seed=0), "L = -0.1 is not"),
        (lambda: draw_mixing("linear", 2, lipschitz=-0.2, seed=0), "L = -0.2 is not"),
        (lambda: draw_mixing("leaky", 2, lipschitz=float("nan"), seed=0), "L = nan is not"),
        (lambda: radial_warp(2, lipschitz=0.1, radius=0.0), "a radius of 0 is not"),
        (lambda: rigid_mixing(3, n_out=2, seed=0), "3 coordinates do not fit into 2"),
        (lambda: linear_mixing([1.0, 0.0], seed=0), "are not positive"),
        (lambda: leaky_mixing((3, 2), leak=0.5, seed=0), "are invalid"),
        (lambda: leaky_mixing((2, 2), leak=0.0, seed=0), "a leak of 0 is not in"),
        (lambda: compose(), "0 mixings"),
        (lambda: compose(rigid_mixing(2, seed=0), rigid_mixing(3, seed=0)), "into 2 coordinates"),
        (lambda: rigid_mixing(2, seed=0)([[1.0]]), r"shape \(1, 1\) are not rows of 2"),
        (lambda: rigid_mixing(1, seed=0)([[1.0], [np.nan]]), "1 of 2 points are not finite"),
    ],
)
def test_what_is_impossible_is_refused_in_words(call, words):
    with pytest.raises(InputError, match=words):
        call()
