"""Test cases of statements: a measured error and its bound."""

from __future__ import annotations

from dataclasses import dataclass

ROUNDING = 1e-9
"""Relative rounding error allowed above a bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A measured error and its bound.

    Parameters
    ----------
    statement
        The theorem or lemma.
    kind
        Construction of the case.
    n_dimensions
        Its dimension.
    measured, bound
        The error and its bound.
    accuracy
        Relative error allowed above the bound: rounding, or more if the measurement is a limit.
    """

    statement: str
    kind: str
    n_dimensions: int
    measured: float
    bound: float
    accuracy: float = ROUNDING

    @property
    def ratio(self) -> float:
        """The error as a fraction of its bound."""
        return self.measured / self.bound

    @property
    def is_violated(self) -> bool:
        """Whether the error exceeds its bound by more than `accuracy`."""
        # Negated, so that NaN counts as a violation.
        return not self.measured <= (1.0 + self.accuracy) * self.bound
