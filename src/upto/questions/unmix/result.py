"""The result of `upto.unmix`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.short_repr import Record
from upto.core.table import Cell, Column, Table
from upto.core.trace import Identifiability, TraceStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Component(Record):
    """One component.

    `nongaussianity` is the difference of the mean contrast from a Gaussian's on held-out rows, and
    `z` that difference in standard errors. `found_again` is the lowest of the three correlations
    between the component and its counterparts fitted to each of two parts of the rows. `state` is
    ``identifiable``, ``turning`` (defined only up to a rotation with others) or ``not shown`` to be
    either. All four are None if components were not tested. `variance` is the fraction of the run's
    variance in the component. `stability` is Icasso's index over restarts, 1 for a component
    recovered by every restart. `subspace` is the number, from 1, of the subspace within which the
    component can be rotated; None outside all subspaces.
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
    components, the μ of Theorem 2, and `curvature_identifiable` the smallest over rotations that do
    not stay within one of `subspaces`. `n_identifiable` counts the identifiable components; it is
    None if they were not tested or ICA did not converge. `n_held_out` is the number of rows in the
    second of the two parts.

    See Also
    --------
    upto.unmix : Returns it.
    upto.ICA : The transform.
    upto.core.Result : Its other methods.
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
        """Return the tables of components, of facts and of the trace."""
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
                "Components of one subspace can be rotated freely: only the subspace is "
                "identifiable."
            )
        if any(component.state is not None for component in self.components):
            words.append(
                "Found again is the lowest correlation with the components fitted to each of two "
                "parts of the rows."
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
            title="Fit",
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
