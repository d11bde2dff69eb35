"""Choose the group of a verdict and write its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Agreement, Classes, Estimate, Fit, Shared
    from upto.questions.compare.prediction import Candidate, Onto

LEVEL = 0.05
"""Significance level at which the error of a group must beat chance."""
SAME, CLOSE, PARTIAL = 0.99, 0.9, 0.5
"""Smallest held-out R² of runs called the same, close, or partly the same."""
MUCH_LESS = 0.1
"""Drop in R² of the reverse map that the sentence reports."""
EVENLY = 0.9
"""Smallest R² averaged over directions of runs called the same."""

ROUNDING = 1e-9
"""Error relative to predicting the mean below which a map is exact, in double precision."""


def counts(candidate: Candidate, baseline: float) -> bool:
    """Return whether the error beats both chance and the mean."""
    return (
        candidate.p_value is not None
        and candidate.p_value <= LEVEL
        and candidate.typical_r2 > 0
        and candidate.error < baseline
    )


def strictest_group(directions: Sequence[Onto], tolerance: float) -> Group | None:
    """Return the strictest group close to the best one in every direction of mapping.

    Parameters
    ----------
    directions
        Maps of one run onto the other, in one or both directions.
    tolerance
        Allowed loss of error, as a fraction of the error of predicting the mean, and of R²
        averaged over directions where some group explains nearly all of it.
    """
    allowed, losses = set(Group), dict.fromkeys(Group, 0.0)
    for onto in directions:
        counting = {
            group: each for group, each in onto.groups.items() if counts(each, onto.baseline)
        }
        if not counting:
            return None
        # Errors at the level of rounding count as equal.
        best = max(min(each.error for each in counting.values()), ROUNDING * onto.baseline)
        lost = {group: (each.error - best) / onto.baseline for group, each in counting.items()}
        near = [each for group, each in counting.items() if lost[group] <= tolerance]
        even = max((each.even or 0.0 for each in near), default=0.0)
        # A group that is far from the best counts here only if it explains more directions.
        for group, each in counting.items():
            if lost[group] > tolerance and not each.is_less_even(max(even, EVENLY)):
                even = max(even, each.even or 0.0)
        # Where some group explains every direction, a stricter one must not lose narrow ones.
        least = even - max(tolerance, ROUNDING) if even >= EVENLY else 0.0
        losses = {group: max(losses[group], lost[group]) for group in counting if group in losses}
        allowed &= {
            group
            for group, each in counting.items()
            if lost[group] <= tolerance and (least == 0.0 or (each.even or 0.0) >= least)
        }
    enough = [group for group in Group if group in allowed and losses.get(group, 1.0) <= tolerance]
    if enough:
        return enough[0]
    # No group is within tolerance both ways: take the smallest loss in the worse direction.
    return min(losses, key=lambda group: losses[group], default=None)


def word_for(candidates: Sequence[Candidate], *, share: float) -> Agreement:
    """Return the degree of agreement, by the direction of mapping in which it is weaker.

    Runs are the same only if they agree closely along every direction of both, and close only if
    they do along nine in ten: `share` is the share of such directions.
    """
    r2 = min(each.robust_r2 for each in candidates)
    even = min(1.0 if each.even is None else each.even for each in candidates)
    if share == 1.0 and r2 >= SAME and even >= EVENLY:
        return "same"
    if share >= CLOSE and r2 >= CLOSE:
        return "close"
    return "partial" if r2 >= PARTIAL else "weak"


def is_carried_by_few(r2: float, even: float) -> bool:
    """Return whether few directions carry the agreement: R² far above R² per direction."""
    return r2 >= PARTIAL and even <= r2 / 2


def undecided(
    n_samples: int, *, asked: float, n_units: int | None = None, within: bool = False
) -> str:
    """Explain why there is no verdict.

    `asked` is the requested held-out fraction, `n_units` the number of independent groups of rows,
    and `within` is True if rows are re-paired within classes only.
    """
    if asked == 0:
        return "Undecided: no rows were held out, and in-sample errors do not support a verdict."
    if asked > 0.9:
        return f"Undecided: holding out {asked:.1%} of {n_samples} rows leaves too few to fit."
    if within:
        return (
            f"Undecided: too few of {n_samples} rows share their class with another row to be "
            "re-paired, so agreement cannot be distinguished from chance."
        )
    if n_units is not None and n_units < n_samples:
        return (
            f"Undecided: {n_samples} rows contain {n_units} independent samples, too few to hold "
            "some out and distinguish agreement from chance."
        )
    return (
        f"Undecided: {n_samples} rows are too few to hold some out and distinguish agreement from "
        "chance."
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
    """Write the verdict of a decided comparison; `even` is R² averaged over directions."""
    if agreement == "identical":
        return "Identical: the two runs contain the same numbers."
    if agreement == "chance":
        return "No better than chance: no group maps held-out rows closer than random pairing does."
    if up_to is None or chosen is None or chosen.held_out is None:
        agreeing = _directions(shared)
        said = f"Weakly related: {agreeing}. On" if agreeing else "Weakly related: on"
        return f"{said} held-out rows, no group beats both the mean and chance in both directions."
    if agreement == "image" and shared is not None:
        return _image(up_to, names, shared, chosen)
    beside = f", compared with {_short(mean)} for predicting the mean" if mean else ""
    if chosen.chance:
        beside += f" and {_short(chosen.chance.mean)} at chance"
    evenly = "" if even is None else f", {even:.0%} per direction on average"
    back = chosen.r2_back
    less = (
        ""
        if back is None or back > chosen.held_out.r2 - MUCH_LESS
        else f" ({_share(back)} in reverse)"
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
    kind = " a linear image of" if up_to is Group.AFFINE else f", up to {up_to.phrase}, part of"
    return (
        f"{part} is{kind} {whole}: it spans {few} of {many} directions. On held-out rows, {whole} "
        f"explains {_share(there)} of the variance of {part}, and {part} explains {_share(back)} "
        f"of that of {whole}."
    )


def _directions(shared: Shared | None) -> str:
    """State on how many directions the runs agree, unless they agree closely on all."""
    if shared is None:
        return ""
    d = max(shared.n_first, shared.n_second)
    partly = shared.n_shared - shared.n_closely
    in_part = f" ({partly} of them only partly)" if partly else ""
    if shared.is_bijective:
        return f"the runs agree on all {d} directions{in_part}" if partly else ""
    others = d - shared.n_shared
    if shared.n_shared == 0 and shared.rest == "not judged":
        return f"{d} directions cannot be tested with so few fitted rows"
    if shared.n_shared == 0:
        return f"the runs agree on none of the {d} directions"
    if shared.rest == "unrelated":
        what = "is unrelated" if others == 1 else f"{others} are unrelated"
    elif shared.rest == "not judged":
        many = "cannot" if others == 1 else f"{others} cannot"
        return (
            f"the runs agree on {shared.n_shared} of {d} directions{in_part}, and the other {many} "
            "be tested with so few fitted rows"
        )
    else:
        what = "agrees weakly" if others == 1 else f"{others} agree weakly or not at all"
    left = 1.0 - min(shared.variance_first, shared.variance_second)
    return (
        f"the runs agree on {shared.n_shared} of {d} directions{in_part}, and the other {what} "
        f"({percent(left)} of the variance)"
    )


def percent(share: float) -> str:
    """Format a positive share: never rounded to 0%, and to 100% only if exact."""
    if share < 0.001:
        return "less than 0.1%"
    if 0.999 < share < 1.0:
        return "more than 99.9%"
    if share < 0.1:
        return f"{100 * share:.2g}%"
    return f"{share:.1%}" if 0.99 < share < 1.0 else f"{share:.0%}"


def _share(r2: float) -> str:
    return f"{r2:.0%}" if r2 > 0 else "none"


def _short(error: Estimate) -> str:
    return format(error, ".3f" if error.value >= 0.01 else ".2g")
