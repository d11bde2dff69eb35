import csv
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from upto import CompareResult

FAST = ("--no-ica", "--refits", "1", "--no-progress")


def test_a_rotated_run_is_called_the_same_up_to_a_rigid_motion(upto, pair):
    result = upto("compare", *pair, *FAST)
    assert result.exit_code == 0
    assert result.stdout.startswith("The same representation up to a rigid motion")
    assert "rigid ←" in result.stdout


def test_stdout_carries_the_result_only_and_findings_go_to_stderr(upto, tmp_path, pair, rng):
    rows = np.load(pair[0])
    np.save(pair[0], np.hstack([rows, np.ones((len(rows), 1))]))
    np.save(pair[1], np.hstack([np.load(pair[1]), np.ones((len(rows), 1))]))
    result = upto("compare", *pair, *FAST, "--format", "json")
    assert CompareResult.from_json(result.stdout).up_to == "rigid"
    assert "UP013" not in result.stdout.split('"findings"')[0]
    assert "UP013 dead coordinates: 1 of 5" in result.stderr


def test_quiet_shows_nothing_but_the_result(upto, pair):
    assert upto("compare", *pair, *FAST, "-q", "-o", "result.json").stderr == ""


@pytest.mark.parametrize("suffix", [".json", ".csv", ".md", ".txt"])
def test_the_suffix_of_the_output_chooses_the_format(upto, tmp_path, pair, suffix):
    result = upto("compare", *pair, *FAST, "-o", f"out{suffix}")
    assert result.exit_code == 0
    assert result.stdout == ""
    text = (tmp_path / f"out{suffix}").read_text()
    if suffix == ".json":
        assert json.loads(text)["kind"] == "compare"
    elif suffix == ".csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {"up to", "held out", "held out low", "held out high"} <= set(rows[0])
    else:
        assert "rigid" in text


def test_an_unknown_suffix_is_refused_before_any_work(upto, pair):
    result = upto("compare", *pair, "-o", "result.xyz")
    assert result.exit_code == 3
    assert "result.xyz does not determine a format" in result.stderr


def test_a_missing_folder_is_refused_before_any_work(upto, pair):
    result = upto("compare", *pair, "--report", "nowhere/report.html")
    assert result.exit_code == 3
    assert "does not exist: make it first" in result.stderr


def test_the_page_is_written_whole(upto, tmp_path, pair):
    result = upto("compare", *pair, *FAST, "--report", "report.html")
    assert result.exit_code == 0
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "first.npy",
        "report.html",
        "second.npy",
    ]


def test_fail_above_exits_with_one_and_still_shows_the_result(upto, pair):
    passed = upto("compare", *pair, *FAST, "--fail-above", "0.5")
    failed = upto("compare", *pair, *FAST, "--fail-above", "0.0001")
    assert passed.exit_code == 0
    assert failed.exit_code == 1
    assert "is above the limit of 0.0001" in failed.stderr
    assert failed.stdout == passed.stdout


def test_fail_above_fails_when_no_group_agrees(upto, tmp_path, rng):
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(200, 3)))
    result = upto("compare", "a.npy", "b.npy", *FAST, "--fail-above", "0.9")
    assert result.exit_code == 1
    assert "no agreement was found" in result.stderr
    assert "No better than chance" in result.stdout


def test_strict_fails_on_a_warning(upto, pair):
    assert upto("compare", pair[0], pair[0], *FAST).exit_code == 0
    result = upto("compare", pair[0], pair[0], *FAST, "--strict")
    assert result.exit_code == 1
    assert "UP014" in result.stderr


def test_up_to_limits_the_groups(upto, pair):
    result = upto("compare", *pair, *FAST, "--up-to", "signed-permutation", "--format", "json")
    names = [fit["up_to"] for fit in json.loads(result.stdout)["fits"]]
    assert names == ["identity", "signed-permutation"]


def test_three_runs_make_a_matrix(upto, tmp_path, pair, rng):
    np.save(tmp_path / "third.npy", rng.normal(size=(300, 4)))
    result = upto("compare", *pair, "third.npy", *FAST, "--format", "json")
    matrix = CompareResult.from_json(result.stdout)
    assert [run.name for run in matrix.runs] == ["first", "second", "third"]
    assert matrix.pairs.up_to[0][1] == "rigid"
    assert matrix.pairs.up_to[0][2] is None


def test_rows_are_matched_by_ids(upto, tmp_path, rng):
    rows = rng.laplace(size=(200, 3))
    order = rng.permutation(200)
    ids = np.array([f"s{i}" for i in range(200)])
    np.savez(tmp_path / "a.npz", z=rows, well=ids)
    np.savez(tmp_path / "b.npz", z=rows[order][:190], well=ids[order][:190])
    result = upto("compare", "a.npz::z", "b.npz::z", "--ids", "well", *FAST)
    assert result.exit_code == 0
    assert result.stdout.startswith("Identical")
    assert "UP006" in result.stderr


