"""`upto explain UP003`: explain a finding."""

from __future__ import annotations

import difflib

import click

from upto.cli.exits import EPILOG


def _complete_code(_context: object, _parameter: object, incomplete: str) -> list[str]:
    from upto.core import RULES

    return [code for code in RULES if code.startswith(incomplete.upper())]


@click.command("explain", epilog=EPILOG)
@click.argument("code", required=False, metavar="[CODE]", shell_complete=_complete_code)
def command(code: str | None) -> None:
    """Explain a finding: its meaning, why it matters and what to do. Without CODE, list them all.

    \b
    upto explain UP003
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from upto.core import RULES, InputError

    if code is None:
        for rule in RULES.values():
            click.echo(f"{rule.code}  {rule.severity:<7}  {rule.title}")
        return
    if code.upper() not in RULES:
        close = difflib.get_close_matches(code.upper(), RULES, n=1)
        hint = f"Did you mean {close[0]}? " if close else ""
        message = f"there is no finding {code}. {hint}`upto explain` lists all {len(RULES)}."
        raise InputError(message)
    rule = RULES[code.upper()]
    click.echo(f"{rule.code} {rule.title} ({rule.severity})\n")
    for heading, text in (
        ("What it means", rule.meaning),
        ("Why it matters", rule.matters),
        ("What to do", rule.remedy),
    ):
        click.echo(f"{heading}\n{click.wrap_text(text, 90, '  ', '  ')}\n")
