"""Run a command in a process: signals, streams and exit code."""

from __future__ import annotations

import signal
import sys
import warnings

from upto.cli import interrupts
from upto.cli.streams import mend_streams


def run() -> int:
    """Run the command of this process and return its exit code."""
    interrupts.install()
    mend_streams()
    if not sys.warnoptions:
        # Users get findings; warnings of libraries are for developers.
        warnings.simplefilter("ignore")
    try:
        return _run()
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else 0
    finally:
        interrupts.uninstall(interrupts.end if interrupts.received else signal.SIG_DFL)


def _run() -> int:
    import click

    from upto.cli.exits import say, stop_interrupted
    from upto.cli.main import main

    try:
        code = main(prog_name="upto", standalone_mode=False)
    except click.ClickException as error:
        say(usage_error(error), lines=True)
        code = error.exit_code
    except click.Abort as error:
        stop_interrupted(error.__cause__ or error)
    except KeyboardInterrupt as error:
        stop_interrupted(error)
    return code if isinstance(code, int) else 0


def usage_error(error: object) -> str:
    """Return click's message for wrong usage."""
    from io import StringIO

    shown = StringIO()
    error.show(file=shown)  # type: ignore[attr-defined]
    return shown.getvalue().rstrip("\n")
