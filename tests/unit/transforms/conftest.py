"""A map that several modules of tests apply to files."""

import numpy as np
import pytest

from upto import Aligner


@pytest.fixture(scope="module")
def aligner() -> Aligner:
    rng = np.random.default_rng(0)
    source = rng.laplace(size=(200, 6))
    return Aligner("affine").fit(source, source @ rng.normal(size=(6, 9)) + 3)
