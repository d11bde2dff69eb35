"""The result of `compare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from upto.core.errors import InputError, MissingPartError
from upto.core.finding import Finding
from upto.core.fits import (
    Agreement,
    Along,
    Baseline,
    Classes,
    Defect,
    Fit,
    RunSummary,
    Scatter,
    Shared,
)
from upto.core.group import Group
from upto.core.panel import Marks, Panel
from upto.core.promise import Promised, conditions_table, promised_table
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.table import Cell, Marked, Table, columns
from upto.questions.compare.matrix import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.alignment import Aligner

_MANY_DIRECTIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareResult(Result):
    """Result of a comparison: two runs in detail, or all ordered `pairs` of three or more.

    With two runs, the first is mapped onto the second. `agreement` is "same" or "close" only if the
    maps of both directions agree, along every direction in which the runs vary; "image" means that
    one run contains a subset of the other's directions. `r2_per_direction` is the held-out R² of
    the verdict's map averaged over principal directions with equal weights, in the run where it is
    lower. `exact` is the strictest group with a map whose errors are below 1e-9 of those of the
    mean, or below the rounding of numbers stored in lower precision. `promised` compares the bounds
    of the theorems with the measured errors, both over the diameter, if L of the decoders is known.
    `n_refits` is the number of refits on shuffled rows that the chance levels are means over.

    With three or more runs, `pairs` contains the errors, groups and agreements of every ordered
    pair; fields that describe one pair are None or empty.

    `aligner` gives the map of a row. The maps are in `maps`, in memory only: JSON has none.

    See Also
    --------
    upto.compare : Returns it.
    upto.core.Fit : One row of its table.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "compare"
    schema: ClassVar[int] = 2

    runs: tuple[RunSummary, ...]
    n_samples: int
    n_held_out: int
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance
    pairs: Pairs | None = None
    fits: tuple[Fit, ...] = ()
    up_to: Group | None = None
    agreement: Agreement | None = None
    defect: Defect | None = None
    r2_per_direction: float | None = None
    efficiency: float | None = None
    efficiency_in_sample: float | None = None
    scatter: Scatter | None = None
    promised: tuple[Promised, ...] = ()
    mean: Baseline | None = None
    exact: Group | None = None
    shared: Shared | None = None
    along: tuple[Along, ...] = ()
    classes: Classes | None = None
    n_refits: int | None = None
    maps: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        n_runs = len(self.runs)
        if (self.pairs is not None) != (n_runs > 2) or n_runs < 2:
            message = f"{n_runs} runs have {'a' if self.pairs else 'no'} matrix of pairs"
            raise ValueError(message)
        if self.pairs is not None:
            self.pairs.check_size(n_runs)

    @property
    def first(self) -> RunSummary:
        """The run that is mapped (the source)."""
        return self.runs[0]

    @property
    def second(self) -> RunSummary:
        """The run that the first is mapped onto (the target)."""
        return self.runs[1]

    def fit(self, name: str) -> Fit:
        """Return the fit of a group, ``"ica"`` or ``"ica-scaled"``."""
        for fit in self.fits:
            if fit.name == name:
                return fit
        names = ", ".join(fit.name for fit in self.fits)
        message = f"this comparison has no row {name!r}: choose one of {names}."
        if self.pairs is not None:
            message = f"{len(self.runs)} runs have no row {name!r}: see pairs.matrix({name!r})."
        raise MissingPartError(message)

    def aligner(self, up_to: Group | str | None = None) -> Aligner:
        """Return the map whose held-out error a row states, as a fitted estimator.

        It maps the first run into the second's coordinates, and was fitted to the rows that were
        not held out (to all rows if none were).

        Parameters
        ----------
        up_to
            A group, ``"ica"`` or ``"ica-scaled"``; the verdict's group by default. ICA in both runs
            and a matching of components are one affine map together.

        Raises
        ------
        InputError
            If the result has no such row or no maps: maps are kept for two runs, in memory only.

        Examples
        --------
        >>> import upto, numpy as np
        >>> rows = np.random.default_rng(0).laplace(size=(400, 3))
        >>> result = upto.compare(rows, rows[:, ::-1] + 5)
        >>> aligner = result.aligner()
        >>> bool(np.allclose(aligner.transform(rows), rows[:, ::-1] + 5))
        True
        """
        names = [fit.name for fit in self.fits]
        message = None
        if self.pairs is not None:
            message = (
                f"maps are kept for two runs, but this result has {len(self.runs)}: compare two of "
                "them, as in upto.compare(first, second).aligner()."
            )
        elif self.maps is None:
            message = (
                "this result was read from a file, which has no maps: compare the runs again, and "
                "keep the map with upto.save_transform."
            )
        elif up_to is None and self.up_to is None:
            message = f"the verdict names no group: choose one of {', '.join(names)}."
        elif (name := str(self.up_to if up_to is None else up_to)) not in names:
            message = f"this comparison has no row {name!r}: choose one of {', '.join(names)}."
        if message is not None:
            raise InputError(message)
        return self.maps.aligner(name)  # type: ignore[no-any-return]

    @property
    def identity(self) -> Fit:
        """The fit of the identity."""
        return self.fit("identity")

    @property
    def signed_permutation(self) -> Fit:
        """The fit of signed permutations."""
        return self.fit("signed-permutation")

    @property
    def signed_similarity(self) -> Fit:
        """The row of signed permutations with one scale."""
        return self.fit("signed-similarity")

    @property
    def scaled_permutation(self) -> Fit:
        """The fit of scaled permutations."""
        return self.fit("scaled-permutation")

    @property
    def rigid(self) -> Fit:
        """The fit of rigid motions."""
        return self.fit("rigid")

    @property
    def similarity(self) -> Fit:
        """The fit of similarities (rigid motions with one scale)."""
        return self.fit("similarity")

    @property
    def affine(self) -> Fit:
        """The fit of affine maps."""
        return self.fit("affine")

    @property
    def monotone_permutation(self) -> Fit:
        """The fit of permutations with a monotone function of each coordinate."""
        return self.fit("monotone-permutation")

    @property
    def ica(self) -> Fit:
        """The fit of ICA followed by a signed permutation."""
        return self.fit("ica")

    @property
    def ica_scaled(self) -> Fit:
        """The fit of ICA followed by a scaled permutation."""
        return self.fit("ica-scaled")

    def tables(self) -> tuple[Table, ...]:
        """Return the errors per group, the bounds if L is known, and the details."""
        if self.pairs is not None:
            return self.pairs.tables(self.runs)
        return *self.brief_tables(), *self._conditions(), self._details()

    def brief_tables(self) -> tuple[Table, ...]:
        """Return the errors per group, and the bounds if L is known."""
        if self.pairs is not None:
            return self.tables()[:1]
        return self._headline(), *((promised_table(self.promised),) if self.promised else ())

    def data_table(self) -> Table:
        """Return the errors per group; for three or more runs, one row per pair and group."""
        return self._headline() if self.pairs is None else self.pairs.data_table(self.runs)

    def panels(self) -> tuple[Panel, ...]:
        """Return the panel of R² along the principal directions of both runs."""
        if not self.along:
            return ()
        lines = tuple(
            Marks(
                name=each.name,
                x=tuple(float(number) for number in range(1, len(each.r2) + 1)),
                y=tuple(max(value, 0.0) for value in each.r2),
                kind="line",
            )
            for each in self.along
        )
        return (
            Panel(
                title="R² along the principal directions",
                x="principal direction, widest first",
                y="held-out R²",
                marks=lines,
                x_log=max(len(each.r2) for each in self.along) > _MANY_DIRECTIONS,
                y_zero=True,
                caption="Variance of each direction of a run explained from the other by the "
                "verdict's map; values below zero are drawn at zero.",
            ),
        )

    def _conditions(self) -> tuple[Table, ...]:
        if not self.promised:
            return ()
        return (conditions_table(each.promise for each in self.promised),)

    def _headline(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for fit in self.fits:
            rows.append(
                (
                    _row_name(fit.name, is_verdict=fit.up_to is self.up_to and not fit.unmixed),
                    fit.held_out.mean if fit.held_out else None,
                    fit.in_sample.mean.value,
                    fit.chance.mean.value if fit.chance else None,
                    fit.p_value,
                    fit.held_out.r2 if fit.held_out else None,
                    fit.r2_back,
                    fit.r2_per_direction,
                )
            )
        if self.mean is not None:
            held_out = self.mean.held_out
            rows.append(
                (
                    _row_name("the mean", is_verdict=False),
                    held_out.mean if held_out else None,
                    self.mean.in_sample.mean.value,
                    None,
                    None,
                    held_out.r2 if held_out else None,
                    None,
                    None,
                )
            )
        rows_text = f"{self.n_held_out} of {self.n_samples} rows held out"
        return Table(
            title=f"{self.first.name} → {self.second.name}: mean error over the diameter",
            columns=(
                *columns("up to", "held out", "in sample", "chance"),
                *columns("p", spec=".2g"),
                *columns("R²", "R² back", "R² of a direction", spec=".3f"),
            ),
            rows=tuple(rows),
            caption=f"{rows_text}; R² on held-out rows; back: {self.second.name} → "
            f"{self.first.name}{self._classes_text()}{self._efficiency_text()}",
        )

    def _classes_text(self) -> str:
        if self.classes is None:
            return ""
        within, between = self.classes.within_r2, self.classes.between_r2
        return f"; R² between classes {between:.3f}, within classes {within:.3f}"

    def _efficiency_text(self) -> str:
        pairs = ((self.efficiency, "held out"), (self.efficiency_in_sample, "in sample"))
        parts = [f"{value:.0%} {rows}" for value, rows in pairs if value is not None]
        return f"; efficiency of ICA {', '.join(parts)}" if parts else ""

    def _details(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for fit in self.fits:
            kinds = [("held out", fit.held_out), ("in sample", fit.in_sample)]
            kinds += [("chance", fit.chance), ("chance in sample", fit.chance_in_sample)]
            for kind, errors in kinds:
                if errors is not None:
                    sup = fit.supremum if kind == "in sample" else None
                    bracket = (sup.low, sup.high) if sup else (None, None)
                    rows.append(
                        (
                            fit.name,
                            kind,
                            errors.mean.value,
                            errors.rms,
                            errors.q99,
                            errors.worst,
                            errors.r2,
                            *bracket,
                        )
                    )
        return Table(
            title="All errors over the diameter",
            columns=(
                *columns("up to", "rows", "mean", "RMS", "99 %", "worst"),
                *columns("R²", spec=".3f"),
                *columns("ε at least", "ε at most"),
            ),
            rows=tuple(rows),
            caption="; ".join(self._remarks()),
        )

    def _remarks(self) -> Iterator[str]:
        bound, count = self.defect, self.n_refits
        if bound is not None:
            yield (
                f"near-isometry defect {bound.value:.4f} over {bound.n_rows} rows: "
                f"no rigid motion has a worst error below {bound.lower_bound:.4f}"
            )
        if count:
            yield f"chance from {count} refit{'' if count == 1 else 's'} on shuffled rows"


def _row_name(name: str, *, is_verdict: bool) -> Marked:
    return Marked(name, is_marked=is_verdict, mark=" ←", says="verdict")
