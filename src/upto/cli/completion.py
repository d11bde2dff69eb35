"""`upto completion SHELL`: print the shell completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from upto.cli.exits import EPILOG


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that adds tab completion to your shell.

    \b
    upto completion bash >> ~/.bashrc
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from upto.cli.main import main

    completion = get_completion_class(shell)
    if completion is not None:
        click.echo(completion(main, {}, "upto", "_UPTO_COMPLETE").source())
