"""Check each run in one pass before use: refuse unusable data, note unusual data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Embeddings, Finding, InputError, refuse_scale
from upto.engines import Survey, survey
from upto.files.declared import memory_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Engine


def survey_runs(
    engine: Engine, runs: Sequence[Embeddings], *, at_least: int = 2, varying: bool = True
) -> list[Survey]:
    """Survey every run in one pass and refuse unusable data."""
    surveys = []
    for run in runs:
        found = survey(engine, run.rows)
        if found.n_not_finite:
            message = (
                f"{run.name} has {found.n_not_finite} values that are NaN or infinite: remove "
                "those rows from every run, or impute them."
            )
            raise InputError(message)
        if run.n_samples < at_least:
            message = f"{run.name} has 1 row: at least two are needed."
            raise InputError(message)
        if varying and bool(np.all(found.low == found.high)):
            message = (
                f"{run.name} has zero variance: all its {run.n_samples} rows are equal, so there "
                "is nothing to compare."
            )
            raise InputError(message)
        if varying:
            n_values = run.n_samples * run.n_features
            refuse_scale(run.name, found.low, found.high, n_values, what="the run")
        surveys.append(found)
    return surveys


def refuse_wide(doing: str, width: int, n_matrices: float, instead: str = "") -> None:
    """Refuse runs whose matrices exceed the memory, before anything is computed.

    Parameters
    ----------
    doing
        What takes the memory, as text for the message.
    width
        Number of columns of the widest run.
    n_matrices
        Matrices of all columns by all columns that are in memory at once.
    instead
        Another remedy than fewer columns, as text that ends in "or ".
    """
    needed, there = n_matrices * 8 * width**2, memory_size()
    if needed > there:
        message = (
            f"{doing} takes {needed / 1e9:.0f} GB for matrices of {width} by {width} numbers, but "
            f"there are {there / 1e9:.0f} GB of memory: {instead}reduce each run to its leading "
            "principal directions first, as sklearn.decomposition.PCA does."
        )
        raise InputError(message)


def place_runs(engine: Engine, runs: Sequence[Embeddings]) -> tuple[Embeddings, ...]:
    """Put the rows of runs where the passes will read them."""
    return tuple(replace(run, rows=engine.place(run.rows)) for run in runs)


def run_findings(run: Embeddings, *, rank: int, n_dead: int) -> list[Finding]:
    """Return findings on the size and the rank of a run."""
    n, d = run.n_samples, run.n_features
    findings = []
    if n < 5 * d:
        message = f"{run.name} has {n} rows for {d} dimensions, {n / d:.1f} per dimension."
        findings.append(Finding(code="UP001", message=message))
    if rank < d:
        message = f"the rows of {run.name} span {rank} of {d} dimensions."
        findings.append(Finding(code="UP002", message=message))
    if n_dead:
        message = f"{n_dead} of {d} coordinates of {run.name} are constant."
        findings.append(Finding(code="UP013", message=message))
    return findings
