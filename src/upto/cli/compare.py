"""`upto compare RUN RUN…`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from upto.cli.exits import EPILOG, Exit, stop
from upto.cli.output import complete_file, output_options, refuse_nan, report_option
from upto.core.group import Group

if TYPE_CHECKING:
    from upto.cli.output import Output

_NOT_WITH_CONSENSUS = (
    "up_to",
    "labels",
    "groups",
    "within",
    "tolerance",
    "refits",
    "ica",
    "lipschitz",
    "decoders",
    "fail_above",
)


@click.command("compare", epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_file)
@click.option(
    "--up-to",
    type=click.Choice([str(group) for group in Group]),
    help="The freest group to consider; all groups by default.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.3,
    show_default=True,
    help="Fraction of the rows maps are judged on and not fitted to; 0.5 with --layers.",
)
@click.option("--ids", help="Column or entry with one id a row, to match rows across runs.")
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
@click.option(
    "--permutations",
    type=click.IntRange(19),
    default=199,
    show_default=True,
    help="Random pairings behind the p-values; 200 with --layers.",
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
@click.option(
    "--consensus",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Write the space that all runs share here, in place of comparing pairs.",
)
@click.option(
    "--consensus-up-to",
    type=click.Choice(["rigid", "similarity", "ica", "signed-permutation"]),
    default="rigid",
    show_default=True,
    help="With --consensus: turn runs, turn and scale them, match their components after ICA, or "
    "match their coordinates as they are.",
)
@click.option(
    "--layers", is_flag=True, help="Compare every layer with every other; manifests list them."
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="With --layers: a measure, as linear-cka or svcca:20; may be given again.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(2),
    default=1024,
    show_default=True,
    help="With --layers: rows to use, chosen by their content.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if there is any finding of a warning.")
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
    consensus: Path | None,
    consensus_up_to: str,
    layers: bool,
    measures: tuple[str, ...],
    max_rows: int,
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
    upto compare seeds.toml --consensus shared.parquet --consensus-up-to ica
    upto compare layers.toml --layers --measure linear-cka --report layers.html
    upto compare seed0.npy seed1.npy --lipschitz 0.02
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if layers:
        given = {name: options[name] for name in ("held_out", "permutations") if _is_given(name)}
        _compare_layers(output, runs, measures, report, strict=strict, max_rows=max_rows, **given)
        return
    for name in ("measures", "max_rows"):
        if _is_given(name):
            option = "--max-rows" if name == "max_rows" else "--measure"
            message = f"{option} is for layers: add --layers, or use `upto similarity`."
            raise click.UsageError(message)
    if consensus is not None:
        kept = {name: options[name] for name in ("held_out", "permutations")}
        _agree(output, runs, ids, consensus, consensus_up_to, report, strict=strict, **kept)
        return
    if _is_given("consensus_up_to"):
        message = "--consensus-up-to is for a consensus: say where it goes with --consensus OUT."
        raise click.UsageError(message)
    output.check(page=report)
    from upto.assess import compare
    from upto.files import read_runs

    result = compare(
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
    _check_limits(result, fail_above, strict=strict)


def _agree(
    output: Output,
    runs: tuple[str, ...],
    ids: str | None,
    file: Path,
    up_to: Any,
    report: Path | None,
    *,
    strict: bool,
    **options: Any,
) -> None:
    for name in _NOT_WITH_CONSENSUS:
        if _is_given(name):
            option = _option(name)
            instead = ": say --consensus-up-to." if name in ("up_to", "ica") else ": drop one."
            message = f"{option} is for comparing pairs, which --consensus does not{instead}"
            raise click.UsageError(message)
    from upto import consensus
    from upto.files import check_output, read_runs

    output.check(page=report, rows=("--consensus", file))
    check_output(file)
    result = consensus(
        *read_runs(runs, ids=ids),
        up_to=up_to,
        output=file,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.say(f"wrote {file}")
    output.publish(result, report)
    _check_limits(result, None, strict=strict)


def _compare_layers(
    output: Output,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    report: Path | None,
    *,
    strict: bool,
    **options: Any,
) -> None:
    for name in (*_NOT_WITH_CONSENSUS, "ids", "consensus", "consensus_up_to"):
        if _is_given(name):
            option = _option(name)
            message = f"{option} is for comparing whole runs, which --layers does not: drop one."
            raise click.UsageError(message)
    output.check(page=report)
    from upto import compare_layers

    if measures:
        options["measures"] = measures
    result = compare_layers(
        *runs,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.publish(result, report)
    _check_limits(result, None, strict=strict)


def _option(name: str) -> str:
    special = {"ica": "--ica/--no-ica", "decoders": "--decoder"}
    return special.get(name, f"--{name.replace('_', '-')}")


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def _labels(labels: str | None) -> Any:
    if labels is None or not ("::" in labels or Path(labels).exists()):
        return labels
    from upto.files import read_labels

    return read_labels(labels)[1]


def _stretches(given: tuple[str, ...]) -> Any:
    """Read each L as a number, or as a result of `upto lipschitz`."""
    from upto import LipschitzResult
    from upto.core import InputError
    from upto.core.reading import read_whole

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
