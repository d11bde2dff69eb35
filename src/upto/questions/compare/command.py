"""`upto compare RUN RUN…`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG, Exit, check_strictly, stop
from upto.cli.options import (
    complete_file,
    held_out_option,
    ids_option,
    output_options,
    permutations_option,
    refuse_nan,
    report_option,
    strict_option,
)
from upto.core.group import Group

if TYPE_CHECKING:
    from upto.cli.output import Output
    from upto.questions.compare.result import CompareResult


@click.command("compare", epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_file)
@click.option(
    "--up-to",
    type=click.Choice([str(group) for group in Group]),
    help="The freest group to consider; all groups by default.",
)
@held_out_option(0.3, "maps are judged on them, not fitted")
@ids_option
@click.option(
    "--labels",
    help="Column of the first run, or FILE or FILE::COLUMN, to colour the page by and to tell "
    "agreement within classes from agreement between them.",
)
@click.option(
    "--groups",
    help="Column of the first run, or FILE or FILE::COLUMN, that names what belongs together "
    "(views, replicates, patients): whole groups are held out.",
)
@click.option(
    "--within",
    help="Column of the first run, or FILE or FILE::COLUMN, of classes within which alone rows "
    "are paired at random, so that chance agrees on these too.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    callback=refuse_nan,
    default=0.05,
    show_default=True,
    help="Loss the verdict's group may have against the best one, over the error of the mean.",
)
@permutations_option
@click.option(
    "--refits",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Fits on shuffled rows behind the chance level.",
)
@click.option("--ica/--no-ica", default=True, show_default=True, help="Add the row of ICA.")
@click.option(
    "--lipschitz",
    multiple=True,
    metavar="L",
    help="L of the decoders of two runs, or a result of `upto lipschitz` as JSON: set what the "
    "theorems promise beside what is measured. Once for both, or once for each.",
)
@click.option(
    "--decoder",
    "decoders",
    multiple=True,
    metavar="DECODER",
    help="Decoder of each of two runs, as MODULE:FUNCTION or a file, to measure L of.",
)
@click.option(
    "--fail-above",
    type=click.FloatRange(0),
    callback=refuse_nan,
    help="Exit with 1 if the verdict's error is above this, or no group agrees.",
)
@strict_option
@report_option
@output_options
def command(
    *,
    output: Output,
    runs: tuple[str, ...],
    ids: str | None,
    labels: str | None,
    groups: str | None,
    within: str | None,
    lipschitz: tuple[str, ...],
    decoders: tuple[str, ...],
    fail_above: float | None,
    strict: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Tell whether runs are the same representation, up to what group, and with what error.

    RUN is a file of embeddings (npy, npz, csv, tsv, parquet, h5ad, zarr, HDF5, safetensors), a
    FILE::KEY that picks an array in it, or a TOML manifest of runs. The first run is mapped onto
    the second; three runs or more are compared pair by pair.

    \b
    upto compare seed0.npy seed1.npy --report report.html
    upto compare runs.npz::a runs.npz::b --format json -o result.json
    upto compare seed0.npy seed1.npy --lipschitz 0.02
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check(page=report)
    import upto
    from upto.files import read_runs

    result = upto.compare(
        *read_runs(runs, ids=ids),
        labels=_labels(labels),
        groups=_labels(groups),
        within=_labels(within),
        lipschitz=_stretches(lipschitz),
        decoders=decoders or None,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.publish(result, report)
    if fail_above is not None:
        _check_limit(result, fail_above)
    if strict:
        check_strictly(result)


def _labels(labels: str | None) -> Any:
    if labels is None or not ("::" in labels or Path(labels).exists()):
        return labels
    from upto.files import read_labels

    return read_labels(labels)[1]


def _stretches(given: tuple[str, ...]) -> Any:
    """Read each L as a number, or as a result of `upto lipschitz`."""
    from upto import LipschitzResult
    from upto.core import InputError
    from upto.core.read import read_whole

    found: list[Any] = []
    for each in given:
        try:
            found.append(float(each))
        except ValueError:
            if not Path(each).is_file():
                message = f"--lipschitz is {each!r}, which is neither a number nor a file."
                raise InputError(message) from None
            found.append(LipschitzResult.from_json(read_whole(each)))
    return found[0] if len(found) == 1 else found or None


def _check_limit(result: CompareResult, fail_above: float) -> None:
    worst = _largest_error(result)
    if worst is None:
        stop(Exit.LIMIT, f"no agreement was found, so no error is below {fail_above:g}.")
    elif worst > fail_above:
        stop(Exit.LIMIT, f"the error {worst:.4g} is above the limit of {fail_above:g}.")


def _largest_error(result: CompareResult) -> float | None:
    """Return the verdict's error, the largest of all pairs for several runs."""
    if result.pairs is None:
        return None if result.up_to is None else result.fit(str(result.up_to)).error.value
    errors: list[float] = []
    for i, row in enumerate(result.pairs.up_to):
        for j, group in enumerate(row):
            if i != j:
                error = None if group is None else result.pairs.matrix(str(group)).error[i][j]
                if error is None:
                    return None
                errors.append(error)
    return max(errors)
