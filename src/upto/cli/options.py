"""Options shared by commands."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from upto.cli.engine_choice import engine_choice, engine_options
from upto.cli.exits import own_words
from upto.cli.output import FORMATS, Output

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from click.shell_completion import CompletionItem


def complete_file(_context: object, _parameter: object, incomplete: str) -> list[CompletionItem]:
    """Complete file names in the shell."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def refuse_nan(_context: object, _parameter: object, value: float | None) -> float | None:
    """Refuse NaN as a limit, which nothing can exceed."""
    if value is not None and value != value:
        message = "nan cannot be compared with anything."
        raise click.BadParameter(message)
    return value


def _count_or_fraction(
    _context: object, _parameter: object, value: str | None
) -> int | float | None:
    """Parse a number of components or the fraction of the variance to keep."""
    if value is None:
        return None
    try:
        number = int(value) if value.strip().lstrip("+-").isdigit() else float(value)
    except ValueError:
        number = 0
    is_count = isinstance(number, int) and number >= 1
    if not is_count and not (isinstance(number, float) and 0 < number < 1):
        message = f"{value!r} is neither a positive number of components nor a fraction below 1."
        raise click.BadParameter(message)
    return number


def held_out_option(default: float, used: str) -> Callable[..., Any]:
    """Add the option for the fraction of held-out rows, and describe their use."""
    return click.option(
        "--held-out",
        type=click.FloatRange(0, 1, max_open=True),
        default=default,
        show_default=True,
        help=f"Fraction of the rows held out: {used}.",
    )


ids_option = click.option(
    "--ids", help="Column or entry with one id per row, to match rows across files."
)
permutations_option = click.option(
    "--permutations",
    type=click.IntRange(19),
    default=199,
    show_default=True,
    help="Random pairings of rows, for p-values.",
)
components_option = click.option(
    "--n-components",
    metavar="N|FRACTION",
    callback=_count_or_fraction,
    help="Number of components, or the fraction of the variance to keep; all by default.",
)
half_samples_option = click.option(
    "--half-samples",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    help="Half-samples of the rows for intervals, at least 10; 0 for no intervals.",
)
strict_option = click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if any finding is a warning, with 4 if an ICA in it did not converge.",
)


def output_options(
    command: Callable[..., Any],
    *,
    result_file: bool = True,
    uses: Collection[str] = ("engine", "seed", "progress"),
) -> Callable[..., Any]:
    """Add the options shared by all commands, as one `output` argument.

    Without `result_file`, the command defines its own `-o`, and the result goes to stdout. An
    engine, a seed and progress are offered by the commands that use them.
    """

    @functools.wraps(command)
    def wrapped(**kwargs: Any) -> Any:
        names = (
            "format", "path", "seed", "quiet", "verbose", "progress", "figure", "figure_columns"
        )  # fmt: skip
        given = {name: kwargs.pop(f"output_{name}", None) for name in names}
        with own_words(), engine_choice(kwargs) as choice:
            return command(output=Output(choice=choice, **given), **kwargs)

    path_option = click.option(
        "-o",
        "--output",
        "output_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File to write the result to; its suffix sets the format.",
    )
    progress_option = click.option(
        "--progress/--no-progress",
        "output_progress",
        default=True,
        help="Show progress on stderr: bars on a terminal, lines elsewhere.",
    )
    seed_option = click.option(
        "--seed",
        "output_seed",
        default=0,
        show_default=True,
        type=click.IntRange(0, 2**32 - 1),
        help="Seed of the random number generator.",
    )
    for option in (
        *([progress_option] if "progress" in uses else []),
        click.option("-v", "--verbose", "output_verbose", is_flag=True, help="Show all tables."),
        click.option("-q", "--quiet", "output_quiet", is_flag=True, help="Show only the result."),
        *([seed_option] if "seed" in uses else []),
        *(engine_options if "engine" in uses else []),
        *([path_option] if result_file else []),
        click.option(
            "--format",
            "output_format",
            type=click.Choice(FORMATS),
            help="Format of the result; a table by default. latex is for the package booktabs, "
            "and html has only the tables, unlike a report.",
        ),
    ):
        option(wrapped)
    return wrapped


def report_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to also write an HTML report and a figure."""
    for option in (
        click.option(
            "--figure-columns",
            "output_figure_columns",
            type=click.IntRange(1, 2),
            default=1,
            show_default=True,
            help="Width of the figure in columns of a journal: 3.5 or 7.2 inches.",
        ),
        click.option(
            "--figure",
            "output_figure",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Save the figure to this file, as .pdf, .svg or .png.",
        ),
    ):
        option(command)
    return click.option(
        "--report",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write a self-contained HTML report to this file.",
    )(command)


def page_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for the destination of the HTML report."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path("report.html"),
        show_default=True,
        help="File to write the HTML report to.",
    )(command)
