"""Rows of any file are carried through a map: in one pass, checked, and continued if stopped."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from upto import Aligner, RidgeAligner, apply_transform, save_transform
from upto.core import Embeddings, InputError
from upto.core.errors import ArgumentError
from upto.engines import DaskEngine, ThreadsEngine, TorchEngine
from upto.files import read_run, unfinished_output
from upto.files.rows import BlockRows
from upto.transforms.several_files import apply_to_files

GROWING = ("out.npy", "out.zarr", "out.parquet/", "out.lance")
WHOLE = ("out.npz", "out.csv", "out.tsv", "out.parquet", "out.h5ad", "out.h5", "out.faiss")
FORMATS = (*GROWING, *WHOLE, "out.safetensors")
N_ROWS = 400


@pytest.fixture
def old(rng) -> Embeddings:
    return Embeddings(
        rows=rng.laplace(size=(N_ROWS, 6)).astype(np.float32),
        name="old",
        ids=np.arange(N_ROWS) * 3 + 1,
        columns={"kind": np.array(["a", "b"] * (N_ROWS // 2)), "year": np.arange(N_ROWS) % 7},
    )


@pytest.fixture
def eager(monkeypatch):
    """Put a state on disk after every block, and keep pieces small."""
    monkeypatch.setattr(unfinished_output, "INTERVAL", 0.0)
    monkeypatch.setattr("upto.files.plan._GROUP_BYTES", 32 * 36)
    monkeypatch.setattr("upto.files.growable_tables._PART_BYTES", 64 * 36)
    monkeypatch.setattr("upto.files.growable_tables._FRAGMENT_BYTES", 64 * 36)


def short(n_threads=1):
    return ThreadsEngine(block_rows=16, n_threads=n_threads)


def needs(output):
    if output.endswith(".lance"):
        pytest.importorskip("lance")


def read_again(folder, output):
    path = folder / output.rstrip("/")
    return read_run(f"{path}::X_aligned" if output.endswith("h5ad") else path)


class CountedRows(BlockRows):
    """Rows of a file that count how many of them were read, and can stop in the middle."""

    def __init__(self, path, shape, dtype, stop_at=None, why=KeyboardInterrupt):
        super().__init__(path, shape, dtype)
        self.n_read, self.stop_at, self.why = 0, stop_at, why

    def _read(self, start, stop):
        if self.stop_at is not None and start >= self.stop_at:
            raise self.why
        self.n_read += stop - start
        return np.load(self.path)[start:stop]

    def __repr__(self):
        return f"CountedRows({self.path})"


@pytest.fixture
def counted(tmp_path, old):
    np.save(tmp_path / "source.npy", np.asarray(old.rows))

    def make(stop_at=None, why=KeyboardInterrupt):
        rows = CountedRows(tmp_path / "source.npy", old.rows.shape, old.rows.dtype, stop_at, why)
        return Embeddings(rows=rows, name="old", ids=old.ids, columns=old.columns)

    return make


@pytest.mark.parametrize("output", FORMATS)
def test_every_format_has_the_images_the_ids_and_the_columns(tmp_path, aligner, old, output):
    needs(output)
    notes = apply_transform(aligner, old, output=f"{tmp_path}/{output}", engine=short(2))
    assert all("has no room for" in note for note in notes)
    read = read_again(tmp_path, output)
    wanted = aligner.transform(old.rows)
    np.testing.assert_allclose(np.asarray(read), wanted, rtol=1e-6, atol=1e-6)
    assert [each.name for each in tmp_path.iterdir()] == [output.rstrip("/")]
    if output in ("out.npy", "out.safetensors"):
        return
    np.testing.assert_array_equal(read.ids.astype(int), old.ids)
    if output != "out.faiss":
        assert {*read.columns} == {"kind", "year"}
        np.testing.assert_array_equal(read.columns["kind"], old.columns["kind"])


@pytest.mark.parametrize("output", FORMATS)
def test_every_row_is_read_once(tmp_path, aligner, counted, output):
    needs(output)
    run = counted()
    apply_transform(aligner, run, output=f"{tmp_path}/{output}", engine=short(), verify=0)
    assert run.rows.n_read == N_ROWS


@pytest.mark.parametrize("policy", ["drop", "keep"])
@pytest.mark.parametrize("output", FORMATS)
def test_bad_rows_are_left_out_or_kept_as_nan(tmp_path, aligner, old, output, policy):
    needs(output)
    rows = np.array(old.rows)
    bad = [0, 17, 18, 205, N_ROWS - 1]
    rows[bad, [0, 1, 2, 3, 4]] = [np.nan, np.inf, -np.inf, np.nan, np.inf]
    run = Embeddings(rows=rows, name="old", ids=old.ids, columns=old.columns)
    *_, note = apply_transform(
        aligner, run, output=f"{tmp_path}/{output}", bad_rows=policy, engine=short()
    )
    done = {"drop": "left out", "keep": "written as NaN"}[policy]
    assert note == (
        f"5 rows of old with NaN or infinite values were {done}: row 0 (id 1), row 17 (id 52), "
        "row 18 (id 55), row 205 (id 616), row 399 (id 1198)"
    )
    if policy == "keep" and output.endswith(("csv", "tsv")):
        # The reader of text refuses missing values, as it should.
        text = (tmp_path / output).read_text().splitlines()
        assert text[1].endswith("nan,nan") or text[1].endswith("nan\tnan")
        return
    read = read_again(tmp_path, output)
    good = np.delete(np.arange(N_ROWS), bad)
    found, wanted = np.asarray(read), aligner.transform(rows[good])
    if policy == "keep":
        assert np.isnan(found[bad]).all()
        np.testing.assert_allclose(found[good], wanted, rtol=1e-6, atol=1e-6)
        return
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    if output not in ("out.npy", "out.safetensors"):
        np.testing.assert_array_equal(read.ids.astype(int), old.ids[good])
    if output not in ("out.npy", "out.safetensors", "out.faiss"):
        np.testing.assert_array_equal(read.columns["kind"], old.columns["kind"][good])


@pytest.mark.parametrize("output", ["out.npy", "out.csv"])
def test_bad_rows_are_refused_by_name_and_number(tmp_path, aligner, old, output):
    rows = np.array(old.rows)
    rows[[3, 100, 101, 300], 5] = np.nan
    run = Embeddings(rows=rows, name="old", ids=old.ids)
    said = r"old has 4 rows with NaN or infinite values: row 3 \(id 10\), row 100 \(id 301\), row"
    with pytest.raises(ArgumentError, match=said):
        apply_transform(aligner, run, output=tmp_path / output, engine=short())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="old has no row but those with NaN"):
        apply_transform(
            aligner,
            Embeddings(rows=np.full((400, 6), np.nan), name="old"),
            output=tmp_path / output,
            bad_rows="drop",
        )
    assert list(tmp_path.iterdir()) == []


def test_nan_in_a_coordinate_that_a_map_does_not_use_counts(tmp_path, rng):
    source = rng.laplace(size=(100, 3))
    narrow = Aligner("signed-permutation").fit(source, source[:, :2])
    source[7, 2] = np.nan
    with pytest.raises(InputError, match=r"values: row 7\. Repair"):
        apply_transform(narrow, source, output=tmp_path / "out.npy")


@pytest.mark.parametrize("engine", ["threads", "torch", "dask"])
def test_engines_find_the_same_bad_rows(tmp_path, aligner, old, engine, request):
    rows = np.array(old.rows)
    rows[[5, 250], 1] = np.nan
    np.save(tmp_path / "source.npy", rows)
    made = {"threads": lambda: ThreadsEngine(), "torch": lambda: TorchEngine(device="cpu")}
    chosen = request.getfixturevalue("cluster_engine") if engine == "dask" else made[engine]()
    notes = apply_transform(
        aligner,
        tmp_path / "source.npy",
        output=tmp_path / "out.npy",
        bad_rows="drop",
        engine=chosen,
    )
    assert "2 rows of source" in notes[0]
    good = np.delete(np.arange(N_ROWS), [5, 250])
    wanted = aligner.transform(rows[good])
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, rtol=1e-6, atol=1e-6)


@pytest.fixture
def cluster_engine():
    with DaskEngine(workers=2) as engine:
        yield engine


@pytest.mark.parametrize("output", GROWING)
def test_an_interrupted_call_goes_on_where_it_stopped(tmp_path, aligner, counted, output, eager):
    needs(output)
    path = f"{tmp_path}/{output}"
    with pytest.raises(KeyboardInterrupt) as interrupted:
        apply_transform(aligner, counted(240), output=path, engine=short())
    name = output.rstrip("/")
    assert f"rows are kept in {tmp_path / name}.unfinished" in interrupted.value.__notes__[0]
    assert not (tmp_path / name).exists()
    run = counted()
    apply_transform(aligner, run, output=path, engine=short(), verify=0)
    assert 160 <= run.rows.n_read <= 160 + 64
    once = counted()
    apply_transform(aligner, once, output=f"{tmp_path}/once{Path(name).suffix}", engine=short())
    found, wanted = read_again(tmp_path, output), read_run(f"{tmp_path}/once{Path(name).suffix}")
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    if wanted.ids is not None:
        np.testing.assert_array_equal(found.ids, wanted.ids)
        np.testing.assert_array_equal(found.columns["year"], wanted.columns["year"])
    assert not (tmp_path / f"{name}.unfinished").exists()


@pytest.mark.parametrize("output", GROWING)
def test_rows_left_out_before_an_interrupt_stay_out(tmp_path, aligner, counted, output, eager):
    needs(output)
    rows = np.load(counted().rows.path)
    rows[[2, 100, 239, 240, 300]] = np.nan
    np.save(tmp_path / "source.npy", rows)
    path, options = f"{tmp_path}/{output}", {"engine": short(), "bad_rows": "drop"}
    with pytest.raises(KeyboardInterrupt):
        apply_transform(aligner, counted(272), output=path, **options)
    *_, note = apply_transform(aligner, counted(), output=path, **options)
    assert note.startswith("5 rows of old")
    good = np.delete(np.arange(N_ROWS), [2, 100, 239, 240, 300])
    read = read_again(tmp_path, output)
    wanted = aligner.transform(rows[good])
    np.testing.assert_allclose(np.asarray(read), wanted, rtol=1e-6, atol=1e-6)
    if read.ids is not None:
        np.testing.assert_array_equal(read.ids, counted().ids[good])


CHANGED = {
    "another map": lambda run: {"transform": Aligner("rigid").fit(np.eye(9, 6), np.eye(9))},
    "another source": lambda run: os.utime(run.rows.path, ns=(1, 1)) or {},
    "other ids": lambda run: {
        "run": Embeddings(rows=run.rows, name="old", ids=run.ids + 1, columns=run.columns)
    },
    "another policy": lambda run: {"bad_rows": "keep"},
    "resume": lambda run: {"resume": False},
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_work_on_something_else_starts_anew(tmp_path, aligner, counted, change, eager):
    path = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        apply_transform(aligner, counted(240), output=path, engine=short())
    run = counted()
    given = {"transform": aligner, "run": run} | change(run)
    apply_transform(**given, output=path, engine=short(), verify=0)
    assert run.rows.n_read == N_ROWS


def test_damaged_states_and_files_start_anew_or_are_refused(tmp_path, aligner, counted, eager):
    path = tmp_path / "out.npy"
    for damage in ("{", '{"format": 9}', "[]"):
        with pytest.raises(KeyboardInterrupt):
            apply_transform(aligner, counted(240), output=path, engine=short())
        (tmp_path / "out.npy.unfinished" / "state.json").write_text(damage)
        run = counted()
        apply_transform(aligner, run, output=path, engine=short(), verify=0)
        assert run.rows.n_read == N_ROWS
    with pytest.raises(KeyboardInterrupt):
        apply_transform(aligner, counted(240), output=path, engine=short())
    os.truncate(tmp_path / "out.npy.unfinished" / "out.npy", 500)
    with pytest.raises(InputError, match="fewer rows than were written"):
        apply_transform(aligner, counted(), output=path, engine=short())
    apply_transform(aligner, counted(), output=path, engine=short(), resume=False)


def test_short_work_leaves_nothing_behind(tmp_path, aligner, counted):
    with pytest.raises(KeyboardInterrupt):
        apply_transform(aligner, counted(240), output=tmp_path / "out.npy", engine=short())
    assert [each.name for each in tmp_path.iterdir()] == ["source.npy"]


KILLED = """
import sys, time
import numpy as np
from upto import apply_transform
from upto.engines import ThreadsEngine
from upto.files import unfinished_output
from upto.files.npy import StoredRows
from upto.files import growable_tables, plan

