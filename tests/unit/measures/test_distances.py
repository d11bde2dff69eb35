"""Places of the farthest rows, found without sorting all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from upto.measures.distances import _farthest_first


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 12))
def test_the_farthest_come_first_and_ties_in_order(lengths, count):
    radii = np.array(lengths, dtype=np.float64)
    wanted = np.argsort(-radii, kind="stable")[:count]
    np.testing.assert_array_equal(_farthest_first(radii, count), wanted)
