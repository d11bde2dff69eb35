"""Results of studies, compared with the paper's claims and our expectations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.panel import Panel
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.short_repr import Record
from upto.core.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

SettingValue = str | int | float | bool | list[str | int | float]


Fixed = Literal["before any run", "after a pilot", "after a full run"]
"""When the ranges of a quantity were fixed; a pilot is smaller or has another seed."""

Judgement = Literal["yes", "no", "open"]
"""Whether a quantity lies in a range; open if its interval does so only in part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A closed range of numbers; an end of None is unbounded."""

    low: float | None = None
    high: float | None = None

    def has(self, measured: Estimate | None) -> bool:
        """Return whether a quantity was measured and its value lies in the range."""
        if measured is None:
            return False
        value = measured.value
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def judge(self, measured: Estimate | None) -> Judgement:
        """Return whether the interval of a quantity lies in the range: all, none or part of it."""
        inside = self.has(measured)
        if measured is None or measured.low is None or measured.high is None:
            return "yes" if inside else "no"
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if low <= measured.low and measured.high <= high:
            return "yes"
        return "no" if measured.high < low or measured.low > high else "open"

    def __str__(self) -> str:
        """Describe the range."""
        if self.low is None:
            return f"at most {self.high:.4g}"
        if self.high is None:
            return f"at least {self.low:.4g}"
        if self.low == self.high:
            return f"{self.low:.4g}"
        return f"{self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity(Record):
    """One quantity of a study: its measured value, the paper's claim and our expectation.

    Claim and expectation are tested and counted separately: a result that we expected may
    contradict the paper. A quantity with neither range is only reported.

    Parameters
    ----------
    name
        Name in the study's ``expected.json``.
    says
        Description of the quantity, one sentence.
    measured
        Measured value; None if the study could not determine it.
    claimed
        Range claimed by the paper; None if it makes no claim.
    expected
        Range we expected; None without an expectation of our own.
    fixed
        When the ranges were fixed; None without a range.
    reference
        Value given by the source, or None.
    source
        Origin of the claim, expectation or reference: a place in a paper, public code, a closed
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
        """Whether the paper's claim is borne out; None without a claim."""
        return None if self.claimed is None else self.claimed.judge(self.measured)

    @property
    def meets(self) -> Judgement | None:
        """Whether our expectation is met; None without an expectation."""
        return None if self.expected is None else self.expected.judge(self.measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Numbers of ranges that hold, are open, exist, and were fixed before any run."""

    held: int
    open: int
    total: int
    before: int

    def __str__(self) -> str:
        """Describe the counts."""
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
    """Settings, quantities, tables and plots of one execution of a study.

    See Also
    --------
    upto_studies.run_study : Returns it.
    upto.core.Result : Its other methods.
    """

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
        """Return the quantities, if there are any, the tables of the study and the settings."""
        quantities = (self._quantities(),) if self.quantities else ()
        return *quantities, *self.details, self._settings()

    def panels(self) -> tuple[Panel, ...]:
        """Return the plots of the study."""
        return self.plots

    def papers(self) -> tuple[str, ...]:
        """Return texts that name the papers behind the study."""
        return self.paper, *(each.source for each in self.quantities)

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
