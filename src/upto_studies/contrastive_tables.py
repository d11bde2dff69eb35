"""Quantities, tables and plots of contrastive patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.agreement import over_pairs
from upto_studies.contrastive_patches import Trained
from upto_studies.pair_tables import gain, loss_panel, order, sweep_panel, sweep_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Cell
    from upto_studies.contrastive_patches import Images, Settings
    from upto_studies.pair_tables import Point

SIDES = ("f", "g")
_TITLES = {
    "training": ("Figure 3b: mean CCA by training", "step"),
    "data": ("Figure 3c: mean CCA by number of images", "images"),
    "width": ("Figure 3d: mean CCA by width", "units of a layer"),
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sweeps:
    """The usual members, and those by number of images and by width, the usual ones among them."""

    usual: Trained
    by_size: tuple[Trained, ...]
    by_width: tuple[Trained, ...]

    def points(self, sweep: str) -> dict[str, Sequence[Point]]:
        """Return the points of f and g of a sweep."""
        if sweep == "training":
            return {"f": self.usual.f, "g": self.usual.g}
        if sweep == "data":
            return {
                side: [each.last(side, each.n_images) for each in self.by_size] for side in SIDES
            }
        return {side: [each.last(side, each.width) for each in self.by_width] for side in SIDES}


def measured_of(settings: Settings, images: Images, sweeps: Sweeps) -> dict[str, Estimate]:
    """Return the quantities of ``expected.json``."""
    accuracy = sweeps.usual.accuracy[-1]
    measured = {
        "accuracy": over_pairs(accuracy, low=0.0, high=1.0),
        "accuracy over chance": over_pairs(accuracy * settings.batch_rows, low=0.0),
        "accuracy less CCA": over_pairs(accuracy - images.linear),
    }
    for side in SIDES:
        last = sweeps.points("training")[side][-1]
        measured[f"mean CCA of {side}"] = last.mean("mean CCA")
        measured[f"error of {side} over chance"] = over_pairs(
            last.values("affine error") / last.values("error by chance"), low=0.0
        )
    for sweep in _TITLES:
        for side, points in sweeps.points(sweep).items():
            if len(points) > 1:
                measured[f"{sweep}: gain of {side}"] = gain(points[0], points[-1])
            # Before the first step there is no progress to speak of.
            trained = [point for point in points if point.x > 0]
            if len(trained) > 1:
                measured[f"{sweep}: order of {side}"] = order(trained)
    return measured


def says_of(images: Images, measured: dict[str, Estimate]) -> str:
    """Return the result sentence."""
    gains = ", ".join(
        f"{measured[f'{sweep}: gain of f']:+.3f} with {sweep}"
        for sweep in _TITLES
        if f"{sweep}: gain of f" in measured
    )
    return (
        f"patches of {images.name} find their partner with accuracy {measured['accuracy']:.3f} "
        f"(linear matching {images.linear:.3f}); f of two members has mean CCA "
        f"{measured['mean CCA of f']:.3f} and g {measured['mean CCA of g']:.3f}; that of f "
        f"changes by {gains}"
    )


def tables_of(settings: Settings, images: Images, sweeps: Sweeps) -> tuple[Table, ...]:
    """Return a table for every sweep, and one of accuracies."""
    caption = (
        f"Means over {settings.n_pairs} pairs with 95 % intervals; held out unless said otherwise."
    )
    return (
        *(
            sweep_table(title.replace("mean CCA", "agreement"), x, sweeps.points(sweep), caption)
            for sweep, (title, x) in _TITLES.items()
        ),
        _accuracies(settings, images, sweeps),
    )


def _accuracies(settings: Settings, images: Images, sweeps: Sweeps) -> Table:
    usual = sweeps.usual
    rows: list[tuple[Cell, ...]] = [
        (str(usual.width), str(usual.n_images), str(look), over_pairs(own, low=0.0, high=1.0), None)
        for look, own in zip(usual.members.looks[:-1], usual.accuracy[:-1], strict=True)
    ]
    for each in dict.fromkeys((*sweeps.by_size, *sweeps.by_width)):
        losses = over_pairs(each.members.losses[-1], low=0.0)
        look = each.members.looks[-1]
        accuracy = over_pairs(each.accuracy[-1], low=0.0, high=1.0)
        rows.append((str(each.width), str(each.n_images), str(look), accuracy, losses))
    return Table(
        title="Held-out patches that find their partner",
        columns=(
            Column(name="units"),
            Column(name="images"),
            Column(name="step"),
            Column(name="accuracy", spec=".3f"),
            Column(name="last training loss", spec=".3f"),
        ),
        rows=tuple(rows),
        caption=f"Among {settings.batch_rows} patches: chance {1 / settings.batch_rows:.4f}, "
        f"linear matching {images.linear:.3f}, loss of chance {np.log(settings.batch_rows):.2f} "
        "nats. Means over members.",
    )


def panels_of(settings: Settings, images: Images, sweeps: Sweeps) -> tuple[Panel, ...]:
    """Return the paper's three figures, errors, accuracies and losses."""
    panels = []
    for name, chance, said in (
        ("mean CCA", "chance", "mean CCA"),
        ("affine error", "error by chance", "affine error"),
    ):
        for sweep, (title, x) in _TITLES.items():
            points = {
                side: [each for each in own if each.x > 0]
                for side, own in sweeps.points(sweep).items()
            }
            panels.append(
                sweep_panel(
                    title.replace("mean CCA", said), x, points, name=name, chance=chance, x_log=True
                )
            )
    widths = {f"{each.width} units": each.members for each in sweeps.by_width}
    level = float(np.log(settings.batch_rows))
    return (
        *panels,
        _accuracy_panel(images, sweeps),
        loss_panel("Training loss", widths, "chance", level),
    )


def _accuracy_panel(images: Images, sweeps: Sweeps) -> Panel:
    found = [over_pairs(each.accuracy[-1], low=0.0, high=1.0) for each in sweeps.by_width]
    widths = tuple(float(each.width) for each in sweeps.by_width)
    return Panel(
        title="Held-out patches that find their partner",
        x="units of a layer",
        y="accuracy",
        marks=(
            Marks(
                name="members",
                x=widths,
                y=tuple(each.value for each in found),
                low=tuple(each.value if each.low is None else each.low for each in found),
                high=tuple(each.value if each.high is None else each.high for each in found),
            ),
            Marks(
                name="linear matching",
                x=(widths[0], widths[-1]),
                y=(images.linear, images.linear),
                kind="line",
            ),
        ),
        x_log=True,
        y_zero=True,
        caption="Means over members with 95 % intervals.",
    )
