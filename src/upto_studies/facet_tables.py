"""Quantities, tables and plots of the study of facets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto.core.table import columns
from upto_studies.agreement import GROUPS, over_pairs, over_runs
from upto_studies.facet_pairs import MEASURES, TOGETHER, facet_name, view_names
from upto_studies.study_marks import curve_marks, estimate_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.agreement import Agreement
    from upto_studies.facet_pairs import FacetPair
    from upto_studies.facets_mnist import Activated

PAPER = {"ReLU": (0.70, 0.91), "LeakyReLU": (0.69, 0.94)}
"""Published strong and weak MCC."""
PUBLISHED_ACCURACY = Estimate(value=0.9202, low=0.8900, high=0.9504)
"""MFCVAE on MNIST in the README of FabianFalck/mfcvae, and its ± 3.02 %."""

_COLLAPSED = 0.5
"""Nats about the image below which a facet has collapsed."""
_LIVING = 0.01
"""Least share of the images of a living component."""
_ACTIVE = 0.5
"""Least share of a coordinate's variance that depends on the image, of an active coordinate."""

_KINDS: dict[str, Callable[[Agreement], dict[str, float]]] = {
    "in sample": lambda each: each.measures_in_sample,
    "held out": lambda each: each.measures,
    "in sample, shuffled rows": lambda each: each.measures_chance_in_sample,
    "held out, shuffled rows": lambda each: each.measures_chance,
}
_ERRORS: dict[str, Callable[[Agreement], dict[str, float]]] = {
    "in sample": lambda each: each.in_sample,
    "held out": lambda each: each.held_out,
    "held out, shuffled rows": lambda each: each.chance,
}


def measured_of(groups: Sequence[Activated]) -> dict[str, Estimate]:
    """Return the quantities of ``expected.json`` of the activations that were trained."""
    collapsed = np.concatenate([group.codes.divergences[:, group.runs] for group in groups], axis=1)
    found = {
        "diverged": Estimate(value=float(sum(group.n_diverged for group in groups))),
        "collapsed facets": Estimate(value=float((collapsed < _COLLAPSED).mean())),
    }
    for group in groups:
        for name, value in _measured(group).items():
            found[f"{name}, {group.name}"] = value
    return found


def _measured(group: Activated) -> dict[str, Estimate]:
    strong, weak = ("mcc", "weak-mcc-20")
    before = {name: _mean(group.first_pairs, _measure(name)).value for name in (strong, weak)}
    best = group.accuracies.in_sample.max(axis=0)
    return {
        "strong MCC": _mean(group.pairs, _measure(strong, "in sample")),
        "weak MCC": _mean(group.pairs, _measure(weak, "in sample")),
        "strong MCC held out": _mean(group.pairs, _measure(strong)),
        "weak MCC held out": _mean(group.pairs, _measure(weak)),
        "weak above strong": _mean(
            group.pairs, lambda each: each.measures[weak] - each.measures[strong]
        ),
        "strong MCC above untrained": _mean(
            group.pairs, lambda each: each.measures[strong] - before[strong]
        ),
        "weak MCC above untrained": _mean(
            group.pairs, lambda each: each.measures[weak] - before[weak]
        ),
        "loss held out": _mean(
            group.pairs, lambda each: each.measures_in_sample[weak] - each.measures[weak]
        ),
        "affine R²": _mean(group.pairs, lambda each: each.r2["affine"]),
        "facets in depth order": over_runs(
            [(pair.runs, float(pair.in_depth_order)) for pair in group.pairs]
        ),
        "accuracy": over_pairs(best),
        "accuracy held out": over_pairs(_held_out_accuracy(group)),
        "living clusters": over_pairs(_living(group).mean(axis=0)),
    }


def said_of(groups: Sequence[Activated], images: str) -> str:
    """Return the result in a sentence."""
    parts = []
    for group in groups:
        found = _measured(group)
        parts.append(
            f"{len(group.runs)} trainings with {group.name} on {images} agree with strong MCC "
            f"{found['strong MCC']:.2f} and weak MCC {found['weak MCC']:.2f} in sample, "
            f"{found['strong MCC held out'].value:.2f} and {found['weak MCC held out'].value:.2f} "
            f"held out, and the better facet finds the digit of {found['accuracy'].value:.0%}"
        )
    return "; ".join(parts)


