"""The result of `upto.diversity`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from upto.core.finding import Finding
from upto.core.panel import Marks, Panel
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.table import Cell, Column, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class DiversityResult(Result):
    """The diversity condition of linear identifiability, tested on the class vectors of one head.

    `n_classes` counts the classes that occur, `n_left_out` the others. `rank` is the number of
    linearly independent differences of class vectors; the condition holds if it equals `width`.
    `condition` is the condition number of the centred class vectors, `differences_condition` that
    of `width` differences ``g(chosen) - g(base)``. `smallest_variance` is the smallest eigenvalue
    of the frequency-weighted covariance of class vectors, and `amplification` is
    ``1 / sqrt(smallest_variance)``: log-probabilities within η determine the representation within
    η times it. Infinite values are None. `stored_as` is the number type whose precision the values
    have, even if stored in a wider one; `rounding` bounds the effect of rounding to it on the
    smallest singular value.

    See Also
    --------
    upto.diversity : Returns it.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "diversity"
    schema: ClassVar[int] = 1

    name: str
    n_classes: int
    n_left_out: int
    width: int
    rank: int
    holds: bool
    ill_conditioned: bool
    condition: float | None
    differences_condition: float | None
    smallest_variance: float
    amplification: float | None
    singular_values: tuple[float, ...]
    base: int | None
    chosen: tuple[int, ...]
    stored_as: str
    rounding: float
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    def tables(self) -> tuple[Table, ...]:
        """Return the table of facts."""
        facts: list[tuple[Cell, ...]] = [
            ("classes that occur", self.n_classes, f"at least {self.width + 1}"),
            ("classes that never occur, left out", self.n_left_out, None),
            ("coordinates", self.width, None),
            ("independent differences", self.rank, f"{self.width}"),
            ("condition number of centred class vectors", self.condition, "at most 1e8"),
            (
                "condition number of the chosen differences",
                self.differences_condition,
                "at most 1e8",
            ),
            (
                "smallest singular value of centred class vectors",
                self.singular_values[-1],
                f"above {self.rounding:.2g}, as {self.stored_as}",
            ),
            ("smallest variance of class vectors", self.smallest_variance, "above zero"),
            ("error of f over error of log-probabilities, at most", self.amplification, None),
        ]
        return (
            Table(
                title=self.name,
                columns=(
                    Column(name="what"),
                    Column(name="value", spec=".4g"),
                    Column(name="needed"),
                ),
                rows=tuple(facts),
            ),
        )

    def panels(self) -> tuple[Panel, ...]:
        """Return the spectrum of the centred class vectors."""
        shown = [(number, value) for number, value in enumerate(self.singular_values, 1) if value]
        return (
            Panel(
                title="Singular values of the centred class vectors",
                x="direction",
                y="singular value",
                marks=(
                    Marks(
                        name=self.name,
                        x=tuple(float(number) for number, _ in shown),
                        y=tuple(value for _, value in shown),
                        kind="line",
                    ),
                ),
                y_log=True,
            ),
        )
