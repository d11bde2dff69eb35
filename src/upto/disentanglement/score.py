"""What a score of codes against factors returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorScore:
    """One score, and what it is made of.

    Parameters
    ----------
    name
        The score and its variant, as ``infomec/modularity``.
    value
        The score; None where it is not defined for these codes and factors.
    per_factor, per_code
        Its parts, where it is a mean over factors or over codes; None for a part that is not
        defined or was left out.
    least, most
        What the score could be at the least and at the most, if codes told what is not told from
        chance; None where nothing can hide so.
    says
        Why a value or part is missing, in words; empty where nothing is.
    """

    name: str
    value: float | None
    per_factor: tuple[float | None, ...] = ()
    per_code: tuple[float | None, ...] = ()
    least: float | None = None
    most: float | None = None
    says: str = ""
