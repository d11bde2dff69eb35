"""The study of word embeddings: its pairs, its scores and what it reports."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from upto.core import InputError
from upto_studies.run import run_study
from upto_studies.word_agreement import (
    linear_map,
    linear_r2,
    nearest,
    planned_pairs,
    shared_neighbours,
    standardised,
)
from upto_studies.word_runs import planned_parts


def test_pairs_of_a_kind_share_no_member_and_have_the_texts_they_should():
    parts, pairs = planned_parts(4), planned_pairs(4)
    wanted = {
        "seeds": {("whole", "whole")},
        "seeds of a half": {("first half", "first half")},
        "halves": {("first half", "second half")},
    }
    for kind, texts in wanted.items():
        own = [(first, second) for each, first, second in pairs if each == kind]
        assert len(own) == 4
        assert len({member for pair in own for member in pair}) == 8
        assert {(parts[first], parts[second]) for first, second in own} == texts
    assert len(parts) == 20


def test_a_linear_map_explains_a_linear_image_and_nothing_by_chance():
    stream = np.random.default_rng(0)
    rows = stream.normal(size=(400, 2))
    image = standardised((rows @ [[1.0, 2.0], [-1.0, 0.5]] + 7).astype(np.float32))
    first = standardised(rows.astype(np.float32))
    assert linear_r2(first, image) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(first @ linear_map(first, image), image, atol=1e-5)
    assert linear_r2(first, image[stream.permutation(400)]) < 0.05


def test_standardised_coordinates_have_mean_zero_and_variance_one():
    rows = np.random.default_rng(0).normal(3, 5, size=(50, 3)).astype(np.float32)
    rows[:, 2] = 4.0
    found = standardised(rows)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(found.std(axis=0), [1, 1, 0], atol=1e-12)


def test_neighbours_are_the_nearest_by_cosine():
    angles = np.deg2rad([0, 10, 30, 180, 185, 215])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rows -= rows.mean(axis=0)
    lengths = np.array([1, 5, 2, 1, 3, 1])[:, None]
    found = nearest((rows * lengths - (rows * lengths).mean(axis=0)).astype(np.float32), 1)
    assert found.shape == (6, 1)
    assert found[0, 0] in (1, 2)
    assert found[3, 0] in (4, 5)


def test_a_model_shares_all_neighbours_with_a_rotation_of_itself():
    stream = np.random.default_rng(0)
    rows = stream.normal(size=(60, 4)).astype(np.float32)
    rotation, _ = np.linalg.qr(stream.normal(size=(4, 4)))
    assert shared_neighbours(rows, (rows @ rotation).astype(np.float32)) == pytest.approx(1.0)
    others = stream.normal(size=(60, 4)).astype(np.float32)
    assert shared_neighbours(rows, others) < 0.4


def test_words_that_do_not_occur_cannot_be_compared():
    with pytest.raises(InputError, match="of which 290 are compared"):
        run_study("word-embeddings", size="tiny", settings={"n_words": 290})


def test_the_tiny_study_shows_words_before_and_after_the_map():
    quick = {"steps": 25, "sizes": [2], "n_pairs": 1, "losses": ["nce"], "n_sentences": 1000}
    result = run_study("word-embeddings", size="tiny", settings=quick)
    agreement, errors, yardstick, _, shown = result.details
    assert len(agreement.rows) == 2 * 3
    assert len(errors.rows) == 2 * 3
    assert [row[2] for row in yardstick.rows] == ["whole", "first half", "second half"]
    assert len(shown.rows) == 20
    titles = [panel.title for panel in result.plots]
    assert titles[:3] == ["First seed", "Second seed", "First seed mapped onto the second"]
    second, mapped = result.plots[2].marks
    assert len(second.x) == len(mapped.x) == 20
    assert "a substitute" in result.verdict


@pytest.mark.slow
def test_the_tiny_study_trains_models_that_agree_beyond_chance():
    result = run_study("word-embeddings", size="tiny")
    assert all(each.measured is not None for each in result.quantities)
    rows = [row for row in result.details[0].rows if row[3] == "two seeds"]
    assert rows
    assert all(float(row[5]) > float(row[6]) + 0.1 for row in rows)
    assert all(float(row[6]) < 0.9 for row in result.details[2].rows)
