"""What a theorem promises for given numbers, with every constant on the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core.group import Group
from upto.core.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """One number a bound is made of; `value` is None where it is infinite."""

    symbol: str
    value: float | None
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A bound, the constants in it, when it is valid and whether it says anything.

    Parameters
    ----------
    statement
        What is applied, as ``Theorem 1``.
    claim
        What is bounded, as one sentence.
    up_to
        The group of the claim, if there is one.
    value
        The bound; None where it is infinite.
    ceiling
        What holds without the theorem; a bound at or above it is vacuous. None where nothing does.
    constants
        Every constant in the bound.
    condition
        When the bound is valid, in words with the numbers.
    holds
        True where the numbers given show the condition, False where they show it fails, None where
        no number given can tell. A number is taken to be what its name says: that it was measured
        at every point, or on centred rows, is not doubted here. A bound that is infinite or
        overflows is never True.
    """

    statement: str
    claim: str
    up_to: Group | None = None
    value: float | None
    ceiling: float | None = None
    constants: tuple[Constant, ...]
    condition: str
    holds: bool | None

    @property
    def is_vacuous(self) -> bool:
        """Whether it says nothing, being infinite, not valid or no better than no theorem."""
        if self.value is None or self.holds is False:
            return True
        return self.ceiling is not None and self.value >= self.ceiling

    def constant(self, symbol: str) -> float:
        """Return a constant by its symbol; infinity where it is infinite."""
        for each in self.constants:
            if each.symbol == symbol:
                return math.inf if each.value is None else each.value
        known = ", ".join(each.symbol for each in self.constants)
        message = f"{self.statement} has no constant {symbol!r}, only {known}."
        raise KeyError(message)

    def __float__(self) -> float:
        return math.inf if self.value is None else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """A promise beside the same quantity as it was measured.

    Parameters
    ----------
    promise
        What is promised.
    measured
        The number that was reached; None where nothing was measured.
    at_least
        What the quantity is proved to be at least, where it could still be less than `measured`.
    measured_as
        How it was measured, in words.
    rounding
        By how much the measured number may be off because of rounding.
    """

    promise: Promise
    measured: float | None
    at_least: float | None = None
    measured_as: str
    rounding: float = 0.0

    @property
    def is_kept(self) -> bool | None:
        """Whether the measured number is within the bound.

        None where nothing was measured or promised, and where the bound lies between what is
        proved and what was reached.
        """
        if self.measured is None or self.promise.value is None or self.promise.is_vacuous:
            return None
        bound = self.promise.value + self.rounding
        if self.measured <= bound:
            return True
        least = self.measured if self.at_least is None else self.at_least
        return False if least > bound else None


def finite_or_none(number: float) -> float | None:
    """Return a number as a record keeps it: None where it is not finite."""
    return float(number) if math.isfinite(number) else None


def promise_table(
    promises: Iterable[Promise], *, title: str = "What the theorems promise"
) -> Table:
    """Set promises one below the other."""
    rows: list[tuple[Cell, ...]] = [
        (
            each.statement,
            each.claim,
            float(each),
            each.ceiling,
            "nothing" if each.is_vacuous else "something",
        )
        for each in promises
    ]
    return Table(
        title=title,
        columns=(
            Column(name="statement"),
            Column(name="claim"),
            Column(name="bound", spec=".4g"),
            Column(name="without theorem", spec=".4g"),
            Column(name="it says"),
        ),
        rows=tuple(rows),
    )


def promised_table(promised: Iterable[Promised]) -> Table:
    """Set promises beside what was measured."""
    rows: list[tuple[Cell, ...]] = [
        (
            each.promise.statement,
            None if each.promise.up_to is None else str(each.promise.up_to),
            float(each.promise),
            each.measured,
            each.measured_as,
            {True: "yes", False: "no", None: None}[each.is_kept],
            "nothing" if each.promise.is_vacuous else "something",
        )
        for each in promised
    ]
    return Table(
        title="Promised beside measured, over the diameter",
        columns=(
            Column(name="statement"),
            Column(name="up to"),
            Column(name="promised", spec=".4g"),
            Column(name="measured", spec=".4g"),
            Column(name="measured as"),
            Column(name="kept"),
            Column(name="it says"),
        ),
        rows=tuple(rows),
    )


def conditions_table(promises: Iterable[Promise]) -> Table:
    """Say when promises are valid, those of one condition together."""
    statements: dict[tuple[str, bool | None], list[str]] = {}
    for each in promises:
        statements.setdefault((each.condition, each.holds), []).append(each.statement)
    return Table(
        title="When they are valid",
        columns=(Column(name="statement"), Column(name="holds"), Column(name="valid if")),
        rows=tuple(
            (
                "; ".join(names),
                {True: "yes", False: "no", None: "cannot be checked"}[holds],
                condition,
            )
            for (condition, holds), names in statements.items()
        ),
    )


def constants_table(promise: Promise) -> Table:
    """List the constants of a promise."""
    return Table(
        title=f"Constants of {promise.statement}",
        columns=(Column(name="constant"), Column(name="value", spec=".6g"), Column(name="meaning")),
        rows=tuple(
            (each.symbol, math.inf if each.value is None else each.value, each.meaning)
            for each in promise.constants
        ),
    )
