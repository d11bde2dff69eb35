"""Rows of Table 1 of Nelson et al. 2026: in sample as in the paper, held out, and by chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto.core.table import columns
from upto_studies.agreement import Agreement, agreement_of, over_runs
from upto_studies.unmixed_pairs import ORDERED, UnmixedPair, broken_order, unmixed_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.pretrained_families import Family

GROUPS = {
    "permutation": "signed-permutation",
    "rigid": "similarity",
    "linear": "affine",
    "ICA": "ica",
}
"""The paper's columns; its rigid motions have one scale."""
SCALED = "signed-similarity"
"""Permutation with one scale: ICA takes the scale of the target, so a gain over the paper's
permutation, which has none, may be a gain in scale only."""
PAPER: dict[str, tuple[float, float, float, float, float]] = {
    "Pythia-160M, two seeds": (0.219, 0.150, 0.131, 0.202, 0.25),
    "MAE, timm and original": (0.197, 0.109, 0.036, 0.145, 0.59),
    "CheXpert, small and base": (0.218, 0.104, 0.048, 0.175, 0.38),
    "ResNet-18, two last layers": (0.382, 0.206, 0.175, 0.312, 0.40),
}
"""The published table."""
_EXPLAINED = 16
"""Leading directions whose components explain a row."""
_FEWEST_ROWS = 20
_CURVE_POINTS = 100
"""Largest number of points of a loss curve: recorded results are part of the package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """One pair of models.

    Parameters
    ----------
    family
        Name of the family, with the layer where its arrays have several.
    models
        The two models; the first is mapped onto the second.
    remark
        What a reader should know of the family.
    n_rows, widths
        Rows, and features of each model.
    agreement
        Errors by group, and the efficiency of ICA.
    unmixed
        Efficiency of ICA in the leading directions and what goes with it; None with few rows.
    """

    family: str
    models: tuple[str, str]
    remark: str
    n_rows: int
    widths: tuple[int, int]
    agreement: Agreement
    unmixed: UnmixedPair | None

    def failure(self, *, in_sample: bool) -> str:
        """Return what breaks permutation > ICA > rigid ≥ linear, or nothing."""
        errors = self.agreement.in_sample if in_sample else self.agreement.held_out
        return broken_order(*(errors[GROUPS[name]] for name in ORDERED))

    @property
    def gains_more_than_a_scale(self) -> bool:
        """Whether ICA beats the permutation with one scale, held out."""
        errors = self.agreement.held_out
        return errors[GROUPS["ICA"]] < errors[SCALED]

    def in_order(self, *, in_sample: bool) -> bool:
        """Return whether the pair is in the order that the paper claims, in sample."""
        return not self.failure(in_sample=in_sample)


def pair_row(
    family: Family, first: str, second: str, *, seed: int, engine: str | None = None
) -> PairRow:
    """Compare two models of a family."""
    source, target = family.runs[first], family.runs[second]
    layer = family.layer(first)
    k = leading(family, first, second)
    is_enough = len(source) >= _FEWEST_ROWS * k
    groups = family.groups
    return PairRow(
        family=f"{family.title}, {layer}" if layer else family.title,
        models=(first, second),
        remark=family.remark,
        n_rows=len(source),
        widths=(source.shape[1], target.shape[1]),
        agreement=agreement_of(source, target, ica=True, groups=groups, seed=seed, engine=engine),
        unmixed=unmixed_pair(source, target, n_directions=k, groups=groups, seed=seed)
        if is_enough
        else None,
    )


def leading(family: Family, first: str, second: str) -> int:
    """Return the number of leading directions whose components explain a row."""
    widths = (int(family.runs[name].shape[1]) for name in (first, second))
    return min(_EXPLAINED, *widths)


class OfModels(Protocol):
    """Anything measured between two models."""

    @property
    def models(self) -> tuple[str, str]:
        """The two models."""


OfPair = TypeVar("OfPair", bound=OfModels)


def over_models(
    rows: Sequence[OfPair],
    number: Callable[[OfPair], float | None],
    *,
    low: float = -math.inf,
) -> Estimate:
    """Return the mean over pairs, with an interval over models where there are three or more.

    Pairs that share a model depend on each other, so whole models are left out in turn (jackknife).
    """
    known = ((row.models, value) for row in rows if (value := number(row)) is not None)
    return over_runs(known, low=low)


def by_family(rows: Iterable[PairRow]) -> dict[str, list[PairRow]]:
    """Return the rows of each family."""
    found: dict[str, list[PairRow]] = {}
    for row in rows:
        found.setdefault(row.family, []).append(row)
    return found


def error_of(group: str, kind: str) -> Callable[[PairRow], float | None]:
    """Return a function of a row: one of its errors, in sample, held out or by chance."""

    def error(row: PairRow) -> float | None:
        found: dict[str, float] = getattr(row.agreement, kind)
        return found.get(GROUPS.get(group, group))

    return error


def table_one(rows: Sequence[PairRow], *, with_paper: bool = True) -> Table:
    """Return the paper's columns for every family: in sample, held out and by chance."""
    cells: list[tuple[Cell, ...]] = []
    for family, own in by_family(rows).items():
        for name, kind in (
            ("in sample", "in_sample"),
            ("held out", "held_out"),
            ("chance", "chance"),
        ):
            errors = [
                over_models(own, error_of(group, kind), low=0.0) for group in (*GROUPS, SCALED)
            ]
            cells.append((family, len(own), name, *errors, _efficiency(own, kind)))
    if with_paper:
        for pair, (*values, efficiency) in PAPER.items():
            cells.append((f"{pair} (paper)", 1, "in sample", *values, None, efficiency))
    return Table(
        title="Table 1: mean L2 error over the target's diameter",
        columns=(
            *columns("models", "pairs", "rows"),
            *columns(*GROUPS, "permutation, one scale", spec=".3f"),
            Column(name="efficiency of ICA", spec=".2f"),
        ),
        rows=tuple(cells),
        caption="Intervals leave out one model at a time. The paper's numbers are of other models "
        "and in sample; compare the order, not the values. ICA takes the scale of the target: "
        "where the permutation with one scale is as good, ICA gains no more than a scale.",
    )


