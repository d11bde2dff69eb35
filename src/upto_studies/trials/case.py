"""One case in which a statement could fail: what was measured beside what was promised."""

from __future__ import annotations

from dataclasses import dataclass

ROUNDING = 1e-9
"""How far rounding may lift a measurement above its bound, as a fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A measured error and its bound.

    Parameters
    ----------
    statement
        The theorem or lemma.
    kind
        How the case was made.
    n_dimensions
        Its dimension.
    measured, bound
        The error and what is promised for it.
    accuracy
        How far what was measured may lie above its bound, as a fraction: rounding, or more where
        it is the limit of something.
    """

    statement: str
    kind: str
    n_dimensions: int
    measured: float
    bound: float
    accuracy: float = ROUNDING

    @property
    def ratio(self) -> float:
        """The share of the bound that the error reaches."""
        return self.measured / self.bound

    @property
    def is_violated(self) -> bool:
        """Whether the error exceeds its bound by more than it may be off."""
        # Not a plain comparison: an undefined error bears nothing out.
        return not self.measured <= (1.0 + self.accuracy) * self.bound
