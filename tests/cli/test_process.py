"""The command as a process: its signals, its streams, what nobody foresaw."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from upto.cli.exits import Exit

UPTO = (sys.executable, "-m", "upto")
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
STARTED = "import signal, sys; sys.argv[0] = 'upto'; from upto.__main__ import main; "
STUCK = STARTED + (
    "from upto.files.write import Writer; import time; put = Writer.__setitem__\n"
    "def stuck(self, key, block):\n"
    "    put(self, key, block); print('writing', file=sys.stderr, flush=True)\n"
    "    for _ in range(600): time.sleep(0.1)\n"  # Python may miss a signal just before a sleep
    "Writer.__setitem__ = stuck; main()"
)


@pytest.fixture
def folder(tmp_path, rng):
    np.save(tmp_path / "run.npy", rng.laplace(size=(200, 3)))
    return tmp_path


def writing(folder, suffix):
    """Start a command, and return it when it has written rows and goes no further."""
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, "unmix", "run.npy", "-o", f"out.{suffix}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stderr.readline() == "writing\n"
    return process


def ran(folder, code, *args):
    """Run code in place of the command."""
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=ENVIRONMENT,
    )


def upto(folder, *args, **options):
    command = [*UPTO, *map(str, args)]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output="stdout" not in options,
        check=False,
        timeout=120,
        env=ENVIRONMENT | options.pop("env", {}),
        **options,
    )


@pytest.mark.parametrize(
    ("number", "suffix"),
    [
        (signal.SIGTERM, "npy"),
        pytest.param(signal.SIGHUP, "h5", marks=pytest.mark.slow),
        *(
            pytest.param(signal.SIGTERM, suffix, marks=pytest.mark.slow)
            for suffix in ("zarr", "npz", "h5", "parquet", "csv", "safetensors")
        ),
        pytest.param(signal.SIGINT, "npy", marks=pytest.mark.slow),
    ],
)
def test_signals_leave_no_temporary_file(folder, number, suffix):
    process = writing(folder, suffix)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    word = {signal.SIGINT: "interrupted"}.get(number, f"ended by {signal.Signals(number).name}")
    kept = "out\\..*\\.checkpoint stores the fit: --resume continues it\\."
    assert re.fullmatch(f"upto: {word}; {kept}\n", stderr)
    assert sorted(path.name for path in folder.iterdir()) == [f"out.{suffix}.checkpoint", "run.npy"]


@pytest.mark.slow
def test_an_interrupt_at_any_moment_exits_with_130(folder):
    codes = {}
    for delay in np.linspace(0.1, 2, 24):
        process = subprocess.Popen(
            [sys.executable, "-c", STARTED + "main()", "inspect", "run.npy", "-o", "out.json"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        # Before the first line of ours Python ends by the signal itself, which shells call 130.
        if process.returncode == -signal.SIGINT and "upto/cli" not in stderr:
            continue
        codes[delay] = process.returncode
        assert process.returncode in (0, 130), stderr
        assert "Traceback" not in stderr
        assert {"run.npy"} <= {path.name for path in folder.iterdir()} <= {"run.npy", "out.json"}
    assert 130 in codes.values()


@pytest.mark.parametrize("swallowed", ["raise ImportError('no module') from None", "pass"])
def test_an_interrupt_that_an_import_takes_for_its_own_error_is_one(folder, swallowed):
    code = STARTED + (
        "import upto.cli.main as cli, os\n"
        "def get(self, ctx, name):\n"
        "    try: os.kill(os.getpid(), signal.SIGINT)\n"
        f"    except KeyboardInterrupt: {swallowed}\n"
        "cli.LazyGroup.get_command = get; main()"
    )
    done = ran(folder, code, "inspect", "run.npy")
    expected = 130 if "ImportError" in swallowed else 2  # the command is then simply unknown
    assert done.returncode == expected, done.stderr
    assert "Traceback" not in done.stderr


def test_signals_that_are_ignored_stay_ignored(folder):
    code = (
        "import signal, sys, os; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "import upto.cli.main as cli; get = cli.LazyGroup.get_command\n"
        "def hung_up(*a): os.kill(os.getpid(), signal.SIGHUP); return get(*a)\n"
        "cli.LazyGroup.get_command = hung_up\n"
        "from upto.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "explain", "UP003"], check=False)
    assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_stream_is_no_crash(folder, closed):
    done = subprocess.run(
        f"exec {sys.executable} -m upto inspect run.npy --no-ica -o out.json {closed}>&-",
        shell=True,
        cwd=folder,
        capture_output=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    # The first file that is opened must not become the stream.
    assert (folder / "out.json").read_text().startswith("{")
    shown = subprocess.run(
        f"exec {sys.executable} -m upto inspect run.npy --no-ica >&-",
        shell=True,
        cwd=folder,
        capture_output=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize(
    "kind",
    ["table", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("json", "md", "csv"))],
)
def test_a_stdout_of_ascii_only_is_no_crash(folder, kind):
    (folder / "run.npy").rename(folder / "größe→.npy")
    done = upto(
        folder, "inspect", "größe→.npy", "--format", kind, env={"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_stdout_is_one_sentence(folder):
    with Path("/dev/full").open("w") as full:
        done = upto(folder, "inspect", "run.npy", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3
    assert done.stderr.decode().count("\n") == 1
    assert b"stdout could not be written (No space left on device)" in done.stderr


def test_a_reader_that_goes_away_is_no_error(folder):
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m upto explain | head -1"],
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 141)
    assert done.stderr == b""


def test_what_nobody_foresaw_ends_with_70_and_a_file(folder):
    code = (
        "import sys, upto.cli.main as cli\n"
        "def broken(*a): raise ZeroDivisionError('far\\n\\x1b[31m' + 'away' * 999)\n"
        "cli.LazyGroup.get_command = broken\n"
        "from upto.__main__ import main; main()"
    )
    done = ran(folder, code, "inspect", "run.npy")
    assert done.returncode == Exit.BUG == 70
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 400
    (crash,) = folder.glob("upto-crash-*.txt")
    assert f"ZeroDivisionError: far): please report it with {crash.name}" in done.stderr
    text = crash.read_text()
    assert text.startswith("upto inspect run.npy\n")
    assert "Traceback" in text
    assert f"numpy {np.__version__}" in text


def test_a_crash_where_nothing_can_be_written_is_still_told(folder, monkeypatch, capsys):
    from upto.cli import crash

    (folder / "gone").mkdir()
    monkeypatch.chdir(folder / "gone")
    (folder / "gone").rmdir()
    monkeypatch.setattr(crash.tempfile, "gettempdir", lambda: str(folder / "gone"))
    assert crash.write_crash_file(ValueError("lost")) == "the output above"
    assert "ValueError: lost" in capsys.readouterr().err


def test_help_lists_the_codes(folder):
    text = " ".join(upto(folder, "compare", "--help").stdout.decode().split())
    for code in Exit:
        assert f" {int(code)} " in text


STARTING = (
    "import os, signal, sys; sys.argv[0] = 'upto'; import upto.cli.interrupts as interrupts\n"
    "import builtins; load = builtins.__import__\n"
    "def hit(name, *args, **kwargs):\n"
    "    if name == 'click' and not interrupts.received: os.kill(os.getpid(), {number})\n"
    "    return load(name, *args, **kwargs)\n"
    "builtins.__import__ = hit; from upto.__main__ import main; main()"
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_modules_are_loaded_has_its_own_code(folder, number):
    done = ran(folder, STARTING.format(number=int(number)), "inspect", "run.npy")
    assert done.returncode == 128 + number
    name = signal.Signals(number).name
    assert done.stderr == f"upto: ended by {name}; nothing was left half written.\n"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["h5", "zarr"])
def test_two_signals_at_once_are_one(folder, suffix):
    process = writing(folder, suffix)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    # Of two that wait, the system hands over the one of the lower number first, or the other.
    assert process.returncode in (129, 143)
    assert stderr.count("\n") == 1
    assert {path.name for path in folder.iterdir()} == {f"out.{suffix}.checkpoint", "run.npy"}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["zarr", "h5", "h5ad", "parquet", "npz"])
def test_a_signal_at_any_moment_of_writing_leaves_nothing(folder, rng, suffix):
    fit = upto(folder, "unmix", "run.npy", "--save", "t.safetensors", "-q")
    assert fit.returncode == 0, fit.stderr
    np.save(folder / "wide.npy", rng.normal(size=(400_000, 3)))
    # On a busy machine there would be a line of progress too.
    command = ("unmix", "wide.npy", "--apply", "t.safetensors", "--no-progress")
    for delay in (0.0, 0.01, 0.03, 0.06):
        process = subprocess.Popen(
            [*UPTO, *command, "-o", f"q.{suffix}"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        while process.poll() is None and not any(folder.glob(".q*")):
            time.sleep(0.001)
        time.sleep(delay)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
        # When all is written the process may be ended as any other.
        assert process.returncode in (0, 143, -signal.SIGTERM), stderr
        assert stderr.removeprefix(f"wrote q.{suffix}\n").count("\n") <= 1, stderr
        assert "Traceback" not in stderr
        assert not any(folder.glob(".q*"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    ("arguments", "code"), [("inspect missing.npy", 3), ("frobnicate", 2), ("explain UP999", 3)]
)
def test_a_stderr_that_takes_nothing_changes_no_exit_code(folder, arguments, code):
    expected = upto(folder, *arguments.split()).returncode
    assert expected == code
    with Path("/dev/full").open("w") as full:
        done = upto(folder, *arguments.split(), stdout=subprocess.DEVNULL, stderr=full)
    assert done.returncode == code


def test_wrong_usage_shows_no_control_characters_and_what_was_meant(folder):
    done = upto(folder, "inspect", "run.npy", "x\x1b]0;owned\x07")
    assert done.returncode == 2
    assert b"\\u001b]0;owned\\u0007" in done.stderr
    assert b"\x1b" not in done.stderr
    assert b"did you mean demo?" in upto(folder, "demoo").stderr


LEFT = STARTED + (
    "import atexit, os, threading, time, upto.cli.main as cli\n"
    "def get(self, ctx, name):\n"
    "    {left}\n"
    "    os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\n"
    "cli.LazyGroup.get_command = get; main()"
)


def test_an_interrupt_ends_a_command_whatever_its_threads_wait_for(folder):
    left = (
        "atexit.register(print, 'cleaned up'); "
        "threading.Thread(target=threading.Event().wait).start()"
    )
    done = ran(folder, LEFT.format(left=left), "inspect", "run.npy")
    assert done.returncode == 130
    assert done.stderr == "upto: interrupted; nothing was left half written.\n"
    assert done.stdout == "cleaned up\n"


@pytest.mark.slow
def test_another_interrupt_ends_a_clean_up_that_takes_for_ever(folder):
    code = LEFT.format(left="atexit.register(time.sleep, 60)")
    process = subprocess.Popen(
        [sys.executable, "-c", code, "inspect", "run.npy"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stderr.readline() == "upto: interrupted; nothing was left half written.\n"
    # Signals within a second are one.
    time.sleep(1.1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 130


HALF_MADE = """
import os, signal
from upto.cli import interrupts

class HalfMade:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        self.name = "whole"
    def __del__(self):
        self.name

interrupts.install()
try:
    HalfMade()
except KeyboardInterrupt:
    print("ended")
"""


def test_what_a_signal_left_half_made_says_nothing():
    done = subprocess.run(
        [sys.executable, "-c", HALF_MADE], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("ended\n", "")
