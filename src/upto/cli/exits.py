"""Exit codes, and their mapping from errors."""

from __future__ import annotations

import errno
import sys
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

import click

from upto.cli import interrupts
from upto.cli.streams import discard
from upto.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.core import Result


class Exit(IntEnum):
    """Exit codes of the command."""

    DONE = 0
    LIMIT = 1
    USAGE = 2
    INPUT = 3
    NOT_CONVERGED = 4
    BUG = 70
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


MEANINGS = {
    Exit.DONE: "done",
    Exit.LIMIT: "a --fail-above or --strict limit failed",
    Exit.USAGE: "wrong usage",
    Exit.INPUT: "unusable input",
    Exit.NOT_CONVERGED: "ICA did not converge, with --strict",
    Exit.BUG: "a bug in upto, with a crash file",
    Exit.HUNG_UP: "ended by SIGHUP",
    Exit.INTERRUPTED: "interrupted",
    Exit.TERMINATED: "ended by SIGTERM",
}

EPILOG = "Exit codes: " + " · ".join(f"{int(code)} {MEANINGS[code]}" for code in Exit) + "."
_LONGEST = 160
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors into one sentence on stderr and an exit code."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        # Wrong usage, or commands that are done: click handles these.
        raise
    except KeyboardInterrupt as error:
        stop_interrupted(error)
    except Exception as error:  # noqa: BLE001 - last resort, which writes a crash file
        if interrupts.received:
            stop_interrupted(error)
        _stop(error)


@contextmanager
def own_words() -> Iterator[None]:
    """Rewrite function arguments in errors as command options: batch= as --batch."""
    from upto.core.errors import ArgumentError, InputError

    options = {each.name: each.opts[0] for each in click.get_current_context().command.params}
    try:
        yield
    except ArgumentError as error:
        message = str(error)
        for name, value in error.given.items():
            if name in options:
                values = value if isinstance(value, list) else [value]
                said = " ".join(_option(options[name], each) for each in values)
                message = message.replace(f"{name}={value!r}", said, 1)
                for each in values:
                    message = message.replace(f"{name}={each!r}", _option(options[name], each), 1)
        error.args = (message, *error.args[1:])
        raise
    except InputError as error:
        name, separator, rest = str(error).partition(" is ")
        if separator and name in options:
            error.args = (f"{options[name]} is {rest}", *error.args[1:])
        raise


def _option(name: str, value: object) -> str:
    """Write an argument as one would on the command line: a flag has no value."""
    if isinstance(value, bool):
        return name if value else name.replace("--", "--no-", 1)
    return f"{name} {value!r}"


def stop(code: Exit, message: str) -> NoReturn:
    """Print the reason on stderr and exit with a code."""
    say(f"upto: {message}")
    raise SystemExit(int(code))


def say(message: str, *, lines: bool = False) -> None:
    """Write one or several lines to stderr, ignoring a closed stream."""
    try:
        # Not click.echo, which writes UTF-8 to ASCII streams.
        sys.stderr.write(f"{printable(message, lines=lines)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        discard(sys.stderr)


def stop_interrupted(error: BaseException) -> NoReturn:
    """Exit with the code of the signal received, and print what is kept."""
    interrupts.uninstall(interrupts.end)
    kept = _notes(error) or "nothing was left half written."
    stop(Exit(interrupts.exit_code()), f"{interrupts.what_happened()}; {kept}")


def check_strictly(result: Result) -> None:
    """Exit with an error code if `--strict` does not accept the findings."""
    if any(finding.code == "UP004" for finding in result.findings):
        stop(Exit.NOT_CONVERGED, "ICA did not converge and --strict was given; see UP004.")
    warnings = [finding for finding in result.findings if finding.rule.severity == "warning"]
    if warnings:
        stop(Exit.LIMIT, f"--strict was given and there are warnings: {len(warnings)}.")


def _stop(error: Exception) -> NoReturn:
    # Imported here so that `upto --help` stays instant.
    from upto.core.errors import UptoError, one_sentence

    notes = f" {_notes(error)}".rstrip()
    if isinstance(error, UptoError):
        stop(Exit.INPUT, f"{one_sentence(error)}{notes}")
    if isinstance(error, BrokenPipeError):
        # The reader of the output has gone, e.g. `head`, which is not an error.
        discard(sys.stdout)
        raise SystemExit(Exit.DONE) from None
    if isinstance(error, MemoryError):
        remedy = "use a file that can be read by block, or fewer columns."
        stop(Exit.INPUT, f"there is not enough memory for this run: {remedy}{notes}")
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None and error.errno in _NOT_WRITTEN:
            # Errors of files contain their names, so this one is from stdout.
            discard(sys.stdout)
            stop(Exit.INPUT, f"stdout could not be written ({error.strerror}).{notes}")
        where = f"{error.filename}: " if error.filename else ""
        untouched = "existing files are unchanged."
        stop(Exit.INPUT, f"{where}{error.strerror}; {untouched}{notes}")
    _crash(error)


def _notes(error: BaseException) -> str:
    return " ".join(getattr(error, "__notes__", ()))


def _crash(error: Exception) -> NoReturn:
    from upto.cli.crash import write_crash_file

    (first, *_) = str(error).splitlines() or [""]
    what = f"{type(error).__name__}: {first[:_LONGEST]}".rstrip(": ")
    stop(
        Exit.BUG,
        f"this is a bug in upto, not in your files ({what}): please report it with "
        f"{write_crash_file(error)}, which has the details.",
    )
