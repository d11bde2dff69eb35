"""Verdict and findings of mixture priors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Finding, Group
from upto.questions.mixture.parts import weakest_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from upto.questions.mixture.latent_priors import Prior
    from upto.questions.mixture.parts import (
        AssumptionCheck,
        CodesSummary,
        MixtureRun,
        SharedCodes,
        Stability,
    )
    from upto.questions.mixture.result import MixtureResult

NEAR = 0.1
"""Difference of log-ratios of variances below which they are nearly equal."""
_LIGHT = 0.1
"""Fraction of an equal share below which a weight is small."""
_OVERLAPPING = 0.9
_LEVEL = 0.05
_MOST = 0.5
"""Fraction of the components from which priors match."""


_UNPROVED = "the rows have the law of the prior (not rejected, which is no proof)"


def verdict(result: MixtureResult) -> str:
    """State what is identified, why not more, and how stable the components are."""
    count = len(result.runs)
    subject = f"Each of {count} runs" if count > 1 else result.runs[0].name
    sentences = [f"{subject}: {_identified(result)}"]
    if result.stability is not None:
        sentences.append(_stability(result.stability))
    if result.codes is not None:
        sentences.append(_rows(result.codes))
    return " ".join(sentences)


def _stability(found: Stability) -> str:
    if found.identical:
        return "The priors of all runs are identical, so that matching them shows nothing."
    overlap, recurring = found.overlap, found.recurring
    beside = "" if overlap.chance is None else f" (chance {overlap.chance:.2f})"
    again = "" if recurring.chance is None else f" (chance {recurring.chance:.0%})"
    return (
        f"After the best affine map, {recurring.value.value:.0%} of the components recur in "
        f"another run{again}, with a mean overlap of {overlap.value:.2f}{beside}."
    )


def _rows(codes: CodesSummary) -> str:
    beside = "" if codes.chance is None else f" (chance {codes.chance:.2f})"
    return (
        f"One run's rows predict another's {codes.up_to.manner} with an error of "
        f"{codes.error:.2f}{beside}, and their components agree with an adjusted Rand index of "
        f"{codes.rand_index:.2f} (chance 0)."
    )


def _identified(result: MixtureResult) -> str:
    runs = result.runs
    if result.prior_up_to is None:
        return _nothing(runs)
    words = identified(result.prior_up_to, result.decoder_up_to, hidden=result.hidden)
    sentence = f"as fitted, prior and decoder identify {words}, if {_conditions(runs)}"
    failed, unknown = _lacked(runs, len(runs[0].rungs))
    if not failed and not unknown:
        return f"{sentence}."
    reasons = [
        *_counted(runs, failed, holds=False, says=("fails", "fail")),
        *_counted(runs, unknown, holds=None, says=("is not known", "are not known")),
    ]
    more = "not more" if not unknown else "whether more is not known"
    return f"{sentence}; {more}: {' and '.join(reasons)}{_settled(runs, unknown)}."


def _nothing(runs: Sequence[MixtureRun]) -> str:
    failed, unknown = _lacked(runs, 1)
    if failed:
        return _failing(runs, failed)
    reasons = _counted(runs, unknown, holds=None, says=("is not known", "are not known"))
    text = (
        f"it is not known whether anything is identified: {' and '.join(reasons)}"
        f"{_settled(runs, unknown)}"
    )
    lacking = [run for run in runs if not run.rungs[0].reached]
    group = weakest_group([run.possible_up_to for run in runs])
    if group is not None and all(run.decoder is None for run in lacking):
        hidden = all(run.possible_hidden for run in runs)
        possible = identified(group, group, hidden=hidden)
        text += f"; with an injective decoder of (leaky) ReLUs, the prior would identify {possible}"
        if _are_tested(runs):
            text += f", if {_UNPROVED}"
    return f"{text}."


def _conditions(runs: Sequence[MixtureRun]) -> str:
    """Return what is assumed, not shown."""
    conditions = ["the noise has a known law"]
    if _are_tested(runs):
        conditions.append(_UNPROVED)
    if any(run.relus_assumed for run in runs):
        conditions.append("the decoder has ReLUs (no leak is given)")
    return _listed(conditions)


def _are_tested(runs: Sequence[MixtureRun]) -> bool:
    return any(run.n_rows is not None for run in runs)


def _failing(runs: Sequence[MixtureRun], failed: Sequence[str]) -> str:
    """Return that nothing is shown, for the first assumption that fails in each run."""
    fails = [run.rungs[0].fails for run in runs]
    firsts = {each[0] for each in fails if each}
    reasons = []
    for name in (each for each in failed if each in firsts):
        where = [run for run in runs if run.assumption(name).holds is False]
        # Which run is quoted must not depend on the order of the runs.
        quoted = min(where, key=lambda run: run.name)
        evidence = quoted.assumption(name).evidence
        if len(runs) > 1:
            evidence = f"{quoted.name}: {evidence}"
        reasons.append(f"{name} fails{_in_some(len(where), runs)} ({evidence})")
    shown = "nothing is shown to be identified"
    if not all(fails):
        shown = "it is not shown that all of them identify something"
    return f"{shown}: {' and '.join(reasons)}."


def _lacked(runs: Sequence[MixtureRun], n_rungs: int) -> tuple[list[str], list[str]]:
    """Return which assumptions fail, and which are not known, for the first rungs of any run."""
    failed: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for number in range(n_rungs):
        for run in sorted(
            runs, key=lambda run: (run.rungs[number].fails, run.rungs[number].unknown)
        ):
            failed |= dict.fromkeys(run.rungs[number].fails)
            unknown |= dict.fromkeys(run.rungs[number].unknown)
    return list(failed), [name for name in unknown if name not in failed]


def _counted(
    runs: Sequence[MixtureRun], names: Sequence[str], *, holds: bool | None, says: tuple[str, str]
) -> list[str]:
    """Return that assumptions fail or are not known, those of as many runs together."""
    groups: dict[int, list[str]] = {}
    for name in names:
        count = sum(run.assumption(name).holds is holds for run in runs)
        groups.setdefault(count, []).append(name)
    return [
        f"{_listed(each)} {says[len(each) > 1]}{_in_some(count, runs)}"
        for count, each in groups.items()
    ]


def _in_some(count: int, runs: Sequence[MixtureRun]) -> str:
    return "" if count == len(runs) else f" in {count} of {len(runs)} runs"


def _settled(runs: Sequence[MixtureRun], names: Sequence[str]) -> str:
    remedies: dict[str, None] = {}
    for name in names:
        checks = [run.assumption(name) for run in runs]
        remedies |= dict.fromkeys(sorted({each.remedy for each in checks if each.holds is None}))
    return f" (to settle it: {'; '.join(remedies)})" if remedies else ""


def identified(prior: Group | None, decoder: Group | None, *, hidden: bool) -> str:
    """Return what is identified as words, e.g. P(Z) and f up to an affine map, and P(U)."""
    if prior is None:
        return "nothing"
    text = f"{'P(Z) and f' if decoder is prior else 'P(Z)'} {prior.manner}"
    if decoder is not None and decoder is not prior:
        text += f" and f {decoder.manner}"
    return f"{text}, and P(U)" if hidden else text


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def findings(
    result: MixtureResult, priors: Sequence[Prior], gaps: Sequence[float | None]
) -> Iterator[Finding]:
    """Yield the findings of all runs, and of their stability."""
    for run, gap in zip(result.runs, gaps, strict=True):
        yield from _of_run(run, gap)
    untested = [run.name for run in result.runs if run.n_rows is None]
    if untested:
        which = "the prior" if len(result.runs) == 1 else f"{len(untested)} of {len(priors)} priors"
        fitted = "fitted" if any(run.fitted for run in result.runs) else "trained"
        message = (
            f"{which}, as {fitted}, {'is' if len(untested) == 1 else 'are'} not tested on rows."
        )
        yield Finding(code="UP098", message=message)
    counts = sorted({len(run.components) for run in result.runs})
    if len(counts) > 1:
        message = f"the priors have from {counts[0]} to {counts[-1]} components."
        yield Finding(code="UP096", message=message)
    if result.stability is not None:
        overlap = result.stability.overlap
        if overlap.limit is not None and overlap.value.value <= overlap.limit:
            message = (
                f"components overlap with their partners by {overlap.value.value:.2f}, and those "
                f"with random means by up to {overlap.limit:.2f}."
            )
            yield Finding(code="UP097", message=message)
    yield from _of_shared_rows(result)
    if result.up_to is not None and not _reaches(result.prior_up_to, result.up_to):
        known = "not known to be identified"
        if result.prior_up_to is not None:
            known = f"known to be identified only {result.prior_up_to.manner}"
        message = f"P(Z) is {known}, not {result.up_to.manner}."
        yield Finding(code="UP099", message=message)


def _of_shared_rows(result: MixtureResult) -> Iterator[Finding]:
    pairs = [pair.codes for pair in result.pairs if pair.codes is not None]
    strangers = [codes for codes in pairs if _are_strangers(codes)]
    if not strangers or result.stability is None:
        return
    error = sum(codes.error.value for codes in strangers) / len(strangers)
    index = sum(codes.rand_index for codes in strangers) / len(strangers)
    message = (
        f"in {len(strangers)} of {len(pairs)} pairs of runs, one run's rows predict the other's no "
        f"better than shuffled rows do (mean error {error:.2f}, adjusted Rand index {index:.2f})"
    )
    recurring = result.stability.recurring.value.value
    if recurring >= _MOST:
        message += f", although {recurring:.0%} of the components recur"
    yield Finding(code="UP100", message=f"{message}.")


def _are_strangers(codes: SharedCodes) -> bool:
    if codes.p_value is not None:
        return codes.p_value > _LEVEL
    return codes.chance is not None and codes.error.value >= codes.chance


def _of_run(run: MixtureRun, gap: float | None) -> Iterator[Finding]:
    name, count = run.name, len(run.components)
    flat = [number for number, each in enumerate(run.components, 1) if each.fills is not True]
    if flat:
        message = (
            f"{name}: {len(flat)} of {count} components, the first of them {flat[0]}, have no "
            "volume, or none beyond rounding."
        )
        yield Finding(code="UP091", message=message)
    if count == 1:
        yield Finding(code="UP094", message=f"{name}: the prior has one component.")
    elif gap is not None and gap < NEAR:
        message = (
            f"{name}: in the best pair of components, two log-ratios of variances differ by "
            f"{gap:.2g}."
        )
        yield Finding(code="UP092", message=message)
    light = [
        number
        for number, each in enumerate(run.components, 1)
        if each.weight < _LIGHT / count or each.n_rows == 0
    ]
    if light:
        smallest = min(each.weight for each in run.components)
        message = (
            f"{name}: {len(light)} of {count} components, the first of them {light[0]}, have a "
            f"weight down to {smallest:.2g} or no rows."
        )
        yield Finding(code="UP093", message=message)
    yield from _of_rows(run)
    shared = run.assumption("F4")
    if shared.holds is False:
        yield Finding(code="UP088", message=f"{name}: {shared.evidence}.")


def _of_rows(run: MixtureRun) -> Iterator[Finding]:
    overlaps = [each.overlap for each in run.components if each.overlap is not None]
    near = [overlap for overlap in overlaps if overlap > _OVERLAPPING]
    partly, distinct = run.assumption("P1 partly"), run.assumption("distinct")
    tested = run.n_rows is not None and any(each.fills for each in run.components)
    if tested and _is_undecided(partly):
        yield Finding(code="UP087", message=f"{run.name}: {partly.evidence}.")
    elif tested and _is_undecided(distinct) and len(run.components) > 1:
        yield Finding(code="UP095", message=f"{run.name}: {distinct.evidence}.")
    elif near:
        message = (
            f"{run.name}: {len(near)} of {len(run.components)} components overlap with another by "
            f"more than {_OVERLAPPING:g}, the nearest by {max(near):.2f}."
        )
        yield Finding(code="UP095", message=message)


def _is_undecided(check: AssumptionCheck) -> bool:
    """Return whether a test rejects it, instead of having too few rows."""
    return check.holds is None and check.n_enough is None


def _reaches(found: Group | None, claim: Group) -> bool:
    return found is not None and claim.contains(found)
