"""`upto align OLD NEW --apply INDEX -o OUT`: from a verdict to a file."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from upto import AlignResult, load_transform, read_run


@pytest.fixture
def upgrade(tmp_path, rng):
    """Write an old index of 900 documents and new rows of 400 of them, and both by position."""
    topics = rng.normal(size=(9, 8))
    old = topics[rng.integers(9, size=900)] + 0.6 * rng.normal(size=(900, 8))
    new = old @ rng.normal(size=(8, 12)) + 0.004 * rng.normal(size=(900, 12))
    names = [f"document {number}" for number in range(900)]
    again = rng.permutation(900)[:400]
    _write(tmp_path / "index.csv", names, old)
    _write(tmp_path / "new.csv", [names[row] for row in again], new[again])
    np.save(tmp_path / "a.npy", old)
    np.save(tmp_path / "b.npy", new)
    return tmp_path


def _write(path, names, rows):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", *(f"x{i}" for i in range(rows.shape[1]))])
        table.writerows([name, *row] for name, row in zip(names, rows.tolist(), strict=True))


def test_an_index_is_judged_and_carried(upto, upgrade):
    arguments = ["index.csv", "new.csv", "--ids", "id", "--up-to", "ridge"]
    result = upto(
        "align", *arguments, "--apply", "index.csv", "-o", "carried.csv", "--save",
        "map.safetensors", "--save-back", "back.safetensors", "--report", "page.html",
    )  # fmt: skip
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "Carry the index over: the index, carried by an affine map with shrinkage, finds"
    )
    assert "old model" in result.stdout
    assert "wrote carried.csv" in result.stderr
    carried, source = (read_run(upgrade / name, ids="id") for name in ("carried.csv", "index.csv"))
    assert carried.rows.shape == (900, 12)
    np.testing.assert_array_equal(carried.ids, source.ids)
    fitted = load_transform(upgrade / "map.safetensors")
    np.testing.assert_allclose(np.asarray(carried), fitted.transform(source), rtol=1e-6)
    assert (fitted.source_name_, fitted.target_name_) == ("index", "new")
    assert load_transform(upgrade / "back.safetensors").n_features_in_ == 12
    page = (upgrade / "page.html").read_text()
    assert "Recall of the nearest rows of new" in page

    later = upto("align", "--map", "map.safetensors", "--apply", "index.csv", "-o", "later.csv")
    assert later.exit_code == 0
    assert (upgrade / "later.csv").read_text() == (upgrade / "carried.csv").read_text()


def test_several_files_go_to_a_folder(upto, upgrade):
    np.save(upgrade / "more.npy", np.load(upgrade / "a.npy")[:50])
    result = upto(
        "align", "a.npy", "b.npy", "--up-to", "affine", "--apply", "a.npy", "--apply", "more.npy",
        "-o", "out", "--format", "json", "-q",
    )  # fmt: skip
    assert (result.exit_code, result.stderr) == (0, "")
    assert AlignResult.from_json(result.stdout).index_size == 950
    found = [np.load(upgrade / "out" / name) for name in ("a.npy", "more.npy")]
    np.testing.assert_array_equal(found[0][:50], found[1])


def test_a_folder_is_continued_and_ids_are_named(upto, upgrade):
    rows = np.load(upgrade / "a.npy")
    for name in ("one.csv", "two.csv"):
        _write(upgrade / name, np.arange(len(rows)) * 7, rows)
        text = (upgrade / name).read_text()
        (upgrade / name).write_text(text.replace("id,", "doc,", 1))
    assert (
        upto("align", "a.npy", "b.npy", "--up-to", "affine", "--save", "m.safetensors").exit_code
        == 0
    )
    carry = ["align", "--map", "m.safetensors", "--ids", "doc", "--apply", "one.csv", "--apply"]
    for output in ("out", "made/*.npz"):
        first = upto(*carry, "two.csv", "-o", output)
        assert first.exit_code == 0, first.stderr
        again = upto(*carry, "two.csv", "-o", output)
        assert again.stderr.count("was there, newer than its source") == 2
    assert read_run(upgrade / "out" / "one.csv", ids="doc").ids[1] == 7


@pytest.mark.parametrize("output", ["x.parquet/", "x.lance", "x.zarr"])
def test_a_folder_that_is_one_run_is_written_twice(upto, upgrade, output):
    pytest.importorskip({"x.lance": "lance"}.get(output, "numpy"))
    for _ in range(2):
        result = upto("unmix", "a.npy", "-o", output, "--max-iterations", "2", "-q")
        assert result.exit_code == 0, result.stderr
        assert (upgrade / output.rstrip("/")).is_dir()


def test_nothing_is_carried_below_the_limit(upto, upgrade):
    arguments = ["a.npy", "b.npy", "--up-to", "signed-permutation", "--fail-below", "0.9"]
    result = upto("align", *arguments, "--apply", "a.npy", "-o", "carried.npy")
    assert result.exit_code == 1
    assert "below the limit of 0.9; nothing was carried" in result.stderr
    assert not (upgrade / "carried.npy").exists()


def test_without_a_file_an_index_is_only_checked(upto, upgrade):
    np.save(upgrade / "far.npy", np.load(upgrade / "a.npy") + 30)
    before = sorted(path.name for path in upgrade.iterdir())
    arguments = ["a.npy", "b.npy", "--up-to", "ridge", "--metric", "euclidean"]
    result = upto("align", *arguments, "--apply", "far.npy")
    assert result.exit_code == 0
    assert "UP101 pairs unlike the index" in result.stderr
    assert sorted(path.name for path in upgrade.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a.npy"], 2, "give OLD and NEW, or a saved map with --map"),
        (["a.npy", "b.npy", "-o", "x.npy"], 2, "give the rows with --apply"),
        (["a.npy", "b.npy", "--inverse"], 2, "--inverse needs a saved map"),
        (["a.npy", "--map", "m.safetensors", "--apply", "a.npy", "-o", "x.npy"], 2, "drop OLD"),
        (["--map", "m.safetensors", "--apply", "a.npy"], 2, "-o FILE for the carried ones"),
        (
            ["--map", "m.safetensors", "--apply", "a.npy", "-o", "x.npy", "--metric", "cosine"],
            2,
            "--metric concerns fitting, and --map fits nothing",
        ),
        (["a.npy", "b.npy", "--apply", "b.npy"], 3, "b has the rows of the new model"),
        (["a.npy", "b.npy", "--apply", "a.npy", "-o", "a.npy"], 3, "would destroy it"),
        (["a.npy", "b.npy", "--save", "map.npy"], 3, "does not end in .safetensors"),
        (["index.csv", "new.csv", "--ids", "name"], 3, "name"),
        (["--map", "none.safetensors", "--apply", "a.npy", "-o", "x.npy"], 3, "none.safetensors"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_writes_nothing(
    upto, upgrade, arguments, code, message
):
    before = sorted(path.name for path in upgrade.iterdir())
    result = upto("align", *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert sorted(path.name for path in upgrade.iterdir()) == before


def test_a_map_in_the_wrong_direction_says_so(upto, upgrade):
    arguments = ["--up-to", "ridge", "--save", "map.safetensors", "-q"]
    assert upto("align", "a.npy", "b.npy", *arguments).exit_code == 0
    result = upto("align", "--map", "map.safetensors", "--apply", "b.npy", "-o", "x.npy")
    assert result.exit_code == 3
    assert "a" in result.stderr
    assert "inverse" in result.stderr
    assert not (upgrade / "x.npy").exists()


def test_between_equal_widths_the_name_shows_the_wrong_direction(upto, upgrade, rng):
    old = np.load(upgrade / "a.npy")
    np.save(upgrade / "c.npy", old @ np.linalg.qr(rng.normal(size=(8, 8)))[0])
    arguments = ["--up-to", "rigid", "--save", "map.safetensors", "-q"]
    assert upto("align", "a.npy", "c.npy", *arguments).exit_code == 0
    carry = ["align", "--map", "map.safetensors", "-o", "x.npy", "--apply"]
    refused = upto(*carry, "c.npy")
    assert refused.exit_code == 3
    assert "c has the name of the rows that the map leads to, from a" in refused.stderr
    assert "rename c" in refused.stderr
    assert not (upgrade / "x.npy").exists()
    assert upto(*carry, "a.npy", "--inverse").exit_code == 3
    assert upto(*carry, "c.npy", "--inverse").exit_code == 0
    np.testing.assert_allclose(np.load(upgrade / "x.npy"), old, atol=1e-9)
    np.save(upgrade / "later.npy", old)
    assert upto(*carry, "later.npy").exit_code == 0


def test_rows_with_nan_are_named_and_dropped_if_asked(upto, upgrade):
    rows = np.load(upgrade / "a.npy")
    rows[[3, 77], 2] = np.nan
    np.save(upgrade / "bad.npy", rows)
    assert (
        upto("align", "a.npy", "b.npy", "--up-to", "ridge", "--save", "m.safetensors").exit_code
        == 0
    )
    arguments = ["align", "--map", "m.safetensors", "--apply", "bad.npy", "-o", "x.npy"]
    refused = upto(*arguments)
    assert refused.exit_code == 3
    assert "bad has 2 rows with NaN or infinite values: row 3, row 77." in refused.stderr
    assert "pass --bad-rows 'drop' to leave them out or --bad-rows 'keep'" in refused.stderr
    assert not (upgrade / "x.npy").exists()
    dropped = upto(*arguments, "--bad-rows", "drop")
    assert dropped.exit_code == 0
    assert np.load(upgrade / "x.npy").shape == (898, 12)
    kept = upto(*arguments, "--bad-rows", "keep")
    assert kept.exit_code == 0
    assert np.isnan(np.load(upgrade / "x.npy")).any(axis=1).nonzero()[0].tolist() == [3, 77]
