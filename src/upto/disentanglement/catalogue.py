"""Catalogue of all scores of codes against factors by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import InputError
from upto.core.catalogue import Catalogue
from upto.core.extras import check_extra
from upto.disentanglement.information_kinds import INFORMATION_KINDS
from upto.disentanglement.kinds import NamedScore, ScoreKind
from upto.disentanglement.other_kinds import OTHER_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DEFAULT_SCORES", "SCORES", "NamedScore", "ScoreKind", "find_scores"]

SCORES: Catalogue[ScoreKind] = Catalogue(
    "score",
    (*INFORMATION_KINDS, *OTHER_KINDS),
    known_by="choose one of",
    refusal="scores is {given!r}, but it must list names of scores, such as mig or infomec.",
)
DEFAULT_SCORES = (
    "infomec/modularity@adjusted",
    "infomec/compactness@adjusted",
    "infomec/explicitness@adjusted",
    "mig@adjusted",
    "dcimig@adjusted",
    "gaussian-tc@disentanglement_lib",
)
"""Cheap scores that are zero or nearly zero on noise."""


def find_scores(names: str | Iterable[str]) -> tuple[NamedScore, ...]:
    """Return scores by name.

    A name is that of a score or of a family, such as ``infomec``; a variant follows an @, as in
    ``infomec@latent_quantization``. The default is the first variant of the score; ``all`` selects
    every score in every variant.

    Parameters
    ----------
    names
        One name or several.

    Returns
    -------
    tuple of NamedScore
        The scores, in the order of the names.

    Raises
    ------
    InputError
        If there is no such score or variant, or its package is not installed.

    See Also
    --------
    evaluate_scores : Computes them.
    ScoreKind : The properties of a score.

    Examples
    --------
    >>> from upto.disentanglement import find_scores
    >>> [each.name for each in find_scores(["mig", "infomec/modularity@tripod"])]
    ['mig@disentanglement_lib', 'infomec/modularity@tripod']
    """
    found = SCORES.choose(names, _named)
    if any(each.variant == "lightgbm" for each in found):
        check_extra("boost", "the variant lightgbm of DCI")
    return found


def _named(name: str) -> list[NamedScore]:
    if name == "all":
        return [
            NamedScore(kind=kind, variant=variant)
            for kind in SCORES.values()
            for variant in kind.variants
        ]
    asked, _, variant = name.partition("@")
    family = [kind for kind in SCORES.values() if asked == kind.family and asked not in SCORES]
    kinds = family or [SCORES.find(asked)]
    for kind in kinds:
        if variant and variant not in kind.variants:
            known = ", ".join(kind.variants)
            message = f"there is no variant {variant!r} of {kind.name}: choose one of {known}."
            raise InputError(message)
    return [NamedScore(kind=kind, variant=variant or kind.variants[0]) for kind in kinds]
