"""Match codes with classes: LMS, MSAS and MSGS over three similarities, as in DRVI."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.disentanglement.codes_and_classes import ClassSimilarities, class_similarities
from upto.disentanglement.predictor_tables import one_of, sentences
from upto.disentanglement.score import FactorScore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core.array_types import Float
    from upto.disentanglement.predictor_tables import CodesLike, FactorsLike

MATCHES = ("lms", "msas", "msgs")


def latent_matching_score(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    similarity: str = "smi",
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    similarities: ClassSimilarities | None = None,
) -> FactorScore:
    r"""Return LMS: the similarity of each class to its own code under the best matching.

    A class without a matched code scores 0.

    Parameters
    ----------
    codes, factors, similarity, continuous, discrete_codes
        As for `class_similarities`.
    similarities
        Result of `class_similarities` for the same codes and factors.

    Returns
    -------
    FactorScore
        The mean over classes, from 0 to 1.

    See Also
    --------
    most_similar_averaging_score : Without the matching.
    most_similar_gap_score : The lead of the best code.
    class_similarities : The three similarities.

    Notes
    -----
    With the similarity :math:`S_{jc}` of code j and class c, of C classes, over all maps π that
    give every class another code,

    .. math::

        \mathrm{LMS} = \frac{1}{C} \max_\pi \sum_c S_{\pi(c), c}

    References
    ----------
    Moinfar and Theis (2024). Unsupervised deep disentangled representation of single-cell omics.
    bioRxiv 2024.11.06.622266.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import latent_matching_score
    >>> kinds = np.arange(90) % 3
    >>> latent_matching_score(kinds[:, None] == np.arange(3), kinds[:, None]).value
    1.0
    """
    found = similarities or class_similarities(
        codes, factors, similarity=similarity, continuous=continuous, discrete_codes=discrete_codes
    )
    return score_classes("lms", found)


def most_similar_averaging_score(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    similarity: str = "smi",
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    similarities: ClassSimilarities | None = None,
) -> FactorScore:
    r"""Return MSAS: the mean similarity of each class to its most similar code.

    One code may serve several classes.

    Parameters
    ----------
    codes, factors, similarity, continuous, discrete_codes, similarities
        As for `latent_matching_score`.

    Returns
    -------
    FactorScore
        The mean over classes, from 0 to 1.

    See Also
    --------
    latent_matching_score : Every class has a code of its own.
    most_similar_gap_score : The lead of the best code.

    Notes
    -----
    .. math::

        \mathrm{MSAS} = \frac{1}{C} \sum_c \max_j S_{jc}

    References
    ----------
    Moinfar and Theis (2024). Unsupervised deep disentangled representation of single-cell omics.
    bioRxiv 2024.11.06.622266.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import most_similar_averaging_score
    >>> kinds = np.arange(90) % 3
    >>> most_similar_averaging_score(kinds[:, None] == np.arange(3), kinds[:, None]).value
    1.0
    """
    found = similarities or class_similarities(
        codes, factors, similarity=similarity, continuous=continuous, discrete_codes=discrete_codes
    )
    return score_classes("msas", found)


def most_similar_gap_score(
    codes: CodesLike,
    factors: FactorsLike,
    *,
    similarity: str = "smi",
    continuous: bool | Sequence[bool] = False,
    discrete_codes: bool = False,
    similarities: ClassSimilarities | None = None,
) -> FactorScore:
    r"""Return MSGS: the mean gap between the most and the second most similar code of each class.

    Parameters
    ----------
    codes, factors, similarity, continuous, discrete_codes, similarities
        As for `latent_matching_score`.

    Returns
    -------
    FactorScore
        The mean over classes, from 0 to 1.

    See Also
    --------
    latent_matching_score : Every class has a code of its own.
    most_similar_averaging_score : The best code without the gap.
    mig : The same gap for factors.

    Notes
    -----
    With the two most similar codes of each class,

    .. math::

        \mathrm{MSGS} = \frac{1}{C} \sum_c \left( S_{(1)c} - S_{(2)c} \right)

    References
    ----------
    Moinfar and Theis (2024). Unsupervised deep disentangled representation of single-cell omics.
    bioRxiv 2024.11.06.622266.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.disentanglement import most_similar_gap_score
    >>> kinds = np.arange(90) % 3
    >>> round(most_similar_gap_score(kinds[:, None] == np.arange(3), kinds[:, None]).value, 2)
    0.73
    """
    found = similarities or class_similarities(
        codes, factors, similarity=similarity, continuous=continuous, discrete_codes=discrete_codes
    )
    return score_classes("msgs", found)


def score_classes(match: str, found: ClassSimilarities) -> FactorScore:
    """Return one of `MATCHES` for given similarities, averaged over the classes of all factors."""
    one_of(match, MATCHES, "match of codes and classes")
    name = f"{match}/{found.similarity}"
    words = [*found.faults, found.lacking]
    if match == "msgs" and len(found.table) == 1:
        words.append("there is only one code, so no second one to compare with")
    if not found.table.shape[1] or (match == "msgs" and len(found.table) == 1):
        nothing = (None,) * len(found.faults)
        return FactorScore(name=name, value=None, per_factor=nothing, says=sentences(words))
    parts = {"lms": _matched, "msas": _highest, "msgs": _gaps}[match](found.table)
    per_factor = [
        float(parts[found.owners == place].mean()) if (found.owners == place).any() else None
        for place in range(len(found.faults))
    ]
    return FactorScore(
        name=name, value=float(parts.mean()), per_factor=tuple(per_factor), says=sentences(words)
    )


def _matched(table: Float) -> Float:
    # The import takes longer than most matchings.
    from scipy.optimize import linear_sum_assignment

    parts = np.zeros(table.shape[1])
    rows, columns = linear_sum_assignment(table, maximize=True)
    parts[columns] = table[rows, columns]
    return parts


def _highest(table: Float) -> Float:
    found: Float = table.max(axis=0)
    return found


def _gaps(table: Float) -> Float:
    ascending = np.sort(table, axis=0)
    gaps: Float = ascending[-1] - ascending[-2]
    return gaps
