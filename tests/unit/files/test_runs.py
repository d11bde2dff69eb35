from __future__ import annotations

import numpy as np
import pytest

import upto
from upto.core import Embeddings, InputError
from upto.files import read_manifest, read_runs
from upto.files.accept import take_runs


@pytest.fixture
def folder(tmp_path, values):
    for name in ("a/run.npy", "b/run.npy", "b/other.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.save(tmp_path / name, values)
    for name in ("a/deep", "b/deep", "a/flat", "b/flat"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "run.npy", values)
    np.savetxt(tmp_path / "a/run.csv", values, delimiter=",")
    for name in ("a/all.npz", "b/all.npz", "b/more.npz"):
        ids, plate = np.arange(37), np.arange(37)
        np.savez(tmp_path / name, emb=values, low=values[:, :2], ids=ids, plate=plate)
    return tmp_path


def names(runs):
    return [run.name for run in runs]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["a/run.npy", "b/other.npy"], ["run", "other"]),
        (["a/run.npy", "b/run.npy", "b/other.npy"], ["a/run", "b/run", "other"]),
        (["a/run.npy", "a/run.npy"], ["run", "run (2)"]),
        (["a/all.npz::emb", "a/all.npz::low"], ["emb", "low"]),
        (["b/all.npz::emb", "b/more.npz::emb"], ["all::emb", "more::emb"]),
        (["a/all.npz::emb", "b/all.npz::emb"], ["a/all::emb", "b/all::emb"]),
        (["a/run.npy"] * 3, ["run", "run (2)", "run (3)"]),
        (["a/run.npy", "a/run.csv"], ["run.npy", "run.csv"]),
        (["a/run.npy", "b/run.npy", "b/run.npy"], ["a/run", "b/run", "b/run (2)"]),
        (["a/deep/run.npy", "b/deep/run.npy"], ["a/run", "b/run"]),
        (
            ["a/deep/run.npy", "b/deep/run.npy", "a/flat/run.npy", "b/flat/run.npy"],
            ["a/deep/run", "b/deep/run", "a/flat/run", "b/flat/run"],
        ),
    ],
)
def test_names_are_as_short_as_they_can_be(folder, paths, expected):
    files = [str(folder / path) for path in paths]
    assert names(read_runs(files)) == expected
    # The same if each is read on its own.
    assert names(take_runs([read_runs([file])[0] for file in files])) == expected
    assert names(take_runs(files)) == expected


def test_arrays_have_ordinals_and_equal_names_are_numbered(values):
    assert names(take_runs([values, values])) == ["first", "second"]
    named = Embeddings(rows=values, name="x")
    assert names(take_runs([named, named, values])) == ["x", "x (2)", "third"]


def test_a_manifest_lists_runs_relative_to_itself(folder, values):
    (folder / "runs.toml").write_text(
        """
        [[run]]
        path = "a/run.npy"
        name = "first"
        layer = "encoder.4"
        seed = 7

        [[run]]
        path = "b/all.npz::emb"
        ids = "ids"
        labels = ["plate"]
        """
    )
    first, second = read_manifest(folder / "runs.toml")
    assert (first.name, first.layer, first.seed) == ("first", "encoder.4", 7)
    np.testing.assert_array_equal(first.rows[:], values)
    assert (second.name, second.layer, second.seed) == ("emb", None, None)
    assert list(second.columns) == ["plate"]
    np.testing.assert_array_equal(second.ids, np.arange(37))


def test_manifests_among_runs_expand_where_they_stand(folder):
    (folder / "runs.toml").write_text(
        '[[run]]\npath = "a/run.npy"\n[[run]]\npath = "b/run.npy"\nname = "mine"\n'
    )
    paths = [folder / "b/other.npy", folder / "runs.toml", folder / "b/run.npy"]
    assert names(read_runs(paths)) == ["other", "a/run", "mine", "b/run"]


def write_layers(folder, name, layers, file="runs.toml"):
    """Write a manifest of layers of one run, as a recording has it."""
    entries = (f'name = "{name}"\nlayer = "{layer}"\npath = "{path}"' for layer, path in layers)
    (folder / file).write_text("".join(f"[[run]]\n{entry}\n" for entry in entries))


