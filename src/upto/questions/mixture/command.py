"""The command `upto mixture PRIOR…`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG, check_strictly
from upto.cli.options import (
    complete_file,
    held_out_option,
    ids_option,
    output_options,
    refuse_nan,
    report_option,
    strict_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from upto.cli.output import Output


@click.command("mixture", epilog=EPILOG)
@click.argument("priors", nargs=-1, required=True, metavar="PRIOR…", shell_complete=complete_file)
@click.option(
    "--decoder",
    "decoders",
    multiple=True,
    metavar="DECODER",
    shell_complete=complete_file,
    help="Decoder of each run: weights of its linear layers (npz, safetensors, FILE::PREFIX), or "
    "MODULE:ATTRIBUTE. Repeat to give one per run.",
)
@click.option(
    "--leak",
    type=click.FloatRange(0, 1),
    callback=refuse_nan,
    help="Slope below zero of the activation between layers given as weights, which do not say it; "
    "0 for ReLU. By default ReLUs are assumed, and the verdict says so.",
)
@click.option(
    "--rows",
    multiple=True,
    metavar="CODES",
    shell_complete=complete_file,
    help="Latents of each run, to test the prior on and to compare runs by. Repeat to give one per "
    "run.",
)
@click.option(
    "--fitted",
    is_flag=True,
    help="The priors were fitted to latents after training, not trained with the model.",
)
@click.option(
    "--up-to",
    type=click.Choice(["affine", "scaled-permutation"]),
    help="Group of the claim to test, up to which the rows are compared. By default what is "
    "identified.",
)
@click.option(
    "--draws",
    type=click.IntRange(0),
    default=19,
    show_default=True,
    help="Mixtures with random means, for the chance level of the stability; its limit needs 19.",
)
@held_out_option(0.3, "maps between the rows of runs are evaluated on them")
@ids_option
@strict_option
@report_option
@output_options
def command(
    *,
    output: Output,
    priors: tuple[str, ...],
    decoders: tuple[str, ...],
    rows: tuple[str, ...],
    ids: str | None,
    strict: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Test what the mixture prior of a generative model identifies, and how stable it is over runs.

    PRIOR is an npz or safetensors file with `weights`, `means` and `variances` or `covariances`, or
    FILE::PREFIX for those in the file of a model. Pickles are never loaded.

    \b
    upto mixture prior.npz --decoder decoder.safetensors --leak 0.01
    upto mixture seed0.npz seed1.npz seed2.npz --report mixture.html
    upto mixture gmm.npz --fitted --rows codes.npy --up-to scaled-permutation --strict
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check(page=report)
    import upto

    result = upto.mixture(
        *priors,
        decoder=decoders or None,
        rows=rows or None,
        ids=ids,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.publish(result, report)
    if strict:
        check_strictly(result)
