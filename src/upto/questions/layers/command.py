"""The command `upto layers RUN…`."""

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

    from upto.cli.output import Output


@click.command("layers", epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_file)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Similarity measure, e.g. linear-cka or svcca:20. Repeat for several.",
)
@held_out_option(0.5, "fitted measures are scored on them")
@permutations_option
@half_samples_option
@click.option(
    "--max-rows",
    type=click.IntRange(2),
    default=1024,
    show_default=True,
    help="Rows to use at most.",
)
@strict_option
@report_option
@output_options
def command(
    *,
    output: Output,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    strict: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Compare every layer of each run with every layer of each other run.

    RUN is a folder that `record_activations` wrote, or a TOML manifest with the layers of one or
    more runs. A single run is compared with itself.

    \b
    upto layers seed0 seed1 --report layers.html
    upto layers layers.toml --measure linear-cka
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check(page=report)
    import upto

    if measures:
        options["measures"] = measures
    result = upto.layers(
        *runs, seed=output.seed, engine=output.engine, progress=output.watcher(), **options
    )
    output.publish(result, report)
    if strict:
        check_strictly(result)
