"""Run a study with the settings and expectations of its folder."""

from __future__ import annotations

import json
import sys
import time
import tomllib
from dataclasses import dataclass, fields
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from upto.core import (
    InputError,
    Provenance,
    SettingValue,
    StudyResult,
    choose_progress,
    library_versions,
)
from upto.core.extras import check_extra
from upto.core.read_file import read_whole
from upto.core.study import Fixed, Quantity, Span, tally_claims, tally_expectations
from upto_studies import STUDIES
from upto_studies.interrupted_runs import checkpoints_of
from upto_studies.outcome import Work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.core import Progress
    from upto_studies.outcome import Outcome

SIZES = ("tiny", "small", "full")
NOT_RUN = "**Not run.**"
"""Start of the README paragraph that explains why no run is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Description of a study and the settings of one size."""

    name: str
    title: str
    claim: str
    expectation: str
    paper: str
    size: str
    settings: dict[str, SettingValue]
    extras: tuple[str, ...] = ()

    def check_packages(self) -> None:
        """Check that the packages the study needs are installed."""
        for extra in self.extras:
            check_extra(extra, f"the study {self.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expectation:
    name: str
    says: str
    claimed: Span | None = None
    expected: Span | None = None
    fixed: Fixed | None = None
    reference: float | None = None
    source: str = ""
    sizes: tuple[str, ...] = SIZES


def study_folder(name: str) -> Path:
    """Return the folder of a study.

    Raises
    ------
    InputError
        If there is no study of this name.
    """
    if name not in STUDIES:
        close = get_close_matches(name, STUDIES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(STUDIES)}."
        message = f"there is no study {name!r}: {hint}"
        raise InputError(message)
    return Path(__file__).parent / name


def study_plan(name: str, *, size: str = "full", settings: Mapping[str, Any] | None = None) -> Plan:
    """Read the description of a study and the settings of one size.

    Parameters
    ----------
    name
        Name of the study.
    size
        ``tiny``, ``small`` or ``full``.
    settings
        Settings to override.

    Raises
    ------
    InputError
        If the study, the size or a setting is unknown, or a setting has the wrong type.
    """
    folder = study_folder(name)
    if size not in SIZES:
        message = f"a study has the sizes {', '.join(SIZES)}, not {size!r}."
        raise InputError(message)
    with (folder / "study.toml").open("rb") as file:
        record = tomllib.load(file)
    known = record["settings"]
    changes = dict(settings or {})
    for key in changes:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known)}."
            message = f"{name} has no setting {key!r}: {hint}"
            raise InputError(message)
    return Plan(
        name=name,
        title=record["title"],
        claim=record["claim"],
        expectation=record.get("expectation", ""),
        paper=record["paper"],
        size=size,
        settings=known | record.get(size, {}) | changes,
        extras=tuple(record.get("extras", ())),
    )


