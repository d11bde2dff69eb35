"""Output of commands: formats, files, findings and progress."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from upto.cli.engine_choice import EngineChoice
from upto.cli.exits import say
from upto.core.errors import InputError
from upto.core.extras import EXTRAS, check_extra
from upto.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.core import Finding, Progress, Result, Table

FORMATS = ("table", "json", "csv", "md", "latex", "html")
_SUFFIXES = {
    ".json": "json", ".csv": "csv", ".md": "md", ".tex": "latex", ".html": "html", ".txt": "table",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Output options of a command."""

    format: str | None
    path: Path | None
    choice: EngineChoice
    seed: int
    quiet: bool
    verbose: bool
    progress: bool
    figure: Path | None = None
    figure_columns: int | None = None

    @property
    def engine(self) -> Any:
        """The engine, which is connected to if it is a cluster, once everything is checked."""
        return self.choice.engine(self.say)

    @property
    def chosen_format(self) -> str:
        """The requested format, or that of the output's suffix."""
        if self.path is None:
            return self.format or "table"
        suffix = self.path.suffix.lower()
        if self.format is not None:
            if suffix != ".txt" and _SUFFIXES.get(suffix, self.format) != self.format:
                message = (
                    f"--format asks for {self.format}, but {self.path.name} is a file of "
                    f"{_SUFFIXES[suffix]}: omit --format or rename the file."
                )
                raise click.UsageError(message)
            return self.format
        if suffix not in _SUFFIXES:
            message = (
                f"{self.path.name} does not determine a format: end it in one of "
                f"{', '.join(_SUFFIXES)}, or pass --format."
            )
            raise InputError(message)
        return _SUFFIXES[suffix]

    def check(
        self,
        *,
        page: Path | None = None,
        rows: tuple[str, str | Path | None] = ("", None),
        **others: Path | None,
    ) -> None:
        """Check, before any work is done, that all outputs can and may be written.

        Parameters
        ----------
        page
            The HTML report.
        rows
            The option and the file for rows; an AnnData input may be extended in place.
        others
            Other files to write, keyed by option.
        """
        _ = self.chosen_format
        if self.figure is None and (self.figure_columns or 1) != 1:
            message = "--figure-columns is the width of a figure: pass --figure too."
            raise click.UsageError(message)
        if (engine := self.choice.name) in EXTRAS:
            check_extra(engine, f"the {engine} engine")
        files = {f"--{name}": path for name, path in others.items()}
        files |= {"-o": self.path, "--report": page, "--figure": self.figure}
        check_places(files, rows=rows)
        if self.figure is not None:
            from upto.report.figure_file import check_figure

            check_figure(self.figure)
        if page is not None:
            check_page(page)

    def show(self, result: Result) -> None:
        """Write a result to stdout or the output file, and its findings to stderr."""
        if self.path is not None:
            from upto.core.files import write_text_atomically

            write_text_atomically(self.path, self.text(result))
            self.say(f"wrote {self.path}")
        elif self.chosen_format == "table":
            console = console_for(stderr=False)
            console.print(result if self.verbose else _Brief(result))
        else:
            _print(self.text(result))
        self.show_findings(result.findings)

    @property
    def is_brief(self) -> bool:
        """Whether the result goes to the terminal as a table."""
        return self.path is None and self.chosen_format == "table"

    def show_table(self, table: Table) -> None:
        """Write one table to stdout or the output file."""
        if self.path is not None:
            from upto.core.files import write_text_atomically

            write_text_atomically(self.path, _table_text(table, self.chosen_format))
            self.say(f"wrote {self.path}")
        elif self.is_brief:
            console_for(stderr=False).print(table)
        else:
            _print(_table_text(table, self.chosen_format))

    def publish(self, result: Result, report: Path | None) -> None:
        """Show the result, then write the HTML report and the figure, if requested."""
        # Whatever happens to the page and the figure, the result is there.
        self.show(result)
        if report is not None:
            from upto.report import Report

            Report([result]).write(report)
            self.say(f"wrote {report}")
        if self.figure is not None:
            result.save_figure(self.figure, columns=self.figure_columns or 1)
            self.say(f"wrote {self.figure}")

    def text(self, result: Result) -> str:
        """Render a result in the chosen format."""
        if self.chosen_format == "json":
            return result.to_json() + "\n"
        if self.chosen_format == "csv":
            return result.data_table().to_csv()
        if self.chosen_format == "md":
            tables = "\n".join(
                f"**{table.title}**\n\n{table.to_markdown()}" for table in result.tables()
            )
            return f"{result.verdict}\n\n{tables}"
        if self.chosen_format == "latex":
            from upto.core.export import made_by

            shown = result.tables() if self.verbose else result.brief_tables()
            return "\n".join(table.to_latex(note=made_by(result.provenance)) for table in shown)
        if self.chosen_format == "html":
            from upto.core.table_page import table_page

            return table_page(*result.tables(), title=f"upto {result.kind}", text=result.verdict)
        return str(result)

    def show_findings(self, findings: tuple[Finding, ...]) -> None:
        """Print findings to stderr."""
        if self.quiet or not findings:
            return
        from rich.text import Text

        console = console_for(stderr=True)
        for finding in findings:
            style = "yellow" if finding.rule.severity == "warning" else "dim"
            console.print(Text(printable(str(finding)), style=style))
        codes = list(dict.fromkeys(finding.code for finding in findings))
        console.print(Text(f"`upto explain {codes[0]}` explains a finding.", style="dim"))

    def say(self, message: str) -> None:
        """Print a message that is not a result."""
        if not self.quiet:
            say(message)

    def watcher(self) -> Progress:
        """Return the progress reporter."""
        from upto.core import SilentProgress
        from upto.core.progress_bar import LineProgress, find_bars

        if not self.progress or self.quiet:
            return SilentProgress()
        return find_bars() or LineProgress(say=say)


