"""The result of `upto.mixture`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from upto.core.finding import Finding
from upto.core.group import Group
from upto.core.panel import Marks, Panel
from upto.core.provenance import Provenance
from upto.core.result import Result, pick
from upto.core.table import Cell, Column, Table, columns
from upto.questions.mixture.parts import (
    CodesSummary,
    Compared,
    MixturePair,
    MixtureRun,
    Stability,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLDS = {True: "holds", False: "fails", None: "not known"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureResult(Result):
    """What mixture priors and decoders identify, as fitted, and how stable they are over runs.

    `prior_up_to`, `decoder_up_to` and `hidden` are the weakest of all runs. `up_to` is the group of
    the claim to test, if one was given.

    See Also
    --------
    upto.mixture : Returns it.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "mixture"
    schema: ClassVar[int] = 1

    runs: tuple[MixtureRun, ...]
    up_to: Group | None
    prior_up_to: Group | None
    decoder_up_to: Group | None
    hidden: bool
    pairs: tuple[MixturePair, ...]
    stability: Stability | None
    codes: CodesSummary | None
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    def run(self, name: str) -> MixtureRun:
        """Return a run by name."""
        return pick(self.runs, name, "there is no run {!r}, only {}.")

    def tables(self) -> tuple[Table, ...]:
        """Return the assumptions, the stability, the rungs, the runs and their components."""
        found = [self._assumptions()]
        if self.stability is not None:
            found.append(self._stability(self.stability))
        found += [self._rungs(), self._runs(), self._components()]
        if self.pairs:
            found += [self._pairs(), self._matches()]
        return tuple(found)

    def brief_tables(self) -> tuple[Table, ...]:
        """Return the assumptions and the stability."""
        return self.tables()[: 1 if self.stability is None else 2]

    def panels(self) -> tuple[Panel, ...]:
        """Return the weights of the components, and their overlaps over runs."""
        weights = Panel(
            title="Weights of the components",
            x="component, heaviest first",
            y="weight",
            marks=tuple(_weights_of(run) for run in self.runs),
            y_zero=True,
        )
        return (weights, self._overlaps()) if self.pairs else (weights,)

    def _assumptions(self) -> Table:
        rows = []
        for number, check in enumerate(self.runs[0].assumptions):
            every = [run.assumptions[number] for run in self.runs]
            shown = min(every, key=lambda each: {False: 0, None: 1, True: 2}[each.holds])
            where = self.runs[every.index(shown)].name
            states = [each.holds for each in every]
            says = HOLDS[shown.holds]
            if len(set(states)) > 1:
                says += f" in {states.count(shown.holds)} of {len(states)} runs"
            evidence = shown.evidence if len(self.runs) == 1 else f"{where}: {shown.evidence}"
            rows.append((check.name, says, evidence, shown.remedy or None))
        return Table(
            title="Assumptions, as fitted",
            columns=columns("assumption", "holds", "evidence", "what would settle it"),
            rows=tuple(rows),
            caption="" if len(self.runs) == 1 else "Of several runs, the worst is shown.",
        )

    def _stability(self, found: Stability) -> Table:
        rows: list[tuple[Cell, ...]] = [
            ("L2 distance of the priors", *_cells(found.distance), "lower"),
            ("overlap of matched components", *_cells(found.overlap), "higher"),
            ("fraction of components that recur", *_cells(found.recurring), "higher"),
        ]
        if self.codes is not None:
            rows += [
                (
                    f"held-out error of the rows up to {self.codes.up_to.phrase}",
                    self.codes.error,
                    self.codes.chance,
                    None,
                    "lower",
                ),
                ("adjusted Rand index", self.codes.rand_index, 0.0, None, "higher"),
            ]
        return Table(
            title="Stability over runs, up to affine maps",
            columns=columns("what", "mean over pairs", "chance", "limit of chance", "stable if"),
            rows=tuple(rows),
            caption=_caption(found),
        )

    def _rungs(self) -> Table:
        rows = []
        for number, rung in enumerate(self.runs[0].rungs):
            every = [run.rungs[number] for run in self.runs]
            reached = sum(each.reached for each in every)
            fails = dict.fromkeys(name for each in every for name in each.fails)
            unknown = dict.fromkeys(name for each in every for name in each.unknown)
            if reached == len(every):
                says = "yes"
            elif reached:
                says = f"{reached} of {len(every)} runs"
            else:
                says = "not promised" if fails else "not known"
            rows.append(
                (
                    rung.what,
                    says,
                    rung.theorem,
                    ", ".join(fails) or None,
                    ", ".join(unknown) or None,
                )
            )
        return Table(
            title="What is identified",
            columns=columns("what", "is", "by", "fails", "not known"),
            rows=tuple(rows),
        )

    def _runs(self) -> Table:
        return Table(
            title="Runs",
            columns=columns(
                "run", "components", "coordinates", "decoder", "rows", "P(Z)", "f", "P(U)"
            ),
            rows=tuple(
                (
                    run.name,
                    len(run.components),
                    run.width,
                    run.decoder,
                    run.n_rows,
                    None if run.prior_up_to is None else str(run.prior_up_to),
                    None if run.decoder_up_to is None else str(run.decoder_up_to),
                    "yes" if run.hidden else None,
                )
                for run in self.runs
            ),
        )

    def _components(self) -> Table:
        return Table(
            title="Components",
            columns=(
                *columns("run", "component"),
                Column(name="weight", spec=".3g"),
                Column(name="largest overlap with another", spec=".3f"),
                *columns("rows", "recurs in", "of"),
            ),
            rows=tuple(
                (
                    run.name,
                    number,
                    each.weight,
                    each.overlap,
                    each.n_rows,
                    *self._recurs(run, number),
                )
                for run in self.runs
                for number, each in enumerate(run.components, 1)
            ),
        )

    def _recurs(self, run: MixtureRun, number: int) -> tuple[Cell, Cell]:
        pairs = [pair for pair in self.pairs if pair.first == run.name]
        if not pairs:
            return None, None
        return sum(pair.matches[number - 1].recurs for pair in pairs), len(pairs)

    def _pairs(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for pair in self.pairs:
            codes: tuple[Cell, ...] = (None, None, None)
            if pair.codes is not None:
                codes = pair.codes.error, pair.codes.p_value, pair.codes.rand_index
            rows.append(
                (
                    pair.first,
                    pair.second,
                    pair.distance,
                    pair.overlap,
                    pair.n_recurring,
                    len(pair.matches),
                    *codes,
                )
            )
        return Table(
            title="Pairs of runs",
            columns=columns(
                "onto", "from", "distance", "overlap", "recur", "of", "error of rows", "p",
                "adjusted Rand index",
            ),
            rows=tuple(rows),
        )  # fmt: skip

    def _matches(self) -> Table:
        return Table(
            title="Matched components",
            columns=columns(
                "onto", "component", "from", "its partner", "overlap", "weight", "partner's weight"
            ),
            rows=tuple(
                (
                    pair.first,
                    match.first,
                    pair.second,
                    match.second,
                    match.overlap,
                    match.first_weight,
                    match.second_weight,
                )
                for pair in self.pairs
                for match in pair.matches
            ),
        )

    def _overlaps(self) -> Panel:
        places = {run.name: float(number) for number, run in enumerate(self.runs, 1)}
        points = [
            (places[pair.first], match.overlap) for pair in self.pairs for match in pair.matches
        ]
        marks = [
            Marks(
                name="components, in each other run",
                x=tuple(x for x, _ in points),
                y=tuple(y for _, y in points),
            ),
            *self._levels(),
        ]
        return Panel(
            title="Overlap of components with partners in other runs",
            x="run",
            y="overlap",
            marks=tuple(marks),
            y_zero=True,
            x_names=tuple(run.name for run in self.runs),
        )

    def _levels(self) -> Iterator[Marks]:
        if self.stability is not None and self.stability.overlap.chance is not None:
            level = self.stability.overlap.chance
            yield Marks(
                name="chance",
                x=(1.0, float(len(self.runs))),
                y=(level, level),
                kind="line",
            )


def _cells(found: Compared) -> tuple[Cell, Cell, Cell]:
    return found.value, found.chance, found.limit


def _caption(found: Stability) -> str:
    parts = [f"Chance: {found.n_draws} mixtures with random means of the same spread."]
    if found.overlap.limit is None:
        parts = [*(parts if found.n_draws else []), "A limit of chance needs 19 draws or more."]
    parts.append(f"A component recurs if its overlap is at least {found.enough:g}.")
    if found.identical:
        parts.append("All priors have the same parameters, so that matching them shows nothing.")
    return " ".join(parts)


def _weights_of(run: MixtureRun) -> Marks:
    weights = sorted((each.weight for each in run.components), reverse=True)
    return Marks(
        name=run.name,
        x=tuple(float(number) for number in range(1, len(weights) + 1)),
        y=tuple(weights),
        kind="line" if len(weights) > 1 else "points",
    )
