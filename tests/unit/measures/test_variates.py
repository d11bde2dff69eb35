"""Canonical variates of equal correlation."""

from __future__ import annotations

import numpy as np

from upto.measures.variates import Variates, settled
from upto.testing import random_element


def test_equal_correlations_are_settled_group_by_group_with_one_look_at_the_form(rng):
    """Each is turned to the principal axes of its part of the form, whatever its basis."""
    correlations = np.array([1.0, 1.0, 1.0, 0.8, 0.5, 0.5, 0.1])
    x, y = rng.normal(size=(2, 9, 7))
    form = np.diag(np.arange(1.0, 10.0))
    asked = []

    def factors(first, second):
        asked.append(first.shape[1])
        return [(first, form @ first), (second, second)]

    found = settled(Variates(correlations=correlations, x=x, y=y), factors)
    assert asked == [5]
    turned_x, turned_y = x.copy(), y.copy()
    for group in (slice(0, 3), slice(4, 6)):
        turn = random_element("rigid", group.stop - group.start, rng)[0]
        turned_x[:, group], turned_y[:, group] = x[:, group] @ turn, y[:, group] @ turn
        both = found.x[:, group].T @ form @ found.x[:, group]
        both += found.y[:, group].T @ found.y[:, group]
        np.testing.assert_allclose(both, np.diag(np.sort(np.diag(both))[::-1]), atol=1e-9)
    again = settled(Variates(correlations=correlations, x=turned_x, y=turned_y), factors)
    np.testing.assert_allclose(np.abs(again.x), np.abs(found.x), atol=1e-9)
    np.testing.assert_allclose(found.x[:, [3, 6]], x[:, [3, 6]])
    assert not np.allclose(np.abs(found.x), np.abs(x))


def test_without_ties_nothing_is_asked_and_nothing_turns(rng):
    x, y = rng.normal(size=(2, 4, 3))
    variates = Variates(correlations=np.array([0.9, 0.5, 0.1]), x=x, y=y)
    found = settled(variates, lambda *_: 1 / 0)
    np.testing.assert_array_equal(found.x, x)
    np.testing.assert_array_equal(found.y, y)
