"""Where results may be written: refused before any work, and nothing is lost."""

from __future__ import annotations

import errno
import os
import sys

import numpy as np
import pytest
import zarr

CASES = {
    "report over its input": (("report", "cmp.json", "-o", "cmp.json"), "cmp.json is an input"),
    "page and result": (
        ("compare", "a.npy", "b.npy", "-o", "x.html", "--report", "x.html"),
        "-o and --report are the same file, x.html",
    ),
    "a second name of it": (
        ("compare", "a.npy", "b.npy", "-o", "hard.json"),
        "a.npy is an input",
    ),
    "labels": (("compare", "a.npy", "b.npy", "--labels", "c.csv", "-o", "c.csv"), "is an input"),
    "a manifest's run": (
        ("compare", "runs.toml", "-o", "a.npy", "--format", "json"),
        "a.npy is an input",
    ),
    "Lipschitz constants": (
        ("compare", "a.npy", "b.npy", "--lipschitz", "cmp.json", "-o", "cmp.json"),
        "cmp.json is an input",
    ),
    "a device": (("inspect", "a.npy", "-o", "null.json"), "null.json is a device"),
    "a FIFO": (("inspect", "a.npy", "-o", "fifo.json"), "fifo.json is a pipe"),
    "a page into a FIFO": (
        ("compare", "a.npy", "b.npy", "--report", "fifo.html"),
        "fifo.html is a pipe",
    ),
    "rows over a folder": (("unmix", "a.npy", "-o", "folder.npy"), "folder.npy is a folder"),
    "a circle": (("inspect", "a.npy", "-o", "circle.json"), "is not a usable path"),
    "no folder": (("inspect", "a.npy", "-o", "no/x.json"), "does not exist: make it first"),
    "no folder of a page": (("report", "cmp.json", "-o", "no/x.html"), "does not exist"),
    "a study's own file": (
        ("study", "run", "bounds-hold", "--folder", "s", "-o", "s/result.json"),
        "are the same file, s/result.json",
    ),
    "components over the transform": (
        ("unmix", "a.npy", "-o", "t.safetensors", "--save", "t.safetensors"),
        "are the same file, t.safetensors",
    ),
    "a part of its input": (
        ("inspect", "in.zarr", "-o", "in.zarr/zarr.json"),
        "in.zarr is an input",
    ),
    "an array of its input": (("unmix", "in.zarr", "-o", "in.zarr/x.zarr"), "in.zarr is an input"),
    "one output in another": (
        ("unmix", "a.npy", "-o", "z2.zarr", "--save", "z2.zarr/t.safetensors"),
        "does not exist",
    ),
    "a checkpoint of nobody": (("unmix", "a.npy", "-o", "o1.npy"), "is not a checkpoint"),
    "a checkpoint that is a link": (("unmix", "a.npy", "-o", "o2.npy"), "a.npy is an input"),
    "a checkpoint that is a pipe": (("unmix", "a.npy", "-o", "o3.npy"), "is a pipe"),
    "a checkpoint that is a folder": (("unmix", "a.npy", "-o", "o4.npy"), "is a folder"),
    "code": (
        ("lipschitz", "a.npy", "--decoder", "mycode:make", "--format", "json", "-o", "mycode.py"),
        "mycode.py is an input",
    ),
    "a study over other files": (
        ("study", "run", "bounds-hold", "--size", "tiny", "--folder", "mine"),
        "report.html does not belong to a study",
    ),
    "a study over other checkpoints": (
        ("study", "run", "bounds-hold", "--size", "tiny", "--folder", "kept", "--restart"),
        "checkpoints does not belong to a study",
    ),
    "a study into a pipe": (
        ("study", "run", "bounds-hold", "--size", "tiny", "--folder", "piped"),
        "figure.svg is a pipe",
    ),
    "a zarr around its input": (("unmix", "z.zarr/a.npy", "-o", "z.zarr"), "is an input"),
}