def _efficiency(rows: Sequence[PairRow], kind: str) -> Estimate | None:
    if kind == "chance":
        return None
    is_inside = kind == "in_sample"
    found = over_models(
        rows,
        lambda row: row.agreement.efficiency_in_sample if is_inside else row.agreement.efficiency,
    )
    return found if math.isfinite(found.value) else None


def pairs_table(rows: Sequence[PairRow]) -> Table:
    """Return every pair, whether the order holds, and what goes with it."""
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        inside, outside = row.agreement.in_sample, row.agreement.held_out
        unmixed = row.unmixed
        cells.append(
            (
                row.family,
                " → ".join(row.models),
                f"{row.n_rows} × {row.widths[0]}",
                *(inside[group] for group in GROUPS.values()),
                *(outside.get(group) for group in GROUPS.values()),
                row.agreement.r2.get("affine"),
                row.agreement.measures.get("mean-cca"),
                row.agreement.measures_chance.get("mean-cca"),
                row.failure(in_sample=True) or "yes",
                row.failure(in_sample=False) or "yes",
                *(
                    (None,) * 7
                    if unmixed is None
                    else (
                        unmixed.efficiency,
                        unmixed.principal,
                        unmixed.rotated,
                        unmixed.apart,
                        unmixed.recurrence,
                        unmixed.non_gaussianity,
                        unmixed.shared,
                    )
                ),
                row.remark,
            )
        )
    return Table(
        title="Every pair, and why the order holds or fails",
        columns=(
            *columns("family", "models", "rows × features"),
            *columns(*(f"{group}, in sample" for group in GROUPS), spec=".3f"),
            *columns(*(f"{group}, held out" for group in GROUPS), spec=".3f"),
            *columns("linear R²", "mean CCA", "CCA by chance", spec=".2f"),
            *columns("order in sample", "order held out"),
            *columns("efficiency", "principal", "random", "apart", spec=".2f"),
            *columns("recurring", "non-Gaussianity", "shared", spec=".2f"),
            Column(name="remark"),
        ),
        rows=tuple(cells),
        caption=f"The last numbers are of the {_EXPLAINED} leading directions: held-out efficiency "
        "of ICA, beside what principal directions and random rotations achieve when matched in the "
        "same way (chance) and ICA with each model unmixed on rows of its own; share of components "
        "that two halves of the rows both find, distance from Gaussian (Laplace is 1) and affine "
        "R²; see ica-efficiency.",
    )


def errors_panel(rows: Sequence[PairRow]) -> Panel:
    """Return the errors of every family, held out and in sample."""
    families = by_family(rows)
    marks = []
    for group in GROUPS:
        for kind in ("held_out", "in_sample"):
            found = [over_models(own, error_of(group, kind)) for own in families.values()]
            marks.append(
                Marks(
                    name=f"{group}, {kind.replace('_', ' ')}",
                    x=tuple(float(place) for place in range(1, len(found) + 1)),
                    y=tuple(each.value for each in found),
                )
            )
    return Panel(
        title="Errors up to each group",
        x="family",
        y="mean error / diameter",
        marks=tuple(marks),
        y_zero=True,
        x_names=tuple(families),
    )


def order_share(rows: Sequence[PairRow], *, in_sample: bool) -> Estimate:
    """Return the share of the pairs in the paper's order, families weighing the same."""
    shares = [
        float(np.mean([row.in_order(in_sample=in_sample) for row in own]))
        for own in by_family(rows).values()
    ]
    return Estimate(value=float(np.mean(shares)))


def curve_panel(title: str, losses: Float, unit: str) -> Panel:
    """Return the loss curves of members, at a hundred of the steps if there are more."""
    places = np.linspace(0, len(losses) - 1, min(len(losses), _CURVE_POINTS)).round().astype(int)
    x = tuple((places + 1.0).tolist())
    return Panel(
        title=f"Training of {title}",
        x=unit,
        y="loss",
        marks=tuple(
            Marks(name=f"seed {number}", x=x, y=tuple(own[places].tolist()), kind="line")
            for number, own in enumerate(losses.T)
        ),
    )
