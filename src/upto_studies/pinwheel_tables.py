"""Quantities, tables and plots of the pinwheel study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.agreement import over_pairs, over_runs
from upto_studies.run_pairs import COLUMNS, agreement_table, mean_of_pairs
from upto_studies.table_one import curve_panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.pinwheel import Runs, Settings, Wheel
    from upto_studies.run_pairs import Pairs

_SHOWN_ROWS = 80
"""Points of an arm in a plot."""


def measured_of(found: Mapping[str, Runs], chance: Float) -> dict[str, Estimate]:
    """Return the quantities of ``expected.json``."""
    trained = found["trained"]
    spread = float(np.std(list(trained.distances.values()), ddof=1))
    measured = {
        "density distance": over_runs(trained.distances.items(), low=0.0),
        "density distance, deviation": Estimate(value=spread),
        "density distance, unscaled": over_runs(trained.unscaled.items(), low=0.0),
        "density distance by chance": over_pairs(chance, low=0.0),
        "accuracy": over_pairs(trained.accuracies, low=0.0, high=1.0),
        "living components": Estimate(value=float(trained.living.min())),
        "diverged": Estimate(value=float(trained.members.diverged.sum())),
        "weak less strong MCC": over_runs(
            (pair, COLUMNS["weak, in sample"](each) - COLUMNS["strong, in sample"](each))
            for pair, each in trained.pairs.items()
        ),
        "weak less strong MCC, held out": over_runs(
            (pair, COLUMNS["weak MCC"](each) - COLUMNS["strong MCC"](each))
            for pair, each in trained.pairs.items()
        ),
        "weak MCC, untrained": mean_of_pairs(found["untrained"].pairs, "weak MCC"),
        "strong MCC, untrained": mean_of_pairs(found["untrained"].pairs, "strong MCC"),
        "weak MCC over pre-training": Estimate(
            value=mean_of_pairs(trained.pairs, "weak MCC").value
            - mean_of_pairs(found["pre-trained"].pairs, "weak MCC").value
        ),
    }
    for name, pairs in by_layout(trained).items():
        distances = [(pair, trained.distances[order]) for pair in pairs for order in _orders(pair)]
        measured[f"weak MCC, {name}"] = mean_of_pairs(pairs, "weak MCC")
        measured[f"R² affine, {name}"] = mean_of_pairs(pairs, "R² affine")
        measured[f"density distance, {name}"] = over_runs(distances, low=0.0)
    return measured | {name: mean_of_pairs(trained.pairs, name) for name in COLUMNS}


def by_layout(runs: Runs) -> dict[str, Pairs]:
    """Return the pairs of runs of one layout and of two, where there are any."""
    found: dict[str, Pairs] = {}
    for pair, each in runs.pairs.items():
        is_one = runs.layouts[pair[0]] == runs.layouts[pair[1]]
        found.setdefault("one layout" if is_one else "two layouts", {})[pair] = each
    return found


def _orders(pair: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    return pair, pair[::-1]


def says_of(settings: Settings, measured: dict[str, Estimate]) -> str:
    """Return the result sentence."""
    return (
        f"{settings.n_runs} runs of VaDE find the {settings.n_arms} arms with an accuracy of "
        f"{measured['accuracy']:.3f}; held out, two runs agree with a weak MCC of "
        f"{measured['weak MCC']:.2f} and a strong MCC of {measured['strong MCC']:.2f}, and their "
        f"densities differ by {measured['density distance']:.2f} of their norm up to affine maps "
        f"({measured['density distance by chance'].value:.2f} by chance)"
    )


def tables_of(found: Mapping[str, Runs], chance: Float) -> tuple[Table, ...]:
    """Return the tables, the most important first."""
    rows: list[tuple[Cell, ...]] = []
    for name, runs in found.items():
        spread = float(np.std(list(runs.distances.values()), ddof=1))
        rows.append(
            (
                name,
                over_runs(runs.distances.items(), low=0.0),
                spread,
                over_runs(runs.unscaled.items(), low=0.0),
                over_pairs(runs.accuracies, low=0.0, high=1.0),
                float(runs.living.min()),
            )
        )
    rows.append(
        ("drawn mixtures", over_pairs(chance, low=0.0), float(chance.std(ddof=1)), None, None, None)
    )
    rows.append(("Kivva et al. 2022", 0.113, 0.065, None, None, None))
    densities = Table(
        title="Distances of learned densities up to affine maps, and arms found",
        columns=(
            Column(name="runs"),
            Column(name="distance", spec=".3f"),
            Column(name="deviation over pairs", spec=".3f"),
            Column(name="unscaled distance", spec=".3f"),
            Column(name="accuracy", spec=".3f"),
            Column(name="fewest living components", spec=".0f"),
        ),
        rows=tuple(rows),
        caption="Means over ordered pairs; intervals leave out one run at a time. The distance is "
        "over the norm of the first density; the paper's definition is not known to us. Untrained "
        "and pre-trained runs have a prior that was drawn, or fitted to codes. Drawn mixtures: "
        "learned densities against random ones.",
    )
    caption = (
        "Means over pairs of runs on held-out points, maps and matchings fitted to one half and "
        "scored on the other, unless in sample; intervals leave out one run at a time. The paper "
        "prints a weak MCC of .87 and a strong MCC of 1.0."
    )
    groups = {name: runs.pairs for name, runs in found.items()}
    groups |= {f"trained, {name}": pairs for name, pairs in by_layout(found["trained"]).items()}
    caption += " Runs of one layout have the same arms along the same axis."
    return (
        agreement_table("Agreement of runs", groups, caption),
        densities,
        _runs_table(found["trained"]),
    )


def _runs_table(runs: Runs) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            str(number + 1),
            float(runs.members.losses[-1, number]),
            float(bound),
            float(accuracy),
            int(living),
            " | ".join(
                " ".join(str(arm + 1) for arm in sorted(each)) for each in sorted(layout, key=min)
            ),
        )
        for number, (bound, accuracy, living, layout) in enumerate(
            zip(runs.bounds, runs.accuracies, runs.living, runs.layouts, strict=True)
        )
    ]
    return Table(
        title="Every run",
        columns=(
            Column(name="run"),
            Column(name="negative bound, in sample", spec=".3f"),
            Column(name="negative bound, held out", spec=".3f"),
            Column(name="accuracy", spec=".3f"),
            Column(name="living components"),
            Column(name="arms of each axis"),
        ),
        rows=tuple(rows),
        caption="Bounds in nats per point.",
    )


def panels_of(runs: Runs, held: Wheel) -> tuple[Panel, ...]:
    """Return the plots, the most important first."""
    spaces = [_space(own, held, f"Latents of run {k + 1}") for k, own in enumerate(runs.codes)]
    return (
        _space(held.rows, held, "The pinwheel, held out"),
        *spaces,
        curve_panel("VaDE", runs.members.losses, "epoch"),
        curve_panel("the autoencoder before", runs.members.pretraining_losses, "epoch"),
    )


def _space(rows: NDArray[Any], held: Wheel, title: str) -> Panel:
    marks = []
    for arm in range(int(held.arms.max()) + 1):
        own = rows[held.arms == arm][:_SHOWN_ROWS, :2]
        x, y = (tuple(float(f"{value:.3g}") for value in column) for column in own.T)
        marks.append(Marks(name=f"arm {arm + 1}", x=x, y=y))
    return Panel(title=title, x="first", y="second", marks=tuple(marks))