def run_study(
    name: str,
    *,
    size: str = "small",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str = "cpu",
    folder: str | Path | None = None,
    resume: bool = False,
    restart: bool = False,
    data: str | Path | None = None,
    progress: Progress | bool | None = None,
) -> StudyResult:
    """Run a study and compare its results with the paper's claims and our expectations.

    Parameters
    ----------
    name
        Name of the study, as in ``upto study list``.
    size
        ``tiny`` takes seconds, ``small`` about a minute on two cores; ``full`` is the paper's size.
    settings
        Settings to override, by their names in the study's ``study.toml``.
    seed
        Seed of the random number generators.
    device
        ``cpu`` or a CUDA device, for studies that train networks.
    folder
        Folder for checkpoints; without one, an interrupted study starts from the beginning.
    resume
        Whether to continue from the checkpoints in `folder`.
    restart
        Whether to discard the checkpoints of an interrupted run in `folder`.
    data
        Folder with datasets, for studies of data that cannot be bundled.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    StudyResult
        Measured quantities with claims and expectations, tables and plots.

    Raises
    ------
    InputError
        If a setting is invalid, a package or data are missing, or the checkpoints belong to
        another run.

    See Also
    --------
    upto.StudyResult : What it returns.
    upto.Report : Write its report.

    Examples
    --------
    >>> import upto_studies
    >>> result = upto_studies.run_study("sprite-isometry", size="tiny")
    >>> len(result.quantities) > 10
    True
    """
    plan = study_plan(name, size=size, settings=settings)
    plan.check_packages()
    if data is not None and not Path(data).is_dir():
        message = f"{data} is not a folder: give the one with the datasets."
        raise InputError(message)
    module = import_module(STUDIES[name])
    converted = _settings(plan, module.Settings)
    started = time.perf_counter()
    kept = checkpoints_of(folder, plan, seed=seed, resume=resume, restart=restart)
    with kept as (place, before):
        outcome: Outcome = module.run(
            converted,
            Work(
                seed=seed,
                device=device,
                folder=place,
                resume=resume,
                data=None if data is None else Path(data),
                progress=choose_progress(progress),
            ),
        )
    quantities = _quantities(name, size, outcome) if outcome.tests_claims else ()
    return StudyResult(
        name=name,
        title=plan.title,
        paper=plan.paper,
        size=size,
        settings=plan.settings,
        device=outcome.device,
        quantities=quantities,
        details=outcome.tables,
        plots=outcome.panels,
        verdict=_verdict(plan, quantities, outcome.says),
        findings=outcome.findings,
        provenance=Provenance(
            call=_command(plan, seed=seed, device=device, changes=settings or {}),
            seed=seed,
            engine=device,
            seconds=before + time.perf_counter() - started,
            versions=_versions(),
        ),
    )


def recorded_result(name: str) -> StudyResult | None:
    """Return the result of the best full run from the folder of the study, if there is one."""
    path = study_folder(name) / "result.json"
    if not path.is_file():
        return None
    return StudyResult.from_json(read_whole(path))


def unrecorded_reason(name: str) -> str | None:
    """Return the README paragraph that explains why there is no recorded run, if any."""
    for paragraph in study_readme(name).split("\n\n"):
        if paragraph.startswith(NOT_RUN):
            return " ".join(paragraph.removeprefix(NOT_RUN).split())
    return None


def study_readme(name: str) -> str:
    """Return the README of the study, as Markdown."""
    return (study_folder(name) / "README.md").read_text(encoding="utf-8")


def _settings(plan: Plan, kind: type) -> Any:
    try:
        converted: Any = msgspec.convert(plan.settings, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        message = f"the setting {where.rstrip('`') or '?'} of {plan.name} is invalid: {what}."
        raise InputError(message) from None
    unknown = set(plan.settings) - {field.name for field in fields(kind)}
    if unknown:
        message = f"{plan.name} does not use {', '.join(sorted(unknown))}: remove it."
        raise InputError(message)
    return converted


def _quantities(name: str, size: str, outcome: Outcome) -> tuple[Quantity, ...]:
    text = (study_folder(name) / "expected.json").read_bytes()
    expected = msgspec.json.decode(text, type=tuple[_Expectation, ...], strict=True)
    return tuple(
        Quantity(
            name=each.name,
            says=each.says,
            measured=outcome.measured.get(each.name),
            claimed=each.claimed,
            expected=each.expected,
            fixed=each.fixed,
            reference=each.reference,
            source=each.source,
        )
        for each in expected
        if size in each.sizes
    )


def _verdict(plan: Plan, quantities: tuple[Quantity, ...], says: str) -> str:
    claims, expectations = tally_claims(quantities), tally_expectations(quantities)
    counts = []
    if claims.total:
        counts.append(f"the paper's claims borne out: {claims}")
    if expectations.total:
        counts.append(f"our expectations met: {expectations}")
    return f"{plan.title}, {plan.size} size: {says}" + (f" ({'; '.join(counts)})" if counts else "")


def _command(plan: Plan, *, seed: int, device: str, changes: Mapping[str, Any]) -> str:
    words = [f"upto study run {plan.name} --size {plan.size}"]
    words += [f"--set {key}={json.dumps(value)}" for key, value in changes.items()]
    words += [f"--seed {seed}"] if seed else []
    words += [f"--device {device}"] if device != "cpu" else []
    return " ".join(words)


def _versions() -> dict[str, str]:
    versions = library_versions()
    torch = sys.modules.get("torch")
    return versions | ({"torch": str(torch.__version__)} if torch is not None else {})
