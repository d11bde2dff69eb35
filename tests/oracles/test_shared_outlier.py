"""One far row that runs share must not make unrelated runs agree."""

import numpy as np
import pytest

import upto

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("far", [30.0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_a_shared_outlier_does_not_make_runs_the_same(far, seed):
    rng = np.random.default_rng(0)
    row = np.full((1, 4), far)
    runs = [np.vstack([row, rng.laplace(size=(999, 4))]) for _ in range(3)]
    pair = upto.compare(*runs[:2], ica=False, refits=0, seed=seed)
    assert pair.agreement in ("weak", "chance")
    matrix = upto.compare(*runs, ica=False, seed=seed)
    assert {word for row in matrix.pairs.agreement for word in row} <= {None, "weak", "chance"}
