"""The command `upto`, whose subcommands are imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG, exit_codes
from upto.question import questions, resolve

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OTHERS = {
    "report": "Combine results saved as JSON into one HTML report.",
    "cite": "Print BibTeX of upto and of the papers behind results.",
    "explain": "Explain a finding: its meaning, why it matters and what to do.",
    "doctor": "Show installed and missing packages.",
    "demo": "Compare bundled real embeddings in a one-minute tour.",
    "completion": "Print the script that adds tab completion to your shell.",
}
"""Commands other than questions, each in a module of this package."""

HOMES = {each.name: each.command for each in questions() if each.command is not None} | {
    name: f"upto.cli.{name}:command" for name in OTHERS
}
COMMANDS = {each.name: each.asks for each in questions() if each.command is not None} | OTHERS

GROUP = "upto.commands"
"""Entry points of packages that add commands, e.g. `upto_studies`."""


class LazyGroup(click.Group):
    """A group that lists its commands by name and imports one only to run it.

    Any error of a command, including its import, becomes a sentence and an exit code here.
    """

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments of the group."""
        with exit_codes():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Import and run a command."""
        with exit_codes():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order people need them."""
        return [*COMMANDS, *_installed()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        command: click.Command
        if cmd_name in COMMANDS:
            command = resolve(HOMES[cmd_name])
        elif found := _installed().get(cmd_name):
            command = found.load()
        else:
            return None
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or suggest a similar name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if not (close := get_close_matches(args[0], self.list_commands(ctx), n=1)):
                raise
            message = f"No such command {args[0]!r}: did you mean {close[0]}?"
            raise click.UsageError(message, error.ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            texts = dict(COMMANDS)
            for name, found in _installed().items():
                texts[name] = found.load().get_short_help_str(limit=100)
            formatter.write_dl(list(texts.items()))


def _installed() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {found.name: found for found in entry_points(group=GROUP)}


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.version_option(package_name="upto", message="%(prog)s %(version)s")
def main(**_: Any) -> None:
    """Test whether trained models learned the same representation, up to what, with what error."""
