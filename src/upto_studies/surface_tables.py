"""Quantities, tables and plots of the study of likelihood surfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.agreement import over_pairs
from upto_studies.likelihood_surfaces import FOLDED, INJECTIVE, PLANE, TOO_FEW, TOO_MANY
from upto_studies.mixture_models import MIXTURE
from upto_studies.study_marks import estimate_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.likelihood_surfaces import Settings, Surface
    from upto_studies.population_curves import Curve

CASES = (INJECTIVE, FOLDED, PLANE, TOO_MANY, TOO_FEW)
_CONTAINED = (INJECTIVE, FOLDED, PLANE, TOO_MANY)
"""Cases whose models contain the truth."""
_EXAMPLES = 3
_KINDS = (
    "weight of layer 1",
    "bias of layer 1",
    "weight of layer 2",
    "bias of layer 2",
    *MIXTURE,
)


def measured_of(settings: Settings, surfaces: Sequence[Surface]) -> dict[str, Estimate]:
    """Return the quantities of ``expected.json``."""
    contained = [each for case in _CONTAINED for each in _curves(surfaces, case)]
    found = [each.distance for each in contained if _is_hit(settings, each)]
    others = [value for each in contained for value in each.other_minima.tolist()]
    measured = {
        f"at truth, {case}": _over_models(surfaces, case, lambda each: _is_hit(settings, each))
        for case in CASES
    }
    measured |= {
        f"not at truth, {case}": Estimate(
            value=float(sum(not _is_hit(settings, each) for each in _curves(surfaces, case)))
        )
        for case in CASES
    }
    return measured | {
        "truth not lowest": Estimate(
            value=float(sum(not each.is_lowest_at_truth for each in contained))
        ),
        "median distance at truth": Estimate(value=float(np.median(found))),
        "largest distance at truth": Estimate(value=max(found)),
        "integral": Estimate(value=max(abs(each.total - 1.0) for each in surfaces)),
        "several minima": _over_models(
            [each for each in surfaces if each.case in _CONTAINED[:3]],
            None,
            lambda each: len(each.other_minima) > 0,
        ),
        "lowest other minimum": Estimate(value=min(others, default=np.inf)),
        "moved, one component too few": over_pairs(_moves(surfaces, TOO_FEW), low=0.0),
    }


def says_of(settings: Settings, surfaces: Sequence[Surface], measured: dict[str, Estimate]) -> str:
    """Return the result sentence."""
    right = [each for each in surfaces if each.case in (INJECTIVE, FOLDED, PLANE)]
    curves = [curve for each in right for curve in each.curves]
    hits = sum(_is_hit(settings, each) for each in curves)
    whole = sum(all(_is_hit(settings, curve) for curve in each.curves) for each in right)
    lower = sum(not each.is_lowest_at_truth for each in curves)
    return (
        f"the truth is the only minimiser along {hits} of {len(curves)} parameters, and along all "
        f"of {whole} of {len(right)} models; {_none(lower)} has a lower likelihood elsewhere, the "
        f"others are flat around it. One component too few moves the minimiser of a decoder's "
        f"parameter by {measured['moved, one component too few']:.2f}"
    )


def tables_of(settings: Settings, surfaces: Sequence[Surface]) -> tuple[Table, ...]:
    """Return the tables, the most important first."""
    return _cases_table(settings, surfaces), _kinds_table(settings, surfaces)


def panels_of(surfaces: Sequence[Surface]) -> tuple[Panel, ...]:
    """Return the plots, the most important first."""
    examples = sorted(
        (each for case in _CONTAINED[:3] for each in _curves(surfaces, case)),
        key=lambda each: len(each.other_minima),
        reverse=True,
    )
    flat = max(_curves(surfaces, FOLDED), key=lambda each: each.flat_share)
    moved = max(_curves(surfaces, TOO_FEW), key=lambda each: each.distance)
    return (
        *(
            _curve_panel(f"Figure 1: a {each.kind} with several minima", each)
            for each in examples[:_EXAMPLES]
        ),
        _curve_panel(f"A {flat.kind} of a decoder that is not injective", flat),
        _curve_panel(f"One component too few: a {moved.kind}", moved),
        Panel(
            title="How far the minimiser is from the truth",
            x="kind of parameter",
            y="mean distance",
            marks=tuple(
                estimate_marks(case, [_distance_of(surfaces, case, kind) for kind in _KINDS])
                for case in CASES
            ),
            x_names=_KINDS,
            caption="Means over models with 95 % intervals. Where a curve is flat, the minimiser "
            "is any of its lowest values.",
        ),
    )


def _curve_panel(title: str, curve: Curve) -> Panel:
    top = float(curve.divergences.max())
    return Panel(
        title=title,
        x="value of the parameter",
        y="divergence, nats",
        marks=(
            Marks(
                name="divergence",
                x=tuple(curve.values.tolist()),
                y=tuple(curve.divergences.tolist()),
                kind="line",
            ),
            Marks(name="truth", x=(curve.truth,) * 2, y=(0.0, top), kind="line"),
            Marks(name="minimiser", x=(curve.minimiser,), y=(curve.lowest,)),
        ),
        caption="All other parameters have their true values.",
    )


def _cases_table(settings: Settings, surfaces: Sequence[Surface]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for case in CASES:
        curves = _curves(surfaces, case)
        missed = [each for each in curves if not _is_hit(settings, each)]
        flat = sum(each.is_lowest_at_truth for each in missed)
        hits = [each.distance for each in curves if _is_hit(settings, each)]
        others = [value for each in curves for value in each.other_minima.tolist()]
        rows.append(
            (
                case,
                sum(each.case == case for each in surfaces),
                len(curves),
                _over_models(surfaces, case, lambda each: _is_hit(settings, each)),
                flat,
                len(missed) - flat,
                float(np.median(hits)) if hits else None,
                max(hits) if hits else None,
                sum(len(each.other_minima) > 0 for each in curves),
                min(others) if others else None,
                over_pairs(_moves(surfaces, case), low=0.0),
            )
        )
    return Table(
        title="The minimiser of the negative log-likelihood along one parameter",
        columns=(
            Column(name="case"),
            Column(name="models"),
            Column(name="parameters"),
            Column(name="share at the truth", spec=".3f"),
            Column(name="flat there"),
            Column(name="elsewhere"),
            Column(name="median distance at the truth", spec=".1e"),
            Column(name="largest", spec=".1e"),
            Column(name="with several minima"),
            Column(name="lowest other minimum", spec=".1e"),
            Column(name="distance, decoder", spec=".3f"),
        ),
        rows=tuple(rows),
        caption="Shares and distances are means over models with 95 % intervals. At the truth: "
        f"within {settings.at_truth:g} of it, found to {settings.tolerance:g}. Flat there: the "
        "truth has the lowest divergence, but so have other values. Elsewhere: the truth has a "
        "higher divergence. A parameter is varied by "
        f"{settings.reach:g} to either side.",
    )


def _kinds_table(settings: Settings, surfaces: Sequence[Surface]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for kind in _KINDS:
        cells: list[Cell] = [kind]
        for case in CASES:
            own = [each for each in _curves(surfaces, case) if each.kind == kind]
            hits = sum(_is_hit(settings, each) for each in own)
            cells.append(f"{hits} of {len(own)}" if own else None)
        rows.append(tuple(cells))
    return Table(
        title="Parameters whose minimiser is at the truth",
        columns=(Column(name="kind"), *(Column(name=case) for case in CASES)),
        rows=tuple(rows),
    )


def _is_hit(settings: Settings, curve: Curve) -> bool:
    return curve.distance <= settings.at_truth


def _curves(surfaces: Sequence[Surface], case: str) -> list[Curve]:
    return [curve for each in surfaces if each.case == case for curve in each.curves]


def _over_models(
    surfaces: Sequence[Surface], case: str | None, says: Callable[[Curve], bool]
) -> Estimate:
    """Return the mean over models of the share of curves of which something is true."""
    own = [each for each in surfaces if case in (None, each.case)]
    shares = [np.mean([says(curve) for curve in each.curves]) for each in own]
    return over_pairs(shares, low=0.0, high=1.0)


def _moves(surfaces: Sequence[Surface], case: str) -> Float:
    """Return the mean distance of the parameters of the decoder, one per model."""
    return np.array(
        [
            np.mean([curve.distance for curve in each.curves if curve.kind not in MIXTURE])
            for each in surfaces
            if each.case == case
        ]
    )


def _distance_of(surfaces: Sequence[Surface], case: str, kind: str) -> Estimate | None:
    values = [
        np.mean([curve.distance for curve in each.curves if curve.kind == kind])
        for each in surfaces
        if each.case == case and any(curve.kind == kind for curve in each.curves)
    ]
    return over_pairs(values, low=0.0) if values else None


def _none(count: int) -> str:
    return "none" if count == 0 else str(count)
