"""The chart of a solver's trace: gradient and contrast over passes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.report.axis_scale import Scale, linear_scale, log_scale, range_scale
from upto.report.markup import Inert, counted, element
from upto.report.planes import Plot, counting_axis, level, path, picture, plane

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core import TraceStep
    from upto.report.planes import Plane

_HEIGHT = 190
_CONTRAST_HEIGHT = 84
_MAX_STEPS = 800
_MAX_DOTS = 120
_N_COLOURS = 6
_GRADIENT_SPAN = 1e18


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Legend entry of a solver and dtype: colour class and number of iterations."""

    kind: str
    solver: str
    dtype: str
    iterations: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceChart:
    """The trace and its legend; `n_drawn` of `n_steps` steps are drawn."""

    plot: Plot
    phases: tuple[Phase, ...]
    n_drawn: int
    n_steps: int
    n_changes: int


def trace_chart(trace: Sequence[TraceStep]) -> TraceChart | None:
    """Draw gradient and contrast over passes; None without iterations."""
    if not trace:
        return None
    steps = _thinned(trace)
    across = linear_scale([float(step.passes) for step in steps])
    at = [across.position(step.passes) for step in steps]
    counts = Counter((step.solver, step.dtype) for step in trace)
    kinds = {key: f"p{index % _N_COLOURS}" for index, key in enumerate(counts)}
    changes = [
        x
        for x, (before, step) in zip(at[1:], itertools.pairwise(steps), strict=True)
        if (before.solver, before.dtype) != (step.solver, step.dtype)
    ]
    marks = [
        element("line", class_="change", x1=f"{x:.2f}%", x2=f"{x:.2f}%", y1=0, y2="100%")
        for x in changes
    ]
    gradients = log_scale((step.gradient for step in steps), span=_GRADIENT_SPAN)
    contrasts = range_scale(step.contrast for step in steps)

    def kind_of(step: TraceStep) -> str:
        return kinds[step.solver, step.dtype]

    def draw(name: str, scale: Scale, height: int, value: Callable[[TraceStep], float]) -> Plane:
        points = [
            (10 * x, level(scale, value(step), height), kind_of(step))
            for x, step in zip(at, steps, strict=True)
            if math.isfinite(value(step))
        ]
        # Zero has no logarithm: draw it hollow at the bottom of the axis.
        feet = [
            f"M{10 * x:.1f} {level(scale, 0.0, height):.1f}h0"
            for x, step in zip(at, steps, strict=True)
            if scale.logarithmic and value(step) == 0
        ]
        hollow = [path(kind, feet) for kind in ("foot", "foot-inside") if feet]
        return plane(
            *marks,
            picture(*_curve(points), *hollow, height=height),
            name=name,
            label=f"{name.capitalize()} over {steps[-1].passes} passes over the rows",
            height=height,
            scale=scale,
            stop=name == "gradient",
        )

    whole = [tick for tick in across.ticks if tick == round(tick)]
    return TraceChart(
        plot=Plot(
            planes=(
                draw("gradient", gradients, _HEIGHT, lambda step: step.gradient),
                draw("contrast", contrasts, _CONTRAST_HEIGHT, lambda step: step.contrast),
            ),
            axis=counting_axis((across.position(tick), f"{tick:,.0f}") for tick in whole),
            axis_name="passes over the rows",
            at=tuple(round(x, 3) for x in at),
            tips=tuple(_tip(step) for step in steps),
        ),
        phases=tuple(
            Phase(
                kind=kinds[key], solver=key[0], dtype=key[1], iterations=counted(count, "iteration")
            )
            for key, count in counts.items()
        ),
        n_drawn=len(steps),
        n_steps=len(trace),
        n_changes=len(changes),
    )


def _thinned(trace: Sequence[TraceStep]) -> Sequence[TraceStep]:
    stride = -(-len(trace) // _MAX_STEPS)
    # Stride from the end, so that the last step is drawn.
    return trace[::-stride][::-1] if stride > 1 else trace


def _curve(points: Sequence[tuple[float, float, str]]) -> list[Inert]:
    lines: dict[str, list[str]] = {}
    dots: dict[str, list[str]] = {}
    for index, (x, y, kind) in enumerate(points):
        if index:
            before = points[index - 1]
            piece = f"M{before[0]:.1f} {before[1]:.1f}L{x:.1f} {y:.1f}"
            lines.setdefault(kind, []).append(piece)
        dots.setdefault(kind, []).append(f"M{x:.1f} {y:.1f}h0")
    drawn = [path(f"curve {kind}", pieces) for kind, pieces in lines.items()]
    if len(points) <= _MAX_DOTS:
        drawn += [path(f"step {kind}", pieces) for kind, pieces in dots.items()]
    return drawn


def _tip(step: TraceStep) -> str:
    return (
        f"iteration {step.iteration}\n{step.solver}, {step.dtype}\ngradient {step.gradient:.2e}\n"
        f"contrast {step.contrast:.8f}\nturned {step.turned:.2e}\npasses {step.passes}\n"
        f"{step.seconds:.3g} seconds"
    )
