"""Plots of the study of facets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Marks, Panel
from upto_studies.agreement import over_pairs
from upto_studies.facet_pairs import (
    MEASURES,
    facet_name,
    mean_over_runs,
    measured_by,
    view_names,
)
from upto_studies.facet_tables import PAPER, PUBLISHED_ACCURACY
from upto_studies.study_marks import curve_marks, estimate_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto_studies.facets_mnist import Activated


TITLES = ("strong MCC", "weak MCC")
_ASIDE = 0.04


def facet_panels(groups: Sequence[Activated]) -> tuple[Panel, ...]:
    """Return the plots, the most important first."""
    views = view_names(len(groups[0].codes.means))
    accuracy, errors, nats = [], [], []
    agreement: dict[str, list[Marks]] = {title: [] for title in TITLES}
    for place, group in enumerate(groups):
        # Side by side, because activations hardly differ.
        aside = _ASIDE * (2 * place - len(groups) + 1)
        for title, published in zip(TITLES, PAPER[group.name], strict=True):
            for name, pairs in (("", group.pairs), (", untrained", group.first_pairs)):
                means = [
                    mean_over_runs(pairs, measured_by(MEASURES[title]), view, high=1.0)
                    for view in views
                ]
                agreement[title].append(estimate_marks(f"{group.name}{name}", means, aside=aside))
            paper = Marks(name=f"{group.name}, paper", x=(1.0 + aside,), y=(published,))
            agreement[title].append(paper)
        for name, own in (("", group.accuracies), (", untrained", group.first_accuracies)):
            accuracy.append(
                estimate_marks(
                    f"{group.name}{name}",
                    [over_pairs(each, low=0.0, high=1.0) for each in own.in_sample],
                )
            )
        errors.append(curve_marks(group.name, group.errors))
        nats += [
            curve_marks(f"{facet_name(facet)}, {group.name}", group.divergences[:, facet])
            for facet in range(group.divergences.shape[1])
        ]
    return (
        *(
            Panel(
                title=f"{title[0].upper()}{title[1:]} of pairs of runs, held out",
                x="latents",
                y=title,
                marks=tuple(marks),
                x_names=views,
                y_zero=True,
                caption="Means over pairs with intervals over runs. The paper's values are of an "
                "unknown kind of rows.",
            )
            for title, marks in agreement.items()
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
