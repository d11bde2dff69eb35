"""Write `docs/command-line.md` from the help of every command.

Run it after a change of the command line: ``python docs/_tools/command_line.py``.
"""

from pathlib import Path

from click import Context
from click.testing import CliRunner

from upto.cli.exits import MEANINGS
from upto.cli.main import main

PAGE = Path(__file__).parents[1] / "command-line.md"

OPENING = """\
<!-- Written by docs/_tools/command_line.py; change the help of the commands instead. -->

# Command line

The options have the names of the arguments in Python. Results go to stdout; progress, findings and
error messages go to stderr, so `upto compare … --format json | jq …` always works.

```text
{help}
```

## Exit codes

| code | meaning |
|---|---|
{codes}

An error is one sentence that says what happened and what to do. A traceback is a bug: please report
it.

"""


def help_text(*arguments: str) -> str:
    """Return what the command prints, on a terminal of 80 columns."""
    result = CliRunner().invoke(
        main, [*arguments, "--help"], prog_name="upto", terminal_width=80, catch_exceptions=False
    )
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def page() -> str:
    """Return the page."""
    codes = "\n".join(f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items())
    names = main.list_commands(Context(main))
    sections = [f"## upto {name}\n\n```text\n{help_text(name)}\n```\n" for name in names]
    return OPENING.format(help=help_text(), codes=codes) + "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
