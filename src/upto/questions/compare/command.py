"""The command `upto compare RUN RUN…`."""

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
    help="Largest group to consider. All groups by default.",
)
@held_out_option(0.3, "maps are evaluated on them")
@ids_option
@click.option(
    "--labels",
    help="Label column of the first run, FILE or FILE::COLUMN. Colours the page and separates "
    "agreement within classes from agreement between them.",
)
@click.option(
    "--groups",
    help="Group column of the first run, FILE or FILE::COLUMN (views, replicates, patients). "
    "Whole groups are held out.",
)
@click.option(
    "--within",
    help="Class column of the first run, FILE or FILE::COLUMN. Rows are re-paired at random "
    "within classes only.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    callback=refuse_nan,
    default=0.05,
    show_default=True,
    help="Excess error allowed over the best group, as a fraction of the error of the mean.",
)
@permutations_option
@click.option(
    "--refits",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Largest number of refits on shuffled rows for the chance level; they stop when "
    "mean errors are known well enough.",
)
@click.option(
    "--ica/--no-ica",
    default=True,
    show_default=True,
    help="Add ICA followed by a signed or scaled permutation.",
)
@click.option(
    "--lipschitz",
    multiple=True,
    metavar="L",
    help="L of the decoders, or the JSON result of `upto lipschitz`: compare the bounds of the "
    "theorems with the measured errors. Repeat to give one per run.",
)
@click.option(
    "--decoder",
    "decoders",
    multiple=True,
    metavar="DECODER",
    help="Decoder of each of two runs, as MODULE:FUNCTION or a file, to measure its L.",
)
@click.option(
    "--fail-above",
    type=click.FloatRange(0),
    callback=refuse_nan,
    help="Exit with 1 if the error of the verdict is above this, or if no group agrees.",
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
    """Test whether runs are the same representation, up to which group and with what error.

    RUN is a file of embeddings (npy, npz, csv, tsv, parquet, h5ad, zarr, HDF5, safetensors), a
    FILE::KEY that selects an array in it, a TOML manifest of runs, or FOLDER::LAYER of a recording.
    The first run is mapped onto the second; three or more runs are compared pair by pair.

    \b
    upto compare seed0.npy seed1.npy --report report.html
    upto compare runs.npz::a runs.npz::b --format json -o result.json
    upto compare seed0.npy seed1.npy --lipschitz 0.02
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check(page=report)
    import upto
    from upto.files import read_runs

    found = read_runs(runs, ids=ids)
    if len(found) > 2 and len({run.layer for run in found}) > 1:
        output.say("these are several layers: `upto layers` finds which correspond to which.")
    result = upto.compare(
        *found,
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
    from upto.core.read_file import read_whole

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
    """Return the error of the verdict; for three or more runs, the largest of all pairs."""
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
