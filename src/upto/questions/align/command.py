"""The command `upto align OLD NEW`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from upto.cli.exits import EPILOG, Exit, check_strictly, stop
from upto.cli.options import (
    complete_file,
    held_out_option,
    ids_option,
    output_options,
    refuse_nan,
    report_option,
    strict_option,
)
from upto.questions.align.carriers import NAMES

if TYPE_CHECKING:
    from upto.cli.output import Output

_NOT_WITH_MAP = (
    "up_to",
    "metric",
    "at",
    "enough",
    "held_out",
    "index_size",
    "save",
    "save_back",
    "fail_below",
    "strict",
    "report",
    "output_seed",
)
_METRICS = ("cosine", "inner-product", "euclidean")


@click.command("align", epilog=EPILOG)
@click.argument("old", required=False, metavar="[OLD", shell_complete=complete_file)
@click.argument("new", required=False, metavar="NEW]", shell_complete=complete_file)
@ids_option
@click.option(
    "--up-to",
    type=click.Choice(["auto", *NAMES]),
    default="auto",
    show_default=True,
    help="The map; auto judges all but the network, and takes the simplest that is within error of "
    "the best.",
)
@click.option(
    "--metric",
    type=click.Choice(_METRICS),
    default="cosine",
    show_default=True,
    help="How the index is searched.",
)
@click.option(
    "--at",
    type=click.IntRange(1),
    multiple=True,
    default=(1, 10, 100),
    show_default=True,
    metavar="K",
    help="Number of rows retrieved, for recall@K. Repeat for several.",
)
@click.option(
    "--enough",
    type=click.FloatRange(0, 1, min_open=True),
    callback=refuse_nan,
    default=0.95,
    show_default=True,
    help="Recall from which the index is worth carrying.",
)
@held_out_option(0.3, "maps are judged on them")
@click.option(
    "--apply",
    multiple=True,
    metavar="INDEX",
    shell_complete=complete_file,
    help="File of old rows to carry, of any size. Repeat for several; without -o it is only "
    "checked.",
)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(),
    help="File for the carried rows; its suffix sets the format. A folder for several files.",
)
@click.option(
    "--index-size",
    type=click.IntRange(1),
    help="Number of rows of the index, to which recall is extrapolated; by default those of "
    "--apply, or of OLD.",
)
@click.option(
    "--bad-rows",
    type=click.Choice(["refuse", "drop", "keep"]),
    default="refuse",
    show_default=True,
    help="What to do with rows of INDEX that have NaN or infinite values; such rows of OLD and NEW "
    "are left out unless refused.",
)
@click.option(
    "--verify",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="Number of carried rows that are read back and compared with the source.",
)
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Continue unfinished work of the same command.",
)
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save the map to this .safetensors file.",
)
@click.option(
    "--save-back",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save the map that carries new queries back to this .safetensors file.",
)
@click.option(
    "--map",
    "saved",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Carry INDEX by the map in this file, instead of fitting one to OLD and NEW.",
)
@click.option("--inverse", is_flag=True, help="With --map: apply its inverse.")
@click.option(
    "--fail-below",
    type=click.FloatRange(0, 1),
    callback=refuse_nan,
    help="Exit with 1, and carry nothing, if the recall that decides is below this.",
)
@strict_option
@report_option
@functools.partial(output_options, result_file=False)
def command(
    *,
    output: Output,
    old: str | None,
    new: str | None,
    file: str | None,
    saved: Path | None,
    inverse: bool,
    **options: Any,
) -> None:
    """Carry rows or an index from the space of an old model to that of a new one.

    OLD and NEW are files with rows of the same samples, matched by ids: the rows that were embedded
    again, or all of the old index and a part of it embedded again. The maps are judged on held-out
    rows: what part of the nearest rows does a search in the carried index find?

    \b
    upto align old.parquet new.parquet --ids id --report align.html
    upto align old.npy new.npy --apply index.npy -o carried.npy --save map.safetensors
    upto align --map map.safetensors --apply more.parquet -o more_carried.parquet
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    carrying = {name: options.pop(name) for name in ("bad_rows", "verify", "resume")}
    if saved is not None:
        _refuse_options_of_a_fit(old)
        apply, ids = options["apply"], options["ids"]
        _carry(output, saved, apply, file, ids=ids, inverse=inverse, **carrying)
        return
    if old is None or new is None:
        message = "give OLD and NEW, or a saved map with --map."
        raise click.UsageError(message)
    if inverse:
        message = "--inverse needs a saved map: give it with --map."
        raise click.UsageError(message)
    if file is not None and not options["apply"]:
        message = "-o is for carried rows: give the rows with --apply."
        raise click.UsageError(message)
    _align(output, old, new, file, carrying, **options)


