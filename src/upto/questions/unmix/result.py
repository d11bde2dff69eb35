"""Independent components of one run: what was found and what of it is identifiable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.table import Cell, Column, Table
from upto.core.trace import Identifiability, TraceStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component.

    `nongaussianity` is how much the mean contrast differs from a Gaussian's on rows that were not
    fitted, and `z` that difference in standard errors. `found_again` is how alike the component and
    those are that two parts of the rows have for it, each found by itself: the lowest of their
    three correlations. `state` says what follows: ``identifiable``, ``turning`` into others, or
    ``not shown`` to be either. All four are None where components were not judged. `variance` is
    the share of the run's variance that the component carries. `stability` is Icasso's index over
    restarts, 1 for a component that every restart finds. `subspace` numbers the group of components
    it can turn into, from 1; None for a component that stands alone.
    """

    nongaussianity: Estimate | None
    z: float | None
    variance: float
    stability: float | None
    subspace: int | None
    found_again: float | None = None
    state: Identifiability | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmixResult(Result):
    """Independent components of a run, in canonical order and sign.

    `curvature` is the smallest eigenvalue of the Riemannian Hessian of the contrast at the
    components, the μ of Theorem 2, and `curvature_identifiable` that over turns that do not stay
    within a subspace of `subspaces`. `n_identifiable` counts the components that are identifiable;
    it is None where they were not judged or the search did not converge. `n_held_out` are the rows
    of the second of the two parts that components are found again in.
    """

    kind: ClassVar[str] = "unmix"
    schema: ClassVar[int] = 1

    name: str
    n_samples: int
    n_features: int
    n_held_out: int
    rank: int
    solver: str
    contrast: str
    whiten: str
    n_restarts: int
    n_bootstraps: int
    converged: bool
    n_iterations: int
    n_passes: int
    components: tuple[Component, ...]
    subspaces: tuple[tuple[int, ...], ...]
    n_identifiable: int | None
    curvature: Estimate | None
    curvature_identifiable: float | None
    trace: tuple[TraceStep, ...]
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    def tables(self) -> tuple[Table, ...]:
        """Return the components, the facts and the trace."""
        return self._components(), self._facts(), self._trace()

    def _components(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (
                number,
                component.nongaussianity,
                component.z,
                component.variance,
                component.found_again,
                component.stability,
                component.subspace,
                component.state,
            )
            for number, component in enumerate(self.components)
        ]
        return Table(
            title=f"Components of {self.name}",
            columns=(
                Column(name="component"),
                Column(name="non-Gaussianity", spec=".4f"),
                Column(name="standard errors", spec=".1f"),
                Column(name="variance", spec=".2%"),
                Column(name="found again", spec=".3f"),
                Column(name="stability", spec=".3f"),
                Column(name="subspace"),
                Column(name="state"),
            ),
            rows=tuple(rows),
            caption=self._caption(),
        )

    def _caption(self) -> str:
        words = []
        if self.subspaces:
            words.append(
                "Components of one subspace can turn into each other: only the subspace is "
                "identifiable."
            )
        if any(component.state is not None for component in self.components):
            words.append(
                "Found again is the correlation with what each of two parts of the rows has by "
                "itself."
            )
        return " ".join(words)

    def _facts(self) -> Table:
        facts: list[tuple[Cell, ...]] = [
            ("rows", self.n_samples),
            ("rows in the second part", self.n_held_out),
            ("coordinates", self.n_features),
            ("rank", self.rank),
            ("components", len(self.components)),
            ("identifiable components", self.n_identifiable),
            ("smallest curvature μ", self.curvature),
            ("smallest curvature outside the subspaces", self.curvature_identifiable),
            ("solver", self.solver),
            ("contrast", self.contrast),
            ("whitening", self.whiten),
            ("restarts", self.n_restarts),
            ("bootstraps", self.n_bootstraps),
            ("converged", "yes" if self.converged else "no"),
            ("iterations", self.n_iterations),
            ("passes over the rows", self.n_passes),
        ]
        return Table(
            title="How they were found",
            columns=(Column(name="what"), Column(name="value", spec=".4g")),
            rows=tuple(facts),
        )

    def _trace(self) -> Table:
        return Table(
            title="Trace",
            columns=(
                Column(name="iteration"),
                Column(name="solver"),
                Column(name="type"),
                Column(name="contrast", spec=".8f"),
                Column(name="gradient", spec=".2e"),
                Column(name="turned", spec=".2e"),
                Column(name="passes"),
                Column(name="seconds", spec=".3f"),
            ),
            rows=tuple(
                (
                    step.iteration,
                    step.solver,
                    step.dtype,
                    step.contrast,
                    step.gradient,
                    step.turned,
                    step.passes,
                    step.seconds,
                )
                for step in self.trace
            ),
        )
