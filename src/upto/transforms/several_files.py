"""Apply a transform to several files, which get their outputs in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.core.files import check_outputs, check_target
from upto.files import check_output
from upto.files.request import listed, split_key
from upto.files.write import check_format
from upto.transforms.apply import apply_transform, what_to_carry, write_carried
from upto.transforms.carried import is_carried
from upto.transforms.save import load_transform

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.files.accept import Run
    from upto.transforms.kinds import Transform


def apply_to_files(
    transform: str | Path | Transform,
    runs: Run | Sequence[Run],
    output: str | Path,
    *,
    ids: str | None = None,
    **options: Any,
) -> tuple[str, ...]:
    """Apply a transform to one run and write a file, or to several files and write a folder.

    Parameters
    ----------
    transform
        A fitted estimator, or the file it was saved to.
    runs
        A run, or a list of files.
    output
        The file; for several files, a folder, which is made if needed and in which each keeps its
        name, or ``folder/*.parquet`` for the same name with another suffix.
    ids
        Name of the column or entry with one id per row, in files that can have one.
    options
        Further arguments of `apply_transform`.

    Returns
    -------
    tuple of str
        Notes on anything unexpected, each beginning with its file if there are several.

    Raises
    ------
    InputError
        As `apply_transform`, or if two files would get the same name.
    """
    several = runs if isinstance(runs, list | tuple) else None
    if several is None or not is_folder_for(several, output):
        run = runs if several is None else several[0]
        return apply_transform(transform, run, output=output, ids=name_of_ids(run, ids), **options)
    # Before the first is carried, which may take hours.
    targets = check_targets(several, output, inputs=[transform])
    files = [run for run in several if isinstance(run, str | Path)]
    targets[0].parent.mkdir(exist_ok=True)
    fitted = load_transform(transform) if isinstance(transform, str | Path) else transform
    notes: list[str] = []
    written: list[str] = []
    for run, target in zip(files, targets, strict=True):
        try:
            found = _carry(fitted, run, target, ids=name_of_ids(run, ids), **options)
        except BaseException as error:
            if written:
                error.add_note(f"Written before: {listed(written, 6)}.")
            raise
        written.append(target.name)
        notes += [f"{target.name}: {note}" for note in found]
    return tuple(notes)


def name_of_ids(run: Run, ids: str | None) -> str | None:
    """Return the name of the ids of a run, or None if it is a file of numbers only."""
    if isinstance(run, str | Path) and split_key(run)[0].suffix.lower() == ".npy":
        return None
    return ids


def is_folder_for(runs: Sequence[Run], output: str | Path) -> bool:
    """Return whether an output is a folder for the outputs of runs: of one, if it is there."""
    path = Path(output).expanduser()
    return len(runs) > 1 or path.stem == "*" or (path.is_dir() and not path.suffix)


def check_targets(
    runs: Sequence[Run], output: str | Path, *, inputs: Iterable[object] = ()
) -> list[Path]:
    """Refuse, before anything is fitted, outputs of `apply_to_files` that could not be written.

    Parameters
    ----------
    runs, output
        As in `apply_to_files`.
    inputs
        What else is read; only files count.

    Returns
    -------
    list of Path
        The outputs.

    Raises
    ------
    InputError
        If two files would get the same name, or one cannot or must not be written.
    """
    files = [each for each in (*runs, *inputs) if isinstance(each, str | Path)]
    if not is_folder_for(runs, output):
        check_output(output, inputs=files)
        return [Path(output).expanduser()]
    targets = _targets(runs, output)
    check_outputs(
        {str(target): target for target in targets}, [split_key(each)[0] for each in files]
    )
    for target in targets:
        if target.parent.is_dir():
            check_output(target, inputs=files)
        else:
            check_format(target)
    return targets


def _carry(
    transform: Transform,
    run: str | Path,
    target: Path,
    *,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> tuple[str, ...]:
    carried, notes = what_to_carry(transform, run, target, **options)
    if is_carried(carried, split_key(run)[0]):
        return ("was there, newer than its source, and was not carried again",)
    return (*notes, *write_carried(carried, engine=engine, progress=progress))


def _targets(runs: Sequence[Run], output: str | Path) -> list[Path]:
    files = [run for run in runs if isinstance(run, str | Path)]
    if len(files) < len(runs):
        message = "several runs are given as files, whose names their outputs keep."
        raise InputError(message)
    pattern = Path(output).expanduser()
    is_pattern = pattern.stem == "*"
    if not is_pattern and pattern.suffix:
        message = (
            f"{output} is one file for {len(runs)} runs: give a folder, or "
            f"folder/*{pattern.suffix}."
        )
        raise InputError(message)
    folder = pattern.parent if is_pattern else pattern
    names = [split_key(run)[0].name for run in files]
    if is_pattern:
        names = [Path(name).with_suffix(pattern.suffix).name for name in names]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        message = f"two runs would be written to {folder / twice}: rename one of them."
        raise InputError(message)
    check_target(folder, folder=True)
    return [folder / name for name in names]
