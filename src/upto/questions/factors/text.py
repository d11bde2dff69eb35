"""Verdict and findings about latents and factors."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.value_names import look_alikes, reads_as_missing
from upto.core import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from upto.core import Agreement
    from upto.questions.factors.forms import Formed
    from upto.questions.factors.parts import (
        FactorMatch,
        FormScore,
        LatentForm,
        Structure,
        StructureFit,
    )
    from upto.questions.factors.result import FactorsResult
    from upto.questions.factors.truth import Factor

    Unsure = Mapping[str, Mapping[str, tuple[float, float | None]]]

FAR_FROM_ZERO = 0.2
"""Chance level above which a score is far from zero on noise."""
DEPENDENT = 0.2
"""Absolute correlation above which two factors are dependent."""
FEW_ROWS = 11
"""Rows per value below which a row has fewer than ten neighbours."""
DEPENDENT_ROWS = ("UP036", "UP037")
"""Findings of dependent rows."""
LISTED = 6
"""Largest number of names in a list."""
IN_SAMPLE = re.compile(r"infomec/explicitness@(?!adjusted)|dci/fitted@")
"""Scores computed in sample."""

_VERBS = {
    "identical": "equal",
    "same": "identify",
    "close": "nearly identify",
    "partial": "partly identify",
    "weak": "are weakly related to",
}


def verdict(result: FactorsResult) -> str:
    """State up to which group the latents identify the factors, before and after ICA."""
    shown = [form.name for form in result.forms if form.name == "without ICA"]
    shown += [form.name for form in result.forms if form.name != "without ICA"][:1]
    structures = [each for each in result.structure if each.form in shown]
    sentences = [_in_short(result, structures)]
    first = next((score.name for score in result.scores if score.value is not None), None)
    scores = [
        _score_text(score)
        for score in result.scores
        if score.name == first and score.form in shown and score.value is not None
    ]
    sentences += [f"{first}: {', '.join(scores)}"] if scores else []
    if not any(sentences):
        return f"{result.name} cannot be evaluated: no factor can be scored."
    sentences = [_of_dependent_rows(result), *sentences]
    return ". ".join(sentence for sentence in sentences if sentence) + "."


def _of_dependent_rows(result: FactorsResult) -> str:
    if not any(finding.code in DEPENDENT_ROWS for finding in result.findings):
        return ""
    return (
        "Rows depend on each other: chance levels and p-values assume independent rows, so no "
        "result below is shown to be beyond chance"
    )


def structure_verdict(
    form: str,
    agreement: Agreement,
    fit: StructureFit | None,
    *,
    names: Sequence[str],
    converged: bool | None,
) -> str:
    """State up to which group one form identifies the factors; `fit` is that group's."""
    factors = f"the {len(names)} factors" if len(names) > 1 else _the_factor(names[0])
    opening = (
        "Without ICA" if form == "without ICA" else f"After {_titled(form, converged=converged)}"
    )
    return f"{opening}, the latents {_identified(agreement, fit, factors)}."


def _the_factor(name: str) -> str:
    # Columns of an array are named factor 0, factor 1 and so on.
    return "the factor" if re.fullmatch(r"factor \d+", name) else f"the factor {name}"


def _in_short(result: FactorsResult, structures: Sequence[Structure]) -> str:
    """Join the verdicts of forms."""
    told = [each.verdict.removesuffix(".") for each in structures[:1]]
    them = "them" if sum(factor.in_truth for factor in result.factors) > 1 else "it"
    for each in structures[1:]:
        fit = None if each.up_to is None else each.fit(each.up_to)
        form = _titled(each.form, converged=result.form(each.form).converged)
        told.append(f"after {form}, they {_identified(each.agreement, fit, them)}")
    return "; ".join(told)


def _titled(form: str, *, converged: bool | None) -> str:
    return form if converged is not False else f"{form} (not converged)"


def _identified(agreement: Agreement, fit: StructureFit | None, factors: str) -> str:
    if agreement == "undecided":
        return f"cannot be compared with {factors}: too few rows are held out"
    if agreement == "chance":
        return f"are no closer to {factors} than chance"
    if fit is None:
        return f"are related to {factors}, but predict no factor better than its mean"
    chance = f", chance {fit.chance:.3f}" if fit.chance is not None else ""
    numbers = f"held-out error {fit.error.value:.3f} of the diameter{chance}"
    return f"{_VERBS[agreement]} {factors} up to {fit.up_to.phrase} ({numbers})"


def _score_text(score: FormScore) -> str:
    chance = f" (chance {round(score.chance, 2) + 0.0:.2f})" if score.chance is not None else ""
    value = score.value
    if value is not None and value.low is not None and value.high is not None:
        chance = f" [{_two(value.low)}, {_two(value.high)}]{chance}"
    form = "without ICA" if score.form == "without ICA" else f"after {score.form}"
    return f"{form} {_rounded(score)}{chance}"


