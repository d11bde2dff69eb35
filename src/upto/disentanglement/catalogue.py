"""Every score of codes against factors by name."""

from __future__ import annotations

from collections.abc import Iterable

from upto.core import InputError
from upto.disentanglement.information_kinds import INFORMATION_KINDS
from upto.disentanglement.kinds import NamedScore, ScoreKind
from upto.disentanglement.other_kinds import OTHER_KINDS

__all__ = ["DEFAULT_SCORES", "SCORES", "NamedScore", "ScoreKind", "find_scores"]

SCORES: dict[str, ScoreKind] = {kind.name: kind for kind in (*INFORMATION_KINDS, *OTHER_KINDS)}
DEFAULT_SCORES = (
    "infomec/modularity@adjusted",
    "infomec/compactness@adjusted",
    "infomec/explicitness@adjusted",
    "mig@adjusted",
    "dcimig@adjusted",
    "gaussian-tc@disentanglement_lib",
)
"""Cheap, and zero or nearly zero on noise."""


def find_scores(names: str | Iterable[str]) -> tuple[NamedScore, ...]:
    """Return scores by name.

    A name is that of a score or of a family, ``infomec``; a variant follows an @, as in
    ``infomec@latent_quantization``. Without one the first variant of the score is meant; ``all``
    means every score in every variant.

    Examples
    --------
    >>> [each.name for each in find_scores(["mig", "infomec/modularity@tripod"])]
    ['mig@disentanglement_lib', 'infomec/modularity@tripod']
    """
    found: dict[str, NamedScore] = {}
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else [*names]
    if not all(isinstance(name, str) for name in listed):
        message = f"scores is {names!r}, but it lists names of scores, as mig or infomec."
        raise InputError(message)
    for name in listed:
        for each in _named(name):
            found[each.name] = each
    if not found:
        message = "there are no scores to compute: name one or more."
        raise InputError(message)
    return tuple(found.values())


def _named(name: str) -> list[NamedScore]:
    if name == "all":
        return [
            NamedScore(kind=kind, variant=variant)
            for kind in SCORES.values()
            for variant in kind.variants
        ]
    asked, _, variant = name.partition("@")
    kinds = [kind for kind in SCORES.values() if asked in (kind.name, kind.family)]
    if asked in SCORES:
        kinds = [SCORES[asked]]
    if not kinds:
        message = f"there is no score {asked!r}: it is one of {', '.join(SCORES)}."
        raise InputError(message)
    for kind in kinds:
        if variant and variant not in kind.variants:
            known = ", ".join(kind.variants)
            message = f"there is no variant {variant!r} of {kind.name}: it is one of {known}."
            raise InputError(message)
    return [NamedScore(kind=kind, variant=variant or kind.variants[0]) for kind in kinds]
