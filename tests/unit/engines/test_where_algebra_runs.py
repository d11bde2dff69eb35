"""d×d algebra and functions of blocks that the array API lacks, on the host and in torch."""

from __future__ import annotations

import numpy as np
import pytest

from upto.engines import ThreadsEngine, TorchEngine, algebra_on
from upto.engines.algebra import compute, eigh, product
from upto.engines.array_functions import bits_of, interpolate_columns


def test_algebra_runs_where_the_engine_is():
    class Counting(ThreadsEngine):
        calls = 0

        def compute(self, function, *arrays):
            Counting.calls += 1
            return function(np, *arrays)

    matrix = np.diag([3.0, 1.0, 2.0])
    with algebra_on(Counting(), 3):
        values, _ = eigh(matrix)
        found = product(matrix, matrix)
    np.testing.assert_allclose(values, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found, np.diag([9.0, 1.0, 4.0]))
    assert Counting.calls == 2
    eigh(matrix)
    assert Counting.calls == 2


def test_algebra_returns_to_the_host_after_an_error():
    engine = ThreadsEngine()
    with pytest.raises(ZeroDivisionError), algebra_on(engine, 3):
        raise ZeroDivisionError
    (found,) = compute(lambda xp, a: (xp.matmul(a, a),), np.eye(2))
    np.testing.assert_array_equal(found, np.eye(2))


def test_interpolation_in_torch_is_that_of_numpy(rng):
    torch = pytest.importorskip("torch")
    knots = np.sort(rng.normal(size=(9, 5)), axis=0)
    values = np.sort(rng.normal(size=(9, 5)), axis=0)
    # Equal knots have equal values.
    knots[3], values[3] = knots[4], values[4]
    places = np.concatenate([3 * rng.normal(size=(200, 5)), knots])
    wanted = interpolate_columns(np, places, knots, values)
    tensors = (torch.from_numpy(each) for each in (places, knots, values))
    found = interpolate_columns(torch, *tensors)
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-14)
    single = interpolate_columns(np, places, knots[:1], values[:1])
    np.testing.assert_array_equal(single, np.broadcast_to(values[0], places.shape))


def test_bits_are_those_of_the_doubles(rng):
    torch = pytest.importorskip("torch")
    values = np.concatenate([rng.normal(size=20), [0.0, -0.0, np.inf, 5e-324]])
    found = bits_of(values)
    np.testing.assert_array_equal(found.view(np.float64), values)
    np.testing.assert_array_equal(bits_of(torch.from_numpy(values)).numpy(), found)


def test_small_matrices_and_engines_without_a_device_stay_on_the_host(rng):
    pytest.importorskip("torch")
    matrix = rng.normal(size=(300, 300))
    with algebra_on(TorchEngine(device="cpu"), 300):
        found = product(matrix, matrix)
    np.testing.assert_allclose(found, matrix @ matrix, atol=1e-10)
