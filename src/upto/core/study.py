"""What a study found, beside what it was expected to find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.panel import Panel
from upto.core.result import Provenance, Result
from upto.core.table import Cell, Column, Table

SettingValue = str | int | float | bool | list[str | int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One quantity of a study, and the range in which it bears the claim out.

    A quantity without a range is reported beside the claims and is none.

    Parameters
    ----------
    quantity
        Its name in the study's ``expected.json``.
    says
        The claim, as one sentence.
    measured
        What was found; None where the study could not tell.
    low, high
        The ends of the range that bears the claim out, None where it is open.
    paper
        The paper's number, None where it prints none.
    source
        Where the expectation comes from: a place in a paper, a closed form, chance.
    """

    quantity: str
    says: str
    measured: Estimate | None
    low: float | None = None
    high: float | None = None
    paper: float | None = None
    source: str = ""

    @property
    def is_reported(self) -> bool:
        """Whether the quantity has no range, so that nothing is claimed."""
        return self.low is None and self.high is None

    @property
    def holds(self) -> bool | None:
        """Whether the quantity lies in its range; None where nothing is claimed."""
        if self.is_reported:
            return None
        if self.measured is None:
            return False
        value = self.measured.value
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    @property
    def range_text(self) -> str:
        """The range in words."""
        if self.is_reported:
            return "reported"
        if self.low is None:
            return f"at most {self.high:.4g}"
        if self.high is None:
            return f"at least {self.low:.4g}"
        return f"{self.low:.4g} to {self.high:.4g}"


def count_held(claims: tuple[Claim, ...]) -> tuple[int, int]:
    """Return how many claims hold, and how many there are."""
    found = [claim.holds for claim in claims if not claim.is_reported]
    return sum(bool(held) for held in found), len(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult(Result):
    """A study as it was run: its settings, claims, tables and plots."""

    kind: ClassVar[str] = "study"
    schema: ClassVar[int] = 1

    name: str
    title: str
    paper: str
    size: str
    settings: dict[str, SettingValue]
    device: str
    claims: tuple[Claim, ...]
    details: tuple[Table, ...]
    plots: tuple[Panel, ...]
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    @property
    def n_held(self) -> int:
        """How many claims are borne out."""
        return count_held(self.claims)[0]

    @property
    def n_claims(self) -> int:
        """How many claims there are, without what is only reported."""
        return count_held(self.claims)[1]

    def tables(self) -> tuple[Table, ...]:
        """Return the claims, what the study found and the settings."""
        return self._claims(), *self.details, self._settings()

    def panels(self) -> tuple[Panel, ...]:
        """Return the plots of the study."""
        return self.plots

    def _claims(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (
                claim.says,
                claim.measured,
                claim.range_text,
                claim.paper,
                {True: "yes", False: "no", None: None}[claim.holds],
                claim.source,
            )
            for claim in self.claims
        ]
        return Table(
            title=f"{self.title}, {self.size}",
            columns=(
                Column(name="claim"),
                Column(name="measured", spec=".4g"),
                Column(name="expected"),
                Column(name="paper", spec=".4g"),
                Column(name="holds"),
                Column(name="source"),
            ),
            rows=tuple(rows),
        )

    def _settings(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (key, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
            for key, value in self.settings.items()
        ]
        rows += [("device", self.device), ("seed", str(self.provenance.seed))]
        return Table(
            title="Settings",
            columns=(Column(name="setting"), Column(name="value")),
            rows=tuple(rows),
        )