def test_names_of_a_manifest_are_kept_and_told_apart_where_they_repeat(folder):
    (folder / "runs.toml").write_text(
        '[[run]]\npath = "a/run.npy"\nname = "x"\n[[run]]\npath = "b/run.npy"\nname = "x"\n'
    )
    assert names(read_manifest(folder / "runs.toml")) == ["a/x", "b/x"]
    layers = [("conv1", "a/run.npy"), ("conv2", "b/run.npy"), ("conv2", "b/run.npy")]
    write_layers(folder, "seed0", layers[:1])
    assert names(read_manifest(folder / "runs.toml")) == ["seed0"]
    write_layers(folder, "seed0", layers[:2])
    assert names(read_manifest(folder / "runs.toml")) == ["seed0/conv1", "seed0/conv2"]
    write_layers(folder, "seed0", layers)
    told = ["seed0/conv1", "seed0/conv2", "seed0/conv2 (2)"]
    assert names(read_manifest(folder / "runs.toml")) == told


def test_recordings_are_named_by_folder_and_layer(folder, values):
    for place in ("one/seed0", "two/seed0", "one/seed1"):
        (folder / place).mkdir(parents=True)
        for layer in ("conv1", "conv2"):
            np.save(folder / place / f"{layer}.npy", values)
        write_layers(
            folder / place, place[-5:], [(layer, f"{layer}.npy") for layer in ("conv1", "conv2")]
        )
    first, other, last = (folder / place for place in ("one/seed0", "two/seed0", "one/seed1"))
    assert names(read_runs([f"{first}::conv1", f"{last}::conv2"])) == ["seed0/conv1", "seed1/conv2"]
    assert names(read_runs([f"{first}::conv1", f"{other}/::conv1"])) == [
        *("one/seed0/conv1", "two/seed0/conv1")
    ]
    assert names(take_runs([first / "runs.toml", other / "runs.toml"])) == [
        *("one/seed0/conv1", "one/seed0/conv2", "two/seed0/conv1", "two/seed0/conv2")
    ]
    with pytest.raises(InputError, match=r"seed0 has 2 layers \(conv1, conv2\): name one, as in "):
        read_runs([first, last])
    with pytest.raises(InputError, match=r"has no layer or run 'conv3': it has conv1, conv2\."):
        read_runs([f"{first}::conv3"])
    with pytest.raises(InputError, match=r"name one, as in .*::conv2, or compare the layers"):
        upto.inspect(first)
    assert upto.inspect(f"{first}::conv2").run.name == "seed0/conv2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[[run]]\npath = "a"\nsede = 1',
            r"run 1 of .*runs\.toml has the unknown key 'sede': the "
            r"keys are path, name, layer, seed, ids, labels\.",
        ),
        ('[[runs]]\npath = "a"', r"has the unknown key 'runs': a manifest has \[\[run\]\] only"),
        ("", r"lists no runs: add a \[\[run\]\] with path"),
        ("run = 3", r"lists no runs"),
        ("run = [3]", r"run 1 of .* is 3: write \[\[run\]\] and its keys below"),
        ("[[run]]\nseed = 1", r"run 1 of .* has no path: add path"),
        ('[[run]]\npath = "a"\nseed = "1"', r"has seed = '1': seed is a whole number\."),
        ('[[run]]\npath = "a"\nseed = true', r"has seed = True: seed is a whole number\."),
        ('[[run]]\npath = "a"\nlabels = "x"', r"has labels = 'x': labels is a list of text\."),
        ('[[run]]\npath = "a"\nlabels = [1]', r"has labels = \[1\]: labels is a list of text\."),
        ("[[run]]\npath =", r"runs\.toml is not valid TOML: Invalid value \(at end of document\)"),
    ],
)
def test_a_bad_manifest_says_what_is_wrong(tmp_path, text, message):
    (tmp_path / "runs.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_manifest(tmp_path / "runs.toml")


def test_a_missing_manifest_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"runs\.toml does not exist"):
        read_runs([tmp_path / "runs.toml"])


@pytest.mark.parametrize(
    "runs",
    [
        (np.eye(3), np.eye(3)),
        [np.eye(3), np.eye(3)],
        ["a.npy", "b.npy"],
        [Embeddings(rows=np.eye(3)), Embeddings(rows=np.eye(3))],
    ],
    ids=["tuple", "list", "paths", "embeddings"],
)
def test_runs_in_one_list_are_passed_one_by_one(runs):
    with pytest.raises(
        InputError, match=r"^2 runs were passed as one, in a .*compare\(\*runs\)\.$"
    ):
        take_runs([runs])


def test_a_run_may_be_a_list_of_rows():
    (run,) = take_runs([[[1.0, 2.0], [3.0, 4.0]]])
    assert run.rows.shape == (2, 2)
