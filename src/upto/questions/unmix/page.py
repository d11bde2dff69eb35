"""The report section of `upto.unmix`: charts, facts and identifiable subspaces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from upto.questions.unmix.component_chart import (
    component_chart,
    consecutive,
    near_gaussian,
    subspace_class,
)
from upto.questions.unmix.trace_chart import TraceChart, trace_chart
from upto.report.markup import counted
from upto.report.planes import Plot
from upto.report.section import Section
from upto.report.table_view import table_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.questions.unmix.result import UnmixResult

_MAX_NUMBERS = 12
_MAX_SENTENCES = 12
_MAX_COMPONENT_ROWS = 2000
_MAX_TRACE_ROWS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence on one subspace, in its colour."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmixBody:
    """Content of the section."""

    components: Plot | None
    measured: bool
    note: str
    any_near: bool
    any_alone: bool
    any_not_shown: bool
    n_subspaces: int
    trace: TraceChart | None
    trace_note: str
    sentences: tuple[Sentence, ...]


def page(result: UnmixResult) -> Section:
    """Return the report section."""
    body = unmix_body(result)
    components, facts, trace = result.tables()
    omitted = []
    if len(components.rows) > _MAX_COMPONENT_ROWS:
        omitted.append(f"the components after the first {_MAX_COMPONENT_ROWS:,}")
        components = replace(components, rows=components.rows[:_MAX_COMPONENT_ROWS])
    tables = [components, facts]
    if len(trace.rows) > _MAX_TRACE_ROWS:
        omitted.append(f"the {len(trace.rows):,} steps of the trace")
    elif trace.rows:
        tables.append(trace)
    return Section(
        names=(result.name,),
        badge=identifiable_badge(result),
        facts=unmix_facts(result),
        tables=tuple(table_view(table) for table in tables),
        body=body,
        data={"plots": plots(body)},
        details="Details of the fit",
        omitted=f"Only in the JSON of the result: {' and '.join(omitted)}." if omitted else "",
    )


def unmix_body(result: UnmixResult) -> UnmixBody:
    """Return the charts of components and trace, and the sentences on subspaces."""
    components = result.components
    trace = trace_chart(result.trace)
    return UnmixBody(
        components=component_chart(result),
        measured=any(component.nongaussianity is not None for component in components),
        note=_components_note(result),
        any_near=any(near_gaussian(component) for component in components),
        any_alone=any(c.subspace is None and c.state != "not shown" for c in components),
        any_not_shown=any(component.state == "not shown" for component in components),
        n_subspaces=len(result.subspaces),
        trace=trace,
        trace_note=_trace_note(result, trace),
        sentences=subspace_sentences(result),
    )


def plots(view: UnmixBody) -> list[dict[str, Any]]:
    """Return the data of the tooltips, one entry per plot."""
    drawn = (view.components, view.trace.plot if view.trace else None)
    return [{"at": plot.at, "tips": plot.tips} for plot in drawn if plot is not None]


def _not_shown(result: UnmixResult) -> tuple[int, ...]:
    """Return the components not shown to be identifiable or defined only up to rotation."""
    states = enumerate(component.state for component in result.components)
    return tuple(number for number, state in states if state == "not shown")


def unmix_facts(result: UnmixResult) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each number under the verdict."""
    count = len(result.components)
    parts = len(result.subspaces)
    inside = counted(parts, "subspace") if parts else "no subspace"
    if left := len(_not_shown(result)):
        inside += f", {left:,} not shown"
    value, detail = "–", f"of {count:,}; not tested"
    if result.n_identifiable is not None:
        value, detail = f"{result.n_identifiable:,}", f"of {count:,}; {inside}"
    facts = [("identifiable components", value, detail)]
    if result.curvature is not None:
        mu = result.curvature
        lines = []
        if mu.low is not None and mu.high is not None:
            lines.append(f"{mu.low:.3g} to {mu.high:.3g} at\u00a0{100 * mu.level:.3g}\u00a0%")
        if result.curvature_identifiable is not None and parts:
            lines.append(f"{result.curvature_identifiable:.3g} outside the subspaces")
        facts.append(("smallest curvature μ", f"{mu.value:.3g}", "; ".join(lines)))
    stabilities = [c.stability for c in result.components if c.stability is not None]
    if stabilities:
        restarts = counted(result.n_restarts, "restart")
        bootstraps = counted(result.n_bootstraps, "bootstrap")
        detail = f"lowest {min(stabilities):.3f}; {restarts}, {bootstraps}"
        facts.append(("median stability", f"{median(stabilities):.3f}", detail))
    iterations = counted(result.n_iterations, "iteration")
    detail = f"{iterations}, {counted(result.n_passes, 'pass')} over the rows"
    facts.append(("converged", "yes" if result.converged else "no", detail))
    parted = "not split"
    if result.n_held_out:
        parted = f"in parts of {result.n_samples - result.n_held_out:,} and {result.n_held_out:,}"
    return (*facts, ("rows", f"{result.n_samples:,}", parted))


