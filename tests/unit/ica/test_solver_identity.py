"""Products that are left out where a map is the identity."""

from __future__ import annotations

import numpy as np

from upto.engines import ThreadsEngine
from upto.ica.contrasts import LogCosh
from upto.ica.solver import Problem


def test_a_map_onto_the_first_coordinates_is_no_identity(rng):
    rows = rng.laplace(size=(300, 5))
    shared = {"engine": ThreadsEngine(), "contrast": LogCosh(), "noise": 0.0, "n_samples": 300.0}
    all_of_them = Problem(rows=rows, mean=np.zeros(5), matrix=np.eye(3, 5), **shared)
    only_these = Problem(rows=rows[:, :3].copy(), mean=np.zeros(3), matrix=np.eye(3), **shared)
    found, wanted = (each.evaluate([np.eye(3)])[0] for each in (all_of_them, only_these))
    np.testing.assert_allclose(found.cross, wanted.cross)
    np.testing.assert_allclose(found.slope, wanted.slope)
