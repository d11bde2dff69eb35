"""The command `upto diversity HEAD`."""

from __future__ import annotations

import functools
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
    help="Class frequencies, one number per row of HEAD; equal by default.",
)
@report_option
@functools.partial(output_options, uses=())
def command(*, output: Output, head: str, frequencies: str | None, report: Path | None) -> None:
    """Test whether a classifier head or an unembedding identifies the representation below it.

    HEAD has one row per class or token. It identifies the representation up to a linear map if
    its rows have as many linearly independent differences as coordinates.

    \b
    upto diversity model.safetensors::lm_head.weight
    upto diversity head.npy --frequencies counts.npy
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check(page=report)
    import upto

    output.publish(upto.diversity(head, frequencies=frequencies), report)
