"""Networks learn what an affine map leaves, or stay out of it; they are applied without torch."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from upto.alignment import AffineMap, NetworkAligner, NetworkMap, RidgeAligner
from upto.core import InputError

torch = pytest.importorskip("torch", reason="torch is not installed")


def warped(rng, n_samples, width=5, other=4, noise=0.02):
    x = rng.normal(size=(n_samples, width)) * [1, 10, 1, 0.1, 1] + 50
    centred = (x - 50) / [1, 10, 1, 0.1, 1]
    y = np.tanh(centred @ rng.normal(size=(width, other)))
    return x, y + noise * rng.normal(size=y.shape)


@pytest.fixture(scope="module")
def rows():
    return warped(np.random.default_rng(0), 2000)


@pytest.fixture(scope="module")
def fitted(rows):
    x, y = rows
    return NetworkAligner(n_hidden=64, n_epochs=60).fit(x[:1200], y[:1200])


def test_a_warp_is_mapped_better_than_by_ridge(rows, fitted):
    x, y = rows
    affine = RidgeAligner().fit(x[:1200], y[:1200])
    left = [1 - each.score(x[1200:], y[1200:]) for each in (fitted, affine)]
    assert left[0] < left[1] / 3
    assert isinstance(fitted.map_, NetworkMap)
    assert fitted.n_iter_ > 0
    assert fitted.linear_ is None


def test_numpy_computes_what_torch_does(rows, fitted):
    found = fitted.map_
    x = torch.as_tensor(rows[0])
    arrays = {
        name: torch.as_tensor(getattr(found, name))
        for name in ("source_mean", "matrix", "hidden_weights", "hidden_bias", "output_weights")
    }
    centred = x - arrays["source_mean"]
    hidden = centred @ arrays["hidden_weights"] + arrays["hidden_bias"]
    active = torch.nn.functional.gelu(hidden, approximate="tanh")
    wanted = centred @ arrays["matrix"] + active @ arrays["output_weights"]
    wanted += torch.as_tensor(found.constant)
    np.testing.assert_allclose(fitted.transform(rows[0]), wanted.numpy(), atol=1e-9)


def test_a_seed_gives_one_map_whatever_the_order_of_rows_and_the_threads(rows, fitted):
    x, y = rows[0][:1200], rows[1][:1200]
    order = np.random.default_rng(1).permutation(1200)
    before = torch.get_num_threads()
    state = torch.random.get_rng_state()
    again = clone(fitted).fit(x, y)
    torch.set_num_threads(before + 1)
    try:
        shuffled = clone(fitted).fit(x[order], y[order])
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)
    assert (torch.random.get_rng_state() == state).all()
    np.testing.assert_array_equal(again.map_.hidden_weights, fitted.map_.hidden_weights)
    np.testing.assert_allclose(shuffled.transform(x), fitted.transform(x), atol=1e-4)
    other = clone(fitted).set_params(random_state=1, n_epochs=5).fit(x, y)
    assert np.abs(other.map_.hidden_weights - fitted.map_.hidden_weights).max() > 0.01


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_linear_map_stays_affine_or_as_good(rng, noise):
    x = rng.normal(size=(1000, 20))
    y = x @ rng.normal(size=(20, 6)) + noise * rng.normal(size=(1000, 6))
    found = NetworkAligner(n_hidden=32).fit(x[:500], y[:500])
    affine = RidgeAligner().fit(x[:500], y[:500])
    assert found.score(x[500:], y[500:]) > affine.score(x[500:], y[500:]) - 0.01
    if noise == 0:
        assert isinstance(found.map_, AffineMap)
        assert found.n_iter_ == 0
        # All rows are fitted again.
        np.testing.assert_allclose(found.linear_, affine.linear_, atol=1e-9)


def test_a_coordinate_that_does_not_vary_is_left_out(rng):
    x, y = warped(rng, 400)
    x = np.hstack([x, np.full((400, 1), 3.0)])
    found = NetworkAligner(n_hidden=16, n_epochs=20).fit(x, y)
    assert np.isfinite(found.transform(x)).all()
    if isinstance(found.map_, NetworkMap):
        assert not found.map_.hidden_weights[5].any()


def test_there_is_no_inverse(rows, fitted):
    with pytest.raises(InputError, match="network map is not affine and has no inverse: fit one"):
        fitted.inverse_transform(rows[1])


@pytest.mark.slow
def test_a_fitted_network_is_applied_without_torch(tmp_path, rows, fitted):
    from upto import save_transform

    save_transform(tmp_path / "map.safetensors", fitted)
    np.save(tmp_path / "rows.npy", rows[0])
    code = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] == "torch"
        return None if hidden else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(each) for each in sys.meta_path]
import numpy as np, upto
rows = np.load("rows.npy")
np.save("out.npy", upto.load_transform("map.safetensors").transform(rows))
try:
    upto.NetworkAligner().fit(rows, rows)
except upto.InputError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True, text=True
    )
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), fitted.transform(rows[0]), atol=1e-12)
    assert done.stdout.strip() == (
        "NetworkAligner needs the package torch, which is not installed: run `pip install "
        "'upto[torch]'`."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_hidden": 0}, "n_hidden is 0, but it must be a whole number of at least 1"),
        ({"n_epochs": 1.5}, "n_epochs is 1.5, but it must be a whole number of at least 1"),
        ({"device": "abacus"}, "there is no device 'abacus'"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(rng, changes, message):
    with pytest.raises(InputError, match=message):
        NetworkAligner(**changes).fit(*warped(rng, 60))
