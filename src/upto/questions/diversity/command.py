"""`upto diversity HEAD`: whether a head identifies the representation below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from upto.cli.exits import EPILOG
from upto.cli.options import complete_file, output_options, report_option

if TYPE_CHECKING:
    from pathlib import Path

    from upto.cli.output import Output


@click.command("diversity", epilog=EPILOG)
@click.argument("head", metavar="HEAD", shell_complete=complete_file)
@click.option(
    "--frequencies",
    metavar="FILE",
    shell_complete=complete_file,
    help="How often each class occurs, one number for each row; equal by default.",
)
@report_option
@output_options
def command(*, output: Output, head: str, frequencies: str | None, report: Path | None) -> None:
    """Check whether a classifier head or an unembedding identifies the representation below it.

    HEAD has one row for each class or token. The representation is identified up to a linear map
    if the rows have as many independent differences as there are coordinates.

    \b
    upto diversity model.safetensors::lm_head.weight
    upto diversity head.npy --frequencies counts.npy
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check(page=report)
    import upto

    output.publish(upto.diversity(head, frequencies=frequencies), report)
