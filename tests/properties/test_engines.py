"""Every pass gives the same numbers on every engine, block size, type and layout."""

from __future__ import annotations

import ast
import inspect
import pickle
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import upto
from upto import ICA, Aligner, apply_transform, save_transform
from upto.alignment import (
    LengthMap,
    MonotoneFit,
    NetworkMap,
    errors_of_map,
    fit_kernel,
    fit_maps,
    fit_ridge,
    row_errors,
    row_errors_both_ways,
)
from upto.alignment.fold_moments import fold_moments
from upto.alignment.row_lengths import chosen_length
from upto.core import Group
from upto.engines import (
    DaskEngine,
    ThreadsEngine,
    TorchEngine,
    algebra_on,
    column_medians,
    cross_moments,
    cross_scatters,
    leading_eigenvectors,
    moments,
    nearest_rotation,
    product,
    pseudo_inverse,
    row_moments,
    survey,
)
from upto.engines.algebra import on_host
from upto.ica import (
    components,
    find_components,
    nongaussianity,
    pair_curvature,
    smallest_curvature,
    white_rows,
)
from upto.ica.components import whitening_for
from upto.ica.whiten import shrunk
from upto.measures import diameter, distance_quantile, pair_moments
from upto.questions.compare.images import TURNS
from upto.testing import embeddings_strategy, random_element

AGREEMENT = 1e-10
N_ROWS, WIDTH = 407, 5
PACKAGES = ("engines", "alignment", "measures", "ica", "transforms")


def names_of(function) -> set[str]:
    """Return the names of a function and of the one that it was given to call on each block."""
    inner = getattr(function, "keywords", {}).get("function")
    own = {getattr(function, "func", function).__name__}
    return own if inner is None else own | names_of(inner)


class PicklingEngine(ThreadsEngine):
    """Send everything through pickle, as a cluster does, and remember what was sent."""

    __slots__ = ()
    sent: set[str] = set()  # noqa: RUF012 - shared on purpose

    def reduce_blocks(self, statistic, *rows, params=(), combine=None, dtype="float64"):
        statistic, params, combine = self._sent(statistic, params, combine)
        arrays = ThreadsEngine.reduce_blocks(
            self, statistic, *rows, params=params, combine=combine, dtype=dtype
        )
        return pickle.loads(pickle.dumps(arrays))

    def map_blocks(self, function, *rows, params=(), out=None, dtype="float64"):
        function, params, _ = self._sent(function, params, None)
        return ThreadsEngine.map_blocks(self, function, *rows, params=params, out=out, dtype=dtype)

    def compute(self, function, *arrays):
        function, arrays, _ = self._sent(function, arrays, None)
        return on_host(function, *arrays)

    def _sent(self, function, params, combine):
        inner = getattr(function, "keywords", {}).values()
        functions = (getattr(function, "func", function), *inner)
        self.sent.update(each.__name__ for each in functions if inspect.isfunction(each))
        return pickle.loads(pickle.dumps((function, tuple(params), combine)))


class NoTorch:
    """Stands for the torch engine where torch is missing: a test that uses it skips."""

    def __init__(self, **_):
        pass

    def __getattr__(self, name):
        pytest.skip("torch is not installed")


on_torch = TorchEngine if find_spec("torch") else NoTorch
ENGINES = {
    "numpy": ThreadsEngine(),
    "one row a block": ThreadsEngine(block_rows=1),
    "odd blocks": ThreadsEngine(block_rows=33, n_threads=1),
    "odd blocks on threads": ThreadsEngine(block_rows=33, n_threads=4),
    "one block": ThreadsEngine(block_rows=10_000),
    "array-api-strict": ThreadsEngine(namespace=array_api_strict),
    "array-api-strict, small blocks": ThreadsEngine(namespace=array_api_strict, block_rows=64),
    "pickling": PicklingEngine(block_rows=50),
    "torch": on_torch(device="cpu"),
    "torch, small blocks": on_torch(device="cpu", block_rows=33),
    "torch, resident": on_torch(device="cpu", block_rows=64, resident=True),
}
LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "read-only": lambda x: _locked(x.copy()),
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "big-endian": lambda x: x.astype(">f8"),
}
FAR = {"near": 0.0, "mean 1e3 sigma": 1e3, "mean 1e6 sigma": 1e6}

each_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
each_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
each_distance = pytest.mark.parametrize("offset", FAR.values(), ids=FAR)


