"""The study of sprites finds what is known, and notices what is not so."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from upto.core import InputError, SilentProgress, StudyResult
from upto_studies import sprite_isometry
from upto_studies.outcome import Work
from upto_studies.run import run_study
from upto_studies.sprite_isometry import Settings, run

SETTINGS = Settings(
    half_sides=[0.15, 0.3],
    sigmas=[0.01, 0.005],
    n_pixels=128,
    pixel_sigma=0.06,
    n_positions=60,
    smallest=[0.2, 0.24],
    largest=[0.3, 0.26],
    n_sprites=40,
    n_repeats=3,
    n_images=200,
    n_neighbours=12,
    image_sigma=0.08,
    image_smallest=0.25,
    image_largest=0.5,
)


@pytest.fixture
def work(tmp_path):
    return Work(
        seed=1, device="cpu", folder=tmp_path, resume=False, data=None, progress=SilentProgress()
    )


@pytest.mark.slow
def test_every_claim_holds_at_the_tiny_size():
    result = run_study("sprite-isometry", size="tiny")
    assert result.missed == ()
    assert StudyResult.from_json(result.to_json()) == result
    assert len(result.quantities) == 20


def test_a_speed_of_twice_the_half_side_would_be_noticed(work, monkeypatch):
    def summary(half_sides, *, sigma):
        return 2 * np.column_stack([half_sides, half_sides])

    assert run(SETTINGS, work).measured["speed-exponent"].value == pytest.approx(0.5, abs=0.02)
    monkeypatch.setattr(sprite_isometry, "image_stretches", summary)
    assert run(SETTINGS, work).measured["speed-exponent"].value == pytest.approx(1.0)


def test_a_wrong_metric_would_be_noticed(work, monkeypatch):
    true = sprite_isometry.image_metric
    monkeypatch.setattr(
        sprite_isometry, "image_metric", lambda r, sigma: 1.1 * true(r, sigma=sigma)
    )
    measured = run(SETTINGS, work).measured
    assert measured["pixels"].value > 0.05
    assert measured["position-rate"].value < 0.5


def test_the_same_seed_gives_the_same_numbers(work):
    assert run(SETTINGS, work).measured == run(SETTINGS, work).measured


@pytest.mark.parametrize(
    "wrong",
    [
        {"half_sides": [0.2]},
        {"sigmas": [0.01, 0.0]},
        {"smallest": []},
        {"largest": [0.3, 1.0, 0.3]},
        {"n_images": -5},
        {"n_neighbours": 1},
    ],
)
def test_squares_that_cannot_be_drawn_or_learned_from_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        run_study("sprite-isometry", size="tiny", settings=wrong)


def test_ranges_without_an_end_are_refused(work):
    with pytest.raises(InputError, match="1 smallest and 2 largest"):
        run(dataclasses.replace(SETTINGS, smallest=[0.2]), work)