def _align(
    output: Output,
    old: str,
    new: str,
    file: str | None,
    carrying: dict[str, Any],
    *,
    ids: str | None,
    apply: tuple[str, ...],
    save: Path | None,
    save_back: Path | None,
    fail_below: float | None,
    strict: bool,
    report: Path | None,
    **options: Any,
) -> None:
    from upto.transforms.save import check_transform_path

    places = {"report": report, "save": save, "save_back": save_back}
    _check_places(output, apply, file, read=(old, new), **places)
    for path in (save, save_back):
        if path is not None:
            check_transform_path(path)
    import upto

    result = upto.align(
        old,
        new,
        ids=ids,
        apply=apply or None,
        bad_rows=carrying["bad_rows"],
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.publish(result, report)
    if fail_below is not None and result.at_size.value < fail_below:
        stop(
            Exit.LIMIT,
            f"recall@{result.decides} is {result.at_size.value:.4g}, below the limit of "
            f"{fail_below:g}; nothing was carried.",
        )
    if strict:
        check_strictly(result)
    for path, back in ((save, False), (save_back, True)):
        if path is not None:
            upto.save_transform(path, result.aligner(back=back))
            output.say(f"wrote {path}")
    if file is not None:
        _carry(output, result.aligner(), apply, file, ids=ids, **carrying)


def _carry(
    output: Output,
    transform: Any,
    apply: tuple[str, ...],
    file: str | None,
    **options: Any,
) -> None:
    if not apply or file is None:
        message = "give the rows to carry with --apply, and -o FILE for the carried ones."
        raise click.UsageError(message)
    _check_places(output, apply, file, read=(transform,) if isinstance(transform, Path) else ())
    from upto.transforms.several_files import apply_to_files

    remarks = apply_to_files(
        transform,
        apply,
        output=file,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    for remark in (*remarks, f"wrote {file}"):
        output.say(remark)


def _check_places(
    output: Output,
    apply: tuple[str, ...],
    file: str | None,
    *,
    read: tuple[str | Path, ...] = (),
    report: Path | None = None,
    **others: Path | None,
) -> None:
    from upto.cli.output import files_of
    from upto.core.files import check_outputs
    from upto.transforms.several_files import check_targets, is_folder_for

    if file is None or not is_folder_for(apply, file):
        output.check(page=report, rows=("-o", file), **others)
        if file is not None:
            check_targets(apply, file)
        return
    output.check(page=report, rows=("", None), **others)
    inputs = [each for given in read for each in files_of(str(given))]
    targets = check_targets(apply, file, inputs=inputs)
    written = {f"--{name}": path for name, path in {"report": report, **others}.items()}
    check_outputs({**written, **{str(target): target for target in targets}}, ())


def _refuse_options_of_a_fit(old: str | None) -> None:
    context = click.get_current_context()
    if old is not None:
        message = "--map carries rows by a saved map, and fits nothing: drop OLD and NEW."
        raise click.UsageError(message)
    for name in _NOT_WITH_MAP:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = f"--{name.removeprefix('output_').replace('_', '-')}"
            message = f"{option} concerns fitting, and --map fits nothing: drop one."
            raise click.UsageError(message)
