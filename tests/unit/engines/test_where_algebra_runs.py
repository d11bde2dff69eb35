"""d×d algebra and functions of blocks that the array API lacks, on the host and in torch."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from in_torch import InTorch

from upto.engines import ThreadsEngine, TorchEngine, algebra_on, column_medians, row_moments
from upto.engines.algebra import compute, eigh, product
from upto.engines.array_functions import bits_of, interpolate_columns
from upto.engines.device_rows import _copy, namespace_on, placed_param
from upto.engines.rotations import polar_factor_by_products
from upto.ica.whiten import find_whitening
from upto.measures import distance_quantile


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


@pytest.mark.parametrize("shape", [(60, 60), (60, 40), (40, 60)])
@pytest.mark.parametrize("condition", [1.0, 30.0, 1e4])
def test_a_polar_factor_by_products_is_that_of_the_decomposition(shape, condition, rng):
    torch = pytest.importorskip("torch")
    left, _, right = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
    for size in (1e-150, 1.0, 1e150):
        matrix = (left * np.geomspace(size, size / condition, min(shape))) @ right
        found = polar_factor_by_products(torch.from_numpy(matrix))
        assert found is not None
        np.testing.assert_allclose(found.numpy(), left @ right, atol=1e-11)


def test_a_polar_factor_that_takes_too_many_products_is_none(rng):
    torch = pytest.importorskip("torch")
    left, _, right = np.linalg.svd(rng.normal(size=(30, 30)))
    for last in (0.0, 1e-9):
        values = np.append(np.ones(29), last)
        assert polar_factor_by_products(torch.from_numpy((left * values) @ right)) is None
    assert polar_factor_by_products(torch.zeros(4, 4, dtype=torch.float64)) is None
    assert polar_factor_by_products(torch.full((4, 4), torch.nan, dtype=torch.float64)) is None


@pytest.mark.parametrize("n_rows", [2, 150, 151])
def test_medians_and_quantiles_in_torch_are_those_of_numpy(n_rows, rng):
    pytest.importorskip("torch")
    rows = rng.laplace(size=(n_rows, 70))
    rows[1] = rows[0]
    here = [column_medians(rows), distance_quantile(rows, 0.5), distance_quantile(rows, 0.999)]
    with algebra_on(InTorch(), 70):
        there = [column_medians(rows), distance_quantile(rows, 0.5), distance_quantile(rows, 0.999)]
    np.testing.assert_allclose(there[0], here[0])
    np.testing.assert_allclose(there[1:], here[1:], rtol=1e-5)


def test_new_arrays_of_a_namespace_are_on_its_device():
    torch = pytest.importorskip("torch")
    xp = namespace_on(torch.device("meta"))
    new = [
        xp.zeros((2, 3)),
        xp.ones(2),
        xp.eye(3),
        xp.arange(4),
        xp.full((2,), 1.0),
        xp.empty((1,)),
        xp.linspace(0.0, 1.0, 3),
        xp.asarray(1.0),
    ]
    assert {each.device.type for each in new} == {"meta"}
    assert namespace_on(torch.device("meta")) is xp
    assert xp.matmul(torch.eye(2), torch.eye(2)).device.type == "cpu"


def test_threads_that_launch_products_keep_their_own_precision():
    torch = pytest.importorskip("torch")
    seen = []

    def launch(allow_tf32):
        engine = TorchEngine(device="cpu", allow_tf32=allow_tf32)
        for _ in range(50):
            with engine._products():
                time.sleep(1e-4)
                seen.append((allow_tf32, torch.backends.cuda.matmul.fp32_precision))

    before = torch.backends.cuda.matmul.fp32_precision
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(launch, [False, True]))
    assert set(seen) == {(False, "ieee"), (True, "tf32")}
    assert torch.backends.cuda.matmul.fp32_precision == before


@pytest.mark.parametrize("order", ["C", "F"])
def test_matrices_reach_a_device_in_either_order(order, rng):
    torch = pytest.importorskip("torch")
    matrix = np.asarray(rng.normal(size=(5, 3)), order=order)
    found = placed_param(matrix, torch.device("cpu"))
    np.testing.assert_array_equal(found.numpy(), matrix)


def test_large_blocks_are_copied_whole_and_refused_if_digits_would_be_lost(rng):
    block = rng.normal(size=(1001, 600))
    here = np.empty_like(block)
    _copy(here, block)
    np.testing.assert_array_equal(here, block)
    with pytest.raises(TypeError):
        _copy(np.empty(block.shape, dtype=np.int64), block)


@pytest.mark.parametrize("condition", [5.0, 1e4])
def test_principal_directions_in_torch_are_those_of_numpy(condition, rng):
    pytest.importorskip("torch")
    rows = rng.normal(size=(500, 30)) @ np.diag(np.geomspace(1.0, condition, 30))
    part = row_moments(ThreadsEngine(), rows)
    here = find_whitening(part)
    with algebra_on(InTorch(), 30):
        there = find_whitening(part)
    np.testing.assert_allclose(there.variances, here.variances, rtol=1e-9)
    np.testing.assert_allclose(there.inverse @ there.matrix, np.eye(30), atol=1e-8)
    signs = np.sign(np.sum(here.matrix * there.matrix, axis=1))
    np.testing.assert_allclose(signs[:, None] * there.matrix, here.matrix, rtol=1e-6, atol=1e-9)
