"""Sources that are independent within a class: Gaussian mixtures, as in Kivva et al. 2022."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream
from upto.core.array_types import Float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clusters:
    """Rows of a Gaussian mixture and its parameters.

    Parameters
    ----------
    rows, labels
        The rows and the class of each.
    weights
        The probability of each class.
    means, variances
        One row per class, one column per source; the covariance within a class is diagonal.

    See Also
    --------
    draw_clusters : Returns it.
    """

    rows: Float
    labels: NDArray[np.intp]
    weights: Float
    means: Float
    variances: Float

    @property
    def excess_kurtosis(self) -> Float:
        """The excess kurtosis of each source over all classes."""
        fourth = self.means**4 + 6 * self.means**2 * self.variances + 3 * self.variances**2
        return np.asarray(self.weights @ fourth - 3)


def draw_clusters(
    n_rows: int, n_sources: int, *, n_classes: int = 3, separation: float = 0.8, seed: int
) -> Clusters:
    """Draw a Gaussian mixture whose sources are independent within each class.

    Over all classes every source has population mean zero and variance one. The ratios of the
    variances of two classes differ between sources, so the sources are identifiable.

    Parameters
    ----------
    n_rows, n_sources, n_classes
        Number of rows, columns and classes.
    separation
        Standard deviation of the class means, below 1; the rest of the variance is within classes.
    seed
        Seed of the random number generator.

    Returns
    -------
    Clusters
        The rows with their classes, and the parameters.

    See Also
    --------
    draw_sources : Sources that are independent without classes.
    upto.theory.check_prior : Whether a mixture identifies its coordinates.
    upto.mixture : The question for trained models.

    References
    ----------
    Kivva et al. (2022). Identifiability of deep generative models without auxiliary information.
    Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> from upto.simulate import draw_clusters
    >>> drawn = draw_clusters(100, 2, n_classes=3, seed=0)
    >>> (drawn.weights @ (drawn.means**2 + drawn.variances)).round(12).tolist()
    [1.0, 1.0]
    """
    if n_rows < 1 or n_sources < 1 or n_classes < 2:
        message = (
            f"{n_rows} rows of {n_sources} sources in {n_classes} classes cannot be drawn: "
            "use at least one row, one source and two classes."
        )
        raise InputError(message)
    if not 0 < separation < 1:
        message = (
            f"a separation of {separation:g} is impossible at variance one: take one in (0, 1)."
        )
        raise InputError(message)
    stream = random_stream(seed, "clusters")
    weights = stream.dirichlet(np.full(n_classes, 5.0))
    means = stream.normal(size=(n_classes, n_sources))
    means -= weights @ means
    means *= separation / np.sqrt(weights @ means**2)
    variances = np.exp(stream.uniform(-1, 1, size=(n_classes, n_sources)))
    variances *= (1 - separation**2) / (weights @ variances)
    labels = stream.choice(n_classes, size=n_rows, p=weights)
    rows = means[labels] + np.sqrt(variances[labels]) * stream.normal(size=(n_rows, n_sources))
    return Clusters(rows=rows, labels=labels, weights=weights, means=means, variances=variances)