def _locked(array):
    array.flags.writeable = False
    return array


def pair(offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    source = rng.laplace(size=(N_ROWS, WIDTH)) @ rng.normal(size=(WIDTH, WIDTH))
    linear, _ = random_element(Group.RIGID, WIDTH, rng)
    target = source @ linear[:, : WIDTH - 1] + 0.1 * rng.normal(size=(N_ROWS, WIDTH - 1))
    return source + offset * source.std(axis=0), target - offset


PARTS = (np.arange(N_ROWS) % 3 == 0).astype(np.int8)
WEIGHTS = np.random.default_rng(4).uniform(size=N_ROWS)


def every_pass(engine, source, target) -> dict[str, np.ndarray]:
    """Run everything that meets an engine and return its numbers by name."""
    source, target = engine.place(source), engine.place(target)
    found = survey(engine, source)
    other = survey(engine, target)
    numbers = {"mean": found.mean, "low": found.low, "high": found.high}
    pilots = (found.mean, other.mean)
    parts = [
        moments(engine, rows, pilot, PARTS)
        for rows, pilot in zip((source, target), pilots, strict=True)
    ]
    for side, name in enumerate(("source", "target")):
        for part in (0, 1):
            one = parts[side][part]
            numbers |= {f"{name} {part} mean": one.mean, f"{name} {part} scatter": one.scatter}
    means = [(parts[0][k].mean, parts[1][k].mean, parts[0][k].weight) for k in (0, 1)]
    scatters = cross_scatters(engine, source, target, PARTS, pilots, means)
    numbers |= {f"cross {k}": scatter for k, scatter in enumerate(scatters)}
    both = cross_moments(engine, source, target)
    weighted = cross_moments(engine, source, target, WEIGHTS)
    for name, each in (("all", both), ("weighted", weighted)):
        numbers |= {f"{name} scatter": each.source.scatter, f"{name} cross": each.cross}
    groups = [group for group in Group if group.is_affine and group is not Group.IDENTITY]
    maps, back = (list(fit_maps(groups, each).values()) for each in (both, both.flipped()))
    numbers["row errors"] = row_errors(engine, source, target, maps)
    numbers["held-out errors"] = row_errors(engine, source, target, maps, keep=PARTS == 1)
    for keep in (None, PARTS == 1):
        there, returned = row_errors_both_ways(
            engine, source, target, maps, back, keep,
            turns=[source.shape[1] == target.shape[1] and group in TURNS for group in groups],
        )  # fmt: skip
        numbers |= {f"there {keep is None}": there, f"back {keep is None}": returned}
    sample = np.asarray(source[:100], dtype=np.float64)
    numbers["diameter"] = np.array(diameter(engine, source, found.mean, sample).value)
    bracket = diameter(engine, source, found.mean, sample, exact_work=0)
    numbers["bracket"] = np.array([bracket.value, bracket.upper])
    # Two iterations: statistics are compared before the iteration can amplify rounding.
    ica = find_components(engine, source, part=both.source, seed=1, max_iterations=2)
    numbers["components"] = ica.components
    numbers["nongaussianity"] = nongaussianity(engine, source, ica).z
    curvature = pair_curvature(engine, source, ica)
    numbers |= {"pairs": curvature.value, "errors of pairs": curvature.error}
    numbers["smallest"] = np.array(smallest_curvature(engine, source, ica).value)
    kept = {"part": parts[0][0], "keep": PARTS == 0}
    numbers["kept"] = find_components(engine, source, **kept, max_iterations=2).components
    numbers |= shrunken_maps(engine, source, target)
    whole = row_moments(engine, source)
    numbers["shrunk"] = shrunk(engine, source, whole, "ledoit-wolf").scatter
    return numbers


def shrunken_maps(engine, source, target) -> dict[str, np.ndarray]:
    """Fit maps by ridge and kernel ridge regression, and apply them and a network."""
    sums = fold_moments(engine, source, target, PARTS).whole()
    numbers = {"fold scatter": sums.scatter, "fold cross": sums.cross}
    ridge = fit_ridge(engine, source, target, shrinkage=0.1)
    kernel = fit_kernel(engine, source, target, n_centres=20, bandwidth=3.0, shrinkage=0.1)
    width, other = ridge.map.matrix.shape
    network = NetworkMap(
        source_mean=ridge.map.source_mean,
        target_mean=ridge.map.target_mean,
        constant=ridge.map.target_mean,
        matrix=ridge.map.matrix,
        hidden_weights=np.linspace(-1, 1, 3 * width).reshape(width, 3),
        hidden_bias=np.array([0.0, 0.5, -0.5]),
        output_weights=np.linspace(1, -1, 3 * other).reshape(3, other),
    )
    for name, fitted in (("ridge", ridge.map), ("kernel", kernel.map), ("network", network)):
        scaled = LengthMap(map=fitted, length=2.0)
        numbers[f"{name} errors"] = errors_of_map(engine, source, target, fitted)
        numbers[f"{name} scaled errors"] = errors_of_map(engine, source, target, scaled)
    function, params = LengthMap(map=kernel.map, length=2.0).block_function()
    numbers["mapped"] = engine.map_blocks(function, source, params=params)
    numbers["length"] = np.array(chosen_length(engine, target, "target") or 0.0)
    return numbers


def assert_same(actual, wanted, tolerance=AGREEMENT):
    assert actual.keys() == wanted.keys()
    for name, value in wanted.items():
        scale = np.abs(value).max()
        np.testing.assert_allclose(
            actual[name], value, rtol=tolerance, atol=tolerance * scale, err_msg=name
        )


@each_engine
@each_distance
def test_every_engine_agrees_with_numpy(engine, offset):
    source, target = pair(offset)
    # Data far away have lost digits before they reach us; so has any two-pass mean of them.
    tolerance = AGREEMENT * max(1.0, offset / 1e3)
    assert_same(
        every_pass(engine, source, target), every_pass(ThreadsEngine(), source, target), tolerance
    )


@pytest.mark.parametrize("block_rows", [pytest.param(150, marks=pytest.mark.slow), 407])
def test_a_cluster_agrees_with_numpy(client, block_rows):
    source, target = pair(1e3)
    engine = DaskEngine(client=client, block_rows=block_rows)
    assert_same(
        every_pass(engine, source, target), every_pass(ThreadsEngine(), source, target), AGREEMENT
    )


@pytest.mark.slow
@each_layout
@pytest.mark.parametrize(
    "engine",
    [ThreadsEngine(block_rows=50), ENGINES["array-api-strict"], ENGINES["torch, small blocks"]],
    ids=["numpy", "strict", "torch"],
)
def test_every_layout_gives_the_same_numbers(layout, engine):
    source, target = pair()
    assert_same(
        every_pass(engine, layout(source), layout(target)), every_pass(engine, source, target)
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name", ["odd blocks", "array-api-strict", "torch", "torch, resident"])
def test_every_type_is_computed_in_double_precision(dtype, name):
    source, target = pair()
    low = tuple(np.trunc(np.abs(rows) / 2).astype(dtype) for rows in (source, target))
    double = tuple(rows.astype(np.float64) for rows in low)
    assert_same(every_pass(ENGINES[name], *low), every_pass(ThreadsEngine(), *double))


@each_distance
def test_moments_are_those_of_the_centred_data(offset):
    source, target = pair(offset)
    numbers = every_pass(ThreadsEngine(block_rows=40), source, target)
    x, y = source - source.mean(axis=0), target - target.mean(axis=0)
    # What rounding of the data themselves allows.
    tolerance = max(AGREEMENT, 1e-15 * offset)
    for name, wanted in {
        "all scatter": x.T @ x,
        "all cross": x.T @ y,
        "source 1 scatter": np.cov(source[PARTS == 1].T, bias=True) * PARTS.sum(),
    }.items():
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(numbers[name], wanted, atol=tolerance * scale, err_msg=name)


def test_parts_add_up_to_the_whole():
    source, target = pair(1e3)
    engine = ThreadsEngine(block_rows=40)
    first, second = moments(engine, source, source[0], PARTS)
    whole = cross_moments(engine, source, target).source
    joined = first + second
    assert joined.weight == whole.weight
    np.testing.assert_allclose(joined.mean, whole.mean, rtol=AGREEMENT)
    np.testing.assert_allclose(joined.scatter, whole.scatter, rtol=AGREEMENT, atol=1e-8)


def test_a_part_without_rows_weighs_nothing():
    source, _ = pair()
    first, second = moments(ThreadsEngine(), source, source[0], np.zeros(N_ROWS, dtype=np.int8))
    assert second.weight == 0
    np.testing.assert_array_equal(second.scatter, 0)
    np.testing.assert_allclose((first + second).scatter, first.scatter)
    assert (second + second).weight == 0


@pytest.mark.parametrize("n_rows", [4, 100, 700])
@pytest.mark.parametrize("weights", [None, "some"])
def test_coordinates_that_never_change_have_no_scatter_at_all(n_rows, weights):
    """Their mean is rounded; the rounding must not look like variance, nor like less than none."""
    rng = np.random.default_rng(n_rows)
    values = rng.normal(size=30) * 10.0 ** rng.integers(-5, 6, size=30)
    rows = np.tile(values, (n_rows, 1))
    rows[:, 0] = rng.normal(size=n_rows)
    drawn = None if weights is None else rng.uniform(size=n_rows)
    engine = ThreadsEngine(block_rows=40)
    found = [
        cross_moments(engine, rows, rows, drawn).source,
        cross_moments(engine, rows, rows, drawn).target,
        *moments(engine, rows, survey(engine, rows).mean, (np.arange(n_rows) % 2).astype(np.int8)),
    ]
    for each in found:
        np.testing.assert_array_equal(each.scatter[1:, 1:], 0)
        assert each.scatter[0, 0] > 0
        np.testing.assert_allclose(each.mean[1:], values[1:], rtol=AGREEMENT)


def test_flipped_moments_are_those_of_the_exchanged_runs():
    source, target = pair()
    flipped = cross_moments(ThreadsEngine(), source, target).flipped()
    wanted = cross_moments(ThreadsEngine(), target, source)
    np.testing.assert_allclose(flipped.cross, wanted.cross, rtol=AGREEMENT)
    np.testing.assert_allclose(flipped.source.mean, wanted.source.mean, rtol=AGREEMENT)


@pytest.mark.slow
@pytest.mark.parametrize("block_rows", [1, 13, None])
def test_the_number_of_threads_changes_no_bit(block_rows):
    source, target = pair(1e3)
    results = [
        every_pass(ThreadsEngine(n_threads=n, block_rows=block_rows), source, target)
        for n in (1, 2, 3, 8)
    ]
    for other in results[1:]:
        for name, value in results[0].items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)


@each_engine
def test_values_that_are_not_finite_are_counted_and_left_out(engine):
    source, _ = pair()
    source[3, 0], source[400, 1], source[401, 1] = np.nan, np.inf, -np.inf
    found = survey(engine, source)
    assert found.n_not_finite == 3
    clean = np.where(np.isfinite(source), source, 0)
    np.testing.assert_allclose(found.mean, clean.mean(axis=0), rtol=AGREEMENT)
    np.testing.assert_array_equal(found.low, clean.min(axis=0))
    np.testing.assert_array_equal(found.high, clean.max(axis=0))


MAKERS = {
    "numpy": partial(ThreadsEngine, n_threads=2),
    "strict": partial(ThreadsEngine, n_threads=2, namespace=array_api_strict),
    "torch": partial(TorchEngine, device="cpu"),
}


@given(rows=embeddings_strategy(), block_rows=st.integers(1, 50), maker=st.sampled_from([*MAKERS]))
def test_any_data_in_any_blocks_have_the_moments_numpy_gives(rows, block_rows, maker):
    engine = MAKERS[maker](block_rows=block_rows)
    found = cross_moments(engine, rows, rows[:, :1])
    centred = rows - rows.mean(axis=0)
    size = float(np.square(rows).sum()) + np.finfo(float).tiny
    np.testing.assert_allclose(found.source.scatter, centred.T @ centred, atol=AGREEMENT * size)
    np.testing.assert_allclose(found.source.mean, rows.mean(axis=0), atol=AGREEMENT * size**0.5)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_diagonal_moments_are_the_diagonals_of_the_full_ones(weights):
    source, target = pair()
    full = cross_moments(ThreadsEngine(), source, target, weights)
    lean = cross_moments(ThreadsEngine(), source, target, weights, full=False)
    np.testing.assert_allclose(lean.cross, full.cross, rtol=AGREEMENT, atol=AGREEMENT)
    for found, wanted in ((lean.source, full.source), (lean.target, full.target)):
        np.testing.assert_allclose(found.scatter, np.diag(np.diag(wanted.scatter)), rtol=AGREEMENT)


@pytest.mark.parametrize("name", ["array-api-strict", "pickling", "odd blocks on threads", "torch"])
def test_moments_of_measures_are_the_same_on_every_engine(name):
    wanted, found = (
        pair_moments(*pair(), engine=engine) for engine in (ThreadsEngine(), ENGINES[name])
    )
    for each in ("cross", "cross_fourth"):
        np.testing.assert_allclose(getattr(found, each), getattr(wanted, each), rtol=AGREEMENT)
    np.testing.assert_allclose(found.x.scatter, wanted.x.scatter, rtol=AGREEMENT, atol=1e-9)
    assert found.y.fourth == pytest.approx(wanted.y.fourth)


@pytest.mark.parametrize("name", ["array-api-strict", "pickling", "odd blocks on threads", "torch"])
def test_ica_converges_to_the_same_components_on_every_engine(name):
    source, target = pair()
    whole = cross_moments(ThreadsEngine(), source, target).source
    wanted, found = (
        find_components(engine, source, part=whole, seed=2)
        for engine in (ThreadsEngine(), ENGINES[name])
    )
    assert wanted.converged
    assert found.converged
    # A gradient next to the tolerance is below it on one engine and above it on another.
    assert abs(found.n_iterations - wanted.n_iterations) <= 1
    np.testing.assert_allclose(found.components, wanted.components, rtol=1e-8, atol=1e-8)


def narrow_passes(engine):
    """Whiten all and some rows of a direction that the covariance does not show, and unmix them."""
    rows = pair()[0]
    rows[:, 1] = rows[:, 0] + 1e-7 * rows[:, 1]
    keep = PARTS == 0
    white = [
        whitening_for(engine, rows, None),
        whitening_for(engine, rows, row_moments(engine, rows[keep]), keep=keep),
    ]
    unmixed = find_components(engine, rows, seed=2)
    return [(rows - each.mean) @ each.matrix.T for each in white] + [
        (rows - unmixed.mean) @ unmixed.components.T
    ]


@pytest.mark.parametrize("name", ["array-api-strict", "pickling", "odd blocks on threads", "torch"])
def test_narrow_directions_are_the_same_on_every_engine(name):
    every = zip(narrow_passes(ENGINES[name]), narrow_passes(ThreadsEngine()), strict=True)
    for found, wanted in every:
        assert found.shape == wanted.shape == (N_ROWS, WIDTH)
        signs = np.sign((found * wanted).sum(axis=0))
        np.testing.assert_allclose(found * signs, wanted, atol=1e-6)


def statistics_in(source: Path) -> set[str]:
    """Return the functions over the array API that a module hands on instead of calling them."""
    tree = ast.parse(source.read_text())
    over_arrays = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].arg == "xp"
    }
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    named = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called
    }
    return named & over_arrays