unfinished_output.INTERVAL = 0.0
growable_tables._PART_BYTES = growable_tables._FRAGMENT_BYTES = 64 * 36
plan._GROUP_BYTES = 32 * 36
folder, output, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
read, counted = StoredRows._read, [0]

def slow(self, start, stop):
    time.sleep(seconds)
    counted[0] += stop - start
    return read(self, start, stop)

StoredRows._read = slow
apply_transform(
    f"{folder}/map.safetensors", f"{folder}/source.npz", output=f"{folder}/{output}",
    engine=ThreadsEngine(block_rows=16, n_threads=1), verify=0,
)
print(counted[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("output", GROWING)
def test_a_killed_process_is_continued_by_another(tmp_path, aligner, old, output, number):
    needs(output)
    if number != signal.SIGKILL and output != "out.npy":
        pytest.skip("how a signal arrives does not depend on the format")
    np.savez(tmp_path / "source.npz", rows=old.rows, ids=old.ids)
    save_transform(tmp_path / "map.safetensors", aligner)
    begin = [sys.executable, "-c", KILLED, str(tmp_path), output]
    killed = subprocess.Popen([*begin, "0.1"], stderr=subprocess.PIPE)
    state = tmp_path / f"{output.rstrip('/')}.unfinished" / "state.json"
    waited = time.monotonic()
    while not (state.exists() and json.loads(state.read_text())["n_source"] >= 64):
        assert killed.poll() is None, killed.communicate()
        assert time.monotonic() - waited < 120
        time.sleep(0.02)
    killed.send_signal(number)
    killed.communicate()
    done = json.loads(state.read_text())["n_source"]
    assert 64 <= done < N_ROWS
    assert not (tmp_path / output).exists()
    again = subprocess.run([*begin, "0"], check=True, capture_output=True, text=True)
    assert int(again.stdout) == N_ROWS - done
    read = read_again(tmp_path, output)
    wanted = aligner.transform(old.rows)
    np.testing.assert_allclose(np.asarray(read), wanted, rtol=1e-6, atol=1e-6)
    if output != "out.npy":
        np.testing.assert_array_equal(read.ids, old.ids)
    assert not state.parent.exists()


def test_two_processes_do_not_write_one_output(tmp_path, aligner, old):
    (tmp_path / "out.npy.unfinished").mkdir()
    lock = tmp_path / "out.npy.unfinished" / "lock"
    code = (
        "import fcntl, sys, time; file = open(sys.argv[1], 'ab'); fcntl.flock(file, 2); "
        "print(1, flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE)
    try:
        other.stdout.readline()
        with pytest.raises(InputError, match="another process is writing"):
            apply_transform(aligner, old, output=tmp_path / "out.npy")
    finally:
        other.kill()
        other.communicate()
    apply_transform(aligner, old, output=tmp_path / "out.npy")


@pytest.mark.parametrize("output", GROWING)
def test_a_full_disk_keeps_what_can_be_continued(
    tmp_path, aligner, counted, output, eager, monkeypatch
):
    needs(output)
    from upto.files import growable

    made, path = growable.growing, f"{tmp_path}/{output}"

    def filling(entry, place, plan):
        found = made(entry, place, plan)
        put = found.put

        def stopping(rows, positions):
            if positions[0] >= 240:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            put(rows, positions)

        found.put = stopping
        return found

    with monkeypatch.context() as patched:
        patched.setattr(unfinished_output, "growing", filling)
        with pytest.raises(InputError, match=r"the disk was full after \d+ of 400 rows") as full:
            apply_transform(aligner, counted(), output=path, engine=short())
    assert "make the same call again, which continues" in str(full.value)
    assert not Path(path).exists()
    run = counted()
    apply_transform(aligner, run, output=path, engine=short(), verify=0)
    assert run.rows.n_read <= 160 + 64


@pytest.mark.parametrize("output", ["out.npy", "out.parquet", "out.h5ad", "out.csv", "out.faiss"])
def test_a_wrong_row_is_found_and_the_output_removed(tmp_path, aligner, old, output, monkeypatch):
    from upto.transforms import carry

    marked = carry.marked_block

    def wrong(xp, x, *params, **options):
        (found,) = marked(xp, x, *params, **options)
        found[-1, 2] *= 1 + 1e-5
        return (found,)

    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / output
    apply_transform(aligner, old, output=path)
    before = path.read_bytes()
    monkeypatch.setattr(carry, "marked_block", wrong)
    said = "was removed: coordinate 2 of row 399 of old reads back as"
    with pytest.raises(InputError, match=said):
        apply_transform(aligner, old, output=path)
    # An older output stays.
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1
    apply_transform(aligner, old, output=path, verify=0)


def test_wrong_ids_are_found(tmp_path, aligner, old, monkeypatch):
    from upto.files.plan import Plan

    labels = Plan.labels

    def shifted(self, *args, **options):
        found = labels(self, *args, **options)
        return found | {"id": np.roll(found["id"], 1)} if "id" in found else found

    monkeypatch.setattr(Plan, "labels", shifted)
    with pytest.raises(InputError, match="row 0 of old has the id '1', which reads back as '1198'"):
        apply_transform(aligner, old, output=tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group", ["affine", "rigid", "monotone-permutation"])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_is_no_mismatch(tmp_path, rng, group, scale, shift, dtype):
    source = scale * (rng.laplace(size=(3000, 5)) + shift)
    other = Aligner(group).fit(source[:500], 1e-3 * source[:500, ::-1] + 0.1 * scale)
    apply_transform(
        other, source.astype(dtype), output=tmp_path / "out.npy", verify=3000, engine=short(2)
    )


@pytest.mark.parametrize(("n_rows", "verify"), [(1, 1), (1, 1000), (37, 5), (5000, 1000), (9, 10)])
def test_rows_are_checked_from_the_first_to_the_last(n_rows, verify):
    from upto.transforms.spot_check import _places

    places = list(_places(n_rows, verify))
    seen = {row for start, stop in places for row in range(start, stop)}
    assert places[0][0] == 0
    assert places[-1][1] == n_rows
    assert min(n_rows, verify) <= len(seen) <= n_rows


OPTIONS = {
    "bad_rows": ({"bad_rows": "skip"}, 'bad_rows=\'skip\' is none of "refuse", "drop" and "keep"'),
    "verify": ({"verify": -1}, "verify=-1 is no number of rows"),
    "ids": ({"output": "out.faiss", "ids": ["a"] * N_ROWS}, "cannot store: number the rows"),
    "direction": ({"rows": np.ones((4, 9))}, "9 coordinates, but the transform takes 6: pass inv"),
}


@pytest.mark.parametrize(("changes", "said"), OPTIONS.values(), ids=OPTIONS)
def test_what_cannot_be_done_is_refused_before_anything_is_read(
    tmp_path, aligner, old, changes, said
):
    given = dict(changes)
    run = Embeddings(
        rows=given.pop("rows", old.rows),
        ids=np.array(given.pop("ids")) if "ids" in given else None,
    )
    output = tmp_path / given.pop("output", "out.npy")
    with pytest.raises(InputError, match=said):
        apply_transform(aligner, run, output=output, **given)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_direction_names_both_sides(tmp_path, aligner, old, monkeypatch):
    monkeypatch.setattr(aligner, "source_name_", "mini-v1", raising=False)
    monkeypatch.setattr(aligner, "target_name_", "mini-v2", raising=False)
    said = "takes 6; the map goes from mini-v1 to mini-v2: pass inverse=True to go back, or fit"
    with pytest.raises(InputError, match=said):
        apply_transform(aligner, np.ones((4, 9)), output=tmp_path / "out.npy")


def test_several_files_keep_their_names(tmp_path, aligner, old):
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, old.rows)
    runs = [tmp_path / "a.npy", tmp_path / "b.npy"]
    assert apply_to_files(aligner, runs, tmp_path / "new") == ()
    assert sorted(each.name for each in (tmp_path / "new").iterdir()) == ["a.npy", "b.npy"]
    apply_to_files(aligner, runs, tmp_path / "new" / "*.npz")
    assert read_run(tmp_path / "new" / "b.npz").rows.shape == (N_ROWS, 9)
    apply_to_files(aligner, runs[:1], tmp_path / "one.npy")
    apply_to_files(aligner, runs[0], tmp_path / "two.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy"))
    with pytest.raises(InputError, match="one file for 2 runs: give a folder, or"):
        apply_to_files(aligner, runs, tmp_path / "one.npy")
    with pytest.raises(InputError, match="is an input"):
        apply_to_files(aligner, runs, tmp_path)
    with pytest.raises(InputError, match="two runs would be written to"):
        apply_to_files(aligner, [runs[0], runs[0]], tmp_path / "new")
    rows = np.array(old.rows)
    rows[3] = np.nan
    np.save(runs[1], rows)
    notes = apply_to_files(aligner, runs, tmp_path / "new", bad_rows="drop", resume=False)
    assert notes == ("b.npy: 1 row of b with NaN or infinite values was left out: row 3",)


def test_a_full_disk_without_a_whole_piece_promises_nothing(tmp_path, aligner, old, monkeypatch):
    pytest.importorskip("lance")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("upto.files.growable_tables.GrowingLance._store", full)
    with pytest.raises(InputError, match="the disk was full") as caught:
        apply_transform(aligner, old, output=tmp_path / "out.lance", engine=short())
    assert str(caught.value).endswith("Free some space or write to another disk.")
    assert list(tmp_path.iterdir()) == []


def test_the_columns_of_the_target_are_refused_as_its_direction(tmp_path):
    rng = np.random.default_rng(0)
    old = pd.DataFrame(rng.normal(size=(200, 6)), columns=[f"x{number}" for number in range(6)])
    new = pd.DataFrame(rng.normal(size=(200, 4)), columns=[f"x{number}" for number in range(4)])
    one_way = RidgeAligner().fit(old, new)
    with pytest.raises(InputError, match="this map has no inverse, so pass one that leads back"):
        apply_transform(one_way, new, output=tmp_path / "out.npy")
    named = new.set_axis(list("abcd"), axis=1)
    both_ways = Aligner("affine").fit(old.iloc[:, :4], named)
    said = "has the columns of the rows that the map leads to: pass inverse=True to go back"
    with pytest.raises(InputError, match=said):
        apply_transform(both_ways, named, output=tmp_path / "out.npy")
    apply_transform(both_ways, named, output=tmp_path / "out.npy", inverse=True)


@pytest.mark.parametrize("output", [*GROWING, "out.parquet", "out.h5ad", "out.faiss"])
def test_a_disk_that_is_really_full(tmp_path, aligner, rng, output, eager, monkeypatch):
    needs(output)
    monkeypatch.setattr(unfinished_output, "INTERVAL", 10.0)
    disk, is_growing = tmp_path / "disk", output in GROWING
    few = ThreadsEngine(block_rows=500, n_threads=1)
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if sys.platform == "win32" or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root on Linux only")
    try:
        rows = rng.laplace(size=(20_000, 6)).astype(np.float32)
        monkeypatch.setattr("upto.files.plan._GROUP_BYTES", 2**14)
        monkeypatch.setattr("upto.files.growable_tables._PART_BYTES", 2**16)
        monkeypatch.setattr("upto.files.growable_tables._FRAGMENT_BYTES", 2**16)
        with pytest.raises(InputError, match=r"the disk was full after \d+ of 20000 rows"):
            apply_transform(aligner, rows, output=f"{disk}/{output}", engine=few)
        left = [each.name for each in disk.iterdir()]
        assert left == ([f"{output.rstrip('/')}.unfinished"] if is_growing else [])
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        state = disk / f"{output.rstrip('/')}.unfinished" / "state.json"
        assert not is_growing or json.loads(state.read_text())["n_rows"] > 1000
        apply_transform(aligner, rows, output=f"{disk}/{output}", engine=few)
        read = np.asarray(read_again(disk, output))
        np.testing.assert_allclose(read, aligner.transform(rows), rtol=1e-6, atol=1e-6)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_rows_without_a_direction_are_bad_where_images_have_one_length(tmp_path, rng):
    old = rng.normal(size=(200, 4))
    new = old @ rng.normal(size=(4, 5)) + 1
    new /= np.linalg.norm(new, axis=1, keepdims=True)
    index = rng.normal(size=(60, 4))
    index[[7, 41]] = 0
    index[50, 1] = np.nan
    output = tmp_path / "carried.npy"
    scaled = RidgeAligner(length="target").fit(old, new)
    with pytest.raises(InputError, match="3 rows with NaN or infinite values or of length zero:"):
        apply_transform(scaled, index, output=output)
    assert not output.exists()
    apply_transform(scaled, index, output=output, bad_rows="drop")
    assert np.load(output).shape == (57, 5)
    plain = RidgeAligner().fit(old, new)
    apply_transform(plain, index, output=output, bad_rows="drop")
    assert np.load(output).shape == (59, 5)
