"""Whatever a file holds, a command ends with 3 and one line, or with the right answer."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from upto.core import InputError
from upto.files import read_run

LONGEST = 400


def refusal(result):
    """Return the one short line with which a command refused its input."""
    assert result.exit_code == 3, result.output + repr(result.exception)
    (line,) = result.stderr.splitlines()
    assert len(line) < LONGEST
    return line


@pytest.fixture
def compared(upto, pair, tmp_path):
    """Write a comparison and return its path and what is in it."""
    path = tmp_path / "result.json"
    assert upto("compare", *pair, "-q", "--no-ica", "-o", path).exit_code == 0
    return path, json.loads(path.read_text())


def test_a_flipped_bit_of_an_archive_is_no_other_answer(upto, tmp_path, rng):
    rows = rng.normal(size=(3000, 8))
    np.savez(tmp_path / "a.npz", emb=rows)
    np.save(tmp_path / "b.npy", rows)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    place = content.index(rows[1500, 3].tobytes())
    content[place + 7] ^= 0x40
    (tmp_path / "a.npz").write_bytes(content)
    assert "checksum" in refusal(upto("compare", "a.npz", "b.npy", "-q", "--no-ica"))


@pytest.mark.parametrize("command", ["inspect", "compare", "unmix", "report"])
def test_pipes_and_devices_are_refused(upto, tmp_path, command):
    os.mkfifo(tmp_path / "x.npy")
    os.mkfifo(tmp_path / "x.json")
    given = {
        "inspect": ["x.npy"],
        "compare": ["x.npy", "x.npy"],
        "unmix": ["x.npy", "-o", "out.npy"],
        "report": ["x.json", "-o", "page.html"],
    }[command]
    assert "is a pipe, not a file" in refusal(upto(command, *given))


def test_devices_are_no_results(upto):
    assert "/dev/zero is a device, not a file" in refusal(
        upto("report", "/dev/zero", "-o", "page.html")
    )
    assert "cannot be read: Is a directory" in refusal(upto("report", ".", "-o", "page.html"))


def unequal(record):
    record["scatter"]["aligned"] = record["scatter"]["aligned"][:3]


def short_row(record):
    record["fits"][0]["histogram"]["counts"] = []


def huge(record):
    record["runs"][0]["diameter"]["value"] = 1e308
    for fit in record["fits"]:
        for errors in ("in_sample", "held_out"):
            fit[errors]["mean"] |= {"value": 1e308, "low": -1e308, "high": 1e308}
    for points in ("target", "aligned"):
        record["scatter"][points] = [[1e308, -1e308] for _ in record["scatter"][points]]


def huge_histogram(record):
    for fit in record["fits"]:
        fit["histogram"] |= {"low": -1e308, "high": 1e308}


def equal_ends(record):
    for fit in record["fits"]:
        fit["histogram"] |= {"low": 1.0, "high": 1.0}


def no_fits(record):
    record["fits"] = []


@pytest.mark.parametrize("change", [unequal, short_row, huge, huge_histogram, equal_ends, no_fits])
def test_a_result_whose_parts_do_not_fit_is_refused_or_shown(upto, compared, change):
    path, record = compared
    change(record)
    path.write_text(json.dumps(record))
    shown = upto("report", path, "-o", "page.html")
    assert (path.parent / "page.html").exists() == (shown.exit_code == 0)
    if shown.exit_code != 0:
        line = refusal(shown)
        assert all(word in line for word in ("result.json", "damaged"))


def test_points_without_a_partner_are_a_damage(upto, compared):
    path, record = compared
    unequal(record)
    path.write_text(json.dumps(record))
    line = refusal(upto("report", path, "-o", "page.html"))
    assert all(word in line for word in ("result.json", "is damaged", "300", "3"))


def test_a_matrix_that_is_no_square_is_a_damage(upto, pair, tmp_path, rng):
    np.save(tmp_path / "third.npy", rng.normal(size=(300, 4)))
    path = tmp_path / "result.json"
    upto("compare", *pair, "third.npy", "-q", "--no-ica", "-o", path)
    record = json.loads(path.read_text())
    for name, change in (("up_to", lambda rows: rows[:2]), ("agreement", lambda rows: rows[::2])):
        pairs = {**record["pairs"], name: change(record["pairs"][name])}
        path.write_text(json.dumps({**record, "pairs": pairs}))
        line = refusal(upto("report", path, "-o", "page.html"))
        assert all(word in line for word in ("result.json", "damaged"))
    record["pairs"]["matrices"][0]["error"][1] = [0.5]
    path.write_text(json.dumps(record))
    line = refusal(upto("report", path, "-o", "page.html"))
    assert all(word in line for word in ("result.json", "damaged"))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"kind": "' + "x" * 9000 + '"}',
        '{"kind": "compare", "schema": ' + "9" * 9000 + "}",
        '{"kind": "compare", "schema": 2, "' + "y" * 9000 + '": 1}',
        '{"kind": "compare", "schema": [' + "1," * 9000 + "1]}",
        '{"kind": {"a": 1}}',
        "\x00",
        "\ud800",
    ],
)
def test_what_is_no_result_is_one_short_line(upto, tmp_path, text):
    (tmp_path / "result.json").write_text(text, errors="surrogatepass")
    assert "result.json" in refusal(upto("report", "result.json", "-o", "page.html"))
    assert not (tmp_path / "page.html").exists()


def test_a_promise_of_a_pipe_is_refused(upto, pair, tmp_path):
    os.mkfifo(tmp_path / "l.json")
    result = upto("compare", *pair, "--lipschitz", "l.json", "-q", "--no-ica")
    assert "l.json" in refusal(result)


def test_somebody_unknown_has_no_home(upto):
    assert "home folder of an unknown user" in refusal(upto("inspect", "~nosuchuser/x.npy"))


def test_a_loop_of_links_is_refused(upto, tmp_path):
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    (tmp_path / "loop.json").symlink_to("loop.json")
    assert "Too many levels of symbolic links" in refusal(
        upto("report", "loop.json", "-o", "page.html")
    )
    for arguments in (
        ("inspect", "loop.npy"),
        ("compare", "loop.npy", "loop.npy", "-o", "out.json"),
        ("unmix", "loop.npy", "-o", "out.npy"),
    ):
        assert "Too many levels of symbolic links" in refusal(upto(*arguments))
    with pytest.raises(InputError, match="Too many levels of symbolic links"):
        read_run(tmp_path / "loop.npy")


def test_a_file_whose_name_is_no_utf8_is_compared(upto, tmp_path, rng):
    rows = rng.normal(size=(200, 3))
    names = [os.fsdecode(name) for name in (b"run-\xe9.npy", b"th\xe8.npy")]
    for name in names:
        np.save(tmp_path / name, rows)
    for options in (["--format", "json"], ["--format", "csv"], ["-o", "out.json"], []):
        result = upto("compare", *names, "-q", "--no-ica", *options)
        assert result.exit_code == 0, result.output + repr(result.exception)


def test_toml_of_any_depth_is_one_line(upto, tmp_path):
    for text, word in (
        ("run = " + "[" * 9000, "runs.toml is not valid TOML"),
        ('[[run]]\npath = "a\\u0000.npy"', "null"),
    ):
        (tmp_path / "runs.toml").write_text(text)
        assert word in refusal(upto("compare", "runs.toml", "-q"))
