"""The command `upto lipschitz LATENTS`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from upto.cli.exits import EPILOG, Exit, check_strictly, stop
from upto.cli.options import complete_file, output_options, refuse_nan, report_option, strict_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from upto.cli.output import Output
    from upto.questions.lipschitz.result import LipschitzResult

Where = Literal["worst", "q95", "median", "mean"]


@click.command("lipschitz", epilog=EPILOG)
@click.argument("latents", metavar="LATENTS", shell_complete=complete_file)
@click.argument("outputs", required=False, metavar="[OUTPUTS]", shell_complete=complete_file)
@click.option(
    "--decoder",
    metavar="DECODER",
    shell_complete=complete_file,
    help="MODULE:ATTRIBUTE, or a TorchScript or torch.export file.",
)
@click.option(
    "--n-points",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Number of latents to sample, chosen by a hash of their values.",
)
@click.option(
    "--directions",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Random directions per point; with OUTPUTS, number of nearest rows.",
)
@click.option(
    "--method",
    type=click.Choice(["auto", "dense", "lanczos"]),
    default="auto",
    show_default=True,
    help="dense forms Jacobians, lanczos only multiplies by them.",
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=128,
    show_default=True,
    help="Maximum number of Lanczos steps.",
)
@click.option("--ids", help="Column or entry with row ids, to match LATENTS and OUTPUTS.")
@click.option(
    "--fail-above",
    type=click.FloatRange(1),
    callback=refuse_nan,
    help="Exit with 1 if the bi-Lipschitz constant exceeds this, or is not known to be below it.",
)
@click.option(
    "--at",
    "where",
    type=click.Choice(["worst", "q95", "median", "mean"]),
    default="worst",
    show_default=True,
    help="Statistic over points that --fail-above is applied to.",
)
@strict_option
@report_option
@output_options
def command(
    *,
    output: Output,
    latents: str,
    outputs: str | None,
    decoder: str | None,
    ids: str | None,
    fail_above: float | None,
    where: Where,
    strict: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Measure how far a decoder is from an isometry, where it is worst, and what theory promises.

    LATENTS and OUTPUTS are embedding files, or FILE::KEY for an array in one; NumPy arrays may have
    more than two axes, e.g. images. With a decoder, the extreme singular values of its Jacobian at
    many latents give its bi-Lipschitz constant, 1 for an isometry; with OUTPUTS alone, ratios of
    distances bound it from below. A decoder is code: use only files you trust. Pickles are never
    loaded.

    \b
    upto lipschitz latents.npy --decoder decoder.pt2 --report decoder.html
    upto lipschitz latents.npy --decoder mymodel:make_decoder --fail-above 1.5 --at q95
    upto lipschitz latents.npy images.npy -o result.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if (decoder is None) == (outputs is None):
        message = "Give OUTPUTS or --decoder, and not both."
        raise click.UsageError(message)
    output.check(page=report)
    from upto.decoders.decoder import check_decoder
    from upto.questions.lipschitz.question import lipschitz

    check_decoder(decoder)

    result = lipschitz(
        *_read([each for each in (latents, outputs) if each is not None], ids),
        decoder=decoder,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.publish(result, report)
    if fail_above is not None:
        _judge(result, where, fail_above)
    if strict:
        check_strictly(result)


def _read(files: list[str], ids: str | None) -> Sequence[Any]:
    """Read embeddings; keep the shape of arrays with more than two axes."""
    from upto.files import read_runs
    from upto.files.shaped import shaped_array

    shaped = [None if ids else shaped_array(each) for each in files]
    if all(each is None for each in shaped):
        return read_runs(files, ids=ids)
    return [
        read_runs([file], ids=ids)[0] if array is None else array
        for file, array in zip(files, shaped, strict=True)
    ]


def _judge(result: LipschitzResult, where: Where, limit: float) -> None:
    """Exit with 1 if the constant exceeds the limit or is known from below only."""
    found = result.spread("lipschitz").at(where)
    if where == "worst" and result.secants is not None:
        pairs = result.secants.lipschitz
        found = max(found, float("inf") if pairs is None else pairs)
    words = {"worst": "at the worst", "q95": "at 5 % of the points", "mean": "on average"}
    at = words.get(where, f"at the {where}")
    if found > limit:
        least = "" if result.is_exact else "at least "
        stop(
            Exit.LIMIT,
            f"the bi-Lipschitz constant is {least}{found:.4g} {at}, above --fail-above {limit:g}.",
        )
    if not result.is_exact:
        remedy = "more --steps" if result.decoder else "the decoder itself, with --decoder"
        stop(
            Exit.LIMIT,
            f"the bi-Lipschitz constant is only known to be at least {found:.4g} {at}, so it may "
            f"exceed --fail-above {limit:g}: give {remedy}.",
        )
