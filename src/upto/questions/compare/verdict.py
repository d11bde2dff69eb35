"""From errors per group to a group and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Agreement, Classes, Estimate, Fit, Shared
    from upto.questions.compare.prediction import Candidate, Onto

LEVEL = 0.05
"""A group's error must beat chance at this level to count."""
SAME, CLOSE, PARTIAL = 0.99, 0.9, 0.5
"""Held-out R² from which runs are called the same, close, or partly the same."""
MUCH_LESS = 0.1
"""How much less R² is on the way back for the sentence to say so."""
EVENLY = 0.9
"""R² of an average direction from which on runs can be called the same."""

ROUNDING = 1e-9
"""Error over that of predicting the mean below which a map is exact, in double precision."""


def counts(candidate: Candidate, baseline: float) -> bool:
    """Whether the error beats both chance and the mean."""
    return (
        candidate.p_value is not None
        and candidate.p_value <= LEVEL
        and candidate.typical_r2 > 0
        and candidate.error < baseline
    )


def strictest_group(directions: Sequence[Onto], tolerance: float) -> Group | None:
    """Return the strictest group that loses little against the best one, in every direction.

    Parameters
    ----------
    directions
        One run mapped onto the other, or both ways.
    tolerance
        Loss allowed: of the error, as a fraction of that of predicting the mean, and of R² of an
        average direction where some group explains nearly all of it.
    """
    allowed, losses = set(Group), dict.fromkeys(Group, 0.0)
    for onto in directions:
        counting = {
            group: each for group, each in onto.groups.items() if counts(each, onto.baseline)
        }
        if not counting:
            return None
        # Errors that are only rounding are equal.
        best = max(min(each.error for each in counting.values()), ROUNDING * onto.baseline)
        even = max(each.even or 0.0 for each in counting.values())
        # Where some group has every direction, a stricter one must not lose narrow ones.
        least = even - max(tolerance, ROUNDING) if even >= EVENLY else 0.0
        losses = {
            group: max(losses[group], (each.error - best) / onto.baseline)
            for group, each in counting.items()
            if group in losses
        }
        allowed &= {group for group, each in counting.items() if (each.even or 0.0) >= least}
    enough = [group for group in Group if group in allowed and losses.get(group, 1.0) <= tolerance]
    if enough:
        return enough[0]
    # No group is good enough both ways: the one that loses least in the worse direction.
    return min(losses, key=lambda group: losses[group], default=None)


def word_for(candidates: Sequence[Candidate], *, share: float) -> Agreement:
    """Say in a word how far the runs agree, by the direction in which they agree less.

    Runs are the same only where they agree closely on every direction of both, and close only where
    they do on nine in ten: `share` is the share of directions.
    """
    r2 = min(each.robust_r2 for each in candidates)
    even = min(1.0 if each.even is None else each.even for each in candidates)
    if share == 1.0 and r2 >= SAME and even >= EVENLY:
        return "same"
    if share >= CLOSE and r2 >= CLOSE:
        return "close"
    return "partial" if r2 >= PARTIAL else "weak"


def is_carried_by_few(r2: float, even: float) -> bool:
    """Say whether few directions carry the agreement: R² far above R² per direction."""
    return r2 >= PARTIAL and even <= r2 / 2


def undecided(
    n_samples: int, *, asked: float, n_units: int | None = None, within: bool = False
) -> str:
    """Say why nothing was decided.

    `asked` is the fraction that was to be held out, `n_units` the number of groups that stay
    together, and `within` says that rows are paired within classes only.
    """
    if asked == 0:
        return "Undecided: no rows were held out, and errors in sample decide nothing."
    if asked > 0.9:
        return f"Undecided: holding out {asked:.1%} of {n_samples} rows leaves too few to fit."
    if within:
        return (
            f"Undecided: too few of {n_samples} rows have another of their class to be paired "
            "with, so agreement cannot be told from chance."
        )
    if n_units is not None and n_units < n_samples:
        return (
            f"Undecided: {n_samples} rows make {n_units} independent samples, too few to hold some "
            "out and tell agreement from chance."
        )
    return (
        f"Undecided: {n_samples} rows are too few to hold some out and tell agreement from chance."
    )


_OPENINGS = {
    "same": "The same representation",
    "close": "Close to the same representation",
    "partial": "Partly the same representation",
    "weak": "Weakly related",
}


