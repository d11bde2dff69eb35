"""Quantities and tables of the study of facets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Table
from upto.core.table import columns
from upto_studies.agreement import GROUPS, over_pairs, over_runs
from upto_studies.facet_pairs import (
    KINDS,
    MEASURES,
    TOGETHER,
    entry_of,
    facet_name,
    mean_over_runs,
    measured_by,
    view_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.agreement import Agreement
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
    strong, weak, _ = MEASURES.values()
    before = {
        name: mean_over_runs(group.first_pairs, measured_by(name)).value for name in (strong, weak)
    }
    best = group.accuracies.in_sample.max(axis=0)
    facets = view_names(len(group.codes.means))[1:]
    return {
        "strong MCC": mean_over_runs(group.pairs, measured_by(strong, "in sample"), high=1.0),
        "weak MCC": mean_over_runs(group.pairs, measured_by(weak, "in sample"), high=1.0),
        "strong MCC held out": mean_over_runs(group.pairs, measured_by(strong), high=1.0),
        "weak MCC held out": mean_over_runs(group.pairs, measured_by(weak), high=1.0),
        "weak above strong": mean_over_runs(
            group.pairs, lambda each: each.measures[weak] - each.measures[strong]
        ),
        "weak MCC of the deepest facet": mean_over_runs(
            group.pairs, measured_by(weak), facets[-1], high=1.0
        ),
        "weak above strong of the deepest facet": mean_over_runs(
            group.pairs, lambda each: each.measures[weak] - each.measures[strong], facets[-1]
        ),
        "weak MCC of the shallowest facet": mean_over_runs(
            group.pairs, measured_by(weak), facets[0], high=1.0
        ),
        "strong MCC above untrained": mean_over_runs(
            group.pairs, lambda each: each.measures[strong] - before[strong]
        ),
        "weak MCC above untrained": mean_over_runs(
            group.pairs, lambda each: each.measures[weak] - before[weak]
        ),
        "loss held out": mean_over_runs(
            group.pairs, lambda each: each.measures_in_sample[weak] - each.measures[weak]
        ),
        "affine R²": mean_over_runs(group.pairs, lambda each: each.r2["affine"], high=1.0),
        "facets in depth order": over_runs(
            [(pair.runs, float(pair.in_depth_order)) for pair in group.pairs], low=0.0, high=1.0
        ),
        "accuracy": over_pairs(best, low=0.0, high=1.0),
        "accuracy held out": over_pairs(_held_out_accuracy(group), low=0.0, high=1.0),
        "living clusters": over_pairs(_living(group).mean(axis=0), low=0.0),
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
        for view in view_names(len(group.codes.means)):
            for kind in KINDS:
                means = (
                    mean_over_runs(group.pairs, measured_by(name, kind), view, high=1.0)
                    for name in MEASURES.values()
                )
                rows.append((group.name, view, kind, len(group.pairs), *means))
            means = (
                mean_over_runs(group.first_pairs, measured_by(name), view, high=1.0)
                for name in MEASURES.values()
            )
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
        "facets are matched between runs first. Which rows and which "
        "correlation the paper takes is in an appendix that we do not have.",
    )


def _error_table(groups: Sequence[Activated]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        for view in view_names(len(group.codes.means)):
            shown = [(kind, group.pairs, _ERRORS[kind]) for kind in _ERRORS]
            shown.append(("held out, untrained", group.first_pairs, _ERRORS["held out"]))
            for kind, pairs, numbers in shown:
                errors = (
                    mean_over_runs(pairs, entry_of(numbers, name), view, low=0.0) for name in GROUPS
                )
                explained = (
                    mean_over_runs(pairs, lambda each: each.r2["affine"], view, high=1.0)
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
        active, directions = _active(group), _directions(group)
        for facet in range(len(living)):
            rows.append(
                (
                    group.name,
                    facet_name(facet),
                    over_pairs(ours.in_sample[facet], low=0.0, high=1.0),
                    over_pairs(ours.held_out[facet], low=0.0, high=1.0),
                    over_pairs(ours.chance[facet], low=0.0, high=1.0),
                    over_pairs(first.in_sample[facet], low=0.0, high=1.0),
                    over_pairs(living[facet], low=0.0),
                    over_pairs(active[facet], low=0.0),
                    over_pairs(directions[facet], low=0.0),
                    over_pairs(group.codes.divergences[facet, group.runs]),
                )
            )
        rows.append(
            (
                group.name,
                "the better one",
                over_pairs(ours.in_sample.max(axis=0), low=0.0, high=1.0),
                over_pairs(_held_out_accuracy(group), low=0.0, high=1.0),
                over_pairs(ours.chance.max(axis=0), low=0.0, high=1.0),
                over_pairs(first.in_sample.max(axis=0), low=0.0, high=1.0),
                *(None,) * 4,
            )
        )
    rows.append(("MFCVAE, published", "the better one", PUBLISHED_ACCURACY, *(None,) * 7))
    return Table(
        title="Clusters and digits",
        columns=(
            *columns("activation", "facet"),
            *columns("accuracy", "held out", "shuffled digits", "untrained", spec=".3f"),
            *columns(
                "living clusters", "active coordinates", "distinct coordinates", "nats", spec=".1f"
            ),
        ),
        rows=tuple(rows),
        caption="Clusters are named by their most frequent digit: on the test images themselves, "
        "as published, or held out, on training images, which also choose the better facet. "
        f"Living clusters have at least {_LIVING:.0%} of the test images; at least half of the "
        "variance of active coordinates depends on the image; distinct ones are counted by the "
        "eigenvalues of their correlations, (Σλ)²/Σλ²; nats are the divergence from the prior. "
        "Means over runs with Student intervals; the published one is ± as printed.",
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


def _directions(group: Activated) -> Float:
    """Return the participation ratio of the correlations of each facet's means, facets × runs."""
    found = []
    for means in group.codes.means:
        away = means[group.runs] - means[group.runs].mean(axis=1, keepdims=True)
        scale = np.linalg.norm(away, axis=1, keepdims=True)
        scaled = np.divide(away, scale, out=np.zeros_like(away), where=scale > 0)
        spectra = np.linalg.svd(scaled, compute_uv=False) ** 2
        found.append(spectra.sum(axis=1) ** 2 / np.square(spectra).sum(axis=1))
    counts: Float = np.array(found, dtype=np.float64)
    return counts