@pytest.fixture
def files(upto, tmp_path, rng, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    rows = rng.laplace(size=(120, 3))
    for name in ("a.npy", "b.npy", "z.zarr/a.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.save(tmp_path / name, rows)
    (tmp_path / "z.zarr" / "zarr.json").write_text("{}")
    (tmp_path / "hard.json").hardlink_to(tmp_path / "a.npy")
    (tmp_path / "c.csv").write_text("label\n" + "x\n" * 120)
    (tmp_path / "runs.toml").write_text('[[run]]\npath = "a.npy"\n[[run]]\npath = "b.npy"\n')
    (tmp_path / "null.json").symlink_to("/dev/null")
    (tmp_path / "circle.json").symlink_to("circle.json")
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "s").mkdir()
    zarr.create_array(tmp_path / "in.zarr", data=rows)
    (tmp_path / "o1.npy.checkpoint").write_text("a user's own")
    (tmp_path / "o2.npy.checkpoint").symlink_to("a.npy")
    os.mkfifo(tmp_path / "o3.npy.checkpoint")
    (tmp_path / "o4.npy.checkpoint").mkdir()
    (tmp_path / "mycode.py").write_text("def make(): return lambda z: z\n")
    for name in ("mine/report.html", "kept/checkpoints/precious"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("mine")
    (tmp_path / "piped").mkdir()
    os.mkfifo(tmp_path / "piped" / "figure.svg")
    for name in ("fifo.json", "fifo.html"):
        os.mkfifo(tmp_path / name)
    assert upto("inspect", "a.npy", "--no-ica", "-o", "cmp.json").exit_code == 0
    return tmp_path


@pytest.mark.parametrize(("arguments", "message"), CASES.values(), ids=CASES)
def test_nothing_is_lost(upto, files, arguments, message):
    def state():
        return {
            path: (os.lstat(path).st_mode, path.read_bytes() if path.is_file() else None)
            for path in sorted(files.rglob("*"))
        }

    before = state()
    result = upto(*arguments)
    assert result.exit_code == 3, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert state() == before


def test_a_link_is_written_through(upto, files):
    (files / "link.json").symlink_to("real.json")
    assert upto("inspect", "a.npy", "--no-ica", "-o", "link.json").exit_code == 0
    assert (files / "link.json").is_symlink()
    assert (files / "real.json").read_text().startswith("{")


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_full_disk_names_the_file_that_does_not_fit(upto, files, monkeypatch, option):
    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("upto.core.files.os.fsync", full)
    name = "new.json" if option == "-o" else "new.html"
    result = upto("compare", "a.npy", "b.npy", "--no-ica", option, name)
    assert result.exit_code == 3
    *_, last = result.stderr.splitlines()
    assert last.startswith(f"upto: {name}: No space left on device; existing files")
    assert not (files / name).exists()


def test_an_option_that_is_also_the_name_of_a_file_is_no_obstacle(upto, files):
    (files / "table").touch()
    assert upto("inspect", "a.npy", "--no-ica", "-o", "new.json").exit_code == 0


HOSTILE = "x\x1b]0;owned\x07\x9b31m\u202e"


@pytest.mark.parametrize("kind", ["table", "json", "md", "csv"])
@pytest.mark.parametrize("verbose", [True, False])
def test_control_characters_of_files_never_reach_the_terminal(upto, files, kind, verbose):
    np.savez(files / "hostile.npz", **{HOSTILE: np.load(files / "a.npy")})
    (files / f"{HOSTILE[:4]}.csv").write_text(f'"{HOSTILE}",b\n' + "1,2\n3,4\n" * 60)
    flags = ["-v"] if verbose else []
    for arguments in (
        ("inspect", "hostile.npz", "--format", kind, *flags),
        ("inspect", f"hostile.npz::{HOSTILE}y", *flags),
        ("compare", f"hostile.npz::{HOSTILE}", "a.npy", "--no-ica", "--format", kind, *flags),
        ("inspect", f"{HOSTILE[:4]}.csv", "--format", kind, *flags),
        ("inspect", f"{HOSTILE[:4]}.csv::nothing", *flags),
    ):
        result = upto(*arguments)
        assert result.exit_code in (0, 3), result.output
        for forbidden in "\x1b\x07\x9b\u202e":
            assert forbidden not in result.output


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text here")
@pytest.mark.parametrize("kind", ["table", "json", "md", "csv"])
def test_a_file_name_that_is_not_text_is_no_obstacle(upto, files, kind):
    name = os.fsdecode(b"na\xe9.npy")
    (files / "a.npy").rename(files / name)
    output = os.fsdecode(b"na\xe8.txt")
    arguments = ("compare", name, "b.npy", "--no-ica", "--format", kind)
    result = upto(*arguments, "-o", output, "--report", "page.html")
    assert result.exit_code == 0, result.output
    if kind != "csv":  # which has no names
        assert "na\\udce9" in (files / output).read_text().replace("\\\\", "\\")
    assert "na\\udce9" in (files / "page.html").read_text()
    missing = upto("inspect", os.fsdecode(b"na\xe7.npy"))
    assert missing.exit_code == 3
    assert "na\\udce7.npy does not exist. Did you mean na\\udce9.npy" in missing.stderr