def sentence(
    agreement: Agreement,
    up_to: Group | None,
    chosen: Fit | None,
    *,
    names: tuple[str, str],
    shared: Shared | None,
    exact: Group | None,
    mean: Estimate | None,
    even: float | None,
    classes: Classes | None = None,
) -> str:
    """Put the verdict of a decided comparison into words; `even` is R² per direction."""
    if agreement == "identical":
        return "Identical: the two runs hold the same numbers."
    if agreement == "chance":
        return "No better than chance: no group maps held-out rows closer than a random pairing."
    if up_to is None or chosen is None or chosen.held_out is None:
        agreeing = _directions(shared)
        said = f"Weakly related: {agreeing}. On" if agreeing else "Related, but weakly: on"
        return f"{said} held-out rows no group beats both the mean and chance in both directions."
    if agreement == "image" and shared is not None:
        return _image(up_to, names, shared, chosen)
    beside = f", where predicting the mean gives {_short(mean)}" if mean else ""
    if chosen.chance:
        beside += f" and chance {_short(chosen.chance.mean)}"
    evenly = "" if even is None else f", {even:.0%} of an average direction"
    back = chosen.r2_back
    less = (
        "" if back is None or back > chosen.held_out.r2 - MUCH_LESS else f" ({_share(back)} back)"
    )
    numbers = (
        f"{_short(chosen.error)} of the diameter{beside}; {chosen.held_out.r2:.0%} of the variance "
        f"explained{less}{evenly}."
    )
    agreeing = _directions(shared)
    if agreement in ("same", "close"):
        said = f"{_OPENINGS[agreement]} up to {up_to.phrase}: "
        said += f"{agreeing}; held-out error {numbers}" if agreeing else f"held-out error {numbers}"
    else:
        manner = up_to.manner
        if agreeing:
            agreeing, manner = f"{agreeing}. ", manner.capitalize()
        said = f"{_OPENINGS[agreement]}: {agreeing}{manner}, the held-out error is {numbers}"
    if classes is not None:
        said += f" Within classes, {max(classes.within_r2, 0.0):.0%} of the variance is explained."
    if exact is not None and exact is not up_to:
        said += f" The runs agree exactly up to {exact.phrase}."
    return said


def _image(up_to: Group, names: tuple[str, str], shared: Shared, chosen: Fit) -> str:
    few, many = sorted((shared.n_first, shared.n_second))
    there, back = chosen.held_out.r2 if chosen.held_out else 0.0, chosen.r2_back or 0.0
    part, whole = names[::-1]
    if shared.n_first < shared.n_second:
        part, whole, there, back = whole, part, back, there
    kind = "a linear image of" if up_to is Group.AFFINE else f"up to {up_to.phrase} a part of"
    return (
        f"{part} is {kind} {whole}: it holds {few} of {many} directions. On held-out rows {whole} "
        f"explains {_share(there)} of the variance of {part}, which explains {_share(back)} of "
        f"that of {whole}."
    )


def _directions(shared: Shared | None) -> str:
    """Say on how many directions runs agree, where it is not closely on all."""
    if shared is None:
        return ""
    d = max(shared.n_first, shared.n_second)
    partly = shared.n_shared - shared.n_closely
    in_part = f", {partly} of them in part only" if partly else ""
    if shared.is_bijective:
        return f"the runs agree on all {d} directions{in_part}" if partly else ""
    others = d - shared.n_shared
    if shared.n_shared == 0 and shared.rest == "not judged":
        return f"{d} directions cannot be judged by so few fitted rows"
    if shared.n_shared == 0:
        return f"the runs agree on none of {d} directions"
    if shared.rest == "unrelated":
        what = "is unrelated" if others == 1 else f"{others} are unrelated"
    elif shared.rest == "not judged":
        many = "cannot" if others == 1 else f"{others} cannot"
        return (
            f"the runs agree on {shared.n_shared} of {d} directions{in_part}, the other {many} be "
            "judged by so few fitted rows"
        )
    else:
        what = "agrees less" if others == 1 else f"{others} agree less"
    left = 1.0 - min(shared.variance_first, shared.variance_second)
    return (
        f"the runs agree on {shared.n_shared} of {d} directions{in_part}, the other {what} "
        f"({percent(left)} of the variance)"
    )


def percent(share: float) -> str:
    """Write the share of something that is there: never nothing, and all only where it is."""
    if share < 0.001:
        return "less than 0.1%"
    if 0.999 < share < 1.0:
        return "more than 99.9%"
    if share < 0.1:
        return f"{100 * share:.2g}%"
    return f"{share:.1%}" if 0.99 < share < 1.0 else f"{share:.0%}"


def _share(r2: float) -> str:
    return f"{r2:.0%}" if r2 > 0 else "nothing"


def _short(error: Estimate) -> str:
    return format(error, ".3f" if error.value >= 0.01 else ".2g")
