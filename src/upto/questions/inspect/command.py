"""The command `upto inspect RUN`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from upto.cli.exits import EPILOG, check_strictly
from upto.cli.options import complete_file, output_options, report_option, strict_option

if TYPE_CHECKING:
    from pathlib import Path

    from upto.cli.output import Output


@click.command("inspect", epilog=EPILOG)
@click.argument("run", metavar="RUN", shell_complete=complete_file)
@click.option(
    "--ica/--no-ica",
    default=True,
    show_default=True,
    help="Also test components for Gaussianity (runs ICA).",
)
@strict_option
@report_option
@output_options
def command(*, output: Output, run: str, ica: bool, strict: bool, report: Path | None) -> None:
    """Summarise a run: shape, rank, spectrum, distances, Gaussianity, findings.

    \b
    upto inspect embeddings.parquet --report inspect.html
    upto inspect runs.npz::seed0 --format json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check(page=report)
    import upto

    result = upto.inspect(
        run, ica=ica, seed=output.seed, engine=output.engine, progress=output.watcher()
    )
    output.publish(result, report)
    if strict:
        check_strictly(result)
