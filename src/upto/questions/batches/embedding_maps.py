"""t-SNE maps of the rows under each condition, coloured by batch and by label."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from upto.questions.batches.result import BASE
from upto.report.markup import Inert, element, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.questions.batches.parts import BatchMap
    from upto.questions.batches.result import BatchesResult

By = Literal["batch", "label"]

MAX_COLOURS = 10
REST, CONTROL = 10, 11
"""Places without a colour of their own: all other names, and the control."""
_SIDE, _EDGE = 1000, 30
_MAX_ROWS, _MAX_MARKS = 1500, 12_000
_SHAPES = ("dot", "square", "diamond", "triangle", "cross")


@dataclass(frozen=True, slots=True, kw_only=True)
class MapKey:
    """Legend entry: a batch or label, its mark and its number of rows."""

    name: str
    place: int
    number: int | None
    count: int
    mark: Inert


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLegend:
    """Legend of all maps, by batch or by label; each of `names` can be shown alone."""

    by: By
    column: str
    keys: tuple[MapKey, ...]
    names: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapView:
    """Maps of one condition, by batch and by label."""

    title: str
    drawings: tuple[tuple[By, Inert], ...]
    n_rows: int
    n_drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MapsView:
    """All maps; the first is shown next to the one at `chosen`, explained by `why`."""

    maps: tuple[MapView, ...]
    chosen: int
    why: str
    legends: tuple[MapLegend, ...]


def maps_view(result: BatchesResult) -> MapsView | None:
    """Draw the map of every condition that has one; None if there are none."""
    if not result.maps:
        return None
    titles = {condition.name: condition.title for condition in result.conditions}
    places = {by: map_places(result, by) for by in _BOTH}
    names = [each.condition for each in result.maps]
    aurocs = _other_aurocs(result)
    chosen = names.index(max(names[1:], key=lambda name: aurocs.get(name, 0.0), default=names[0]))
    step = _step(result.maps)
    return MapsView(
        maps=tuple(
            _map(each, titles.get(each.condition, each.condition), places, step)
            for each in result.maps
        ),
        chosen=chosen,
        why=_why(result, names[chosen], titles.get(BASE, BASE)),
        legends=tuple(_legend(result, by, places[by]) for by in _BOTH),
    )


def _other_aurocs(result: BatchesResult) -> dict[str, float]:
    return {
        score.condition: score.auroc.value
        for score in result.scores
        if score.task is None and score.condition != BASE and score.auroc is not None
    }


def _why(result: BatchesResult, shown: str, base: str) -> str:
    """Explain which condition is shown next to base."""
    aurocs = _other_aurocs(result)
    if shown not in aurocs:
        return ""
    is_best = aurocs[shown] == max(aurocs.values())
    if result.best == BASE:
        rank = "the best other condition" if is_best else "another condition"
        return f"{base} has the largest AUROC and is shown next to {rank}."
    return f"Next to {base}: the condition with the largest AUROC." if is_best else ""


_BOTH: tuple[By, ...] = ("batch", "label")


def maps_data(result: BatchesResult) -> dict[str, Any] | None:
    """Return the positions, batches and labels of rows for the page's script."""
    if not result.maps:
        return None
    step = _step(result.maps)
    return {
        "names": {
            "batch": [shorten(batch.name) for batch in result.batches],
            "label": [shorten(label) for label in result.labels],
        },
        "columns": {"batch": shorten(result.batch, 40), "label": shorten(result.label, 40)},
        "maps": [
            {
                "points": [number for place in _points(each, step) for number in place],
                "batch": list(each.batch[::step]),
                "label": list(each.label[::step]),
            }
            for each in result.maps
        ],
    }


def map_places(result: BatchesResult, by: By) -> dict[int, int]:
    """Map the numbers of batches or labels to colours; the ten with most rows have their own.

    The control has its own mark and is not among the ten.
    """
    counts = _counts(result.maps[0], by)
    control = _control(result, by)
    named = [number for number, _ in counts.most_common() if number != control][:MAX_COLOURS]
    places = {number: place for place, number in enumerate(sorted(named))}
    return places if control is None else places | {control: CONTROL}


def _counts(each: BatchMap, by: By) -> Counter[int]:
    return Counter(each.batch if by == "batch" else each.label)


def _control(result: BatchesResult, by: By) -> int | None:
    if by == "batch" or result.control not in result.labels:
        return None
    return result.labels.index(result.control)