def findings(
    result: FactorsResult, factors: Sequence[Factor], formed: Sequence[Formed], unsure: Unsure
) -> Iterator[Finding]:
    """Return findings about rows, factors, latents, ICA and scores."""
    for code, message in (
        *_of_rows(result),
        *_of_factors(result, factors),
        *_of_latents(result, unsure),
        *_of_ica(result, formed),
        *_of_scores(result),
    ):
        yield Finding(code=code, message=message)


def named(message: str, factors: Sequence[Factor]) -> str:
    """Replace factor numbers (from 1) by names, and code numbers by latents (from 0)."""

    def name(found: re.Match[str]) -> str:
        place = int(found.group(1)) - 1
        is_known = place < len(factors)
        return f"factor {factors[place].name!r}" if is_known else found.group()

    def number(found: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda digits: str(int(digits.group()) - 1), found.group())

    message = re.sub(r"\bcodes? \d+(, \d+)*\b", number, message)
    # Names come last, since they may contain any word.
    return re.sub(r"\bfactor (\d+)\b", name, re.sub(r"\bcode(s?)\b", r"latent\1", message))


def _of_rows(result: FactorsResult) -> Iterator[tuple[str, str]]:
    if result.n_used < result.n_samples:
        yield "UP024", f"{result.n_used} of {result.n_samples} rows are used."


def _of_factors(result: FactorsResult, factors: Sequence[Factor]) -> Iterator[tuple[str, str]]:
    for factor in factors:
        count = int(factor.known.sum())
        if not count:
            yield "UP062", f"{factor.name} has no label on {len(factor.values)} rows."
        elif factor.n_values == 1:
            yield "UP062", f"{factor.name} has a single value on its {count} rows."
        elif factor.kind == "discrete" and factor.n_values == count:
            yield "UP062", f"{factor.name} has a different label on each of its {count} rows."
        elif factor.kind == "discrete" and factor.counts.min() < FEW_ROWS:
            few = int((factor.counts < FEW_ROWS).sum())
            smallest = int(factor.counts.min())
            yield (
                "UP064",
                f"{few} of {factor.n_values} values of {factor.name} occur in fewer than "
                f"{FEW_ROWS} rows, the rarest in {smallest}.",
            )
    partly = [
        f"{factor.name} ({factor.labelled:.1%})" for factor in result.factors if factor.labelled < 1
    ]
    if partly:
        yield "UP063", f"fraction of rows with a label: {_listed(partly)}."
    numbers = [factor.name for factor in factors if factor.in_truth]
    if numbers and not result.discrete_latents and not result.n_complete:
        yield (
            "UP063",
            f"too few rows have labels of all of {_listed(numbers)}: errors to the truth are not "
            "computed.",
        )
    yield from _of_categories(factors, discrete_latents=result.discrete_latents)
    yield from _of_look_alikes(factors)
    yield from _of_dependence(factors)


def _of_categories(
    factors: Sequence[Factor], *, discrete_latents: bool
) -> Iterator[tuple[str, str]]:
    taken = [
        f"{each.name} ({each.why_not})" if each.why_not else each.name
        for each in factors
        if not each.in_truth and each.n_values > 1
    ]
    if taken and not discrete_latents:
        are = "is" if len(taken) == 1 else "are"
        yield (
            "UP067",
            f"{_listed(taken)} {are} treated as categories: scored, but not part of the truth.",
        )


def _of_look_alikes(factors: Sequence[Factor]) -> Iterator[tuple[str, str]]:
    for factor in factors:
        if factor.values.dtype != object:
            continue
        labels = sorted({str(label) for label in factor.values[factor.known]})
        none = reads_as_missing(labels)
        if none:
            said = _listed([repr(label) for label in none])
            yield "UP085", f"{factor.name} has {said} as a value, not as missing."
        groups = look_alikes(labels)
        if groups:
            said = _listed([" and ".join(map(repr, alike[:LISTED])) for alike in groups])
            yield "UP085", f"{factor.name} has {said} as separate values."


def _of_dependence(factors: Sequence[Factor]) -> Iterator[tuple[str, str]]:
    strongest, names = 0.0, ("", "")
    for one, other in combinations([factor for factor in factors if factor.in_truth], 2):
        both = one.known & other.known
        if both.sum() < FEW_ROWS:
            continue
        first, second = one.values[both], other.values[both]
        if np.ptp(first) == 0 or np.ptp(second) == 0:
            continue
        correlation = float(np.corrcoef(first, second)[0, 1])
        # With few rows, chance correlations do not count.
        limit = max(DEPENDENT + 3 / np.sqrt(both.sum()), abs(strongest))
        if abs(correlation) > limit:
            strongest, names = correlation, (one.name, other.name)
    if strongest:
        yield "UP068", f"{names[0]} and {names[1]} have a correlation of {strongest:.2f}."


