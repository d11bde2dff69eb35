"""Assemble the result of `consensus`: runs, components, verdict and findings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import UNRECORDED, Finding, Group, unique_findings
from upto.files.survey import run_findings
from upto.questions.compare.verdict import undecided
from upto.questions.consensus.reproducibility import LEAST, WIDEST
from upto.questions.consensus.result import (
    ConsensusComponent,
    ConsensusResult,
    ConsensusRun,
    ConsensusUpTo,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from upto.core import Embeddings
    from upto.core.array_types import Float
    from upto.engines import Survey
    from upto.evidence.split import Split
    from upto.questions.consensus.reproducibility import Explained, Reproduced
    from upto.questions.consensus.spaces import Space


FEW = 0.5
"""Share of components in every run below which the finding of few is raised."""
CONSISTENT = 0.9
"""Smallest share of pairwise matches that a consistent matching keeps."""
NAMED = 6
"""Maximum number of runs named in a verdict."""


def consensus_result(
    runs: Sequence[Embeddings],
    space: Space,
    split: Split,
    explained: Sequence[Explained],
    reproduced: Reproduced | None,
    *,
    up_to: ConsensusUpTo,
    asked: float,
    n_judged: int,
    findings: Sequence[Finding],
) -> ConsensusResult:
    """Assemble the result; `asked` is the requested held-out fraction."""
    listed = tuple(
        _run(run, space, number, explained[number] if explained else None, reproduced)
        for number, run in enumerate(runs)
    )
    components = tuple(_component(space, i, reproduced) for i in range(len(space.factor)))
    limit = None if reproduced is None else reproduced.limit
    result = ConsensusResult(
        up_to=up_to,
        runs=listed,
        components=components,
        n_samples=len(split.parts),
        n_held_out=split.n_held_out,
        n_judged=n_judged,
        chance_limit=limit,
        consistency=None if limit is None else space.consistent(limit),
        verdict=undecided(len(split.parts), asked=asked),
        findings=(),
        provenance=UNRECORDED,
        least_correlation=LEAST,
    )
    remarks = [Finding(code=code, message=message) for code, message in _remarks(result)]
    return replace(
        result,
        verdict=_verdict(result) if explained else result.verdict,
        findings=unique_findings([*findings, *remarks]),
    )


def _run(
    run: Embeddings,
    space: Space,
    number: int,
    explained: Explained | None,
    reproduced: Reproduced | None,
) -> ConsensusRun:
    sources = space.sources[number] if space.sources else None
    return ConsensusRun(
        name=run.name,
        n_features=run.n_features,
        n_components=int(space.present[number].sum()) if sources else run.n_features,
        scale=float(space.scales[number]),
        explained=explained.share if explained else None,
        chance=explained.chance if explained else None,
        p_value=explained.p_value if explained else None,
        belongs=explained.belongs if explained else None,
        n_appearing=None if reproduced is None else int(reproduced.appears[number].sum()),
        converged=sources.converged if sources else None,
        n_near_gaussian=sources.n_near_gaussian if sources else None,
        times=explained.times if explained else None,
    )


def _component(space: Space, number: int, reproduced: Reproduced | None) -> ConsensusComponent:
    correlations: tuple[float | None, ...] = (None,) * len(space.present)
    if reproduced is not None:
        found = reproduced.correlations[:, number]
        correlations = tuple(None if np.isnan(value) else float(value) for value in found)
    return ConsensusComponent(
        variance=float(space.variance[number]),
        correlations=correlations,
        mean=None if reproduced is None else reproduced.estimate(number),
        n_runs=None if reproduced is None else int(reproduced.appears[:, number].sum()),
    )


def _verdict(result: ConsensusResult) -> str:
    words = _verdict_of_components if result.is_matched else _verdict_of_space
    return words(result)


def _verdict_of_space(result: ConsensusResult) -> str:
    count, total, limit = len(result.runs), len(result.components), result.limit or 0.0
    joined = [i for i, run in enumerate(result.runs) if run.belongs]
    if len(joined) < 2:
        return _no_consensus(result, joined)
    shares = [each.value for i in joined if (each := result.runs[i].explained)]
    shown = [
        all((component.correlations[i] or 0.0) > limit for i in joined)
        for component in result.components
    ]
    number = f"{sum(shown)} of {total} direction{'' if total == 1 else 's'}"
    appear = f"{number} {'appears' if sum(shown) == 1 else 'appear'} in"
    explained = f"explains {_range(shares, '.1%')} of"
    phrase = f"share one space up to {Group(result.up_to).phrase}"
    if count == 2:
        held_out = "the other's held-out variance"
        return f"Both runs {phrase}: each {explained} {held_out}, and {appear} both."
    who = f"All {count} runs {phrase}"
    if len(joined) < count:
        who = f"{len(joined)} of {count} runs {phrase} ({_which(result, joined)})"
    where = "every run" if len(joined) == count else "each of them"
    return (
        f"{who}: the consensus of the others {explained} each run's held-out variance, and "
        f"{appear} {where}."
    )


def _no_consensus(result: ConsensusResult, joined: Sequence[int]) -> str:
    """Write the verdict if fewer than two runs belong; one alone shares nothing."""
    if len(result.runs) == 2:
        return "No consensus: the two runs do not belong together."
    count = len(result.runs)
    if joined:
        only = result.runs[joined[0]].name
        return f"No consensus: of {count} runs only {only} belongs with the others."
    return f"No consensus: none of {count} runs belongs with the others."


def _which(result: ConsensusResult, joined: Sequence[int]) -> str:
    """Return the names of the runs that belong, or of those that do not if these are fewer."""
    out = [i for i in range(len(result.runs)) if i not in joined]
    few, words = (joined, "") if len(joined) <= len(out) + 1 else (out, "all but ")
    names = [result.runs[i].name for i in few]
    if len(names) > NAMED:
        names = [*names[:NAMED], f"{len(names) - NAMED} more"]
    *first, last = names
    return words + (f"{', '.join(first)} and {last}" if first else last)


def _verdict_of_components(result: ConsensusResult) -> str:
    count, total = len(result.runs), len(result.components)
    every, none = result.in_every_run, result.in_no_run
    where = "both runs" if count == 2 else f"all {count} runs"
    others = "the other" if count == 2 else "the mean of the others"
    means = [each.value for i in every if (each := result.components[i].mean)]
    limit = (
        f"the required correlation is {result.least_correlation:.2f} and the chance limit "
        f"{result.chance_limit:.2f}{_turned(result)}"
    )
    if not every:
        most = max(component.n_runs or 0 for component in result.components)
        some = f"{total - len(none)} of {total} in at most {most}" if most else f"out of {total}"
        return f"No component appears in {where}: {some}, {len(none)} in none, where {limit}."
    appear = "appears" if len(every) == 1 else "appear"
    return (
        f"{len(every)} of {total} components {appear} in {where}, {len(none)} in none: those in "
        f"every run have a held-out correlation of {_range(means, '.2f')} with {others}, where "
        f"{limit}."
    )


def _turned(result: ConsensusResult) -> str:
    """Count the raw coordinates that correlate, but no better than randomly rotated ones."""
    if result.up_to != "signed-permutation" or result.limit is None:
        return ""
    limit = result.limit
    over = sum(
        all(value is not None and value > limit for value in result.components[i].correlations)
        for i in range(len(result.components))
        if i not in result.in_every_run
    )
    if not over:
        return ""
    number = f"{over} more" if result.in_every_run else str(over)
    correlate = "correlates" if over == 1 else "correlate"
    return f"; {number} {correlate} above both, but so do randomly rotated coordinates"


def _range(values: Sequence[float], spec: str) -> str:
    low, high = format(min(values), spec), format(max(values), spec)
    return low if low == high else f"{low} to {high}"


def _remarks(result: ConsensusResult) -> Iterator[tuple[str, str]]:
    count = len(result.runs)
    for run in result.runs:
        if run.converged is False:
            yield "UP004", f"ICA of {run.name} stopped before it converged."
        if (near := run.n_near_gaussian or 0) >= 2 and result.chance_limit is not None:
            words = "cannot be distinguished from Gaussian on rows they were not fitted to."
            yield "UP003", f"{near} of {run.n_components} components of {run.name} {words}"
        if run.belongs is False and run.explained is not None:
            yield "UP030", _not_belonging(run, "other" if count == 2 else "others")
    every, total = len(result.in_every_run), len(result.components)
    if result.chance_limit is not None and every < FEW * total:
        appear = "appears" if every == 1 else "appear"
        where = "both" if count == 2 else f"all {count}"
        yield "UP031", f"{every} of {total} components {appear} in {where} runs."
    if result.consistency is not None and result.consistency < CONSISTENT:
        yield (
            "UP032",
            f"the common matching keeps {result.consistency:.0%} of the matches between two runs.",
        )


def _not_belonging(run: ConsensusRun, others: str) -> str:
    share = run.explained.value if run.explained else 0.0
    explain = "explains" if others == "other" else "explain"
    wide = ""
    if run.times is not None and run.times > WIDEST:
        wide = f"; it is {run.times:.3g} times as wide as predicted"
    return (
        f"the share of {run.name} that the {others} {explain} is {share:.3g}, compared with "
        f"{run.chance:.3g} for rows drawn at random; p = {run.p_value:.2g}{wide}."
    )


def remarks_on_rows(
    runs: Sequence[Embeddings],
    surveys: Sequence[Survey],
    space: Space,
    split: Split,
    rows: Sequence[Float],
) -> Iterator[Finding]:
    """Yield findings about the input runs; `rows` are the held-out rows used."""
    for number, (run, surveyed) in enumerate(zip(runs, surveys, strict=True)):
        rank = space.sources[number].rank if space.sources else run.n_features
        n_dead = int((surveyed.low == surveyed.high).sum())
        yield from run_findings(run, rank=rank, n_dead=n_dead)
    for i, first in enumerate(rows):
        for j in range(i + 1, len(rows)):
            if np.array_equal(first, rows[j]):
                message = (
                    f"{runs[i].name} and {runs[j].name} are equal in every value of the "
                    f"{len(first)} rows evaluated."
                )
                yield Finding(code="UP014", message=message)
    if split.n_duplicates:
        message = f"{split.n_duplicates} of {len(runs[0])} rows repeat another in every run."
        yield Finding(code="UP007", message=message)
    if not rows:
        message = (
            f"{split.n_held_out} of {len(split.parts)} rows are held out: nothing is evaluated."
        )
        yield Finding(code="UP015", message=message)
    if len({run.n_features for run in runs}) > 1:
        widths = ", ".join(str(run.n_features) for run in runs)
        message = f"the runs have {widths} coordinates."
        yield Finding(code="UP018", message=message)
