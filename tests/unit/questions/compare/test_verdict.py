"""From candidates to a group and a word."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto.core import Group
from upto.questions.compare.prediction import Candidate, Onto
from upto.questions.compare.verdict import percent, strictest_group, word_for


class Directions:
    """R² along four directions, as `Images` gives it."""

    def __init__(self, even):
        self.even = even

    def r2(self, name):
        return np.full(4, self.even)

    def is_less_even(self, name, limit):
        return self.even < limit / 2


def candidate(error, *, r2=None, p_value=0.005, even=0.5):
    r2 = 1 - error if r2 is None else r2
    return Candidate(
        name="",
        error=error,
        r2=r2,
        p_value=p_value,
        robust_r2=r2,
        typical_r2=r2,
        images=Directions(even),
    )


def onto(**errors):
    """One run mapped onto another; the mean has an error of one."""
    candidates = {
        name.replace("_", "-"): each if isinstance(each, Candidate) else candidate(each)
        for name, each in errors.items()
    }
    candidates["constant"] = candidate(1.0, r2=0.0)
    return Onto(maps={}, errors={}, images=None, candidates=candidates)


def test_the_strictest_group_within_the_tolerance_is_taken():
    assert strictest_group([onto(identity=0.9, rigid=0.33, affine=0.3)], 0.05) is Group.RIGID
    assert strictest_group([onto(identity=0.9, rigid=0.36, affine=0.3)], 0.05) is Group.AFFINE


def test_both_directions_must_lose_little():
    there, back = onto(rigid=0.33, affine=0.3), onto(rigid=0.4, affine=0.3)
    assert strictest_group([there], 0.05) is Group.RIGID
    assert strictest_group([there, back], 0.05) is Group.AFFINE
    assert strictest_group([back, there], 0.05) is Group.AFFINE


def test_where_no_group_is_good_enough_both_ways_the_least_loss_decides():
    there, back = onto(rigid=0.3, affine=0.5), onto(rigid=0.42, affine=0.3)
    assert strictest_group([there, back], 0.05) is Group.RIGID


def test_groups_that_do_not_beat_chance_or_the_mean_do_not_count():
    lucky = onto(rigid=candidate(0.2, p_value=0.2), affine=0.4)
    assert strictest_group([lucky], 0.05) is Group.AFFINE
    worse = onto(rigid=candidate(1.1, r2=0.1), affine=candidate(0.4, r2=-0.1))
    assert strictest_group([worse], 0.05) is None


def test_narrow_directions_are_not_lost_to_a_stricter_group():
    found = onto(rigid=candidate(0.02, even=0.6), affine=candidate(0.0, even=1.0))
    assert strictest_group([found], 0.05) is Group.AFFINE
    noisy = onto(rigid=candidate(0.32, even=0.2), affine=candidate(0.3, even=0.4))
    assert strictest_group([noisy], 0.05) is Group.RIGID


@pytest.mark.parametrize(
    ("r2", "even", "share", "word"),
    [
        (0.995, 0.95, 1.0, "same"),
        (0.995, 0.95, 0.95, "close"),
        (0.995, 0.80, 1.0, "close"),
        (0.95, 0.95, 1.0, "close"),
        (0.995, 0.95, 0.5, "partial"),
        (0.7, 0.7, 1.0, "partial"),
        (0.2, 0.2, 1.0, "weak"),
    ],
)
def test_words_ask_for_variance_and_directions(r2, even, share, word):
    assert word_for([candidate(0.1, r2=r2, even=even)], share=share) == word


def test_the_direction_that_agrees_less_decides_the_word():
    assert word_for([candidate(0.1, r2=0.999, even=1.0), candidate(0.1, r2=0.6)], share=1.0) == (
        "partial"
    )


def test_errors_that_are_rounding_are_equal():
    found = onto(signed_similarity=3e-17, monotone_permutation=2e-17, affine=0.0)
    assert strictest_group([found], 0.0) is Group.SIGNED_SIMILARITY
    found = onto(signed_similarity=3e-7, monotone_permutation=2e-7)
    assert strictest_group([found], 0.0) is Group.MONOTONE_PERMUTATION


def test_directions_lost_to_rounding_only_are_not_lost():
    rigid, affine = candidate(1e-16, even=1 - 1e-15), candidate(1e-16, even=1.0)
    assert strictest_group([onto(rigid=rigid, affine=affine)], 0.0) is Group.RIGID


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "less than 0.1%"),
        (2.7e-15, "less than 0.1%"),
        (0.0015, "0.15%"),
        (0.02, "2%"),
        (0.13, "13%"),
        (0.995, "99.5%"),
        (1 - 1e-9, "more than 99.9%"),
        (1.0, "100%"),
    ],
)
def test_shares_are_neither_nothing_nor_all_where_they_are_not(share, words):
    assert percent(share) == words


@pytest.mark.parametrize("seed", range(12))
def test_eight_rows_are_never_said_to_be_chance(seed):
    # Four held-out rows have 24 pairings: a tie is enough to miss the level.
    rng = np.random.default_rng(seed)
    rows = rng.laplace(size=(8, 4))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    result = upto.compare(rows, rows @ turn, ica=False, refits=0)
    assert result.agreement != "chance"


def test_unrelated_runs_are_chance_with_few_permutations_too():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 200, 3))
    result = upto.compare(first, second, ica=False, refits=0, permutations=19)
    assert result.agreement == "chance"
