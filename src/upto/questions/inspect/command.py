"""The command `upto inspect RUN`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from upto.cli.exits import EPILOG
from upto.cli.options import complete_file, output_options

if TYPE_CHECKING:
    from upto.cli.output import Output


@click.command("inspect", epilog=EPILOG)
@click.argument("run", metavar="RUN", shell_complete=complete_file)
@click.option(
    "--ica/--no-ica",
    default=True,
    show_default=True,
    help="Also test components for Gaussianity (runs ICA).",
)
@output_options
def command(*, output: Output, run: str, ica: bool) -> None:
    """Summarise a run: shape, rank, spectrum, distances, Gaussianity, findings.

    \b
    upto inspect embeddings.parquet
    upto inspect runs.npz::seed0 --format json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check()
    import upto

    result = upto.inspect(
        run, ica=ica, seed=output.seed, engine=output.engine, progress=output.watcher()
    )
    output.show(result)
