"""`upto factors RUN --factors FILE`: score latents against known factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG, check_strictly
from upto.cli.options import (
    complete_file,
    held_out_option,
    output_options,
    report_option,
    strict_option,
)
from upto.core.extras import check_extra

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from upto.cli.output import Output
    from upto.core import Table

FORMS = ("raw", "ica", "ica-literal", "ica-active")
"""Copy of the names in `upto.questions.factors.forms`, whose import requires NumPy."""
MIN_HALVES = 10
"""Copy of the constant in `upto.disentanglement.calibrate`."""


def _complete_score(_context: object, _parameter: object, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from upto.disentanglement.catalogue import SCORES

    names = dict.fromkeys(["all", *(kind.family for kind in SCORES.values()), *SCORES])
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _split(_context: object, _parameter: object, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split comma-separated names of a repeatable option."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def _enough(_context: object, _parameter: object, value: int) -> int:
    if 0 < value < MIN_HALVES:
        message = f"{value} is too few: an interval needs at least {MIN_HALVES}; use 0 for none."
        raise click.BadParameter(message)
    return value


@click.command("factors", epilog=EPILOG)
@click.argument("run", metavar="RUN", required=False, shell_complete=complete_file)
@click.option(
    "--factors",
    "file",
    metavar="FILE",
    shell_complete=complete_file,
    help="File whose columns are the factors; the columns of RUN by default.",
)
@click.option(
    "--factor",
    "names",
    multiple=True,
    metavar="NAME",
    help="Column to use as a factor. Repeatable; all by default.",
)
@click.option(
    "--scores",
    multiple=True,
    metavar="NAMES",
    callback=_split,
    shell_complete=_complete_score,
    help="Scores or families, e.g. infomec,mig@ubisoft, or all. Repeatable.",
)
@click.option("--list", "listed", is_flag=True, help="List the available scores and exit.")
@click.option(
    "--forms",
    multiple=True,
    metavar="NAMES",
    callback=_split,
    help=f"Any of {', '.join(FORMS)}; all by default.",
)
@click.option(
    "--continuous",
    multiple=True,
    metavar="NAME",
    help="Treat this factor as continuous. Repeatable.",
)
@click.option(
    "--discrete", multiple=True, metavar="NAME", help="Treat this factor as discrete. Repeatable."
)
@click.option(
    "--unordered",
    multiple=True,
    metavar="NAME",
    help="Treat this factor's numbers as categories. Repeatable.",
)
@click.option(
    "--ordered",
    multiple=True,
    metavar="NAME",
    help="Treat this factor's integers as ordered, not as class numbers. Repeatable.",
)
@click.option(
    "--discrete-codes", is_flag=True, help="Latents are unordered codes, e.g. of a VQ-VAE."
)
@held_out_option(0.3, "maps onto the factors are tested on them")
@click.option(
    "--refits",
    type=click.IntRange(19),
    default=19,
    show_default=True,
    help="Refits of all scores on permuted rows, for chance levels and p-values.",
)
@click.option(
    "--half-samples",
    type=click.IntRange(0),
    callback=_enough,
    default=20,
    show_default=True,
    help="Random halves of the rows for each interval; 0 for no intervals.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(4),
    default=5000,
    show_default=True,
    help="Largest number of rows to use, sampled by hash.",
)
@click.option("--ids", help="Column or entry with one id per row, in RUN and in FILE.")
@strict_option
@report_option
@output_options
def command(
    *,
    output: Output,
    run: str | None,
    file: str | None,
    listed: bool,
    ids: str | None,
    strict: bool,
    report: Path | None,
    scores: tuple[str, ...],
    forms: tuple[str, ...],
    **options: Any,
) -> None:
    """Score how well latents match known factors, before and after ICA.

    RUN is a file of latents, or FILE::KEY. Factors are columns of a table, vectors of an npz or
    HDF5 file, obs of an h5ad file, or columns of an array; text and numbers with few values are
    discrete. The output lists scores with their chance levels, errors to the true factors up to
    each group on held-out rows, and the latents that carry each factor.

    \b
    upto factors latents.npy --factors factors.csv --report report.html
    upto factors latents.npz::z --factors factors.csv --scores infomec,dci --forms raw,ica
    upto factors codes.npy --factors factors.csv --discrete-codes
    upto factors --list
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if listed:
        output.check()
        output.show_table(_catalogue(brief=output.is_brief))
        return
    if run is None:
        message = "Missing argument 'RUN'."
        raise click.UsageError(message)
    output.check(page=report)
    # What is missing is said before scikit-learn is imported, and a table read at once.
    if any(each == "all" or each.endswith("lightgbm") for each in scores):
        check_extra("boost", "the variant lightgbm of DCI")
    import upto
    from upto.files.accept import single_run

    result = upto.factors(
        single_run(run, "factors", ids=ids),
        file,
        scores=scores or None,
        forms=forms or None,
        ids=ids,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.publish(result, report)
    if strict:
        check_strictly(result)


def _catalogue(*, brief: bool) -> Table:
    """List the scores; a terminal has room for some columns only."""
    from upto.core.table import Table, columns
    from upto.disentanglement.catalogue import DEFAULT_SCORES, SCORES

    records = []
    for kind in SCORES.values():
        record = {"score": kind.name, "rewards": kind.rewards, "variants": ", ".join(kind.variants)}
        if not brief:
            record |= {
                "range": f"{kind.low:.3g} to {kind.high:.3g}".replace("inf", "∞"),
                "better": kind.better,
                "costly": "yes" if kind.costly else "no",
                "source": kind.source,
                "definition": kind.says,
            }
        records.append(record)
    return Table(
        title="Scores",
        columns=columns(*records[0]),
        rows=tuple(tuple(record.values()) for record in records),
        caption=f"without --scores: {', '.join(DEFAULT_SCORES)}",
    )
