"""What a study found, beside what the paper claims and what we expected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.panel import Panel
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

SettingValue = str | int | float | bool | list[str | int | float]


Fixed = Literal["before any run", "after a pilot", "after a full run"]
"""When the ranges of a quantity were written down; a pilot is smaller, or has another seed."""

Judgement = Literal["yes", "no", "open"]
"""Whether a quantity lies in a range; open where only a part of its interval does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of numbers, its ends included, None where it is open."""

    low: float | None = None
    high: float | None = None

    def has(self, measured: Estimate | None) -> bool:
        """Tell whether a quantity was measured and its number lies in the range."""
        if measured is None:
            return False
        value = measured.value
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def judge(self, measured: Estimate | None) -> Judgement:
        """Tell whether the whole interval of a quantity lies in the range, or none of it."""
        inside = self.has(measured)
        if measured is None or measured.low is None or measured.high is None:
            return "yes" if inside else "no"
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if low <= measured.low and measured.high <= high:
            return "yes"
        return "no" if measured.high < low or measured.low > high else "open"

    def __str__(self) -> str:
        """Return the range in words."""
        if self.low is None:
            return f"at most {self.high:.4g}"
        if self.high is None:
            return f"at least {self.low:.4g}"
        if self.low == self.high:
            return f"{self.low:.4g}"
        return f"{self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One quantity of a study: what was measured, what the paper claims and what we expected.

    The two are held against the measurement, and counted, apart: a result that we expected may
    speak against the paper. A quantity with neither range is reported.

    Parameters
    ----------
    name
        Its name in the study's ``expected.json``.
    says
        What it is, as one sentence.
    measured
        What was found; None where the study could not tell.
    claimed
        Where the paper's claim puts it; None where the paper makes none.
    expected
        Where we expected it; None where we had no expectation of our own.
    fixed
        When the ranges were written down; None where there is none.
    reference
        The number that the source gives, None where it gives none.
    source
        Where claim, expectation or reference comes from: a place in a paper, public code, a closed
        form, chance.
    """

    name: str
    says: str
    measured: Estimate | None
    claimed: Span | None = None
    expected: Span | None = None
    fixed: Fixed | None = None
    reference: float | None = None
    source: str = ""

    @property
    def bears_out(self) -> Judgement | None:
        """Whether the paper's claim is borne out; None where it makes none."""
        return None if self.claimed is None else self.claimed.judge(self.measured)

    @property
    def meets(self) -> Judgement | None:
        """Whether our expectation is met; None where we had none."""
        return None if self.expected is None else self.expected.judge(self.measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many ranges there are, hold, are open and were fixed before any run."""

    held: int
    open: int
    total: int
    before: int

    def __str__(self) -> str:
        """Return the count in words."""
        if not self.total:
            return "none"
        return f"{self.held} of {self.total}" + (f", {self.open} open" if self.open else "")


def tally_claims(quantities: Iterable[Quantity]) -> Tally:
    """Count the paper's claims."""
    return _tally((each.bears_out, each.fixed) for each in quantities)


def tally_expectations(quantities: Iterable[Quantity]) -> Tally:
    """Count our expectations."""
    return _tally((each.meets, each.fixed) for each in quantities)


def _tally(judged: Iterable[tuple[Judgement | None, Fixed | None]]) -> Tally:
    counted = [(judgement, fixed) for judgement, fixed in judged if judgement is not None]
    return Tally(
        held=sum(judgement == "yes" for judgement, _ in counted),
        open=sum(judgement == "open" for judgement, _ in counted),
        total=len(counted),
        before=sum(fixed == "before any run" for _, fixed in counted),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult(Result):
    """A study as it was run: its settings, quantities, tables and plots."""

    kind: ClassVar[str] = "study"
    schema: ClassVar[int] = 2

    name: str
    title: str
    paper: str
    size: str
    settings: dict[str, SettingValue]
    device: str
    quantities: tuple[Quantity, ...]
    details: tuple[Table, ...]
    plots: tuple[Panel, ...]
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    @property
    def claims(self) -> Tally:
        """The paper's claims."""
        return tally_claims(self.quantities)

    @property
    def expectations(self) -> Tally:
        """Our own expectations."""
        return tally_expectations(self.quantities)

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the quantities outside our range or, where we have none, the paper's."""
        judged = ((each, each.expected or each.claimed) for each in self.quantities)
        return tuple(
            each.name for each, span in judged if span is not None and not span.has(each.measured)
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the quantities, what else the study found and the settings."""
        return self._quantities(), *self.details, self._settings()

    def panels(self) -> tuple[Panel, ...]:
        """Return the plots of the study."""
        return self.plots

    def _quantities(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (
                each.says,
                each.measured,
                None if each.claimed is None else str(each.claimed),
                each.bears_out,
                None if each.expected is None else str(each.expected),
                each.meets,
                each.fixed,
                each.reference,
                each.source,
            )
            for each in self.quantities
        ]
        return Table(
            title=f"{self.title}, {self.size}",
            columns=(
                Column(name="quantity"),
                Column(name="measured", spec=".4g"),
                Column(name="the paper claims"),
                Column(name="borne out"),
                Column(name="we expected"),
                Column(name="met"),
                Column(name="ranges fixed"),
                Column(name="reference", spec=".4g"),
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
