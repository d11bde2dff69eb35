"""The command `upto consensus RUN RUN…`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG, check_strictly
from upto.cli.options import (
    complete_file,
    components_option,
    held_out_option,
    ids_option,
    output_options,
    permutations_option,
    report_option,
    strict_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from upto.cli.output import Output


@click.command("consensus", epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_file)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(),
    help="File for the shared space; its suffix determines the format.",
)
@click.option(
    "--up-to",
    type=click.Choice(["rigid", "similarity", "ica", "signed-permutation"]),
    default="rigid",
    show_default=True,
    help="Rotate the runs, rotate and scale them, match their ICA components, or match their "
    "coordinates.",
)
@components_option
@held_out_option(0.3, "each run is compared on them with the consensus of the others")
@ids_option
@permutations_option
@strict_option
@report_option
@functools.partial(output_options, result_file=False)
def command(
    *,
    output: Output,
    runs: tuple[str, ...],
    file: str | None,
    ids: str | None,
    strict: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Find the space that runs share, and the components that appear in every run.

    RUN is a file of embeddings, FILE::KEY, or a TOML manifest of runs.

    \b
    upto consensus seeds.toml -o shared.parquet --report consensus.html
    upto consensus a.npy b.npy c.npy --up-to ica
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from upto.files import check_output, read_runs

    output.check(page=report, rows=("-o", file))
    if file is not None:
        check_output(file)
    import upto

    result = upto.consensus(
        *read_runs(runs, ids=ids),
        output=file,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    if file is not None:
        output.say(f"wrote {file}")
    output.publish(result, report)
    if strict:
        check_strictly(result)
