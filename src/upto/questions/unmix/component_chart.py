"""The chart of components: non-Gaussianity, stability and subspace of each.

Each colour is one path, so the size of the chart hardly grows with the number of components.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.report.axis_scale import Scale, range_scale
from upto.report.markup import Inert, element
from upto.report.planes import WIDTH, Plot, counting_axis, level, path, picture, plane

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.questions.unmix.result import Component, UnmixResult
    from upto.report.planes import Plane

N_SUBSPACE_COLOURS = 7
_HEIGHT = 190
_STABILITY_HEIGHT = 64
_LANE = 12
_MAX_LANES = 8
_WIDEST_BAR = 48.0
_CROWDED = 150
_FEW = 12
_MAX_NUMBERS = 8


def component_chart(result: UnmixResult) -> Plot | None:
    """Draw the components in order; None if nothing was measured."""
    components = result.components
    planes: list[Plane] = []
    if any(component.nongaussianity is not None for component in components):
        planes.append(_nongaussianity(components))
    if any(component.stability is not None for component in components):
        planes.append(_stability(components, stop=not planes))
    if result.subspaces:
        planes.append(_subspaces(result.subspaces, len(components), stop=not planes))
    if not planes:
        return None
    return Plot(
        planes=tuple(planes),
        axis=counting_axis(
            (_centre(index, len(components)) / 10, str(index))
            for index in range(0, len(components), _every(len(components)))
        ),
        axis_name="component",
        at=tuple(round(_centre(i, len(components)) / 10, 3) for i in range(len(components))),
        tips=tuple(_tip(index, result) for index in range(len(components))),
        few=len(components) <= _FEW,
    )


def near_gaussian(component: Component) -> bool:
    """Return whether the interval of a component's non-Gaussianity contains zero (a Gaussian)."""
    estimate = component.nongaussianity
    if estimate is None or estimate.low is None or estimate.high is None:
        return False
    return estimate.low <= 0 <= estimate.high


def subspace_class(number: int | None) -> str:
    """Return the CSS class of a subspace, or of a component outside all subspaces."""
    return "alone" if number is None else f"s{(number - 1) % N_SUBSPACE_COLOURS}"


def _class_of(component: Component) -> str:
    """Return the CSS class of a component; grey if its state is unknown."""
    return "nowhere" if component.state == "not shown" else subspace_class(component.subspace)


def _centre(index: int, count: int) -> float:
    return WIDTH * (index + 0.5) / count


def _every(count: int) -> int:
    steps = (int(m * 10.0**e) for e in range(9) for m in (1, 2, 5))
    return next(step for step in steps if count <= step * _MAX_NUMBERS)


def _sides(index: int, count: int) -> tuple[float, float]:
    slot = WIDTH / count
    width = slot if count > _CROWDED else min(0.76 * slot, _WIDEST_BAR)
    centre = _centre(index, count)
    return centre - width / 2, centre + width / 2


def _nongaussianity(components: Sequence[Component]) -> Plane:
    values = [0.0]
    for component in components:
        estimate = component.nongaussianity
        if estimate is not None:
            ends = (estimate.low, estimate.value, estimate.high)
            values += [end for end in ends if end is not None]
    scale = range_scale(values)
    zero = level(scale, 0.0, _HEIGHT)
    bars = _bars(components, _nongaussianity_of, scale, _HEIGHT)
    return plane(
        picture(*bars, *_intervals(components, scale), height=_HEIGHT),
        element("line", class_="chance", x1="0%", x2="100%", y1=zero, y2=zero),
        name="non-Gaussianity",
        label=f"Non-Gaussianity of {len(components)} components; zero is Gaussian",
        height=_HEIGHT,
        scale=scale,
    )


def _nongaussianity_of(component: Component) -> tuple[float | None, str]:
    estimate = component.nongaussianity
    value = None if estimate is None else estimate.value
    return value, " near" if near_gaussian(component) else ""


def _stability_of(component: Component) -> tuple[float | None, str]:
    return component.stability, ""


def _bars(
    components: Sequence[Component],
    value_of: Callable[[Component], tuple[float | None, str]],
    scale: Scale,
    height: int,
) -> list[Inert]:
    zero = level(scale, 0.0, height)
    pieces: dict[str, list[str]] = {}
    for index, component in enumerate(components):
        value, shade = value_of(component)
        if value is None:
            continue
        left, right = _sides(index, len(components))
        top = level(scale, value, height)
        kind = f"pillar {_class_of(component)}{shade}"
        piece = f"M{left:.2f} {zero:.1f}V{top:.1f}H{right:.2f}V{zero:.1f}Z"
        pieces.setdefault(kind, []).append(piece)
    return [path(kind, pieces[kind]) for kind in sorted(pieces)]


