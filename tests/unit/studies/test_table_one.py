"""Curves of trainings, as they are recorded."""

from __future__ import annotations

import numpy as np
import pytest

from upto_studies.table_one import curve_panel


@pytest.mark.parametrize(("n_steps", "n_kept"), [(1, 1), (99, 99), (100, 100), (300, 100)])
def test_a_curve_has_a_hundred_points_at_most_the_first_and_last_among_them(n_steps, n_kept):
    losses = np.arange(2.0 * n_steps).reshape(n_steps, 2)
    panel = curve_panel("VaDE", losses, "epoch")
    assert [mark.name for mark in panel.marks] == ["seed 0", "seed 1"]
    for seed, mark in enumerate(panel.marks):
        assert len(mark.x) == n_kept
        assert (mark.x[0], mark.x[-1]) == (1.0, n_steps)
        steps = np.array(mark.x, dtype=int) - 1
        np.testing.assert_array_equal(mark.y, losses[steps, seed])
