"""Checkpoints of a run, from which another one of the same settings and seed continues."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.core.files import write_text_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto_studies.run import Plan

_FOLDER, _RECORD = "checkpoints", "plan.json"


@contextmanager
def checkpoints_of(
    folder: str | Path | None, plan: Plan, *, seed: int, resume: bool, restart: bool
) -> Iterator[tuple[Path, float]]:
    """Yield the folder of the checkpoints, and the seconds spent before the run was interrupted.

    Raises
    ------
    InputError
        If those there belong to another run, are neither continued nor discarded, or are missing.
    """
    if folder is None:
        if resume:
            message = "resuming a study needs a folder: give the one of the interrupted run."
            raise InputError(message)
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary), 0.0
        return
    place = Path(folder) / _FOLDER
    _check(place, plan, seed=seed, resume=resume, restart=restart)
    record, before = place / _RECORD, 0.0
    if resume:
        before = json.loads(record.read_text(encoding="utf-8")).get("seconds", 0.0)
    elif record.is_file():
        shutil.rmtree(place)
    place.mkdir(parents=True, exist_ok=True)
    _write(record, plan, seed, before)
    started = time.perf_counter()
    try:
        yield place, before
    except BaseException as error:
        if any(path != record for path in place.iterdir()):
            error.add_note(
                f"{folder} contains the checkpoints: the same command with --resume continues from "
                "there."
            )
            # A full disk, say: the number of seconds matters less than the error.
            with suppress(OSError, InputError):
                _write(record, plan, seed, before + time.perf_counter() - started)
        else:
            shutil.rmtree(place)
            if not any(place.parent.iterdir()):
                place.parent.rmdir()
        raise
    shutil.rmtree(place)


def _check(place: Path, plan: Plan, *, seed: int, resume: bool, restart: bool) -> None:
    record = place / _RECORD
    if place.exists() and not record.is_file() and (not place.is_dir() or any(place.iterdir())):
        message = f"{place} does not belong to a study and would be lost: choose another folder."
        raise InputError(message)
    if resume:
        _refuse_other_run(record, _identity(plan, seed))
    elif record.is_file() and not restart:
        message = (
            f"{place} contains an interrupted run: pass --resume to continue it, or --restart to "
            "discard it."
        )
        raise InputError(message)


def _identity(plan: Plan, seed: int) -> dict[str, Any]:
    return {"study": plan.name, "seed": seed, "settings": plan.settings}


def _write(record: Path, plan: Plan, seed: int, seconds: float) -> None:
    words = _identity(plan, seed) | {"seconds": seconds}
    write_text_atomically(record, json.dumps(words, indent=1) + "\n")


def _refuse_other_run(record: Path, now: dict[str, Any]) -> None:
    if not record.is_file():
        message = f"{record.parent} has no interrupted run to resume: omit --resume."
        raise InputError(message)
    before = json.loads(record.read_text(encoding="utf-8"))
    changed = [key for key in ("study", "seed") if before.get(key) != now[key]]
    old = before.get("settings", {})
    changed += [key for key in now["settings"] if old.get(key) != now["settings"][key]]
    if changed:
        message = (
            f"{record.parent} belongs to a run with another {', '.join(changed)}: give the same "
            "settings and seed, or --restart instead of --resume to start again."
        )
        raise InputError(message)
