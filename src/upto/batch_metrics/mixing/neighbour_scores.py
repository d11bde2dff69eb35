"""Scores of the nearest rows of each row, from arrays; None where undefined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.batch_metrics.mixing import kbet as tests
from upto.batch_metrics.mixing import lisi, whole
from upto.batch_metrics.mixing.nearest_rows import find_neighbours
from upto.batch_metrics.mixing.points import UndefinedScoreError, points_and_groups
from upto.batch_metrics.mixing.view import GRAPH_NEIGHBOURS, KBET_NEIGHBOURS, LISI_NEIGHBOURS

if TYPE_CHECKING:
    from upto.batch_metrics.mixing.points import Names
    from upto.core.array_types import Float


def ilisi(
    rows: Float,
    batches: Names,
    *,
    neighbours: int = LISI_NEIGHBOURS,
    perplexity: float | None = None,
) -> float | None:
    r"""Return the scaled number of batches around a row: 0 for one, 1 for all equally.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    batches
        Batch of each row.
    neighbours
        Number of neighbours, the row itself included.
    perplexity
        Effective number of neighbours; by default a third of them.

    Returns
    -------
    float or None
        The score; None if there is one batch, or fewer than three rows.

    See Also
    --------
    clisi : The same of labels.
    kbet : A test of the same question, within labels.
    evaluate_mixing : All scores at once.

    Notes
    -----
    With the fractions :math:`p_{ib}` of the neighbours' weights in batch b, and B batches,

    .. math::

        \mathrm{LISI}_i = \frac{1}{\sum_b p_{ib}^2}, \qquad
        \mathrm{iLISI} = \frac{\operatorname{median}_i \mathrm{LISI}_i - 1}{B - 1}

    References
    ----------
    Korsunsky et al. (2019). Fast, sensitive and accurate integration of single-cell data with
    Harmony. Nature Methods 16, 1289-1296.

    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.mixing import ilisi
    >>> rows = np.random.default_rng(0).normal(size=(300, 2))
    >>> bool(ilisi(rows, ["p", "q"] * 150) > 0.9), ilisi(rows, np.repeat(["p", "q"], 150)) is None
    (True, False)
    """
    points, (groups,) = points_and_groups(rows, batches=batches)
    near = find_neighbours(points.values, points.counts, neighbours)
    try:
        inverse = lisi.inverse_simpson(points, near, groups, perplexity=perplexity)
        return lisi.scaled_ilisi(inverse, groups)
    except UndefinedScoreError:
        return None


def clisi(
    rows: Float,
    labels: Names,
    *,
    neighbours: int = LISI_NEIGHBOURS,
    perplexity: float | None = None,
) -> float | None:
    r"""Return the scaled number of labels around a row: 1 for one, 0 for all equally.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    labels
        Label of each row.
    neighbours, perplexity
        As for `ilisi`.

    Returns
    -------
    float or None
        The score; None if there is one label, or fewer than three rows.

    See Also
    --------
    ilisi : The same of batches.
    evaluate_mixing : All scores at once.

    Notes
    -----
    With K labels, and LISI as for `ilisi`,

    .. math::

        \mathrm{cLISI} = \frac{K - \operatorname{median}_i \mathrm{LISI}_i}{K - 1}

    References
    ----------
    Korsunsky et al. (2019). Fast, sensitive and accurate integration of single-cell data with
    Harmony. Nature Methods 16, 1289-1296.

    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.mixing import clisi
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 100)
    >>> rows = rng.normal(size=(200, 2)) + 50.0 * labels[:, None]
    >>> round(clisi(rows, labels), 6)
    1.0
    """
    points, (groups,) = points_and_groups(rows, labels=labels)
    near = find_neighbours(points.values, points.counts, neighbours)
    try:
        inverse = lisi.inverse_simpson(points, near, groups, perplexity=perplexity)
        return lisi.scaled_clisi(inverse, groups)
    except UndefinedScoreError:
        return None


def kbet(
    rows: Float,
    batches: Names,
    labels: Names,
    *,
    neighbours: int = KBET_NEIGHBOURS,
    alpha: float = 0.05,
    components: int = 100,
) -> float | None:
    r"""Return the fraction of rows whose neighbours follow the batch distribution of their label.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    batches, labels
        Batch and label of each row.
    neighbours
        Number of neighbours of the graph, the row itself included.
    alpha
        Level of the test.
    components
        Number of diffusion coordinates.

    Returns
    -------
    float or None
        The score; None if no label has ten rows and two batches.

    See Also
    --------
    ilisi : The number of batches around a row, without a test.
    graph_connectivity : Whether the rows of a label stay together.
    evaluate_mixing : All scores at once.

    Notes
    -----
    Around every row of a label the k nearest rows of that label by diffusion distance are counted
    by batch, :math:`o_b`, and compared with the numbers expected from the label's batches,

    .. math::

        \chi^2 = \sum_b \frac{(o_b - e_b)^2}{e_b}

    with one degree of freedom fewer than batches. The score is the fraction of rows with a p-value
    of at least `alpha`, averaged over labels; k is a quarter of the mean batch of the label,
    between 10 and 70. A label whose rows mostly lie in small separate parts scores 0.

    References
    ----------
    Büttner et al. (2019). A test metric for assessing single-cell RNA-seq batch correction. Nature
    Methods 16, 43-49.

    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.mixing import kbet
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> bool(kbet(rows, ["p", "q"] * 100, ["x"] * 200) > 0.8)
    True
    """
    points, (groups, others) = points_and_groups(rows, labels=labels, batches=batches)
    near = find_neighbours(points.values, points.counts, neighbours)
    try:
        return tests.acceptance(points, near, others, groups, alpha=alpha, n_components=components)
    except UndefinedScoreError:
        return None


def graph_connectivity(rows: Float, labels: Names, *, neighbours: int = GRAPH_NEIGHBOURS) -> float:
    r"""Return the mean fraction of a label's rows that its neighbour graph connects.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    labels
        Label of each row.
    neighbours
        Number of neighbours of the graph, the row itself included.

    Returns
    -------
    float
        The score, from above 0 to 1.

    See Also
    --------
    kbet : Whether the neighbours within a label mix batches.
    evaluate_mixing : All scores at once.

    Notes
    -----
    With the graph :math:`G_l` of the rows of label l, whose edges are nearest neighbours among all
    rows,

    .. math::

        \frac{1}{L} \sum_l \frac{|\text{largest component of } G_l|}{n_l}

    Two rows are in one component if each can be reached from the other.

    References
    ----------
    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.mixing import graph_connectivity
    >>> rows = np.repeat([[0.0], [100.0]], 20, axis=0) + np.arange(40)[:, None] / 10
    >>> graph_connectivity(rows, ["x"] * 40)
    0.5
    """
    points, (groups,) = points_and_groups(rows, labels=labels)
    near = find_neighbours(points.values, points.counts, neighbours)
    return whole.connectivity(points, near, groups)
