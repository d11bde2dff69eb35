"""Scores of all rows together, from arrays; None where undefined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.batch_metrics.mixing import whole
from upto.batch_metrics.mixing.points import (
    UndefinedScoreError,
    as_codes,
    as_rows,
    points_and_groups,
)
from upto.core import InputError

if TYPE_CHECKING:
    from upto.batch_metrics.mixing.points import Names
    from upto.core.array_types import Float


def batch_variance(rows: Float, batches: Names) -> float | None:
    r"""Return the fraction of variance between batches (principal component regression).

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    batches
        Batch of each row.

    Returns
    -------
    float or None
        The fraction, 0 to 1; None if all rows are equal.

    See Also
    --------
    pcr_comparison : How much of it a correction removed.
    upto.batch_metrics.effects.batch_and_label_shares : The same of single components, with tests.

    Notes
    -----
    With :math:`n_b` rows of mean :math:`\bar x_b` in batch b,

    .. math::

        R^2 = \frac{\sum_b n_b \lVert \bar x_b - \bar x \rVert^2}
        {\sum_i \lVert x_i - \bar x \rVert^2}

    which is principal component regression on all components.

    References
    ----------
    Büttner et al. (2019). A test metric for assessing single-cell RNA-seq batch correction. Nature
    Methods 16, 43-49.

    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> from upto.batch_metrics.mixing import batch_variance
    >>> batch_variance([[0.0], [0.0], [2.0], [2.0]], ["p", "p", "q", "q"])
    1.0
    """
    values = as_rows(rows)
    try:
        return whole.explained_by(values, as_codes(batches, len(values), what="batches"))
    except UndefinedScoreError:
        return None


def pcr_comparison(before: Float, rows: Float, batches: Names) -> float | None:
    r"""Return the fraction of the variance between batches that a correction removed.

    Parameters
    ----------
    before
        The rows before the correction.
    rows
        The corrected rows, in the same order; their width may differ.
    batches
        Batch of each row.

    Returns
    -------
    float or None
        The score; None if batches explained nothing before, or all rows are equal.

    See Also
    --------
    batch_variance : The fraction R² of each.
    evaluate_mixing : All scores at once.

    Notes
    -----
    .. math::

        \max\left( 0,
        \frac{R^2_{\mathrm{before}} - R^2_{\mathrm{after}}}{R^2_{\mathrm{before}}} \right)

    References
    ----------
    Büttner et al. (2019). A test metric for assessing single-cell RNA-seq batch correction. Nature
    Methods 16, 43-49.

    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> from upto.batch_metrics.mixing import pcr_comparison
    >>> before, after = [[0.0], [0.0], [2.0], [2.0]], [[0.0], [1.0], [0.0], [1.0]]
    >>> pcr_comparison(before, after, ["p", "p", "q", "q"])
    1.0
    """
    if len(before) != len(rows):
        message = f"there are {len(before)} rows before and {len(rows)} rows now."
        raise InputError(message)
    first, second = batch_variance(before, batches), batch_variance(rows, batches)
    if first is None or second is None:
        return None
    try:
        return whole.removed(first, second)
    except UndefinedScoreError:
        return None


def kmeans_agreement(rows: Float, labels: Names, *, seed: int = 0) -> whole.ClusterAgreement | None:
    r"""Compare labels with as many k-means clusters.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    labels
        Label of each row.
    seed
        Seed of k-means.

    Returns
    -------
    ClusterAgreement or None
        Two measures of the agreement; None if there is one label.

    See Also
    --------
    silhouette_label : Separation of labels without clustering.
    evaluate_mixing : All scores at once.

    Notes
    -----
    For labels U and clusters V with entropies H and mutual information I,

    .. math::

        \mathrm{NMI} = \frac{2 \, I(U; V)}{H(U) + H(V)}

    and ARI is the adjusted Rand index: the fraction of pairs of rows on which both partitions
    agree, rescaled so that its expectation for random partitions is 0. NMI is not adjusted.

    References
    ----------
    Hubert and Arabie (1985). Comparing partitions. Journal of Classification 2, 193-218.

    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> from upto.batch_metrics.mixing import kmeans_agreement
    >>> found = kmeans_agreement([[0.0], [0.1], [9.0], [9.1]], ["x", "x", "y", "y"])
    >>> round(found.nmi, 6), round(found.ari, 6)
    (1.0, 1.0)
    """
    points, (groups,) = points_and_groups(rows, labels=labels)
    try:
        return whole.agreement(points.values[points.of_row], points.n_points, groups, seed)
    except UndefinedScoreError:
        return None
