"""What a process that runs a command needs around it: its signals, its streams, its exit code."""

from __future__ import annotations

from upto.cli import interrupts
from upto.cli.streams import mend_streams


def run() -> int:
    """Run the command that the process was started with and return its exit code."""
    interrupts.install()
    try:
        mend_streams()
        return _run()
    finally:
        interrupts.uninstall()


def _run() -> int:
    import click

    from upto.cli.exits import stop_interrupted
    from upto.cli.main import main

    try:
        try:
            code = main(prog_name="upto", standalone_mode=False)
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except click.Abort as error:
            stop_interrupted(error.__cause__ or error)
    except SystemExit as stopped:
        code = stopped.code
    except KeyboardInterrupt as error:
        stop_interrupted(error)
    return code if isinstance(code, int) else 0