def _of_latents(result: FactorsResult, unsure: Unsure) -> Iterator[tuple[str, str]]:
    given = result.forms[0]
    if given.dead:
        yield (
            "UP013",
            f"{len(given.dead)} of {given.n_latents} latents of {result.name} never change: "
            f"{_listed([str(latent) for latent in given.dead])}.",
        )
    live = given.n_latents - len(given.dead)
    count = sum(factor.n_values > 1 for factor in result.factors)
    if live < count:
        are = "non-constant latent" if live == 1 else "non-constant latents"
        yield "UP065", f"{result.name} has {live} {are} for {count} factors."
    form = result.detailed
    yield from _of_matches(form, unsure.get(form.name, {}))


def _of_matches(
    form: LatentForm, unsure: Mapping[str, tuple[float, float | None]]
) -> Iterator[tuple[str, str]]:
    silent = [
        f"{match.factor} ({_all_explain(match)})"
        for match in form.matches
        if match.share is not None and match.latent is None and match.factor not in unsure
    ]
    if unsure:
        parts = [f"{name} ({_may_tell(*ends)})" for name, ends in unsure.items()]
        yield (
            "UP090",
            f"{form.name}: too few rows to detect single latents that carry {_listed(parts)}.",
        )
    if silent:
        yield "UP066", f"{form.name}: no latent carries {_listed(silent)}."
    shared: dict[int, list[str]] = {}
    for match in form.matches:
        if match.latent is not None:
            shared.setdefault(match.latent, []).append(match.factor)
    told = [
        f"latent {latent} ({', '.join(names)})" for latent, names in shared.items() if names[1:]
    ]
    if told:
        yield "UP069", f"{form.name}: several factors share their best latent: {_listed(told)}."


def _may_tell(share: float, correlation: float | None) -> str:
    if correlation is not None:
        return f"one has a correlation of {correlation:.2f}"
    return f"one may carry {share:.0%}"


def _all_explain(match: FactorMatch) -> str:
    if match.r2 is None:
        return "R² of all latents unknown"
    return f"all latents explain {max(match.r2, 0.0):.0%}"


def _of_ica(result: FactorsResult, formed: Sequence[Formed]) -> Iterator[tuple[str, str]]:
    for each in formed:
        if each.converged is False:
            yield (
                "UP004",
                f"{each.form.name} of {result.name} stopped after {each.n_iterations} steps.",
            )
        if each.turning > 1:
            yield (
                "UP023",
                f"{each.turning} of {each.latents.shape[1]} components of {result.name} after "
                f"{each.form.name} are determined only up to a rotation.",
            )


def _of_scores(result: FactorsResult) -> Iterator[tuple[str, str]]:
    within = [score for score in result.scores if score.is_beyond_chance is False]
    by_name: dict[str, list[FormScore]] = {}
    for score in within:
        by_name.setdefault(score.name, []).append(score)
    if by_name:
        parts = [f"{name} ({_values(own)})" for name, own in by_name.items()]
        yield "UP060", f"{_listed(parts)}."
    missing: dict[str, dict[str, None]] = {}
    for score in result.scores:
        if score.value is None:
            missing.setdefault(score.says, {})[score.name] = None
    for says, names in missing.items():
        yield "UP090", f"{_listed([*names])}: {says}"
    levels: dict[str, list[float]] = {}
    for score in result.scores:
        if score.better == "higher" and score.chance is not None and score.chance >= FAR_FROM_ZERO:
            levels.setdefault(score.name, []).append(score.chance)
    if levels:
        parts = [f"{name} ({np.mean(own):.2f})" for name, own in levels.items()]
        yield "UP061", f"permuted rows reach {_listed(parts)}."
    in_sample = {score.name: None for score in result.scores if IN_SAMPLE.match(score.name)}
    if in_sample:
        yield "UP070", f"{_listed([*in_sample])}."


def _values(scores: Sequence[FormScore]) -> str:
    return "; ".join(f"{_rounded(score)} {score.form}" for score in scores)


def _rounded(score: FormScore) -> str:
    return _two(0.0 if score.value is None else score.value.value)


def _two(value: float) -> str:
    # Rounding first avoids -0.00.
    return f"{round(value, 2) + 0.0:.2f}"


def _listed(names: Sequence[str]) -> str:
    left = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {left} more" if left > 0 else "")
