"""From errors per group to a group and a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import Group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.core import Agreement, Estimate, Fit

LEVEL = 0.05
"""A group's error must beat chance at this level to count."""
SAME, CLOSE, PARTIAL = 0.99, 0.9, 0.5
"""Held-out R² from which runs are called the same, close, or partly the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What the verdict needs to know of one group: `robust_r2` leaves the outermost rows out."""

    error: float
    r2: float
    p_value: float | None
    robust_r2: float

    @property
    def counts(self) -> bool:
        """Whether the error beats both chance and the constant map."""
        return self.p_value is not None and self.p_value <= LEVEL and self.robust_r2 > 0


def strictest_group(
    candidates: Mapping[Group, Candidate], baseline: float, tolerance: float
) -> Group | None:
    """Return the strictest group that loses little against the best one.

    Parameters
    ----------
    candidates
        Held-out errors per group.
    baseline
        Held-out error of the map that sends every row to the mean.
    tolerance
        Loss allowed, as a fraction of the baseline.
    """
    counting = {group: each for group, each in candidates.items() if each.counts}
    if not counting:
        return None
    best = min(each.error for each in counting.values())
    for group in Group:
        if group in counting and counting[group].error <= best + tolerance * baseline:
            return group
    return None


def agreement_of(candidates: Mapping[Group, Candidate], up_to: Group | None) -> Agreement:
    """Say in a word how far the runs agree."""
    if up_to is None:
        related = any(
            each.p_value is not None and each.p_value <= LEVEL for each in candidates.values()
        )
        return "weak" if related else "chance"
    r2 = candidates[up_to].robust_r2
    if r2 >= SAME:
        return "same"
    if r2 >= CLOSE:
        return "close"
    return "partial" if r2 >= PARTIAL else "weak"


_OPENINGS = {
    "same": "The same representation up to {group}",
    "close": "Close to the same representation up to {group}",
    "partial": "Partly the same representation up to {group}",
    "weak": "Weakly related up to {group}",
}


def is_carried_by_few(r2: float, even: float) -> bool:
    """Say whether few directions carry the agreement: R² far above R² per direction."""
    return r2 >= PARTIAL and even < r2 / 2


def tempered(agreement: Agreement, r2: float, even: float | None) -> Agreement:
    """Call agreement that few directions carry partial at most."""
    strong = agreement in ("same", "close")
    return "partial" if strong and even is not None and is_carried_by_few(r2, even) else agreement


def undecided(n_samples: int, *, asked: float) -> str:
    """Say why nothing was decided: `asked` is the fraction that was to be held out."""
    if asked == 0:
        return "Undecided: no rows were held out, and errors in sample decide nothing."
    if asked > 0.9:
        return f"Undecided: holding out {asked:.1%} of {n_samples} rows leaves too few to fit."
    return (
        f"Undecided: of {n_samples} rows too few differ to hold some out and tell agreement from "
        "chance."
    )


def sentence(
    agreement: Agreement,
    up_to: Group | None,
    chosen: Fit | None,
    *,
    n_samples: int,
    asked: float,
    even: float | None,
) -> str:
    """Put the verdict into words; `even` is R² per direction."""
    if agreement == "identical":
        return "Identical: the two runs hold the same numbers."
    if agreement == "undecided":
        return undecided(n_samples, asked=asked)
    if agreement == "chance":
        return "No better than chance: no group maps held-out rows closer than a random pairing."
    if up_to is None or chosen is None or chosen.held_out is None:
        return (
            "Related, but not the same up to any group: on held-out rows every map does worse "
            "than predicting the mean."
        )
    beside = f", where chance gives {_short(chosen.chance.mean)}" if chosen.chance else ""
    narrow = ""
    if even is not None and is_carried_by_few(chosen.held_out.r2, even):
        narrow = f", but only {even:.0%} of an average direction"
    opening = _OPENINGS[agreement].format(group=up_to.phrase)
    return (
        f"{opening}: held-out error {_short(chosen.error)} of the diameter{beside}; "
        f"{chosen.held_out.r2:.0%} of the variance explained{narrow}."
    )


def _short(error: Estimate) -> str:
    return format(error, ".3f" if error.value >= 0.01 else ".2g")
