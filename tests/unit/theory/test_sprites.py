"""Appendix A.6: the surface of squares in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from upto.core import InputError
from upto.theory import (
    conformal_factor,
    position_distance,
    sprite_metric,
    sprite_promise,
    stitched_defect,
)
from upto_studies.scenes.sprites import image_metric


@pytest.mark.parametrize(
    ("smallest", "largest", "centred", "conservative"),
    [(0.1, 0.4, 1.414214, 2.0), (0.2, 0.3, 1.106682, 1.224745)],
)
def test_the_constants_have_the_values_worked_out_by_hand(smallest, largest, centred, conservative):
    assert float(sprite_promise(smallest, largest)) == pytest.approx(centred, abs=5e-7)
    assert float(sprite_promise(smallest, largest, scaling="smallest")) == pytest.approx(
        conservative, abs=5e-7
    )


@pytest.mark.parametrize(
    ("smallest", "largest", "bare"), [(0.1, 0.4, 1.581139), (0.3, 0.6, 1.549193)]
)
def test_without_a_scale_stretch_and_shrinkage_are_what_they_are(smallest, largest, bare):
    promise = sprite_promise(smallest, largest, scaling="none")
    assert float(promise) == pytest.approx(bare, abs=5e-7)


@pytest.mark.parametrize("half_side", [0.1, 0.3])
def test_the_metric_is_the_limit_of_smoothed_images(half_side):
    smoothed = image_metric([half_side], sigma=1e-5)[0]
    np.testing.assert_allclose(sprite_metric(half_side), smoothed, rtol=1e-3, atol=1e-3)


def test_the_map_is_conformal_once_sides_are_measured_in_root_two():
    scale = np.diag([1.0, math.sqrt(0.5)])
    np.testing.assert_allclose(
        scale @ sprite_metric(0.2) @ scale, conformal_factor(0.2) ** 2 * np.eye(2)
    )


def test_moving_a_square_is_a_scaled_isometry():
    assert position_distance(-0.3, 0.4, half_side=0.25) == pytest.approx(0.7)


def test_an_encoder_multiplies_the_constant():
    assert stitched_defect(1.2, 1.1, diameter=2.0) == pytest.approx(0.64)
    assert stitched_defect(math.inf, 1.0, diameter=0.0) == 0.0
    with pytest.raises(InputError, match="not its excess"):
        stitched_defect(0.2, 1.1, diameter=2.0)
    with pytest.raises(InputError, match="constant of the encoder is 'large'"):
        stitched_defect(1.2, "large", diameter=2.0)


def test_squares_of_no_size_promise_nothing():
    promise = sprite_promise(0.0, 0.4)
    assert (promise.value, promise.holds) == (None, False)


def test_squares_of_hardly_any_size_promise_nothing():
    promise = sprite_promise(1e-320, 1.0)
    assert (promise.value, promise.holds) == (None, None)
    assert "overflows, so nothing is promised" in promise.condition


def test_that_a_square_stays_in_the_frame_is_not_seen():
    promise = sprite_promise(0.1, 0.4)
    assert promise.holds is None
    assert "inside the frame, which is not checked here" in promise.condition


@pytest.mark.parametrize(
    ("smallest", "largest", "scaling", "words"),
    [
        (0.4, 0.1, "centred", "exchange them"),
        (0.1, 1.4, "centred", "the frame"),
        (0.1, 0.4, "other", "choose one of centred, smallest, none"),
    ],
)
def test_impossible_squares_are_refused(smallest, largest, scaling, words):
    with pytest.raises(InputError, match=words):
        sprite_promise(smallest, largest, scaling=scaling)
