"""The command `upto unmix RUN -o OUT`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from upto.cli.exits import EPILOG, check_strictly
from upto.cli.options import (
    complete_file,
    components_option,
    output_options,
    refuse_nan,
    report_option,
    strict_option,
)

if TYPE_CHECKING:
    from upto.cli.output import Output

_NOT_WITH_APPLY = (
    "n_components",
    "solver",
    "contrast",
    "whiten",
    "tolerance",
    "max_iterations",
    "rank_tolerance",
    "restarts",
    "bootstraps",
    "held_out",
    "save",
    "resume",
    "report",
    "strict",
    "output_seed",
)


@click.command("unmix", epilog=EPILOG)
@click.argument("run", metavar="RUN", shell_complete=complete_file)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(),
    help="File for the components; the suffix sets the format.",
)
@components_option
@click.option(
    "--solver",
    type=click.Choice(["auto", "fastica", "picard"]),
    default="auto",
    show_default=True,
    help="ICA algorithm.",
)
@click.option(
    "--contrast",
    type=click.Choice(["logcosh", "exp", "cube"]),
    default="logcosh",
    show_default=True,
    help="Contrast function, which measures non-Gaussianity.",
)
@click.option(
    "--whiten",
    type=click.Choice(["unit-variance", "active", "rotation", "none"]),
    default="unit-variance",
    show_default=True,
    help="Whitening before ICA.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, min_open=True),
    callback=refuse_nan,
    default=1e-6,
    show_default=True,
    help="Relative gradient over identifiable directions at which ICA has converged.",
)
@click.option(
    "--max-iterations",
    type=click.IntRange(1),
    default=500,
    show_default=True,
    help="Maximum number of iterations.",
)
@click.option(
    "--rank-tolerance",
    type=click.FloatRange(0, 1, max_open=True),
    callback=refuse_nan,
    help="Drop directions with less than this fraction of the largest variance; by default, those "
    "within rounding error.",
)
@click.option(
    "--restarts",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of random starts; two or more give a stability for each component.",
)
@click.option(
    "--bootstraps",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of fits to bootstrap samples of the rows, also for the stability.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.5,
    show_default=True,
    help="Fraction of rows in the second of the two parts on which components are tested.",
)
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save the fitted transform to this .safetensors file.",
)
@click.option(
    "--apply",
    "transform",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Apply the transform saved in this file (ICA, whitening, or a map onto another run) "
    "instead of fitting.",
)
@click.option(
    "--inverse", is_flag=True, help="With --apply: apply the inverse, e.g. to components."
)
@click.option("--resume", is_flag=True, help="Resume an interrupted fit.")
@report_option
@strict_option
@functools.partial(output_options, result_file=False)
def command(
    *,
    output: Output,
    run: str,
    file: str | None,
    transform: Path | None,
    inverse: bool,
    **options: Any,
) -> None:
    """Fit the independent components of a run, write them, and test which are identifiable.

    RUN is an embedding file, or FILE::KEY. Ids and columns are kept, except in npy and safetensors,
    which store numbers only; an h5ad file may be written to itself. The result is printed to
    stdout. Ctrl-C saves the fit in OUT.checkpoint for --resume.

    \b
    upto unmix embeddings.parquet -o components.parquet --report report.html
    upto unmix cells.h5ad::X_pca -o cells.h5ad
    upto unmix train.npy -o train_ica.npy --save ica.safetensors
    upto unmix test.npy -o test_ica.npy --apply ica.safetensors
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if transform is not None:
        _refuse_options_of_a_fit()
        _apply(output, run, file, transform, inverse=inverse)
    elif inverse:
        message = "--inverse needs a saved transform: give it with --apply."
        raise click.UsageError(message)
    else:
        _fit(output, run, file, **options)


def _apply(output: Output, run: str, file: str | None, transform: Path, *, inverse: bool) -> None:
    if file is None:
        message = "give -o FILE for the transformed rows."
        raise click.UsageError(message)
    from upto.files import check_output

    output.check(rows=("-o", file))
    check_output(file)
    from upto.transforms.apply import apply_transform

    remarks = apply_transform(
        transform,
        run,
        output=file,
        inverse=inverse,
        engine=output.engine,
        progress=output.watcher(),
    )
    for remark in (*remarks, f"wrote {file}"):
        output.say(remark)


def _fit(
    output: Output,
    run: str,
    file: str | None,
    *,
    save: Path | None,
    resume: bool,
    report: Path | None,
    strict: bool,
    **options: Any,
) -> None:
    _check_places(output, run, file, save, report)
    checkpoint = _checkpoint_of(file, save)
    if resume and not checkpoint.exists():
        from upto.core import InputError

        message = f"there is no {checkpoint} to continue from: start without --resume."
        raise InputError(message)
    import upto

    try:
        result = upto.unmix(
            run,
            output=file,
            save=save,
            checkpoint=checkpoint,
            resume=resume,
            seed=output.seed,
            engine=output.engine,
            progress=output.watcher(),
            **options,
        )
    except BaseException as error:
        if checkpoint.is_file():
            error.add_note(f"{checkpoint} stores the fit: --resume continues it.")
        raise
    for written in (file, save):
        if written is not None:
            output.say(f"wrote {written}")
    output.publish(result, report)
    if strict:
        check_strictly(result)


def _checkpoint_of(file: str | None, save: Path | None) -> Path:
    # A name that ends in a slash is that of a folder, beside which the checkpoint is.
    return Path(f"{Path(file or str(save))}.checkpoint")


def _check_places(
    output: Output, run: str, file: str | None, save: Path | None, report: Path | None
) -> None:
    if file is None and save is None:
        message = "give -o FILE for the components, --save FILE for the transform, or both."
        raise click.UsageError(message)
    from upto.files import check_output
    from upto.transforms.save import check_transform_path

    checkpoint = _checkpoint_of(file, save)
    output.check(page=report, rows=("-o", file), save=save, checkpoint=checkpoint)
    if file is not None:
        check_output(file)
    if save is not None:
        check_transform_path(save)


def _refuse_options_of_a_fit() -> None:
    context = click.get_current_context()
    for name in _NOT_WITH_APPLY:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = f"--{name.removeprefix('output_').replace('_', '-')}"
            message = f"{option} concerns fitting, and --apply fits nothing: drop one."
            raise click.UsageError(message)
