"""Findings of a comparison of two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Finding, Group
from upto.evidence.intervals import MIN_ROWS
from upto.measures import ica_efficiency
from upto.questions.compare.pair import ambiguous_matches, source_correlations
from upto.questions.compare.verdict import LEVEL, is_carried_by_few
from upto.questions.compare.within_classes import only_classes_agree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.core import Agreement, Classes, Fit
    from upto.engines import CrossMoments
    from upto.questions.compare.judge import Outcome
    from upto.questions.compare.pair import Pair
    from upto.questions.compare.pair_options import Options

OVERFITTED = 0.1
"""Gap between in-sample and held-out R² that is reported."""


def remarks(
    pair: Pair,
    fits: tuple[Fit, ...],
    moments: CrossMoments,
    chosen: Fit | None,
    outcome: Outcome,
    classes: Classes | None,
    options: Options,
) -> tuple[Finding, ...]:
    """Return the findings of a pair; `chosen` is the fit of the verdict."""
    messages = [
        *_of_rows(pair, fits, outcome.agreement),
        *_of_directions(pair, chosen, outcome),
        *_of_classes(classes),
        *_of_groups(pair, fits, options),
        *_of_components(pair, fits, moments),
    ]
    return tuple(Finding(code=code, message=message) for code, message in messages)


def _of_rows(pair: Pair, fits: tuple[Fit, ...], agreement: Agreement) -> Iterator[tuple[str, str]]:
    split, first, second = pair.split, pair.source.summary, pair.target.summary
    if agreement == "identical":
        yield "UP014", f"{first.name} and {second.name} are equal in every value."
    if agreement == "chance":
        lowest = min(
            (fit.p_value for fit in fits if fit.p_value is not None and not fit.unmixed),
            default=1.0,
        )
        yield "UP009", f"the smallest p-value of any group is {lowest:.2g}."
    if split.n_held_out < MIN_ROWS:
        yield "UP015", f"{split.n_held_out} of {len(split.parts)} rows are held out."
    if first.n_features != second.n_features:
        widths = f"{first.n_features} and {second.n_features}"
        yield "UP018", f"{first.name} and {second.name} have {widths} coordinates."


def _of_directions(pair: Pair, chosen: Fit | None, outcome: Outcome) -> Iterator[tuple[str, str]]:
    shared, even = outcome.shared, outcome.even
    if shared is not None and shared.is_bijective and shared.n_closely < shared.n_shared:
        yield (
            "UP034",
            f"{shared.n_shared - shared.n_closely} of {shared.n_shared} directions agree only "
            "partly, with a held-out R² below 0.8.",
        )
    if shared is not None and not shared.is_bijective:
        first, second = pair.source.name, pair.target.name
        yield (
            "UP034",
            f"{shared.n_shared} directions agree, out of {shared.n_first} of {first} and "
            f"{shared.n_second} of {second}; they account for {shared.variance_first:.1%} and "
            f"{shared.variance_second:.1%} of the variance.",
        )
    if chosen is not None and chosen.held_out is not None and even is not None:
        r2 = chosen.held_out.r2
        if is_carried_by_few(r2, even):
            yield (
                "UP019",
                f"{chosen.name} explains {r2:.0%} of the variance but {even:.0%} per direction on "
                "average.",
            )


def _of_classes(classes: Classes | None) -> Iterator[tuple[str, str]]:
    if classes is not None and only_classes_agree(classes, LEVEL):
        yield (
            "UP038",
            f"R² is {classes.between_r2:.2f} between the {classes.n_classes} classes of "
            f"{classes.label} and {classes.within_r2:.2f} within them "
            f"(p {classes.within_p_value:.2g}).",
        )


def _of_groups(pair: Pair, fits: tuple[Fit, ...], options: Options) -> Iterator[tuple[str, str]]:
    rank = pair.source.summary.rank
    n_fitted = len(pair.split.parts) - pair.split.n_held_out
    needed = {Group.RIGID: rank, Group.SIMILARITY: rank, Group.AFFINE: rank + 1}
    large = [group for group in options.groups if n_fitted <= needed.get(group, 0)]
    if large:
        groups = ", ".join(large)
        yield (
            "UP010",
            f"{n_fitted} fitted rows do not determine a map of {rank} dimensions: {groups}.",
        )
    freest = Group.AFFINE if Group.AFFINE in options.groups else options.groups[-1]
    for fit in fits:
        if fit.up_to is freest and not fit.unmixed and fit.held_out is not None:
            inside, outside = fit.in_sample.r2, fit.held_out.r2
            if inside - outside > OVERFITTED:
                yield (
                    "UP017",
                    f"R² of {fit.name} is {inside:.2f} in-sample but {outside:.2f} held out.",
                )


def _of_components(
    pair: Pair, fits: tuple[Fit, ...], moments: CrossMoments
) -> Iterator[tuple[str, str]]:
    errors = {fit.name: fit.error.value for fit in fits}
    rows = ("signed-permutation", "similarity", "ica")
    if (
        all(row in errors for row in rows)
        and ica_efficiency(*(errors[row] for row in rows)) is None
    ):
        yield "UP016", "the error of the similarity is not below that of the signed permutation."
    if pair.source.unmixing is not None and pair.target.unmixing is not None:
        correlation = source_correlations(pair.source.unmixing, pair.target.unmixing, moments)
        ambiguous, matched = ambiguous_matches(correlation), min(correlation.shape)
        if ambiguous > 0.1 * matched:
            yield ("UP005", f"{ambiguous} of {matched} components have a second match within 5 %.")
