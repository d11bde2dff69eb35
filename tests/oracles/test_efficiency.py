"""The efficiency of ICA: the four rows of the paper's Table 1, and the edges."""

from __future__ import annotations

import numpy as np
import pytest

from upto.measures import ica_efficiency

DIGITS = 5e-5
ROUNDING = 1e-12

# Pair, permutation, rigid, ICA, efficiency: science.md section 9.
TABLE_1 = [
    ("Pythia-160M", 0.219, 0.150, 0.202, 0.2464),
    ("MAE", 0.197, 0.109, 0.145, 0.5909),
    ("CheXpert", 0.218, 0.104, 0.175, 0.3772),
    ("ResNet-18", 0.382, 0.206, 0.312, 0.3977),
]


@pytest.mark.parametrize(
    ("permutation", "rigid", "ica", "efficiency"),
    [row[1:] for row in TABLE_1],
    ids=[row[0] for row in TABLE_1],
)
def test_the_efficiencies_of_table_1_are_reproduced(permutation, rigid, ica, efficiency):
    np.testing.assert_allclose(ica_efficiency(permutation, rigid, ica), efficiency, atol=DIGITS)


@pytest.mark.parametrize(
    ("ica", "efficiency"),
    [(0.1, 1.0), (0.3, 0.0), (0.2, 0.5), (0.05, 1.25), (0.5, -1.0)],
    ids=["as good as rigid", "as bad as permutation", "half way", "better", "worse"],
)
def test_the_efficiency_is_the_share_of_the_gap_and_may_leave_its_range(ica, efficiency):
    np.testing.assert_allclose(ica_efficiency(0.3, 0.1, ica), efficiency, rtol=ROUNDING, atol=1e-15)


@pytest.mark.parametrize(("permutation", "rigid"), [(0.1, 0.1), (0.1, 0.2), (0.0, 0.0)])
def test_without_a_gap_the_efficiency_is_undefined(permutation, rigid):
    assert ica_efficiency(permutation, rigid, 0.1) is None
