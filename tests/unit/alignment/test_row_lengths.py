"""Mapped rows have the length of the target's rows, where these have one."""

import numpy as np
import pytest

from upto.alignment import Aligner, KernelAligner, LengthMap, RidgeAligner
from upto.core import Group, InputError
from upto.engines import ThreadsEngine, TorchEngine


@pytest.fixture
def runs(rng):
    source = rng.normal(size=(300, 6))
    target = source @ rng.normal(size=(6, 4))
    return source, 3 * target / np.linalg.norm(target, axis=1)[:, None]


ESTIMATORS = {
    **{str(group): lambda group=group: Aligner(group) for group in Group if group != "identity"},
    "ridge": RidgeAligner,
    "kernel": lambda: KernelAligner(n_centres=20),
}


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
def test_rows_have_the_length_of_the_target(runs, make):
    source, target = runs
    plain, scaled = make().fit(source, target), make().set_params(length="target")
    scaled.fit(source, target)
    assert plain.length_ is None
    assert scaled.length_ == pytest.approx(3.0)
    found = scaled.transform(source)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 3.0)
    raw = plain.transform(source)
    np.testing.assert_allclose(found, 3 * raw / np.linalg.norm(raw, axis=1)[:, None], rtol=1e-9)
    assert scaled.linear_ is None


def test_targets_of_many_lengths_leave_rows_alone(runs):
    source, target = runs
    target = target * np.linspace(1, 1.002, 300)[:, None]
    found = RidgeAligner(length="target").fit(source, target)
    assert found.length_ is None
    np.testing.assert_array_equal(
        found.transform(source), RidgeAligner().fit(source, target).transform(source)
    )
    close = RidgeAligner(length="target").fit(source, runs[1].astype(np.float16))
    assert close.length_ == pytest.approx(3.0, rel=1e-3)
    assert RidgeAligner(length="target").fit(source, np.zeros((300, 2))).length_ is None


def test_a_length_can_be_given(runs):
    source, target = runs
    found = Aligner("affine", length=2).fit(source, target * np.linspace(1, 2, 300)[:, None])
    assert found.length_ == 2.0
    np.testing.assert_allclose(np.linalg.norm(found.transform(source), axis=1), 2.0)
    single = found.transform(source.astype(np.float32))
    assert single.dtype == np.float32


@pytest.mark.parametrize("n_threads", [None, 1])
def test_zero_vectors_stay_zero(n_threads):
    source = np.array([[1.0, 2.0], [3.0, -4.0], [-4.0, 2.0], [0.0, 0.0]])
    found = Aligner("rigid", length=1.0).fit(source, source)
    assert isinstance(found.map_, LengthMap)
    function, params = found.map_.block_function()
    engine = ThreadsEngine(n_threads=n_threads)
    for mapped in (found.transform(source), engine.map_blocks(function, source, params=params)):
        np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), [1, 1, 1, 0], atol=1e-12)
        np.testing.assert_array_equal(mapped[3], 0)


def test_the_worst_error_is_that_of_the_scaled_rows(runs):
    source, target = runs
    found = Aligner("affine", length="target").fit(source, target)
    errors = np.linalg.norm(target - found.transform(source), axis=1)
    assert found.worst_error_ == pytest.approx(errors.max())


def test_a_scaled_map_has_no_inverse(runs):
    source, target = runs
    found = Aligner("rigid", length="target").fit(source[:, :4], target)
    with pytest.raises(InputError, match="scales rows to the length 3 and has no inverse: fit one"):
        found.inverse_transform(target)
    other = Aligner("rigid", length="target").fit(source[:, :4], source[:, :4])
    np.testing.assert_allclose(other.inverse_transform(source[:, :4]), source[:, :4])


def test_columns_and_engines_give_the_same_rows(runs):
    source, target = runs
    found = RidgeAligner(length="target").fit(source, target)
    turned = np.array([3, 1, 0, 2, 5, 4])
    again = found.map_.of_columns(turned)
    np.testing.assert_allclose(again.predict(source[:, turned]), found.transform(source))
    pytest.importorskip("torch", reason="torch is not installed")
    function, params = found.map_.block_function()
    on_torch = TorchEngine(device="cpu").map_blocks(function, source, params=params)
    np.testing.assert_allclose(on_torch, found.transform(source))