def test_every_statistic_was_sent_through_pickle(monkeypatch, tmp_path):
    every_pass(ENGINES["pickling"], *pair())
    monkeypatch.setattr(components, "LARGE", 0)
    monkeypatch.setattr(white_rows, "SAMPLE_ROWS", 20)
    with algebra_on(ENGINES["pickling"], WIDTH):
        find_components(ENGINES["pickling"], pair()[0])
        wide = np.random.default_rng(0).normal(size=(300, 300))
        nearest_rotation(wide)
        pseudo_inverse(product(wide, wide.T) + np.eye(300))
        leading_eigenvectors(product(wide, wide.T), 3)
        column_medians(wide)
        distance_quantile(wide, 0.5)
        MonotoneFit(wide, wide)
    pair_moments(*pair(), engine=ENGINES["pickling"])
    narrow_passes(ENGINES["pickling"])
    save_transform(tmp_path / "ica.safetensors", ICA(2, random_state=0).fit(pair()[0]))
    for inverse, run in ((False, pair()[0]), (True, pair()[0][:, :2])):
        apply_transform(
            tmp_path / "ica.safetensors",
            run,
            output=tmp_path / "out.npy",
            inverse=inverse,
            engine=ENGINES["pickling"],
        )
    monotone = Aligner("monotone-permutation").fit(*pair())
    apply_transform(monotone, pair()[0], output=tmp_path / "out.npy", engine=ENGINES["pickling"])
    root = Path(upto.__file__).parent
    sources = [path for package in PACKAGES for path in (root / package).glob("*.py")]
    known = set().union(*(statistics_in(path) for path in sources))
    assert len(known) >= 10
    assert known == PicklingEngine.sent
