"""Named random streams."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from upto.core import random_stream

N_DRAWS = 20_000
PURPOSES = [("split",), ("bootstrap",), ("bootstrap", "rigid"), ("rigid", "bootstrap"), ()]


def test_a_stream_is_the_same_every_time():
    first, second = (random_stream(7, "split").normal(size=10) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_stream_does_not_touch_the_global_generator():
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the one we must leave alone
    random_stream(0, "split").normal(size=10)
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(((0, *a), (0, *b)) for a, b in itertools.combinations(PURPOSES, 2)),
        ((0, "split"), (1, "split")),
    ],
    ids=str,
)
def test_streams_of_different_purposes_or_seeds_are_uncorrelated(first, second):
    a, b = (random_stream(*each).normal(size=N_DRAWS) for each in (first, second))
    assert not np.any(a == b)
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(N_DRAWS)


def test_draws_in_one_stream_leave_the_others_alone():
    quiet = random_stream(3, "b").normal(size=5)
    random_stream(3, "a").normal(size=1000)
    np.testing.assert_array_equal(random_stream(3, "b").normal(size=5), quiet)
