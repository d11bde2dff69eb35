"""Any scale whose squares can be summed is as good as any other."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto.core import InputError

ROWS = 600
# Close to where sums of squares overflow, and to where they lose digits.
SCALES = (2e141, 1e149, 1e-141, 1e-145)


def rows_of(rng):
    return rng.laplace(size=(ROWS, 4)) @ rng.normal(size=(4, 4))


@pytest.mark.parametrize("scale", SCALES)
def test_components_do_not_depend_on_the_scale(scale, rng):
    rows = rows_of(rng)
    wanted, found = upto.unmix_run(rows), upto.unmix_run(scale * rows)
    assert found.verdict == wanted.verdict
    assert found.rank == wanted.rank
    np.testing.assert_allclose(
        [each.variance for each in found.components],
        [each.variance for each in wanted.components],
        rtol=1e-6,
    )


@pytest.mark.parametrize("scale", SCALES)
def test_comparisons_do_not_depend_on_the_scale(scale, rng):
    rows = rows_of(rng)
    turned = rows @ np.linalg.qr(rng.normal(size=(4, 4)))[0] + 0.01 * rng.normal(size=rows.shape)
    wanted, found = upto.compare(rows, turned), upto.compare(scale * rows, scale * turned)
    # Which rows are held out, their content decides, and that is another.
    assert found.verdict.split(":")[0] == wanted.verdict.split(":")[0]
    assert "rigid motion" in found.verdict


@pytest.mark.parametrize("scale", [1e153, 1e300, 1e-149, 1e-300])
def test_what_cannot_be_squared_is_refused_before_it_overflows(scale, rng):
    with pytest.raises(InputError, match="squares leave the range of float64: rescale the run"):
        upto.unmix_run(scale * rows_of(rng))
    with pytest.raises(InputError, match="squares leave the range of float64: rescale the run"):
        upto.compare(scale * rows_of(rng), scale * rows_of(rng))
