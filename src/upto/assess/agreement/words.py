"""A consensus in numbers and words: runs, components, verdict and findings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from upto.assess.agreement.reproducing import LEAST
from upto.assess.prepare import run_findings
from upto.assess.verdict import undecided
from upto.core import (
    Consensus,
    ConsensusComponent,
    ConsensusRun,
    ConsensusUpTo,
    Finding,
    Group,
    unique_findings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from upto.assess.agreement.reproducing import Explained, Reproduced
    from upto.assess.agreement.spaces import Space
    from upto.assess.split import Split
    from upto.core import Embeddings, Provenance
    from upto.engines import Survey

    Float = NDArray[np.float64]

FEW = 0.5
"""Share of components in every run below which few are reproducible."""
CONSISTENT = 0.9
"""Share of pairwise matches that a consistent matching keeps."""


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
    provenance: Provenance,
) -> Consensus:
    """Put what was found together; `asked` is the fraction that was to be held out."""
    listed = tuple(
        _run(run, space, number, explained[number] if explained else None, reproduced)
        for number, run in enumerate(runs)
    )
    components = tuple(_component(space, i, reproduced) for i in range(len(space.factor)))
    limit = None if reproduced is None else reproduced.limit
    result = Consensus(
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
        provenance=provenance,
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


def _verdict(result: Consensus) -> str:
    words = _verdict_of_components if result.is_matched else _verdict_of_space
    return words(result)


def _verdict_of_space(result: Consensus) -> str:
    count, among = len(result.runs), f"{len(result.components)} directions"
    shares = [run.explained.value for run in result.runs if run.belongs and run.explained]
    if not shares:
        return f"No consensus: of {count} runs the others explain none, or none better than chance."
    who = "Both" if count == 2 else f"All {count}"
    who = who if len(shares) == count else f"{len(shares)} of {count}"
    return (
        f"{who} runs share one space up to {Group(result.up_to).phrase}: the consensus of the "
        f"others explains {_range(shares, '.1%')} of their held-out variance, and "
        f"{len(result.in_every_run)} of {among} appear in every run."
    )


def _verdict_of_components(result: Consensus) -> str:
    count, total = len(result.runs), len(result.components)
    every, none = result.in_every_run, result.in_no_run
    where = "both runs" if count == 2 else f"all {count} runs"
    means = [each.value for i in every if (each := result.components[i].mean)]
    limit = (
        f"{result.least_correlation:.2f} is asked for and chance reaches {result.chance_limit:.2f}"
    )
    if not every:
        most = max(component.n_runs or 0 for component in result.components)
        some = f"{total - len(none)} of {total} appear in up to {most}" if most else f"of {total}"
        return f"No component appears in {where}: {some}, {len(none)} in none, where {limit}."
    appear = "appears" if len(every) == 1 else "appear"
    return (
        f"{len(every)} of {total} components {appear} in {where}, {len(none)} in none: those in "
        f"every run have a held-out correlation of {_range(means, '.2f')} with the mean of the "
        f"others, where {limit}."
    )


def _range(values: Sequence[float], spec: str) -> str:
    low, high = format(min(values), spec), format(max(values), spec)
    return low if low == high else f"{low} to {high}"


def _remarks(result: Consensus) -> Iterator[tuple[str, str]]:
    for run in result.runs:
        if run.converged is False:
            yield "UP004", f"ICA of {run.name} stopped before it converged."
        if (near := run.n_near_gaussian or 0) >= 2 and result.chance_limit is not None:
            words = "cannot be told from Gaussian ones on rows they were not fitted to."
            yield "UP003", f"{near} of {run.n_components} components of {run.name} {words}"
        if run.belongs is False and run.explained is not None:
            yield (
                "UP030",
                f"the share of {run.name} that the others explain is {run.explained.value:.3g}, "
                f"where rows drawn at random give {run.chance:.3g}; p = {run.p_value:.2g}.",
            )
    every, total = len(result.in_every_run), len(result.components)
    if result.chance_limit is not None and every < FEW * total:
        yield "UP031", f"{every} of {total} components appear in all {len(result.runs)} runs."
    if result.consistency is not None and result.consistency < CONSISTENT:
        yield (
            "UP032",
            f"{result.consistency:.0%} of the matches between two runs are kept by the common "
            "matching.",
        )


def remarks_on_rows(
    runs: Sequence[Embeddings],
    surveys: Sequence[Survey],
    space: Space,
    split: Split,
    rows: Sequence[Float],
) -> Iterator[Finding]:
    """Remark on the runs as they were given; `rows` are those that are judged on."""
    for number, (run, surveyed) in enumerate(zip(runs, surveys, strict=True)):
        rank = space.sources[number].rank if space.sources else run.n_features
        n_dead = int((surveyed.low == surveyed.high).sum())
        yield from run_findings(run, rank=rank, n_dead=n_dead)
    for i, first in enumerate(rows):
        for j in range(i + 1, len(rows)):
            if np.array_equal(first, rows[j]):
                message = (
                    f"{runs[i].name} and {runs[j].name} are equal in every value of the "
                    f"{len(first)} rows judged."
                )
                yield Finding(code="UP014", message=message)
    if split.n_duplicates:
        message = f"{split.n_duplicates} of {len(runs[0])} rows repeat another in every run."
        yield Finding(code="UP007", message=message)
    if not rows:
        message = f"{split.n_held_out} of {len(split.parts)} rows are held out: nothing is judged."
        yield Finding(code="UP015", message=message)
    if len({run.n_features for run in runs}) > 1:
        widths = ", ".join(str(run.n_features) for run in runs)
        message = f"the runs have {widths} coordinates."
        yield Finding(code="UP018", message=message)
