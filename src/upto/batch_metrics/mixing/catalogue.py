"""Catalogue of the scores of mixing and conservation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from upto.batch_metrics.mixing.silhouettes import batch_width, isolated_width, label_width
from upto.batch_metrics.mixing.view import MixingView, Needs
from upto.core.catalogue import Catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable

Side = Literal["batch", "biology", "total"]
Compute = Callable[[MixingView], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingKind:
    """A score of mixing or conservation and its properties.

    Parameters
    ----------
    name
        Identifier of the score.
    title
        Name in running text.
    side
        What it measures: batch mixing, conservation of biology, or both.
    low, high
        Range, 0 to 1 by default; higher is better.
    source
        Publication.
    says
        Short definition.
    rewards
        What raises it.
    gamed
        What raises it without improving the embedding.
    counts
        Whether the totals include it.
    compute
        Function that scores one view; None for the totals.
    needs
        Statistics the view must collect from all distances, if any.

    See Also
    --------
    find_mixing : Returns them by name.
    """

    name: str
    title: str
    side: Side
    low: float = 0.0
    high: float = 1.0
    source: str
    says: str
    rewards: str
    gamed: str
    counts: bool = True
    compute: Compute | None = field(default=None, repr=False, compare=False)
    needs: Needs | None = None


_SCIB = "Luecken et al. 2022, scIB"
_NOISE = "Noise without any label mixes perfectly."
_LABELS = "Rows that encode only the label reach 1."

_KINDS = (
    MixingKind(
        name="silhouette-label",
        title="label silhouette (ASW)",
        side="biology",
        source="Rousseeuw 1987; " + _SCIB,
        says="The mean silhouette width of labels, mapped from [-1, 1] to [0, 1].",
        rewards="labels that are compact and far from each other",
        gamed=_LABELS + " Noise scores about one half, not zero.",
        compute=lambda view: label_width(view.by_label.widths, view.labels),
        needs="by_label",
    ),
    MixingKind(
        name="isolated-labels",
        title="isolated labels",
        side="biology",
        source=_SCIB,
        says="The label silhouette of the labels that occur in the fewest batches.",
        rewards="labels of few batches that stay separate",
        gamed="A batch effect separates a label of one batch: not correcting is rewarded.",
        compute=lambda view: isolated_width(view.by_label.widths, view.labels, view.outer),
        needs="by_label",
    ),
    MixingKind(
        name="clisi",
        title="cLISI",
        side="biology",
        source="Korsunsky et al. 2019, Harmony; " + _SCIB,
        says="The median effective number of labels near a row, scaled so that one label is 1.",
        rewards="neighbours of the same label",
        gamed=_LABELS + " With many labels it is near 1 for almost any rows.",
        compute=lambda view: view.lisi("biology"),
        needs="near",
    ),
    MixingKind(
        name="kmeans-nmi",
        title="k-means NMI",
        side="biology",
        source=_SCIB,
        says="Normalised mutual information of labels and as many k-means clusters.",
        rewards="round clusters that match the labels",
        gamed=_LABELS + " It is not adjusted: with small labels noise is far above 0.",
        compute=lambda view: view.clusters.nmi,
    ),
    MixingKind(
        name="kmeans-ari",
        title="k-means ARI",
        side="biology",
        low=-0.5,
        source="Hubert and Arabie 1985; " + _SCIB,
        says="The adjusted Rand index of labels and as many k-means clusters.",
        rewards="round clusters that match the labels",
        gamed=_LABELS,
        compute=lambda view: view.clusters.ari,
    ),
    MixingKind(
        name="silhouette-batch",
        title="batch silhouette",
        side="batch",
        source=_SCIB,
        says="One minus the mean |silhouette width| of batches within labels.",
        rewards="every batch being close to one other batch of its label",
        gamed="Batches that overlap in pairs, and not otherwise, score high: see BRAS. " + _NOISE,
        counts=False,
        compute=lambda view: batch_width(view.by_batch.widths, view.labels, view.outer),
        needs="by_batch",
    ),
    MixingKind(
        name="bras",
        title="BRAS",
        side="batch",
        source="Rautenstrauch and Ohler 2025",
        says="The batch silhouette by cosine distance, against all other batches of the label.",
        rewards="batches of a label that coincide",
        gamed=_NOISE,
        compute=lambda view: batch_width(view.by_angle.widths, view.labels, view.outer),
        needs="by_angle",
    ),
    MixingKind(
        name="ilisi",
        title="iLISI",
        side="batch",
        source="Korsunsky et al. 2019, Harmony; " + _SCIB,
        says="The median effective number of batches near a row, scaled so that one batch is 0.",
        rewards="neighbours drawn equally from all batches",
        gamed=_NOISE + " Labels that differ between batches lower it even if nothing is wrong.",
        compute=lambda view: view.lisi("batch"),
        needs="near",
    ),
    MixingKind(
        name="kbet",
        title="kBET",
        side="batch",
        source="Büttner et al. 2019; " + _SCIB,
        says="The fraction of rows whose neighbours within a label match its batch distribution.",
        rewards="neighbourhoods that are random samples of batches",
        gamed=_NOISE,
        compute=lambda view: view.kbet(),
        needs="near",
    ),
    MixingKind(
        name="graph-connectivity",
        title="graph connectivity",
        side="batch",
        source=_SCIB,
        says="The fraction of a label's rows in the largest component of its neighbour graph.",
        rewards="labels that form one connected component",
        gamed="A label far from all others is connected regardless of its batches; so is noise "
        "with few labels.",
        compute=lambda view: view.connectivity(),
        needs="near",
    ),
    MixingKind(
        name="pcr",
        title="PCR comparison",
        side="batch",
        source="Büttner et al. 2019; " + _SCIB,
        says="The fraction of the variance between batches that a correction removed.",
        rewards="batches with equal means",
        gamed="Centring each batch gives 1, with biology removed wherever it differs by batch.",
        compute=lambda view: view.pcr(),
    ),
    MixingKind(
        name="batch",
        title="batch correction",
        side="total",
        source=_SCIB,
        says="The mean of the scores of the batch side that the total counts.",
        rewards="mixing on average",
        gamed=_NOISE,
        counts=False,
    ),
    MixingKind(
        name="biology",
        title="biology conservation",
        side="total",
        low=-0.1,
        source=_SCIB,
        says="The mean of the scores of the biology side that the total counts.",
        rewards="labels that are separated on average",
        gamed=_LABELS,
        counts=False,
    ),
    MixingKind(
        name="total",
        title="scIB total",
        side="total",
        low=-0.06,
        source=_SCIB,
        says="0.6 of biology conservation and 0.4 of batch correction.",
        rewards="both sides, regardless of how their scores vary",
        gamed="It hides which side lost, weights scores by how much they happen to vary, counts "
        "related scores twice, and uses only rows that the correction was fitted to.",
        counts=False,
    ),
)

MIXING: Catalogue[MixingKind] = Catalogue("score", _KINDS)
"""All scores by name."""


def find_mixing(names: str | Iterable[str] | None = None) -> tuple[MixingKind, ...]:
    """Return scores by name; all by default.

    Parameters
    ----------
    names
        One name or several, such as ``bras``.

    Returns
    -------
    tuple of MixingKind
        The scores, in the order of the names.

    Raises
    ------
    InputError
        If there is no such score.

    See Also
    --------
    evaluate_mixing : Computes them.
    scib_total : The total of those that count.

    Examples
    --------
    >>> from upto.batch_metrics.mixing import find_mixing
    >>> [kind.title for kind in find_mixing(["bras", "ilisi"])]
    ['BRAS', 'iLISI']
    """
    return MIXING.choose("all" if names is None else names)