def _intervals(components: Sequence[Component], scale: Scale) -> list[Inert]:
    crowded = len(components) > _CROWDED
    pieces: dict[str, list[str]] = {}
    for index, component in enumerate(components):
        estimate = component.nongaussianity
        if estimate is None or estimate.low is None or estimate.high is None:
            continue
        low, high = (level(scale, end, _HEIGHT) for end in (estimate.low, estimate.high))
        piece = f"M{_centre(index, len(components)):.2f} {low:.1f}V{high:.1f}"
        if crowded:
            left, right = _sides(index, len(components))
            piece = f"M{left:.2f} {low:.1f}V{high:.1f}H{right:.2f}V{low:.1f}Z"
        kind = f"{'band' if crowded else 'whisker'} {_class_of(component)}"
        pieces.setdefault(kind, []).append(piece)
    return [path(kind, pieces[kind]) for kind in sorted(pieces)]


def _stability(components: Sequence[Component], *, stop: bool) -> Plane:
    scale = Scale(low=0.0, high=1.0, ticks=(0.0, 0.5, 1.0))
    bars = _bars(components, _stability_of, scale, _STABILITY_HEIGHT)
    return plane(
        picture(*bars, height=_STABILITY_HEIGHT),
        name="stability",
        label=f"Stability of {len(components)} components over restarts, from 0 to 1",
        height=_STABILITY_HEIGHT,
        scale=scale,
        stop=stop,
    )


def _subspaces(subspaces: Sequence[Sequence[int]], count: int, *, stop: bool) -> Plane:
    lanes = _lanes(subspaces)
    marks: dict[str, list[str]] = {}
    for number, (members, lane) in enumerate(zip(subspaces, lanes, strict=True), start=1):
        y = _LANE * lane + _LANE / 2
        kind = subspace_class(number)
        ends = (_sides(min(members), count)[0], _sides(max(members), count)[1])
        marks.setdefault(f"span {kind}", []).append(f"M{ends[0]:.2f} {y}H{ends[1]:.2f}")
        for first, last in consecutive(members):
            left, right = _sides(first, count)[0], _sides(last, count)[1]
            piece = f"M{left:.2f} {y - 3}H{right:.2f}V{y + 3}H{left:.2f}Z"
            marks.setdefault(f"pillar {kind}", []).append(piece)
    height = _LANE * (max(lanes) + 1)
    return plane(
        picture(*(path(kind, marks[kind]) for kind in sorted(marks)), height=height),
        name="subspaces",
        label=f"Components identifiable only as subspaces: {len(subspaces)} subspaces",
        height=height,
        stop=stop,
    )


def _lanes(subspaces: Sequence[Sequence[int]]) -> list[int]:
    """Assign each subspace the first lane free from its first to its last component."""
    ends: list[int] = []
    lanes = [0] * len(subspaces)
    for index in sorted(range(len(subspaces)), key=lambda index: min(subspaces[index])):
        start = min(subspaces[index])
        free = next((lane for lane, end in enumerate(ends) if end < start), len(ends))
        if free == _MAX_LANES:
            free = ends.index(min(ends))
        if free == len(ends):
            ends.append(-1)
        ends[free] = max(ends[free], *subspaces[index])
        lanes[index] = free
    return lanes


def consecutive(members: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last member of each run of consecutive members."""
    stretches: list[tuple[int, int]] = []
    for member in sorted(members):
        if stretches and member == stretches[-1][1] + 1:
            stretches[-1] = (stretches[-1][0], member)
        else:
            stretches.append((member, member))
    return stretches


def _tip(index: int, result: UnmixResult) -> str:
    component = result.components[index]
    lines = [f"component {index}"]
    if component.nongaussianity is not None:
        lines.append(f"non-Gaussianity {component.nongaussianity:.4f}")
    if component.z is not None:
        lines.append(f"standard errors {component.z:.1f}")
    lines.append(f"variance {component.variance:.2%}")
    if component.found_again is not None:
        lines.append(f"found again {component.found_again:.3f}")
    if component.stability is not None:
        lines.append(f"stability {component.stability:.3f}")
    if component.state is not None:
        lines.append(component.state)
    if component.subspace is not None:
        lines.append(f"subspace {component.subspace}")
    return "\n".join(lines)
