"""The result of `upto.inspect`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from upto.core.finding import Finding
from upto.core.fits import RunSummary
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.table import Cell, Column, Table

SHOWN_DIRECTIONS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectResult(Result):
    """Size, rank, spectrum, distances of one run, and Gaussianity of its components.

    `spectrum` is the fraction of variance in each principal direction, in decreasing order;
    `effective_dimension` is the inverse of the sum of their squares. `nongaussianity` is the
    difference of each independent component's held-out contrast from a Gaussian's, in standard
    errors, and `n_near_gaussian` counts those below three; they are empty and None if ICA was not
    run or too few rows were held out.

    See Also
    --------
    upto.inspect : Returns it.
    upto.core.RunSummary : The type of `run`.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "inspect"
    schema: ClassVar[int] = 1

    run: RunSummary
    dtype: str
    has_ids: bool
    columns: tuple[str, ...]
    n_duplicates: int
    spectrum: tuple[float, ...]
    effective_dimension: float
    nongaussianity: tuple[float, ...]
    n_near_gaussian: int | None
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of facts and of the spectrum."""
        run, diameter = self.run, self.run.diameter
        extent = f"{diameter.value:.6g}"
        if not diameter.exact:
            extent = f"{diameter.value:.6g} to {diameter.upper:.6g}"
        facts: list[tuple[Cell, ...]] = [
            ("rows", run.n_samples),
            ("duplicate rows", self.n_duplicates),
            ("coordinates", run.n_features),
            ("dead coordinates", run.n_dead),
            ("rank", run.rank),
            ("effective dimension", self.effective_dimension),
            ("diameter", extent),
            ("99.9 % of distances below", diameter.quantile),
            ("root mean square distance to the centre", run.spread),
            ("near-Gaussian components", self.n_near_gaussian),
            ("type", self.dtype),
            ("ids", "yes" if self.has_ids else "no"),
            ("columns", ", ".join(self.columns) or "none"),
        ]
        directions: list[tuple[Cell, ...]] = []
        total = 0.0
        for number, share in enumerate(self.spectrum[:SHOWN_DIRECTIONS], 1):
            total += share
            directions.append((number, share, total))
        return (
            Table(
                title=run.name,
                columns=(Column(name="what"), Column(name="value", spec=".6g")),
                rows=tuple(facts),
            ),
            Table(
                title="Variance of the leading principal directions",
                columns=(
                    Column(name="direction"),
                    Column(name="share", spec=".1%"),
                    Column(name="together", spec=".1%"),
                ),
                rows=tuple(directions),
            ),
        )