def facet_tables(groups: Sequence[Activated]) -> tuple[Table, ...]:
    """Return the tables, the most important first."""
    return (
        _agreement_table(groups),
        _cluster_table(groups),
        _error_table(groups),
        _training_table(groups),
    )


def _agreement_table(groups: Sequence[Activated]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        for view in _views(group):
            for kind in _KINDS:
                means = (_mean(group.pairs, _measure(name, kind), view) for name in _names())
                rows.append((group.name, view, kind, len(group.pairs), *means))
            means = (_mean(group.first_pairs, _measure(name), view) for name in _names())
            rows.append((group.name, view, "held out, untrained", len(group.first_pairs), *means))
        rows.append((group.name, TOGETHER, "paper", 45, *PAPER[group.name], None))
    return Table(
        title="Agreement of pairs of runs",
        columns=(
            *columns("activation", "latents", "rows", "pairs"),
            *columns(*MEASURES, spec=".3f"),
        ),
        rows=tuple(rows),
        caption="Posterior means of test images, Pearson correlations unless RDC is named; means "
        "over unordered pairs. Intervals leave out one run at a time. Facet 1 is the shallowest; "
        "facets are matched between runs first. The paper does not say which rows and which "
        "correlation it takes.",
    )


def _error_table(groups: Sequence[Activated]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        for view in _views(group):
            shown = [(kind, group.pairs, _ERRORS[kind]) for kind in _ERRORS]
            shown.append(("held out, untrained", group.first_pairs, _ERRORS["held out"]))
            for kind, pairs, numbers in shown:
                errors = (_mean(pairs, _entry(numbers, name), view) for name in GROUPS)
                explained = (
                    _mean(pairs, lambda each: each.r2["affine"], view)
                    if kind in ("held out", "held out, untrained")
                    else None
                )
                rows.append((group.name, view, kind, *errors, explained))
    return Table(
        title="Mean L2 error over the diameter, up to each group",
        columns=(
            *columns("activation", "latents", "rows"),
            *columns(*GROUPS, spec=".3f"),
            Column(name="affine R²", spec=".3f"),
        ),
        rows=tuple(rows),
        caption="By upto.compare; intervals leave out one run at a time.",
    )


def _cluster_table(groups: Sequence[Activated]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        ours, first, living = group.accuracies, group.first_accuracies, _living(group)
        active = _active(group)
        for facet in range(len(living)):
            rows.append(
                (
                    group.name,
                    facet_name(facet),
                    over_pairs(ours.in_sample[facet]),
                    over_pairs(ours.held_out[facet]),
                    over_pairs(ours.chance[facet]),
                    over_pairs(first.in_sample[facet]),
                    over_pairs(living[facet]),
                    over_pairs(active[facet]),
                    over_pairs(group.codes.divergences[facet, group.runs]),
                )
            )
        rows.append(
            (
                group.name,
                "the better one",
                over_pairs(ours.in_sample.max(axis=0)),
                over_pairs(_held_out_accuracy(group)),
                over_pairs(ours.chance.max(axis=0)),
                over_pairs(first.in_sample.max(axis=0)),
                *(None,) * 3,
            )
        )
    rows.append(("MFCVAE, published", "the better one", PUBLISHED_ACCURACY, *(None,) * 6))
    return Table(
        title="Clusters and digits",
        columns=(
            *columns("activation", "facet"),
            *columns("accuracy", "held out", "shuffled digits", "untrained", spec=".3f"),
            *columns("living clusters", "active coordinates", "nats", spec=".1f"),
        ),
        rows=tuple(rows),
        caption="Clusters are named by their most frequent digit: on the test images themselves, "
        "as published, or held out, on training images, which also choose the better facet. "
        f"Living clusters have at least {_LIVING:.0%} of the test images; at least half of the "
        "variance of active coordinates depends on the image; nats are the divergence from the "
        "prior. Means over runs with Student intervals; the published one is ± as printed.",
    )


def _training_table(groups: Sequence[Activated]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        for name, codes in (("trained", group.codes), ("untrained", group.first_codes)):
            errors, nats = codes.errors[group.runs], codes.divergences[:, group.runs].sum(axis=0)
            rows.append(
                (
                    group.name,
                    name,
                    len(group.runs),
                    group.n_diverged if name == "trained" else None,
                    over_pairs(-errors - nats),
                    over_pairs(errors),
                    over_pairs(nats),
                )
            )
    return Table(
        title="Training",
        columns=(
            *columns("activation", "networks", "runs", "diverged"),
            *columns("bound", "reconstruction", "divergence", spec=".1f"),
        ),
        rows=tuple(rows),
        caption="Evidence lower bound of test images in nats, one draw of the code of each, with "
        "its two parts. Means over runs with Student intervals.",
    )


def facet_panels(groups: Sequence[Activated]) -> tuple[Panel, ...]:
    """Return the plots, the most important first."""
    views = _views(groups[0])
    agreement, accuracy, errors, nats = [], [], [], []
    for group in groups:
        for title in ("strong MCC", "weak MCC"):
            for name, pairs in (("", group.pairs), (", untrained", group.first_pairs)):
                means = [_mean(pairs, _measure(MEASURES[title]), view) for view in views]
                agreement.append(estimate_marks(f"{title}, {group.name}{name}", means))
        paper = PAPER[group.name]
        agreement.append(Marks(name=f"paper, {group.name}", x=(1.0, 1.0), y=paper, kind="points"))
        for name, own in (("", group.accuracies), (", untrained", group.first_accuracies)):
            accuracy.append(
                estimate_marks(f"{group.name}{name}", [over_pairs(each) for each in own.in_sample])
            )
        errors.append(curve_marks(group.name, group.errors))
        nats += [
            curve_marks(f"{facet_name(facet)}, {group.name}", group.divergences[:, facet])
            for facet in range(group.divergences.shape[1])
        ]
    return (
        Panel(
            title="Agreement of pairs of runs, held out",
            x="latents",
            y="MCC",
            marks=tuple(agreement),
            x_names=views,
            y_zero=True,
            caption="Means over pairs with intervals over runs. The paper's values are of an "
            "unknown kind of rows.",
        ),
        Panel(
            title="Clustering accuracy of test images",
            x="facet",
            y="accuracy",
            marks=tuple(accuracy),
            x_names=views[1:],
            y_zero=True,
            caption=f"Named on the same images. MFCVAE's published accuracy is "
            f"{PUBLISHED_ACCURACY.value:.1%} for the better facet.",
        ),
        Panel(
            title="Reconstruction error",
            x="epoch",
            y="nats",
            marks=tuple(errors),
            caption="Training images; means over runs. The deepest facet is trained first.",
        ),
        Panel(
            title="Divergence of each facet",
            x="epoch",
            y="nats",
            marks=tuple(nats),
            y_zero=True,
            caption="Training images; means over runs. A facet counts from when it is faded in.",
        ),
    )


def _names() -> tuple[str, ...]:
    return tuple(MEASURES.values())


def _views(group: Activated) -> tuple[str, ...]:
    return view_names(len(group.codes.means))


def _measure(name: str, kind: str = "held out") -> Callable[[Agreement], float]:
    return _entry(_KINDS[kind], name)


def _entry(
    numbers: Callable[[Agreement], dict[str, float]], name: str
) -> Callable[[Agreement], float]:
    return lambda each: numbers(each)[name]


def _mean(
    pairs: Sequence[FacetPair], number: Callable[[Agreement], float], view: str = TOGETHER
) -> Estimate:
    return over_runs([(pair.runs, number(pair.views[view])) for pair in pairs])


def _held_out_accuracy(group: Activated) -> Float:
    """Return the held-out accuracy of the facet that is better on the images that name clusters."""
    better = group.accuracies.named.argmax(axis=0)
    chosen: Float = group.accuracies.held_out[better, np.arange(len(better))]
    return chosen


def _living(group: Activated) -> Float:
    """Return the number of living components, facets × runs."""
    clusters = group.codes.clusters[:, group.runs]
    least = _LIVING * clusters.shape[-1]
    counts: Float = np.array(
        [[float((np.bincount(run) >= least).sum()) for run in facet] for facet in clusters]
    )
    return counts


def _active(group: Activated) -> Float:
    """Return the number of active coordinates, facets × runs."""
    found = []
    for means, noise in zip(group.codes.means, group.codes.variances, strict=True):
        signal = means[group.runs].var(axis=1)
        found.append((signal > _ACTIVE * (signal + noise[group.runs])).sum(axis=1))
    counts: Float = np.array(found, dtype=np.float64)
    return counts
