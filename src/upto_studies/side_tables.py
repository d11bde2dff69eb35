"""Quantities, tables and plots of the study of side information."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.agreement import over_pairs
from upto_studies.run_pairs import COLUMNS, agreement_table, limits_of, mean_of_pairs
from upto_studies.side_information import SHUFFLED, UNTRAINED
from upto_studies.table_one import curve_panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.side_information import Runs

STRONG, WEAK = "strong MCC", "weak MCC"


def measured_of(groups: Mapping[str, Runs]) -> dict[str, Estimate]:
    """Return the quantities of ``expected.json``."""
    measured = {}
    for name, runs in groups.items():
        for column in (STRONG, WEAK, "R² scaled permutation", "R² affine"):
            measured[f"{column} of the truth, {name}"] = _recovery(runs, column)
            measured[f"{column} of pairs, {name}"] = mean_of_pairs(runs.pairs, column)
        measured[f"accuracy, {name}"] = over_pairs(runs.accuracies, low=0.0, high=1.0)
    trained = [runs for name, runs in groups.items() if name != UNTRAINED]
    measured |= {
        "side information": _gain(groups, "iVAE", "VaDE", STRONG),
        "side information, affine": _gain(groups, "iVAE", "VaDE", "R² affine"),
        "mixture prior": _gain(groups, "VaDE", "VAE", STRONG),
        "mixture prior, affine": _gain(groups, "VaDE", "VAE", "R² affine"),
        "right labels": _gain(groups, "iVAE", SHUFFLED, STRONG),
        "bound, VaDE over VAE": over_pairs(groups["VAE"].bounds - groups["VaDE"].bounds),
        "lost components": Estimate(
            value=float(groups["VaDE"].members.model.n_components - groups["VaDE"].living.min())
        ),
        "diverged": Estimate(value=float(sum(runs.members.diverged.sum() for runs in trained))),
    }
    return measured


def says_of(measured: dict[str, Estimate]) -> str:
    """Return the result sentence."""
    vade, ivae, vae = (
        measured[f"{STRONG} of the truth, {name}"] for name in ("VaDE", "iVAE", "VAE")
    )
    return (
        f"single latents correlate with the true ones at {vade:.2f} for VaDE, {ivae:.2f} for iVAE "
        f"and {vae:.2f} for a VAE, held out; side information adds "
        f"{measured['side information']:.2f} to VaDE"
    )


def tables_of(groups: Mapping[str, Runs]) -> tuple[Table, ...]:
    """Return the tables, the most important first."""
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            *(_recovery(runs, column) for column in COLUMNS),
            over_pairs(runs.accuracies, low=0.0, high=1.0),
            float(runs.living.min()),
            over_pairs(runs.bounds),
            float(runs.members.pretraining_losses[-1].mean())
            if len(runs.members.pretraining_losses)
            else None,
        )
        for name, runs in groups.items()
    ]
    truth = Table(
        title="Recovery of the true latents",
        columns=(
            Column(name="model"),
            *(Column(name=column, spec=".3f") for column in COLUMNS),
            Column(name="accuracy of components", spec=".3f"),
            Column(name="fewest living components", spec=".0f"),
            Column(name="negative bound, nats", spec=".2f"),
            Column(name="squared error of pre-training", spec=".4f"),
        ),
        rows=tuple(rows),
        caption="Codes of held-out rows against the latents they were drawn from, means over runs "
        "with 95 % intervals; maps and matchings are fitted to one half of these rows and scored "
        "on the other, unless in sample. Bounds are held out, the error of pre-training is not.",
    )
    caption = (
        "Codes of held-out rows of every two runs; intervals leave out one run at a time. Maps and "
        "matchings as above."
    )
    pairs = {name: runs.pairs for name, runs in groups.items()}
    return truth, agreement_table("Agreement of runs", pairs, caption)


def panels_of(groups: Mapping[str, Runs]) -> tuple[Panel, ...]:
    """Return the plots, the most important first."""
    truth = {
        column: [_recovery(runs, column) for runs in groups.values()] for column in (STRONG, WEAK)
    }
    pairs = {
        column: [mean_of_pairs(runs.pairs, column) for runs in groups.values()]
        for column in (STRONG, WEAK)
    }
    losses = {
        name: each.members.losses for name, each in groups.items() if len(each.members.losses)
    }
    return (
        _panel("Codes and true latents", tuple(groups), truth),
        _panel("Codes of two runs", tuple(groups), pairs),
        *(curve_panel(name, each, "epoch") for name, each in losses.items()),
    )


def _panel(title: str, names: tuple[str, ...], found: Mapping[str, list[Estimate]]) -> Panel:
    places = tuple(float(place) for place in range(1, len(names) + 1))
    return Panel(
        title=title,
        x="model",
        y="correlation, held out",
        marks=tuple(
            Marks(
                name=column,
                x=places,
                y=tuple(each.value for each in own),
                low=tuple(each.value if each.low is None else each.low for each in own),
                high=tuple(each.value if each.high is None else each.high for each in own),
            )
            for column, own in found.items()
        ),
        y_zero=True,
        x_names=names,
        caption="Means with 95 % intervals over runs.",
    )


def _of_truth(runs: Runs, column: str) -> Float:
    return np.array([COLUMNS[column](each) for each in runs.of_truth])


def _recovery(runs: Runs, column: str) -> Estimate:
    return over_pairs(_of_truth(runs, column), **limits_of(column))


def _gain(groups: Mapping[str, Runs], better: str, worse: str, column: str) -> Estimate:
    """Return the gain in recovery of runs with the same seed."""
    return over_pairs(_of_truth(groups[better], column) - _of_truth(groups[worse], column))