def identifiable_badge(result: UnmixResult) -> tuple[str, str]:
    """Return the badge above the verdict and its grade."""
    if not result.converged:
        return "not converged", "poor"
    if result.n_identifiable is None:
        return "identifiability not tested", "fair"
    if result.n_identifiable == 0:
        return "no component shown identifiable" if _not_shown(
            result
        ) else "no component identifiable", "poor"
    if result.n_identifiable < len(result.components):
        return "partly identifiable", "fair"
    return "identifiable", "good"


def _components_note(result: UnmixResult) -> str:
    if any(component.nongaussianity is not None for component in result.components):
        note = (
            "Difference of the mean contrast from a Gaussian's: components fitted to each of two "
            f"parts of the {result.n_samples:,} rows, evaluated on the other part."
        )
    else:
        note = "Non-Gaussianity was not measured; see the verdict."
    if any(component.stability is not None for component in result.components):
        note += " Stability is Icasso's index: 1 for a component recovered by every restart."
    return note


def _trace_note(result: UnmixResult, trace: TraceChart | None) -> str:
    if trace is None:
        return (
            "No iteration was needed: the initial components had already converged."
            if result.converged
            else "No iteration was made, and the initial components have not converged."
        )
    note = (
        "Largest entry of the relative gradient between components that are not fixed, and average "
        "difference of a component's mean contrast from a Gaussian's."
    )
    if trace.n_drawn < trace.n_steps:
        note += f" {trace.n_drawn:,} of {trace.n_steps:,} steps are drawn."
    if any(step.gradient == 0 for step in result.trace):
        note += " A gradient of zero is drawn hollow at the bottom of its axis."
    if not result.converged:
        note += " The solver stopped before it converged."
    return note


def subspace_sentences(result: UnmixResult) -> tuple[Sentence, ...]:
    """State which components are identifiable alone, only as a subspace, or not shown to be."""
    count, left = len(result.components), _not_shown(result)
    if not result.subspaces and not left:
        return (Sentence(kind="alone", text=_no_subspaces(result)),)
    sentences = []
    shown = result.subspaces[:_MAX_SENTENCES]
    for number, members in enumerate(shown, start=1):
        size = len(members)
        if size == count:
            who, whose = f"All {count:,} components", "the"
        else:
            who, whose = f"Components {_numbers(members)}", "their"
        text = f"{who} can be rotated freely: only {whose} {size:,}-dimensional subspace is "
        sentences.append(Sentence(kind=subspace_class(number), text=f"{text}identifiable."))
    more = len(result.subspaces) - len(shown)
    if more:
        text = f"The table lists the members of {more:,} more subspaces."
        sentences.append(Sentence(kind="", text=text))
    if left:
        who = f"All {count:,} components" if len(left) == count else f"Components {_numbers(left)}"
        who = f"Component {left[0]}" if len(left) == 1 else who
        verb = "is" if len(left) == 1 else "are"
        text = f"{who} {verb} not shown to be identifiable; more rows may decide."
        sentences.append(Sentence(kind="nowhere", text=text))
    if result.n_identifiable:
        rest = "component is" if result.n_identifiable == 1 else "components are"
        text = f"{result.n_identifiable:,} {rest} identifiable up to sign and order."
        sentences.append(Sentence(kind="alone", text=text))
    return tuple(sentences)


def _no_subspaces(result: UnmixResult) -> str:
    count = len(result.components)
    if count == 1:
        return "There is only one component, so no rotation to test."
    if result.n_identifiable is None:
        return "Identifiability was not tested; see the verdict."
    return f"All {count:,} components are identifiable up to sign and order."


def _numbers(members: Sequence[int]) -> str:
    """List numbers, with runs abbreviated to their ends, truncated to about a line."""
    pieces: list[tuple[str, int]] = []
    for first, last in consecutive(members):
        if last - first > 1:
            pieces.append((f"{first} to {last}", last - first + 1))
        else:
            pieces += [(str(member), 1) for member in range(first, last + 1)]
    words = [text for text, _ in pieces[:_MAX_NUMBERS]]
    more = sum(size for _, size in pieces[_MAX_NUMBERS:])
    if more:
        words.append(f"{more:,} more")
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
