"""What a study is given and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from upto.core import Estimate, Finding, Panel, Progress, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Where and how a study runs.

    Parameters
    ----------
    seed
        The seed of everything random.
    device
        ``cpu``, or a CUDA device for studies that train.
    folder
        Where a long study may keep checkpoints; it exists.
    resume
        Whether to go on from the checkpoints in `folder`.
    data
        A folder with datasets that the user named, or None.
    progress
        What long work reports to.
    """

    seed: int
    device: str
    folder: Path
    resume: bool
    data: Path | None
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a study found.

    Parameters
    ----------
    measured
        The quantities that ``expected.json`` names, each with an interval where one can be had.
        A quantity that is missing could not be told.
    says
        What was found, as one sentence: the end of the verdict.
    tables, panels
        The numbers and plots, the most important first.
    findings
        Remarks on them.
    device
        The hardware that computed, in words.
    """

    measured: dict[str, Estimate]
    says: str
    tables: tuple[Table, ...]
    panels: tuple[Panel, ...]
    findings: tuple[Finding, ...] = ()
    device: str = "cpu"
