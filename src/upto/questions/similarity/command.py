"""The command `upto similarity RUN RUN…`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG, check_strictly
from upto.cli.options import (
    complete_file,
    half_samples_option,
    held_out_option,
    output_options,
    permutations_option,
    report_option,
    strict_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from upto.cli.output import Output
    from upto.core import Table
    from upto.measures.kinds import Measure


def _complete_measure(
    _context: object, _parameter: object, incomplete: str
) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from upto.measures.catalogue import MEASURES

    names = ("all", *MEASURES)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command("similarity", epilog=EPILOG)
@click.argument("runs", nargs=-1, metavar="RUN…", shell_complete=complete_file)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    shell_complete=_complete_measure,
    help="Similarity measure, e.g. linear-cka or svcca:20, or all. Repeat for several.",
)
@click.option("--list", "listed", is_flag=True, help="List the measures and exit.")
@held_out_option(0.5, "fitted measures are scored on them")
@permutations_option
@half_samples_option
@click.option(
    "--within", metavar="COLUMN", help="Class column: re-pair rows at random within classes only."
)
@click.option(
    "--max-rows",
    type=click.IntRange(2),
    default=2048,
    show_default=True,
    help="Rows to use at most, chosen by their content.",
)
@click.option("--ids", help="Column or entry with one id per row, to match rows across runs.")
@strict_option
@report_option
@output_options
def command(
    *,
    output: Output,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    listed: bool,
    ids: str | None,
    strict: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Score every pair of runs by any similarity measures, each value with its chance level.

    RUN is a file of embeddings, a FILE::KEY that selects an array in it, or a TOML manifest of
    runs. The chance level comes from random re-pairing of the rows; the calibrated value is 0 at
    the limit of chance and 1 at the best possible value.

    \b
    upto similarity seed0.npy seed1.npy
    upto similarity runs.toml --measure linear-cka --measure svcca:20 -o result.json
    upto similarity --list
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if listed:
        output.check()
        output.show_table(_catalogue(brief=output.is_brief))
        return
    if not runs:
        message = "Missing argument 'RUN…'."
        raise click.UsageError(message)
    output.check(page=report)
    from upto.files import read_runs
    from upto.measures.catalogue import DEFAULT_MEASURES
    from upto.questions.similarity.question import similarity

    result = similarity(
        *read_runs(runs, ids=ids),
        measures=measures or DEFAULT_MEASURES,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.publish(result, report)
    if strict:
        check_strictly(result)


def _catalogue(*, brief: bool) -> Table:
    """Return the table of measures; `brief` omits columns that do not fit a terminal."""
    from upto.core.table import Table, columns
    from upto.measures.catalogue import DEFAULT_MEASURES, MEASURES
    from upto.measures.kinds import MomentMeasure

    def known(measure: Measure) -> dict[str, str]:
        is_fitted = isinstance(measure, MomentMeasure) and measure.is_fitted
        facts = {
            "measure": measure.name,
            "range": f"{measure.low:.3g} to {measure.high:.3g}".replace("inf", "∞"),
            "closer": measure.closer,
            "fitted": "yes" if is_fitted else "no",
            "unchanged by": measure.unchanged_by,
        }
        more = {
            "symmetric": "yes" if measure.symmetric else "no",
            "metric": "yes" if measure.metric else "no",
            "source": measure.source,
            "definition": measure.says,
        }
        return facts if brief else facts | more

    records = [known(measure) for measure in MEASURES.values()]
    default = ", ".join(MEASURES[name].name for name in DEFAULT_MEASURES)
    return Table(
        title="Measures",
        columns=columns(*records[0]),
        rows=tuple(tuple(record.values()) for record in records),
        caption=f"without --measure: {default}",
    )
