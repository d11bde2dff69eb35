"""Result of a score of codes against factors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorScore:
    """A score and its parts.

    Parameters
    ----------
    name
        Score and variant, such as ``infomec/modularity``.
    value
        The score; None if it is undefined for these codes and factors.
    per_factor, per_code
        Parts of a mean over factors or over codes; None for a part that is undefined or was
        excluded.
    least, most
        Bounds of the score, given the information that chance may hide; None if it can hide
        nothing.
    says
        Why a value or part is missing; empty if nothing is.

    See Also
    --------
    evaluate_scores : Scores by name, with chance levels and intervals.
    mig : Returns one, as most scores do.
    CalibratedScore : A score with its chance level.
    """

    name: str
    value: float | None
    per_factor: tuple[float | None, ...] = ()
    per_code: tuple[float | None, ...] = ()
    least: float | None = None
    most: float | None = None
    says: str = ""