def _step(maps: Sequence[BatchMap]) -> int:
    room = min(_MAX_ROWS, _MAX_MARKS // (2 * len(maps)))
    return max(1, *(-(-len(each.x) // room) for each in maps))


def _map(each: BatchMap, title: str, places: dict[By, dict[int, int]], step: int) -> MapView:
    points = _points(each, step)
    kinds = {"batch": each.batch[::step], "label": each.label[::step]}
    return MapView(
        title=title,
        drawings=tuple(
            (by, _drawing(points, [own.get(number, REST) for number in kinds[by]], title, by))
            for by, own in places.items()
        ),
        n_rows=len(each.x),
        n_drawn=len(points),
    )


def _points(each: BatchMap, step: int) -> list[tuple[int, int]]:
    """Return the positions of rows, with the same scale on both axes."""
    if not each.x:
        return []
    width, depth = max(each.x) - min(each.x), max(each.y) - min(each.y)
    scale = (_SIDE - 2 * _EDGE) / (max(width, depth) or 1.0)
    left, top = (min(each.x) + max(each.x)) / 2, (min(each.y) + max(each.y)) / 2
    return [
        (round(_SIDE / 2 + scale * (x - left)), round(_SIDE / 2 - scale * (y - top)))
        for x, y in zip(each.x[::step], each.y[::step], strict=True)
    ]


def _drawing(points: Sequence[tuple[int, int]], places: Sequence[int], title: str, by: By) -> Inert:
    marks = []
    # Rows without a colour of their own are drawn in the background.
    for place in (CONTROL, REST, *range(MAX_COLOURS)):
        own = [point for point, other in zip(points, places, strict=True) if other == place]
        if own:
            marks.append(_marks(place, own, 1.0))
    return element(
        "svg",
        *marks,
        element("path", class_="lit"),
        element("circle", class_="ring-mark", r=17),
        class_="scatter map",
        viewBox=f"0 0 {_SIDE} {_SIDE}",
        role="img",
        data_by=by,
        aria_label=f"Embedding map, {shorten(title)}, marked by {by}",
    )


def _marks(place: int, points: Sequence[tuple[int, int]], size: float) -> Inert:
    """Draw all rows of a place as one path; shapes distinguish what colours may not."""
    if place >= REST:
        kind = f"mark {'plus kother' if place == REST else 'speck k12'}"
        shape = "h0" if place == CONTROL else _sized("m-6 0h12m-6-6v12", size)
    else:
        name = _SHAPES[place % len(_SHAPES)]
        kind = f"mark {name} k{place}"
        shape = {
            "dot": "h0",
            "square": "h0",
            "diamond": _sized("m0-11l11 11-11 11-11-11z", size),
            "triangle": _sized("m0-11l10 18h-20z", size),
            "cross": _sized("m-8-8l16 16m-16 0l16-16", size),
        }[name]
    pieces = "".join(f"M{x} {y}{shape}" for x, y in points)
    return element("path", class_=kind, d=pieces)


def _sized(shape: str, size: float) -> str:
    if size == 1.0:
        return shape
    pieces = "".join(f" {piece} " if piece.isalpha() else piece for piece in shape)
    words = pieces.replace("-", " -").split()
    return " ".join(word if word.isalpha() else f"{float(word) * size:g}" for word in words)


def _legend(result: BatchesResult, by: By, places: dict[int, int]) -> MapLegend:
    names = tuple(batch.name for batch in result.batches) if by == "batch" else result.labels
    counts = _counts(result.maps[0], by)
    keys = [
        MapKey(name=names[number], place=place, number=number, count=counts[number],
               mark=_key(place))
        for number, place in sorted(places.items(), key=lambda item: item[1])
    ]  # fmt: skip
    others = [number for number in counts if number not in places]
    if others:
        noun = "batches" if by == "batch" else "labels"
        rest = sum(counts[number] for number in others)
        name = f"{len(others):,} other {noun}"
        keys.append(MapKey(name=name, place=REST, number=None, count=rest, mark=_key(REST)))
    return MapLegend(
        by=by,
        column=result.batch if by == "batch" else result.label,
        keys=tuple(keys),
        names=tuple((number, names[number]) for number in sorted(counts)),
    )


def _key(place: int) -> Inert:
    mark = _marks(place, [(7, 7)], 0.5)
    return element("svg", mark, class_="key", width=14, height=14, aria_hidden="true")
