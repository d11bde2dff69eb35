"""Quantities, tables and plots of the study of clusters of digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.agreement import over_pairs
from upto_studies.digit_clusters import BASELINES
from upto_studies.run_pairs import COLUMNS, agreement_table, cluster_agreement, mean_of_pairs
from upto_studies.table_one import curve_panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.core import Cell
    from upto_studies.digit_clusters import Clustered, Settings, Stage
    from upto_studies.digit_images import DigitImages

PUBLISHED = 0.9446
"""Accuracy of VaDE on MNIST in Table 2 of Jiang et al. 2017."""


def measured_of(
    stages: Mapping[str, Stage], baselines: Mapping[str, Clustered]
) -> dict[str, Estimate]:
    """Return the quantities of ``expected.json``."""
    last, first = stages["VaDE"], stages["pre-training"]
    mixture = baselines[BASELINES[1]]
    lost = last.members.model.n_components - last.living.min()
    own = {
        "accuracy": over_pairs(last.clustered.in_sample, low=0.0, high=1.0),
        "best accuracy": Estimate(value=float(last.clustered.in_sample.max())),
        "accuracy, held out": over_pairs(last.clustered.held_out, low=0.0, high=1.0),
        "accuracy over pre-training": over_pairs(
            last.clustered.held_out - first.clustered.held_out
        ),
        "accuracy over principal components": over_pairs(
            last.clustered.held_out - mixture.held_out.mean()
        ),
        "lost components": Estimate(value=float(lost)),
        "diverged": Estimate(value=float(last.members.diverged.sum())),
        "agreement of clusters": cluster_agreement(last.clustered.clusters),
        "squared error of pre-training": over_pairs(first.members.pretraining_losses[-1], low=0.0),
    }
    return own | {name: mean_of_pairs(last.pairs, name) for name in COLUMNS}


def says_of(settings: Settings, images: DigitImages, measured: dict[str, Estimate]) -> str:
    """Return the result sentence."""
    return (
        f"VaDE of {settings.n_seeds} seeds on {images.name} puts a share of "
        f"{measured['accuracy, held out']:.3f} of held-out images into the cluster of their digit "
        f"(published: {PUBLISHED} of all images of MNIST), "
        f"{measured['accuracy over principal components'].value:+.3f} compared with a Gaussian "
        f"mixture of principal components; {measured['diverged'].value:.0f} seeds diverged, and "
        f"the most components that a seed lost are {measured['lost components'].value:.0f}"
    )


def tables_of(stages: Mapping[str, Stage], baselines: Mapping[str, Clustered]) -> tuple[Table, ...]:
    """Return the tables, the most important first."""
    rows: list[tuple[Cell, ...]] = []
    for name, each in baselines.items():
        rows.append((name, *_scores(each), None, None))
    for name, stage in stages.items():
        diverged = int(stage.members.diverged.sum())
        rows.append((name, *_scores(stage.clustered), float(stage.living.min()), diverged))
    rows.append(("Jiang et al. 2017", None, PUBLISHED, *(None,) * 6))
    accuracy = Table(
        title="Clusters and digits",
        columns=(
            Column(name="clusters of"),
            Column(name="seeds"),
            Column(name="accuracy, in sample", spec=".3f"),
            Column(name="lowest", spec=".3f"),
            Column(name="highest", spec=".3f"),
            Column(name="accuracy, held out", spec=".3f"),
            Column(name="adjusted Rand index of two seeds", spec=".3f"),
            Column(name="fewest living components", spec=".0f"),
            Column(name="diverged"),
        ),
        rows=tuple(rows),
        caption="Share of images in the cluster matched with their digit, clusters and digits one "
        "to one; means over seeds with 95 % intervals. Held out: test images, matched as the "
        "training images. The published number is of one run on all images of MNIST.",
    )
    caption = (
        "Codes of held-out images of every two seeds; maps and matchings fitted to one half and "
        "scored on the other, unless in sample. Intervals leave out one seed at a time."
    )
    pairs = {name: stage.pairs for name, stage in stages.items()}
    return accuracy, agreement_table("Agreement of seeds", pairs, caption)


def panels_of(stages: Mapping[str, Stage], baselines: Mapping[str, Clustered]) -> tuple[Panel, ...]:
    """Return the plots, the most important first."""
    groups = dict(baselines) | {name: stage.clustered for name, stage in stages.items()}
    marks = tuple(
        Marks(
            name=name,
            x=tuple(np.full(len(each.held_out), float(place)).tolist()),
            y=tuple(each.held_out.tolist()),
        )
        for place, (name, each) in enumerate(groups.items(), start=1)
    )
    last = stages["VaDE"].members
    return (
        Panel(
            title="Accuracy of clusters, held out",
            x="clusters of",
            y="accuracy",
            marks=marks,
            x_names=tuple(groups),
            y_zero=True,
            caption="One point per seed.",
        ),
        curve_panel("VaDE", last.losses, "epoch"),
        curve_panel("the autoencoder before", last.pretraining_losses, "epoch"),
    )


def _scores(each: Clustered) -> tuple[Cell, ...]:
    return (
        len(each.in_sample),
        over_pairs(each.in_sample, low=0.0, high=1.0),
        float(each.in_sample.min()),
        float(each.in_sample.max()),
        over_pairs(each.held_out, low=0.0, high=1.0),
        cluster_agreement(each.clusters) if len(each.clusters) > 1 else None,
    )
