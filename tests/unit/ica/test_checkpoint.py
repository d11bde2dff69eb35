"""A search in a file: written from time to time, read back, refused where damaged."""

from __future__ import annotations

import numpy as np
import pytest
from mixtures import mixed
from safetensors.numpy import save_file

from upto import ThreadsEngine
from upto.core import InputError
from upto.ica import checkpoint, find_components
from upto.ica.checkpoint import Checkpoint

ENGINE = ThreadsEngine(n_threads=1)


class Stop(Exception):
    """What ends a search in the middle."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.checkpoint"


def test_what_was_seen_last_is_written_and_read(path, rng):
    keeper = Checkpoint(path)
    first, last = rng.normal(size=(2, 3, 5))
    keeper.see(None, first)
    keeper.see(None, last)
    assert not path.exists()
    keeper.write()
    np.testing.assert_array_equal(Checkpoint(path).read(), last)
    keeper.remove()
    assert not path.exists()
    keeper.remove()


def test_a_long_search_is_written_from_time_to_time(path, rng, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", -1.0)
    keeper = Checkpoint(str(path))
    for _ in range(3):
        components = rng.normal(size=(3, 5))
        keeper.see(None, components)
        np.testing.assert_array_equal(Checkpoint(path).read(), components)


def test_without_a_path_nothing_is_kept(rng):
    keeper = Checkpoint(None)
    keeper.see(None, rng.normal(size=(2, 2)))
    keeper.write()
    keeper.remove()
    with pytest.raises(InputError, match="there is no None to resume from"):
        keeper.read()


def test_a_search_that_saw_nothing_writes_nothing(path):
    Checkpoint(path).write()
    assert not path.exists()


def test_a_search_goes_on_from_its_checkpoint(path, rng):
    _, rows = mixed(rng, 2000, ("laplace", "uniform", "skewed", "laplace", "uniform"))
    wanted = find_components(ENGINE, rows, tolerance=1e-9)
    keeper = Checkpoint(path)

    def listen(step, components):
        keeper.see(step, components)
        if step.iteration == wanted.n_iterations - 2:
            raise Stop

    with pytest.raises(Stop):
        find_components(ENGINE, rows, tolerance=1e-9, listener=listen)
    keeper.write()
    found = find_components(ENGINE, rows, tolerance=1e-9, start=Checkpoint(path).read())
    assert found.n_iterations <= 3 < wanted.n_iterations
    np.testing.assert_allclose(found.components, wanted.components, atol=1e-7)


def test_a_missing_checkpoint_is_refused_in_words(path):
    with pytest.raises(InputError, match=r"there is no .*search.checkpoint to resume from"):
        Checkpoint(path).read()


def whole(path):
    save_file({"components": np.ones((2, 3))}, path)
    return path.read_bytes()


DAMAGED = {
    "empty": lambda path: b"",
    "cut off": lambda path: whole(path)[:-7],
    "cut off in the header": lambda path: whole(path)[:20],
    "garbage": lambda path: b"\x93NUMPY" + bytes(100),
    "text": lambda path: b"iteration 7",
}


@pytest.mark.parametrize("make", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_checkpoint_is_refused_in_words(make, path):
    path.write_bytes(make(path))
    with pytest.raises(
        InputError, match=r"is not a checkpoint of a search \(.*damaged or truncated"
    ):
        Checkpoint(path).read()


OTHER = {
    "other names": {"weights": np.ones((2, 3))},
    "one dimension": {"components": np.ones(3)},
    "not a number": {"components": np.full((2, 3), np.nan)},
    "infinite": {"components": np.full((2, 3), np.inf)},
}


@pytest.mark.parametrize("arrays", OTHER.values(), ids=OTHER)
def test_a_file_that_is_no_checkpoint_is_refused_in_words(arrays, path):
    save_file(arrays, path)
    with pytest.raises(InputError, match="is not a checkpoint of a search and would be deleted"):
        Checkpoint(path).read()


def test_a_checkpoint_of_another_search_is_refused_in_words(path):
    keeper = Checkpoint(path, "100×4, components=None")
    keeper.latest = np.eye(3)
    keeper.write()
    assert np.array_equal(Checkpoint(path, "100×4, components=None").read(), np.eye(3))
    with pytest.raises(InputError, match=r"another search \(100×4, components=None; this"):
        Checkpoint(path, "100×5, components=2").read()


def test_a_checkpoint_of_other_rows_is_refused_in_words(path, rng):
    keeper = Checkpoint(path)
    keeper.see(None, rng.normal(size=(3, 3)))
    keeper.write()
    with pytest.raises(InputError, match=r"shape \(3, 3\), but 4 components of 4 coordinates"):
        find_components(ENGINE, mixed(rng, 200)[1], start=Checkpoint(path).read())
