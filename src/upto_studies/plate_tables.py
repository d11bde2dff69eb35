"""Tables and plots of the held-out-plate study."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.plate_cases import CASES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from upto_studies.plate_holdout_synthetic import Reading

TITLES = {
    "base": "Base",
    "pca": "PCA",
    "ica": "PCA + ICA",
    "random": "PCA + Rand",
    "truth": "true factors",
}

# With two screens the interval would be many times wider than their range.
_FEWEST = 3


def mean_of(values: Sequence[float], *, most: float = math.inf) -> Estimate:
    """Return a mean over screens with its interval by Student's t, from three screens on."""
    array = np.asarray(values)
    mean = float(array.mean())
    if len(array) < _FEWEST:
        return Estimate(value=mean)
    error = float(array.std(ddof=1)) / math.sqrt(len(array))
    reach = float(scipy.stats.t.ppf(0.975, len(array) - 1)) * error
    return Estimate(value=mean, low=mean - reach, high=min(mean + reach, most))


def cases_table(found: Mapping[str, list[Reading]]) -> Table:
    """Return the AUROC of every condition in every case."""
    return Table(
        title="AUROC on held-out plates",
        columns=(
            Column(name="case"),
            Column(name="what it is"),
            *(Column(name=title, spec=".3f") for title in TITLES.values()),
            Column(name="ICA less Base", spec="+.3f"),
            Column(name="ICA less Rand", spec="+.3f"),
        ),
        rows=tuple(
            (
                name,
                CASES[name].says,
                *(_mean(readings, "auroc", condition) for condition in TITLES),
                _difference(readings, "base"),
                _difference(readings, "random"),
            )
            for name, readings in found.items()
        ),
        caption="Means over screens, guides and folds; intervals are over screens. True factors "
        "are what a transform that finds all of them would give.",
    )


def planted_table(found: Mapping[str, list[Reading]]) -> Table:
    """Return how well the planted factors were recovered."""
    return Table(
        title="Factors that guides or plates move, and the components that match them",
        columns=(
            Column(name="case"),
            Column(name="rows per component", spec=".0f"),
            Column(name="correlation", spec=".3f"),
            Column(name="carry what they should", spec=".2f"),
        ),
        rows=tuple(
            (
                name,
                float(np.mean([each.rows_per_dimension for each in readings])),
                float(np.mean([each.matched for each in readings])),
                float(np.mean([each.carried for each in readings])),
            )
            for name, readings in found.items()
        ),
        caption="Components are matched to factors one to one. A component carries what it should "
        "if batch and label are found in it exactly where they move its factor.",
    )


def within_table(found: Mapping[str, list[Reading]]) -> Table:
    """Return AUROC among wells of the same plate, and sparsity."""
    return Table(
        title="AUROC within held-out plates, and sparsity of splits",
        columns=(
            Column(name="case"),
            *(Column(name=f"{title}, within", spec=".3f") for title in TITLES.values()),
            *(Column(name=f"{title}, sparsity", spec=".3f") for title in TITLES.values()),
        ),
        rows=tuple(
            (
                name,
                *(_mean(readings, "within", condition) for condition in TITLES),
                *(_mean(readings, "sparsity", condition) for condition in TITLES),
            )
            for name, readings in found.items()
        ),
    )


def cases_panel(found: Mapping[str, list[Reading]]) -> Panel:
    """Return the AUROC of conditions in every case."""
    return Panel(
        title="When ICA helps",
        x="case",
        y="AUROC on held-out plates",
        marks=tuple(
            Marks(
                name=title,
                x=tuple(float(number) for number in range(1, len(found) + 1)),
                y=tuple(_auroc(readings, condition) for readings in found.values()),
            )
            for condition, title in TITLES.items()
        ),
        x_names=tuple(found),
    )


def rows_panel(found: Mapping[str, list[Reading]]) -> Panel:
    """Return the AUROC of conditions over the number of rows per dimension."""
    ratios = tuple(readings[0].rows_per_dimension for readings in found.values())
    return Panel(
        title="ICA needs rows",
        x="rows per dimension",
        y="AUROC on held-out plates",
        marks=tuple(
            Marks(
                name=title,
                x=ratios,
                y=tuple(_auroc(readings, condition) for readings in found.values()),
                kind="line" if condition == "truth" else "points",
            )
            for condition, title in TITLES.items()
        ),
        x_log=True,
        caption="Mixed independent Laplace factors.",
    )


def _difference(readings: list[Reading], against: str) -> Estimate:
    return mean_of([each.auroc["ica"] - each.auroc[against] for each in readings])


def _auroc(readings: list[Reading], condition: str) -> float:
    return float(np.mean([each.auroc[condition] for each in readings]))


def _mean(readings: list[Reading], what: str, condition: str) -> float | None:
    mean = float(np.mean([getattr(each, what)[condition] for each in readings]))
    return mean if math.isfinite(mean) else None
