"""Input and output of a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from upto.core import Estimate, Finding, Panel, Progress, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Environment of a study.

    Parameters
    ----------
    seed
        Seed of the random number generators.
    device
        ``cpu``, or a CUDA device for studies that train networks.
    folder
        Existing folder for the checkpoints of long studies.
    resume
        Whether to continue from the checkpoints in `folder`.
    data
        User's folder with datasets, or None.
    progress
        Receiver of progress reports.
    """

    seed: int
    device: str
    folder: Path
    resume: bool
    data: Path | None
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Results of a study.

    Parameters
    ----------
    measured
        The quantities listed in ``expected.json``, with intervals where available. A missing
        quantity could not be estimated.
    says
        Result sentence, the end of the verdict.
    tables, panels
        Tables and plots, most important first.
    findings
        Findings.
    device
        Description of the hardware.
    tests_claims
        Whether the run tests the claims of the study, and not models of the user's instead.
    """

    measured: dict[str, Estimate]
    says: str
    tables: tuple[Table, ...]
    panels: tuple[Panel, ...]
    findings: tuple[Finding, ...] = ()
    device: str = "cpu"
    tests_claims: bool = True
