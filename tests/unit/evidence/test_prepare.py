"""How many components rows can carry, and rows that stay where the engine keeps them."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto.engines import ThreadsEngine
from upto.evidence.prepare import n_components_for
from upto.evidence.split import pick_rows


@pytest.mark.parametrize(
    ("n_fitted", "rank", "expected"),
    [
        (280, 3, 3),
        (350, 64, 32),
        (100, 64, 20),
        (3500, 512, 87),
        (3500, 4096, 87),
        (155_400, 384, 384),
        (35_000, 768, 411),
        (3, 5, 1),
    ],
)
def test_components_are_no_more_than_the_rows_can_carry(n_fitted, rank, expected):
    assert n_components_for(n_fitted, rank) == expected


def test_a_wide_run_is_unmixed_along_its_widest_directions(rng):
    """With few rows, sources along wide directions are found, and noise along narrow ones left."""
    n, wide, width = 3000, 12, 160
    sources = 10 * rng.laplace(size=(n, wide))
    axes, _ = np.linalg.qr(rng.normal(size=(width, width)))
    first = sources @ axes[:wide] + 0.1 * rng.normal(size=(n, width))
    turn, _ = np.linalg.qr(rng.normal(size=(width, width)))
    result = upto.compare(first, first @ turn + 0.01 * rng.normal(size=(n, width)), refits=1)
    assert result.runs[0].n_components == 52
    ica = next(fit for fit in result.fits if fit.unmixed)
    assert ica.held_out.r2 > 0.9


def test_rows_are_picked_in_the_order_asked_for(rng):
    rows = rng.normal(size=(20, 3))
    index = np.array([7, 3, 3, 19])
    np.testing.assert_array_equal(pick_rows(ThreadsEngine(), rows, index), rows[index])
