"""What must not matter to a correction does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from upto.corrections import BatchScaler, ComBat, ControlSphering, TypicalVariation

CORRECTIONS = [
    BatchScaler(),
    BatchScaler(reference="controls", statistic="median"),
    ControlSphering(method="pca"),
    TypicalVariation(),
    ComBat(),
]
pytestmark = pytest.mark.slow
named = pytest.mark.parametrize("correction", CORRECTIONS, ids=str)
few = settings(max_examples=10, deadline=None)
seeds = st.integers(0, 2**32 - 1)
CLOSE = 1e-7


def screen(seed):
    """Rows of plates of unequal sizes, in random order, and which are controls."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(["a", "b", "c", "d"], [14, 9, 20, 11]))
    rows = rng.normal(size=(54, 3)) @ rng.normal(size=(3, 3)) + rng.normal(size=3) * 9
    controls = np.zeros(54, bool)
    for name in "abcd":
        controls[np.flatnonzero(groups == name)[:5]] = True
    return rng, rows, groups, controls


def corrected(correction, rows, groups, controls, new=("d",)):
    known = ~np.isin(groups, new)
    fitted = clone(correction).fit(rows[known], groups=groups[known], controls=controls[known])
    return fitted.transform(rows, groups=groups, controls=controls)


@named
@few
@given(seed=seeds)
def test_the_order_of_rows_does_not_matter(correction, seed):
    rng, rows, groups, controls = screen(seed)
    order = rng.permutation(len(rows))
    wanted = corrected(correction, rows, groups, controls)
    found = corrected(correction, rows[order], groups[order], controls[order])
    np.testing.assert_allclose(found, wanted[order], atol=CLOSE, rtol=CLOSE)


@named
@few
@given(seed=seeds, names=st.permutations(["z", "plate 10", "plate 9", "Ä"]))
def test_the_names_of_batches_do_not_matter(correction, seed, names):
    _, rows, groups, controls = screen(seed)
    renamed = np.array(names)[np.searchsorted(["a", "b", "c", "d"], groups)]
    wanted = corrected(correction, rows, groups, controls)
    found = corrected(correction, rows, renamed, controls, new=(names[3],))
    np.testing.assert_allclose(found, wanted, atol=CLOSE, rtol=CLOSE)


@named
@few
@given(seed=seeds)
def test_rows_of_other_batches_do_not_matter_when_a_batch_is_corrected(correction, seed):
    rng, rows, groups, _ = screen(seed)
    fitted = clone(correction).fit(rows[groups < "c"], groups=groups[groups < "c"])
    wanted = fitted.transform(rows, groups=groups)
    other = groups == "c"
    changed = np.where(other[:, None], rows * 3 + rng.normal(size=rows.shape), rows)
    found = fitted.transform(changed, groups=groups)
    np.testing.assert_allclose(found[~other], wanted[~other], atol=CLOSE, rtol=CLOSE)
    part = groups == "a"
    part &= rng.random(len(part)) < 0.5
    if part.any():
        alone = fitted.transform(rows[part], groups=groups[part])
        np.testing.assert_allclose(alone, wanted[part], atol=CLOSE, rtol=CLOSE)


@few
@given(
    seed=seeds,
    reference=st.sampled_from(["all", "controls"]),
    statistic=st.sampled_from(["mean", "median"]),
)
def test_affine_maps_of_columns_of_a_batch_are_removed(seed, reference, statistic):
    rng, rows, groups, controls = screen(seed)
    scaler = BatchScaler(reference=reference, statistic=statistic)
    wanted = corrected(scaler, rows, groups, controls)
    place = np.searchsorted(["a", "b", "c", "d"], groups)
    scale = np.exp(rng.normal(size=(4, 3)))[place]
    moved = rows * scale + 50 * rng.normal(size=(4, 3))[place]
    np.testing.assert_allclose(corrected(scaler, moved, groups, controls), wanted, atol=CLOSE)