def _print(text: str) -> None:
    sys.stdout.write(printable(text, lines=True))
    sys.stdout.flush()


def _table_text(table: Table, kind: str) -> str:
    if kind == "csv":
        return table.to_csv()
    if kind == "json":
        import json

        return json.dumps(table.records(), indent=1, ensure_ascii=False) + "\n"
    if kind == "latex":
        return table.to_latex()
    if kind == "html":
        from upto.core.table_page import table_page

        return table_page(table, title=table.title)
    return table.to_markdown()


def check_page(page: Path) -> None:
    """Refuse a report whose name is not that of a page."""
    if page.suffix.lower() not in (".html", ".htm"):
        message = f"{page.name} does not end in .html, but the report is HTML: rename it."
        raise InputError(message)


def check_places(
    outputs: Mapping[str, Path | None], *, rows: tuple[str, str | Path | None] = ("", None)
) -> None:
    """Refuse outputs that cannot be written, are inputs of the command, or coincide.

    Every argument of the command that names an existing file is an input.

    Parameters
    ----------
    outputs
        Files to write, keyed by option.
    rows
        The option and the file for rows, or the folder, as some formats are; an AnnData input may
        be extended in place.
    """
    from upto.core.files import check_outputs, check_target, is_same, real_path
    from upto.files.output_formats import is_folder
    from upto.files.packages import check_package

    option, given = rows
    file = None if given is None else Path(given)
    outputs = {**outputs, option: file}
    places = [path for path in outputs.values() if path is not None]
    for path in places:
        check_target(path, folder=path is file and is_folder(str(given)))
    arguments = [
        each for value in click.get_current_context().params.values() for each in _texts(value)
    ]
    for path in places:
        # An output is an argument too; a second occurrence is an input.
        said = str(given) if path is file else str(path)
        if said in arguments:
            arguments.remove(said)
    inputs = [each for argument in arguments for each in files_of(argument)]
    if file is not None and file.suffix.lower() == ".h5ad":
        inputs = [each for each in inputs if not is_same(real_path(each), real_path(file))]
    check_outputs(outputs, inputs)
    if file is not None:
        check_package(file, "writing")
    for each in inputs:
        check_package(each)


def files_of(given: str) -> list[Path]:
    """Return the files an argument refers to: itself and, for a manifest, the runs it lists."""
    from upto.files.manifest import listed_runs, manifest_of
    from upto.files.request import split_key

    try:
        file, _ = split_key(given)
        if not file.exists():
            return _source_of(given)
    except (InputError, OSError, RuntimeError, ValueError):
        # Not a path: the command will report it if it needs one.
        return []
    manifest = manifest_of(file)
    if manifest is not None and manifest.is_file():
        return [manifest, *(run.path for run in listed_runs(manifest))]
    return [file]


def _source_of(given: str) -> list[Path]:
    """Return the source file of MODULE:FUNCTION without importing it."""
    module, colon, _ = given.partition(":")
    if not colon or not all(part.isidentifier() for part in module.split(".")):
        return []
    name = Path(*module.split(".")).with_suffix(".py")
    return [place / name for place in map(Path, sys.path) if (place / name).is_file()]


def _texts(value: Any) -> list[str]:
    """Return the strings and paths in the value of a parameter."""
    if isinstance(value, str | Path):
        return [str(value)]
    return [text for each in value for text in _texts(each)] if isinstance(value, tuple) else []


class _Brief:
    """A result with only its main tables."""

    def __init__(self, result: Result) -> None:
        self.result = result

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        verdict = Text(printable(self.result.verdict), style="bold")
        return Group(verdict, *self.result.brief_tables())


def console_for(*, stderr: bool) -> Any:
    """Return a console that does not truncate tables in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # A pipe has no width.
    width = None if stream.isatty() else 140
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=stderr)
