"""Exit codes, and the one place where errors become them."""

from __future__ import annotations

import functools
import os
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from upto.core import Finding


class Exit(IntEnum):
    """What the command's exit code means."""

    DONE = 0
    LIMIT = 1
    USAGE = 2
    INPUT = 3
    NOT_CONVERGED = 4
    INTERRUPTED = 130


MEANINGS = {
    Exit.DONE: "done",
    Exit.LIMIT: "a --fail-above or --strict limit failed",
    Exit.USAGE: "wrong usage",
    Exit.INPUT: "unusable input",
    Exit.NOT_CONVERGED: "ICA did not converge, with --strict",
    Exit.INTERRUPTED: "interrupted",
}

EPILOG = "Exit codes: " + " · ".join(f"{int(code)} {MEANINGS[code]}" for code in Exit) + "."


def with_exit_codes(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn our errors into one sentence on stderr and the right exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except MemoryError:
            stop(Exit.INPUT, "there is not enough memory for this run: give a block-readable file.")
        except KeyboardInterrupt:
            stop(Exit.INTERRUPTED, "interrupted; nothing was written.")
        except BrokenPipeError:
            # The reader of our output has gone, as `head` does; that is not an error of ours.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(Exit.DONE) from None
        except Exception as error:
            # Imported here so that `upto --help` stays instant.
            from upto.core import UptoError

            if isinstance(error, OSError) and error.strerror:
                where = f"{error.filename}: " if error.filename else ""
                stop(Exit.INPUT, f"{where}{error.strerror}; what was there before is untouched.")
            if not isinstance(error, UptoError):
                raise
            stop(Exit.INPUT, str(error))

    return run


def stop(code: Exit, message: str) -> None:
    """Say why on stderr and leave with a code."""
    click.echo(f"upto: {message}", err=True)
    raise SystemExit(int(code))


def check_strictly(findings: Iterable[Finding], *, converged: bool) -> None:
    """Leave with the code of what `--strict` does not let pass."""
    if not converged:
        stop(Exit.NOT_CONVERGED, "ICA did not converge and --strict was given; see UP004.")
    warnings = [finding for finding in findings if finding.rule.severity == "warning"]
    if warnings:
        stop(Exit.LIMIT, f"--strict was given and there are warnings: {len(warnings)}.")