def test_labels_come_from_a_column_or_a_file(upto, tmp_path, pair):
    labels = np.array(["a", "b", "c"] * 100)
    (tmp_path / "labels.txt").write_text("\n".join(labels))
    np.savez(tmp_path / "runs.npz", z=np.load(pair[0]), kind=labels)
    from_file = upto("compare", *pair, "--labels", "labels.txt", *FAST, "--format", "json")
    from_column = upto(
        "compare", "runs.npz::z", pair[1], "--labels", "kind", *FAST, "--format", "json"
    )
    for result in (from_file, from_column):
        assert set(json.loads(result.stdout)["scatter"]["labels"]) == {"a", "b", "c"}


def bad_inputs(folder):
    good = np.random.default_rng(0).normal(size=(20, 3))
    np.save(folder / "good.npy", good)
    np.save(folder / "short.npy", good[:18])
    np.save(folder / "nan.npy", np.where(good > 1, np.nan, good))
    np.save(folder / "inf.npy", np.where(good > 1, np.inf, good))
    np.save(folder / "flat.npy", np.ones((20, 3)))
    np.save(folder / "empty.npy", np.ones((0, 3)))
    np.save(folder / "vector.npy", np.ones(20))
    np.save(folder / "pickle.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(folder / "pickle.npz", z=np.array([{"a": 1}], dtype=object))
    np.savez(folder / "archive.npy.npz", z=good)
    (folder / "archive.npy.npz").rename(folder / "archive.npy")
    (folder / "cut.npy").write_bytes((folder / "good.npy").read_bytes()[:200])
    (folder / "text.csv").write_text("name,city\nann,rome\nbob,oslo\n")
    (folder / "model.pkl").write_bytes(pickle.dumps(good))
    (folder / "folder").mkdir()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("short.npy", "good has 20 rows but short has 18"),
        ("nan.npy", "NaN or infinite"),
        ("inf.npy", "NaN or infinite"),
        ("flat.npy", "zero variance"),
        ("empty.npy", "empty"),
        ("vector.npy", "dimension"),
        ("pickle.npy", "pickle"),
        ("pickle.npz", "pickle"),
        ("archive.npy", "zip"),
        ("cut.npy", "cut.npy"),
        ("text.csv", "text.csv"),
        ("model.pkl", "pickle"),
        ("folder", "folder"),
        ("missing.npy", "does not exist"),
        ("good.xyz", "good.xyz"),
        ("good.npy::key", "key"),
    ],
)
def test_bad_input_gets_one_sentence_exit_code_three_and_leaves_nothing(
    upto, tmp_path, name, words
):
    bad_inputs(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    result = upto("compare", "good.npy", name, "--report", "report.html", "-o", "out.json")
    assert result.exit_code == 3, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("upto: ")
    assert len(result.stderr.strip().splitlines()) == 1
    assert words in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_labels_of_the_wrong_length_are_refused(upto, tmp_path, pair):
    (tmp_path / "labels.txt").write_text("a\nb\n")
    result = upto("compare", *pair, "--labels", "labels.txt", *FAST)
    assert result.exit_code == 3
    assert "labels has shape (2,) but first has 300 rows" in result.stderr


def test_an_unknown_column_of_labels_is_refused(upto, pair):
    result = upto("compare", *pair, "--labels", "kind", *FAST)
    assert result.exit_code == 3
    assert "has no column 'kind'" in result.stderr


def test_one_run_is_wrong_input(upto, pair):
    result = upto("compare", pair[0])
    assert result.exit_code == 3
    assert "two or more runs" in result.stderr


@pytest.mark.parametrize("option", [("--held-out", "1"), ("--up-to", "sphere"), ("--seed", "-1")])
def test_wrong_usage_exits_with_two(upto, pair, option):
    assert upto("compare", *pair, *option).exit_code == 2


def _wait_until_read(process, n_bytes):
    """Wait until a process has read some bytes, and so is past its imports."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        counters = Path(f"/proc/{process.pid}/io").read_text().split()
        if int(counters[counters.index("rchar:") + 1]) > n_bytes:
            return
        time.sleep(0.02)


def test_an_interrupt_exits_with_130_and_writes_nothing(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(20_000, 200)))
    process = subprocess.Popen(
        [sys.executable, "-m", "upto", "compare", "a.npy", "b.npy", "--report", "report.html"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    _wait_until_read(process, 4 * (tmp_path / "b.npy").stat().st_size)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr.decode()
    assert b"interrupted" in stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npy"]


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_an_input_is_never_overwritten(upto, pair, option):
    before = pair[0].read_bytes()
    result = upto("compare", *pair, *FAST, "--format", "json", option, pair[0])
    assert result.exit_code == 3
    assert "is an input" in result.stderr
    assert pair[0].read_bytes() == before


def test_a_member_of_a_manifest_is_never_overwritten(upto, tmp_path, pair):
    names = "".join(f'[[run]]\npath = "{path.name}"\n' for path in pair)
    (tmp_path / "runs.toml").write_text(names)
    result = upto("compare", "runs.toml", "-o", "second.npy", "--format", "json")
    assert result.exit_code == 3
    assert "is an input" in result.stderr


@pytest.mark.parametrize("option", ["--fail-above", "--tolerance"])
def test_nan_is_no_limit(upto, pair, option):
    assert upto("compare", *pair, option, "nan").exit_code == 2


def test_the_identity_of_runs_of_different_width_is_refused(upto, tmp_path, pair):
    np.save(tmp_path / "narrow.npy", np.load(pair[1])[:, :3])
    result = upto("compare", pair[0], "narrow.npy", "--up-to", "identity")
    assert result.exit_code == 3
    assert "cannot be compared up to the identity" in result.stderr


def test_labels_follow_rows_that_are_matched_by_ids(upto, tmp_path, rng):
    rows, ids = rng.laplace(size=(60, 3)), np.arange(60)
    np.savez(tmp_path / "a.npz", z=rows, id=ids)
    np.savez(tmp_path / "b.npz", z=rows[::-1][:50] + 1, id=ids[::-1][:50])
    (tmp_path / "labels.txt").write_text("\n".join(f"{'old' if i < 10 else 'new'}" for i in ids))
    options = ("--labels", "labels.txt", *FAST, "--format", "json")
    result = upto("compare", "a.npz::z", "b.npz::z", *options)
    assert set(json.loads(result.stdout)["scatter"]["labels"]) == {"new"}


def test_a_matrix_as_csv_has_every_error(upto, tmp_path, pair, rng):
    np.save(tmp_path / "third.npy", rng.normal(size=(300, 4)))
    result = upto("compare", *pair, "third.npy", *FAST, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 6 * 8
    assert float(rows[0]["error"]) > 0


def test_strict_tells_unconverged_ica_by_its_own_code(upto, tmp_path, rng, monkeypatch):
    monkeypatch.setattr("upto.evidence.prepare.ITERATIONS", 2)
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", rng.laplace(size=(400, 12)))
    assert upto("compare", "a.npy", "b.npy", "--refits", "0", "--strict").exit_code == 4


def test_files_and_codes_are_completed(upto):
    for words, position, expected in (
        ("upto compare a", "2", "file"),
        ("upto explain UP00", "2", "UP003"),
    ):
        env = {"_UPTO_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": position}
        result = subprocess.run(
            [sys.executable, "-c", "from upto.cli.main import main; main(prog_name='upto')"],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert expected in result.stdout


def test_a_page_that_is_not_html_is_refused(upto, pair):
    result = upto("compare", *pair, "--report", "page.pdf")
    assert result.exit_code == 3
    assert "page.pdf does not end in .html, but the report is HTML: rename it." in result.stderr


def test_what_the_theorems_promise_stands_beside_what_was_measured(upto, pair):
    result = upto("compare", *pair, *FAST, "--lipschitz", "0.01", "--lipschitz", "0")
    assert result.exit_code == 0
    assert "Promised bounds and measured errors" in result.stdout
    assert "Theorem 1, mean square" in result.stdout
    unasked = upto("compare", *pair, *FAST)
    assert "Promised" not in unasked.stdout


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--lipschitz", "small"), 3, "neither a number nor a file"),
        (("--lipschitz", "-1"), 3, "L is -1.0, but it is the excess"),
        (("--decoder", "no.such:thing"), 3, "decoders has 1 entry for 2 runs"),
    ],
)
def test_what_is_no_lipschitz_constant_or_decoder_is_refused(upto, pair, options, code, message):
    result = upto("compare", *pair, *options)
    assert result.exit_code == code
    assert message in result.stderr


@pytest.fixture
def views(tmp_path, rng):
    """Two unrelated runs of 60 patients, four views each, and who is who."""
    patient = np.repeat(np.arange(60), 4)
    for name in ("one", "two"):
        rows = rng.normal(size=(60, 3))[patient] + 0.4 * rng.normal(size=(240, 3))
        np.savez(tmp_path / f"{name}.npz", rows=rows, patient=patient)
    return "one.npz::rows", "two.npz::rows"


@pytest.mark.parametrize("where", ["patient", "one.npz::patient"])
def test_whole_groups_are_held_out(upto, views, where):
    result = upto("compare", *views, *FAST, "--groups", where, "--format", "json")
    found = json.loads(result.stdout)
    assert found["agreement"] == "chance"
    assert found["n_held_out"] == 72


@pytest.mark.parametrize("option", ["--groups", "--within"])
def test_a_column_that_is_not_there_is_named(upto, views, option):
    result = upto("compare", *views, *FAST, option, "doctor")
    assert result.exit_code == 3
    assert "'doctor'" in result.stderr


def test_rows_are_paired_within_classes(upto, tmp_path, rng):
    label = rng.integers(0, 6, 400)
    means = 4 * rng.normal(size=(6, 3))
    for name in ("one", "two"):
        np.savez(
            tmp_path / f"{name}.npz", rows=means[label] + rng.normal(size=(400, 3)), label=label
        )
    runs = ("one.npz::rows", "two.npz::rows")
    free, within = (
        json.loads(upto("compare", *runs, *FAST, *options, "--format", "json").stdout)
        for options in (("--labels", "label"), ("--within", "label"))
    )
    assert free["agreement"] != "chance"
    assert "UP038" in [finding["code"] for finding in free["findings"]]
    assert within["agreement"] == "chance"
