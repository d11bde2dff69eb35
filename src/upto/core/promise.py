"""Bounds that theorems promise for given numbers, with all their constants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core.errors import MissingPartError
from upto.core.group import Group
from upto.core.html_view import table_html
from upto.core.short_repr import Record
from upto.core.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A constant of a bound; `value` is None if it is infinite."""

    symbol: str
    value: float | None
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise(Record):
    """A bound with its constants, the condition for its validity, and whether it is vacuous.

    Parameters
    ----------
    statement
        Name of the result applied, e.g. ``Theorem 1``.
    claim
        Sentence that states what is bounded.
    up_to
        Group of the claim, if any.
    value
        The bound; None if it is infinite.
    ceiling
        Trivial bound that holds without the theorem, or None; at or above it, the bound is vacuous.
    constants
        All constants of the bound.
    condition
        Condition under which the bound is valid, with the numbers.
    holds
        True if the numbers imply the condition, False if they contradict it, None if they do not
        decide it. Numbers are taken at their word: that they were measured at every point, or on
        centred rows, is not checked. Never True for a bound that is infinite or overflows.

    See Also
    --------
    upto.theory.rigid_promise : Returns one, as the other theorems do.
    upto.compare : Compares promises with measured errors.
    upto.lipschitz : Constants for it, measured.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.
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
        """Whether the bound is infinite, not valid, or no tighter than the trivial bound."""
        if self.value is None or self.holds is False:
            return True
        return self.ceiling is not None and self.value >= self.ceiling

    def constant(self, symbol: str) -> float:
        """Return a constant by its symbol, possibly infinity."""
        for each in self.constants:
            if each.symbol == symbol:
                return math.inf if each.value is None else each.value
        known = ", ".join(each.symbol for each in self.constants)
        message = f"{self.statement} has no constant {symbol!r}: choose from {known}."
        raise MissingPartError(message)

    def __float__(self) -> float:
        return math.inf if self.value is None else self.value

    def __repr__(self) -> str:
        kind = "vacuous" if self.is_vacuous else "informative"
        return f"Promise({self.statement!r}, value={float(self):.4g}, {kind})"

    def _repr_html_(self) -> str:
        return "".join(
            table_html(each)
            for each in (promise_table([self]), conditions_table([self]), constants_table(self))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised(Record):
    """A promise and the measured value of the same quantity.

    Parameters
    ----------
    promise
        The bound.
    measured
        Measured value; None if nothing was measured.
    at_least
        Proved lower bound of the quantity, where it could be less than `measured`.
    measured_as
        Description of the measurement.
    rounding
        Rounding error of the measured value.
    """

    promise: Promise
    measured: float | None
    at_least: float | None = None
    measured_as: str
    rounding: float = 0.0

    @property
    def is_kept(self) -> bool | None:
        """Whether the measured value is within the bound.

        None if nothing was measured or promised, or if the bound lies between `at_least` and
        `measured`.
        """
        if self.measured is None or self.promise.value is None or self.promise.is_vacuous:
            return None
        bound = self.promise.value + self.rounding
        if self.measured <= bound:
            return True
        least = self.measured if self.at_least is None else self.at_least
        return False if least > bound else None


def finite_or_none(number: float) -> float | None:
    """Return the number, or None if it is not finite."""
    return float(number) if math.isfinite(number) else None


def promise_table(
    promises: Iterable[Promise], *, title: str = "What the theorems promise"
) -> Table:
    """Return a table with one promise per row."""
    rows: list[tuple[Cell, ...]] = [
        (
            each.statement,
            each.claim,
            float(each),
            each.ceiling,
            "vacuous" if each.is_vacuous else "informative",
        )
        for each in promises
    ]
    return Table(
        title=title,
        columns=(
            Column(name="statement"),
            Column(name="claim"),
            Column(name="bound", spec=".4g"),
            Column(name="trivial bound", spec=".4g"),
            Column(name="the bound is"),
        ),
        rows=tuple(rows),
    )


def promised_table(promised: Iterable[Promised]) -> Table:
    """Return a table of promised bounds and measured values."""
    rows: list[tuple[Cell, ...]] = [
        (
            each.promise.statement,
            None if each.promise.up_to is None else str(each.promise.up_to),
            float(each.promise),
            each.measured,
            each.measured_as,
            {True: "yes", False: "no", None: None}[each.is_kept],
            "vacuous" if each.promise.is_vacuous else "informative",
        )
        for each in promised
    ]
    return Table(
        title="Promised bounds and measured errors, over the diameter",
        columns=(
            Column(name="statement"),
            Column(name="up to"),
            Column(name="promised", spec=".4g"),
            Column(name="measured", spec=".4g"),
            Column(name="measured as"),
            Column(name="kept"),
            Column(name="the bound is"),
        ),
        rows=tuple(rows),
    )


def conditions_table(promises: Iterable[Promise]) -> Table:
    """Return a table of the conditions of promises, grouped by condition."""
    statements: dict[tuple[str, bool | None], list[str]] = {}
    for each in promises:
        statements.setdefault((each.condition, each.holds), []).append(each.statement)
    return Table(
        title="Conditions of the bounds",
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
    """Return a table of the constants of a promise."""
    return Table(
        title=f"Constants of {promise.statement}",
        columns=(Column(name="constant"), Column(name="value", spec=".6g"), Column(name="meaning")),
        rows=tuple(
            (each.symbol, math.inf if each.value is None else each.value, each.meaning)
            for each in promise.constants
        ),
    )
