"""`upto study list | show NAME | run NAME`: reproduce the claims of the papers."""

from __future__ import annotations

import functools
import re
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG, Exit, stop
from upto.cli.options import output_options
from upto.cli.output import console_for

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from upto.cli.output import Output
    from upto.core import StudyResult
    from upto_studies.run import Plan

_WRITTEN = ("result.json", "figure.svg", "report.html")
SIZES = ("tiny", "small", "full")
"""The sizes of `upto_studies.run`, repeated here because importing it loads NumPy."""


def _complete_study(_context: object, _parameter: object, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from upto_studies import STUDIES

    return [CompletionItem(name) for name in STUDIES if name.startswith(incomplete)]


def _check_device(_context: object, _parameter: object, value: str) -> str:
    if not re.fullmatch(r"cpu|cuda(:\d+)?", value):
        message = f"{value!r} is not a device: choose cpu, cuda or cuda:0."
        raise click.BadParameter(message)
    return value


@click.group("study", epilog=EPILOG)
def command() -> None:
    """Reproduce the claims of the papers, each with one command.

    \b
    upto study list
    upto study show leaky-autoencoders
    upto study run leaky-autoencoders --size small
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@command.command("list", epilog=EPILOG)
def list_studies() -> None:
    """List every study, its claim and the outcome of its recorded full run."""
    from upto.core import Column, Table
    from upto_studies import STUDIES
    from upto_studies.run import recorded_result, study_plan

    rows = []
    for name in STUDIES:
        plan, result = study_plan(name), recorded_result(name)
        counts = ("–",) * 3
        if result is not None:
            claims, expectations = result.claims, result.expectations
            ranges = claims.total + expectations.total
            before = f"{claims.before + expectations.before} of {ranges}"
            counts = (str(claims), str(expectations), before)
        rows.append((name, plan.claim, plan.expectation or "the same", plan.paper, *counts))
    heads = (
        "study",
        "the paper claims",
        "we expected",
        "paper",
        "claims borne out",
        "expectations met",
        "fixed before any run",
    )
    table = Table(
        title="Studies",
        columns=tuple(Column(name=name) for name in heads),
        rows=tuple(rows),
        caption="Claims of the paper borne out, and expectations of ours met, by the recorded full "
        "run, – if this install has none; upto study show NAME has the details",
    )
    console_for(stderr=False).print(table)


@command.command("show", epilog=EPILOG)
@click.argument("name", metavar="NAME", shell_complete=_complete_study)
@functools.partial(output_options, uses=())
def show_study(*, output: Output, name: str) -> None:
    """Show the claim of a study, how it is tested and the outcome of its recorded full run."""
    output.check()
    from upto_studies.run import recorded_result, study_readme

    text, result = study_readme(name), recorded_result(name)
    if output.chosen_format == "table" and output.path is None:
        from rich.markdown import Markdown

        console_for(stderr=False).print(Markdown(text))
    if result is None:
        output.say(f"this install has no recorded run of {name}: upto study run {name} makes one.")
    else:
        output.show(result)


@command.command("run", epilog=EPILOG)
@click.argument("name", metavar="NAME", shell_complete=_complete_study)
@click.option(
    "--size",
    type=click.Choice(SIZES),
    default="small",
    show_default=True,
    help="tiny takes seconds, small about a minute on two cores; full is the paper's size.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting of the study's study.toml. Repeat to change several.",
)
@click.option(
    "--models",
    nargs=2,
    metavar="A B",
    help="Two models of yours, for model-pairs: folders that transformers or timm saved, ResNet-18 "
    "weights in safetensors, or recorded activations.",
)
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    callback=_check_device,
    help="cpu or cuda, for studies that train networks.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="UPTO_DATA",
    help="Folder with datasets that cannot be bundled; default: the variable UPTO_DATA.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the result, page, figure and checkpoints; NAME-SIZE by default.",
)
@click.option("--resume", is_flag=True, help="Continue from the checkpoints of an interrupted run.")
@click.option(
    "--restart",
    is_flag=True,
    help="Discard an interrupted run in the folder, or the result of another run.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if a quantity is outside our expected range or, without one, outside the "
    "paper's claim.",
)
@functools.partial(output_options, uses=("seed", "progress"))
def run_one(
    *,
    output: Output,
    name: str,
    size: str,
    changes: tuple[str, ...],
    models: tuple[str, str] | None,
    folder: Path | None,
    strict: bool,
    **options: Any,
) -> None:
    """Run a study and compare its results with the paper's claims and our expectations.

    The folder contains checkpoints during the run, and result.json, figure.svg and report.html
    at the end.

    \b
    upto study run misspecified-regression
    upto study run leaky-autoencoders --size full --device cuda --data mnist
    upto study run bounds-hold --size tiny --set pairs=100 --strict
    upto study run model-pairs --models pythia-seed1 pythia-seed2 --data texts
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    output.check()
    settings = dict(_setting(change) for change in changes)
    from upto_studies.run import run_study, study_plan

    if models is not None:
        _check_models(models)
        if "own_models" not in study_plan(name).settings:
            message = f"{name} compares no models of yours: omit --models."
            raise click.UsageError(message)
        settings["own_models"] = list(models)
    plan = study_plan(name, size=size, settings=settings)
    plan.check_packages()
    place = Path(f"{name}-{size}") if folder is None else folder
    _check_folder(output, place)
    if not options["restart"]:
        _refuse_other_result(place, plan, output.seed)
    _say_if_no_figure(output)
    result = run_study(
        name,
        size=size,
        settings=settings,
        seed=output.seed,
        folder=place,
        progress=output.watcher(),
        **options,
    )
    for path in _write(result, place):
        output.say(f"wrote {path}")
    output.show(result)
    if strict and result.missed:
        outside = f"quantities outside their ranges: {', '.join(result.missed)}"
        stop(Exit.LIMIT, f"--strict was given and there are {outside}.")


def _check_models(models: tuple[str, str]) -> None:
    """Raise an error for an option in the place of a model, when only one was given."""
    for each in models:
        if each.startswith("-"):
            message = f"--models takes two models, as in --models A B, but one is {each!r}."
            raise click.UsageError(message)


def _check_folder(output: Output, folder: Path) -> None:
    """Raise an error for an impossible folder, or an output that the study writes itself."""
    from upto.core.files import check_outputs, check_target

    check_target(folder, folder=True)
    written = {f"--folder ({name})": folder / name for name in _WRITTEN}
    check_outputs({**written, "-o": output.path}, [])
    found = [path for path in written.values() if path.exists()]
    for path in found:
        check_target(path)
    if found:
        _refuse_other_files(folder, found)


def _refuse_other_files(folder: Path, found: list[Path]) -> None:
    """Raise an error rather than overwrite files that no study wrote."""
    from upto.core import InputError, StudyResult
    from upto.core.read_file import read_whole

    try:
        StudyResult.from_json(read_whole(folder / _WRITTEN[0]))
    except InputError:
        message = (
            f"{found[0]} does not belong to a study and would be lost: move it, or choose another "
            "--folder."
        )
        raise InputError(message) from None


def _refuse_other_result(folder: Path, plan: Plan, seed: int) -> None:
    """Raise an error rather than overwrite a result of other settings."""
    from upto.core import InputError, StudyResult
    from upto.core.read_file import read_whole

    try:
        found = StudyResult.from_json(read_whole(folder / "result.json"))
    except InputError:
        return
    if (found.name, found.settings, found.provenance.seed) != (plan.name, plan.settings, seed):
        message = (
            f"{folder} contains a result of another study, seed or settings: choose another "
            "--folder, or pass --restart to overwrite it."
        )
        raise InputError(message)


def _setting(change: str) -> tuple[str, Any]:
    key, equals, value = change.partition("=")
    if not equals:
        message = f"--set takes KEY=VALUE, but {change!r} has no equals sign."
        raise click.UsageError(message)
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        # A word without quotes is a string.
        return key.strip(), value.strip()


def _say_if_no_figure(output: Output) -> None:
    from upto.core import MissingExtraError
    from upto.core.extras import check_extra

    try:
        check_extra("plot", "the figure of a study")
    except MissingExtraError as error:
        output.say(f"no figure will be written: {error}")


def _write(result: StudyResult, folder: Path) -> list[Path]:
    """Write a result, its page and, if matplotlib is installed, its figure."""
    from upto.core import MissingExtraError
    from upto.core.files import write_atomically, write_text_atomically
    from upto.report import Report

    written = [folder / _WRITTEN[0]]
    write_text_atomically(written[0], result.to_json() + "\n")
    # What is missing was said before the study began.
    with suppress(MissingExtraError):
        figure = result.plot()
        with write_atomically(folder / _WRITTEN[1], binary=True) as file:
            figure.savefig(file, format="svg", metadata={"Date": None})
        written.append(folder / _WRITTEN[1])
    written.append(Report([result]).write(folder / _WRITTEN[2]))
    return written
