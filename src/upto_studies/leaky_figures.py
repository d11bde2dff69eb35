"""Plots of the leaky autoencoders: Figures 2 and A.3 to A.6 of Nelson et al. 2026."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Marks, Panel
from upto_studies.leaky_tables import QUANTILES, constants_at
from upto_studies.train.pairs import EXCESSES

if TYPE_CHECKING:
    from upto.core import Estimate
    from upto_studies.leaky_autoencoders import Settings, Trained

_LINE_POINTS = 60


def figures(settings: Settings, together: Trained, by_digit: Trained | None) -> tuple[Panel, ...]:
    """Return all plots, the most important first."""
    panels = [
        _relation(settings, together, "mean L, ten directions", "Figure 2: error and mean L"),
        _relation(settings, together, "mean L, exact", "Figure 2 with the exact L"),
        _relation(settings, together, "largest L, ten directions", "Figure A.4: largest L"),
        _relation(settings, together, "largest L, exact", "Figure A.4 with the exact L"),
        _constants(settings, together),
        _reconstructions(settings, together),
    ]
    if by_digit is not None:
        panels += [
            _relation(settings, by_digit, "mean L, ten directions", "Figure A.6: one digit each"),
            _relation(settings, by_digit, "mean L, exact", "Figure A.6 with the exact L"),
        ]
    return tuple(panels)


def _relation(settings: Settings, trained: Trained, name: str, title: str) -> Panel:
    marks, largest = [], 0.0
    for leak in settings.leaks:
        found = [pair for pair in trained.kept if pair.leak == leak]
        x = tuple(pair.excess(**EXCESSES[name]) for pair in found)
        y = tuple(pair.errors.relative for pair in found)
        largest = max(largest, *x) if x else largest
        marks.append(Marks(name=f"leak {leak:g}", x=x, y=y))
    grid = np.linspace(0.0, largest, _LINE_POINTS)
    for curve in trained.curves[name]:
        line = tuple(map(float, curve.at(grid)))
        marks.append(Marks(name=curve.form, x=tuple(map(float, grid)), y=line, kind="line"))
    return Panel(
        title=title,
        x=name,
        y="rigid error / diameter",
        marks=tuple(each for each in marks if each.x),
        caption=_caption(trained.correlations.get(name)),
    )


def _caption(found: Estimate | None) -> str:
    caption = "One point is a pair that the filter keeps; the lines are fits."
    return caption if found is None else f"{caption} Error and √(2L+L²) correlate at {found:.2f}."


def _constants(settings: Settings, trained: Trained) -> Panel:
    quantiles = np.array(
        [
            np.quantile(constants_at(trained.pairs, leak, exact=False), QUANTILES)
            for leak in settings.leaks
        ]
    )
    leaks = tuple(settings.leaks)
    return Panel(
        title="Figure A.3: local bi-Lipschitz constant by leak",
        x="leak",
        y="constant, ten directions",
        marks=tuple(
            Marks(
                name=f"{level:.0%}" if level < 1 else "largest",
                x=leaks,
                y=tuple(map(float, quantiles[:, index])),
                kind="line",
            )
            for index, level in enumerate(QUANTILES)
        ),
        caption="Quantiles of the estimate over the codes of all autoencoders of a leak.",
    )


def _reconstructions(settings: Settings, trained: Trained) -> Panel:
    points = [
        Marks(
            name=f"leak {leak:g}",
            x=tuple(leak for pair in trained.pairs if pair.leak == leak for _ in range(2)),
            y=tuple(
                error
                for pair in trained.pairs
                if pair.leak == leak
                for error in pair.reconstruction
            ),
        )
        for leak in settings.leaks
    ]
    optimum = trained.optima[0]
    ends = (min(settings.leaks), max(settings.leaks))
    best = Marks(name="PCA, the optimum at leak 1", x=ends, y=(optimum, optimum), kind="line")
    return Panel(
        title="Figure A.5: reconstruction by leak",
        x="leak",
        y="mean squared error",
        marks=(*points, best),
        caption="One point is an autoencoder.",
    )
