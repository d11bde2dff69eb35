"""`upto compare RUN RUN…`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG, Exit, stop, with_exit_codes
from upto.cli.output import complete_file, output_options, refuse_nan
from upto.core.group import Group

if TYPE_CHECKING:
    from upto.cli.output import Output


@click.command("compare", epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_file)
@click.option(
    "--up-to",
    type=click.Choice([str(group) for group in Group]),
    default=str(Group.AFFINE),
    show_default=True,
    help="The freest group to consider.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.3,
    show_default=True,
    help="Fraction of the rows maps are judged on and not fitted to.",
)
@click.option("--ids", help="Column or entry with one id a row, to match rows across runs.")
@click.option(
    "--labels", help="Column of the first run, or FILE or FILE::COLUMN, to colour the page by."
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    callback=refuse_nan,
    default=0.05,
    show_default=True,
    help="Loss the verdict's group may have against the best one, over the error of the mean.",
)
@click.option(
    "--permutations",
    type=click.IntRange(19),
    default=199,
    show_default=True,
    help="Random pairings behind the p-values.",
)
@click.option(
    "--refits",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Fits on shuffled rows behind the chance level.",
)
@click.option("--ica/--no-ica", default=True, show_default=True, help="Add the row of ICA.")
@click.option(
    "--fail-above",
    type=click.FloatRange(0),
    callback=refuse_nan,
    help="Exit with 1 if the verdict's error is above this, or no group agrees.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there is any finding of a warning.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the page here, as self-contained HTML.",
)
@output_options
@with_exit_codes
def command(
    *,
    output: Output,
    runs: tuple[str, ...],
    ids: str | None,
    labels: str | None,
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
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check(report, inputs=(*runs, *([labels] if labels else [])))
    from upto.assess import compare
    from upto.load import read_runs

    result = compare(
        *read_runs(runs, ids=ids),
        labels=_labels(labels),
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    if report is not None:
        from upto.report import Report

        Report([result]).write(report)
        output.say(f"wrote {report}")
    output.show(result)
    _check_limits(result, fail_above, strict=strict)


def _labels(labels: str | None) -> Any:
    if labels is None or not ("::" in labels or Path(labels).exists()):
        return labels
    from upto.load import read_labels

    return read_labels(labels)[1]


def _check_limits(result: Any, fail_above: float | None, *, strict: bool) -> None:
    if fail_above is not None:
        worst = _largest_error(result)
        if worst is None:
            stop(Exit.LIMIT, f"no agreement was found, so no error is below {fail_above:g}.")
        elif worst > fail_above:
            stop(Exit.LIMIT, f"the error {worst:.4g} is above the limit of {fail_above:g}.")
    warnings = [finding for finding in result.findings if finding.rule.severity == "warning"]
    if strict and any(finding.code == "UP004" for finding in warnings):
        stop(Exit.NOT_CONVERGED, "ICA did not converge and --strict was given; see UP004.")
    if strict and warnings:
        stop(Exit.LIMIT, f"--strict was given and there are warnings: {len(warnings)}.")


def _largest_error(result: Any) -> float | None:
    """Return the verdict's error, the largest of all pairs for several runs."""
    from upto.core import Comparison

    if isinstance(result, Comparison):
        if result.up_to is None:
            return None
        return result.fit(str(result.up_to)).error.value
    errors: list[float] = []
    for i, row in enumerate(result.up_to):
        for j, group in enumerate(row):
            if i != j:
                error = None if group is None else result.matrix(str(group)).error[i][j]
                if error is None:
                    return None
                errors.append(error)
    return max(errors)
