"""Any scale whose squares can be summed is as good as any other."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto.core import InputError

ROWS = 600
# Close to where sums of squares overflow, and to where they lose digits.
SCALES = (2e141, 1e149, 1e-145, 1e-149)


def rows_of(rng):
    return rng.laplace(size=(ROWS, 4)) @ rng.normal(size=(4, 4))


@pytest.mark.parametrize("scale", SCALES)
def test_components_do_not_depend_on_the_scale(scale, rng):
    rows = rows_of(rng)
    wanted, found = upto.unmix(rows), upto.unmix(scale * rows)
    assert found.verdict == wanted.verdict
    assert found.rank == wanted.rank
    np.testing.assert_allclose(
        [each.variance for each in found.components],
        [each.variance for each in wanted.components],
        rtol=1e-6,
    )


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
def test_comparisons_do_not_depend_on_the_scale(scale, rng):
    rows = rows_of(rng)
    turned = rows @ np.linalg.qr(rng.normal(size=(4, 4)))[0] + 0.01 * rng.normal(size=rows.shape)
    wanted, found = upto.compare(rows, turned), upto.compare(scale * rows, scale * turned)
    # Which rows are held out, their content decides, and that is another.
    assert found.verdict.split(":")[0] == wanted.verdict.split(":")[0]
    assert "rigid motion" in found.verdict


@pytest.mark.parametrize("scale", [1e153, 1e300, 1e-153, 1e-160, 1e-300])
def test_what_cannot_be_squared_is_refused_before_it_is(scale, rng):
    rows = np.clip(rows_of(rng), -10, 10) * (scale / 10)
    why = "squares overflow" if scale > 1 else "squares underflow"
    for refused in (upto.unmix, upto.ICA().fit, upto.Whitener().fit):
        with pytest.raises(InputError, match=f"{why} float64: rescale"):
            refused(rows)
    with pytest.raises(InputError, match=f"{why} float64: rescale the run"):
        upto.compare(rows, rows[::-1])
    with pytest.raises(InputError, match=f"{why} float64: rescale it"):
        upto.layers({"a": rows}, {"b": rows})
    with pytest.raises(InputError, match="overflow or underflow"):
        upto.lipschitz(rows, rows)


def test_values_that_cannot_be_summed_are_refused_too(rng):
    rows = np.clip(rows_of(rng), -10, 10) * 1e307
    with pytest.raises(InputError, match="overflow float64: rescale the run"):
        upto.compare(np.abs(rows), rows)


@pytest.mark.parametrize("scale", SCALES)
def test_stretching_does_not_depend_on_the_scale(scale, rng):
    rows = scale * rows_of(rng)[:100]
    assert upto.lipschitz(rows, 2 * rows).secants.largest == pytest.approx(2.0)


@pytest.mark.parametrize("scale", SCALES)
def test_an_error_is_not_lost_to_the_scale(scale, rng):
    rows = scale * rows_of(rng)
    moved = rows + 1e-7 * scale * rng.normal(size=rows.shape)
    found = upto.compare(rows, moved, ica=False, refits=0)
    assert found.exact is None
    assert found.identity.held_out.mean.value > 1e-9


def test_blocks_too_small_to_square_are_refused(rng):
    with pytest.raises(InputError, match="underflow double precision"):
        upto.ICA().fit_rows(1e-160 * rows_of(rng))


@pytest.mark.parametrize("seed", range(6))
def test_a_signed_permutation_of_very_different_scales_is_found(seed):
    """Some maps are then exact, so that no row has an error to be weighted by."""
    rng = np.random.default_rng(seed)
    first = rng.laplace(size=(400, 8)) * np.geomspace(1e-8, 1e8, 8)
    result = upto.compare(first, -first[:, rng.permutation(8)], ica=False, refits=0)
    assert result.up_to is upto.Group.SIGNED_PERMUTATION
    assert result.fit("signed-permutation").in_sample.worst < 1e-10


@pytest.mark.parametrize("scales", [(1e-100, 1e100), (1e100, 1e-100), (1e-80, 1e80)])
def test_runs_of_scales_too_different_to_square_are_refused(scales, rng):
    rows = rows_of(rng)[:100]
    runs = [scale * rows for scale in scales]
    why = "squares of errors overflow float64: rescale one of them"
    with pytest.raises(InputError, match=why):
        upto.compare(*runs, ica=False, refits=0)
    with pytest.raises(InputError, match=why):
        upto.compare(rows, *runs, ica=False)


def test_a_run_too_far_from_zero_for_the_other_is_refused(rng):
    rows = rows_of(rng)[:100]
    with pytest.raises(InputError, match="overflow float64"):
        upto.compare(rows + 1e8, 1e-148 * rows, ica=False, refits=0)


@pytest.mark.parametrize("scales", [(1e-70, 1e70), (1e70, 1e-70)])
def test_runs_of_very_different_scales_are_compared(scales, rng):
    rows = rows_of(rng)[:100]
    result = upto.compare(scales[0] * rows, scales[1] * rows[:, ::-1], refits=1)
    assert (result.agreement, result.up_to) == ("same", upto.Group.SIGNED_SIMILARITY)


def test_fitted_rows_that_are_all_equal_leave_nothing_to_unmix():
    """The only row that differs may be held out."""
    rng = np.random.default_rng(5)
    constant = np.ones((40, 3))
    constant[rng.integers(40)] = [2, 3, 4]
    other = rng.normal(size=(40, 3))
    result = upto.compare(constant, other)
    assert result.up_to is None
    assert "No better than chance" in result.verdict
