"""Records of retrieved rows and labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from upto.core.array_types import Float, Index


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AveragePrecision:
    """Average precision of each row.

    Parameters
    ----------
    values
        Average precision; NaN for a row without positives or negatives.
    chance
        Its expectation over random orders.
    n_positives, n_pairs
        Number of rows to retrieve, and number of ranked rows.

    See Also
    --------
    average_precision : Returns it.
    """

    values: Float
    chance: Float
    n_positives: Index
    n_pairs: Index

    @property
    def normalised(self) -> Float:
        """Average precision scaled so that chance is 0 and perfect retrieval 1."""
        room = np.maximum(1.0 - self.chance, 1e-10)
        return np.clip((self.values - self.chance) / room, -1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedLabel:
    """Retrieval of the rows of one label.

    Parameters
    ----------
    label
        Its name.
    n_samples
        Number of its rows with positives and negatives; means are over these.
    value, normalised, chance
        Mean average precision, the same scaled so that chance is 0, and chance; None without rows.
    p_value, q_value
        p-value of the mean under random orders, and its Benjamini-Hochberg correction.
    exact
        Whether all orders were enumerated rather than sampled.
    says
        Reason why there is no value; otherwise empty.

    See Also
    --------
    mean_average_precision : Returns one for each label.
    Retrieval : The labels together.
    """

    label: str
    n_samples: int
    value: float | None
    normalised: float | None
    chance: float | None
    p_value: float | None
    q_value: float | None
    exact: bool
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """Retrieval of the rows of every label.

    Parameters
    ----------
    labels
        All labels except the control, sorted by name.
    value, normalised, chance
        Means over the labels with a value; None if there are none.
    fraction_retrieved
        Fraction of these labels with a corrected p-value below `level`.
    level
        False discovery rate.

    See Also
    --------
    mean_average_precision : Returns it.
    """

    labels: tuple[RetrievedLabel, ...]
    value: float | None
    normalised: float | None
    chance: float | None
    fraction_retrieved: float | None
    level: float
