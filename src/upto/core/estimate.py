"""A number with its interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value and, where available, its interval at `level`.

    See Also
    --------
    upto.core.Errors : Has one as the mean error.
    upto.core.Fit : Errors, R² and chance of one group.
    """

    value: float
    low: float | None = None
    high: float | None = None
    level: float = 0.95

    def __format__(self, spec: str) -> str:
        spec = spec or ".4g"
        if self.low is None or self.high is None:
            return format(self.value, spec)
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"

    def __str__(self) -> str:
        return format(self, "")

    def __float__(self) -> float:
        return self.value
