"""Results of layers as the comparison makes them, without the comparison."""

from __future__ import annotations

from upto.core import Estimate, Finding, Provenance
from upto.questions.layers.result import (
    Counterpart,
    Layer,
    LayeredRun,
    LayerMeasure,
    LayerPair,
    LayersResult,
    LayerStep,
)

LIMIT = 0.08


def value_of(i: int, j: int, n_first: int, n_second: int) -> float:
    """Return a similarity that is largest where both layers have the same depth."""
    depth, other = (i + 1) / n_first, (j + 1) / n_second
    return round(max(0.95 - 0.2 * depth - 1.4 * abs(depth - other), 0.01), 4)


def layer_pair(
    first: str,
    second: str,
    sizes: tuple[int, int],
    *,
    measure: str = "linear-cka",
    dead: int | None = None,
    interval: bool = True,
) -> LayerPair:
    n_first, n_second = sizes
    own = first == second

    def value(i: int, j: int) -> float | None:
        if i == dead or (own and i == j):
            return None
        return value_of(i, j, n_first, n_second)

    values = tuple(tuple(value(i, j) for j in range(n_second)) for i in range(n_first))

    def estimate(i: int, j: int) -> Estimate:
        number = values[i][j]
        assert number is not None
        if not interval:
            return Estimate(value=number)
        return Estimate(value=number, low=number - 0.03, high=number + 0.02)

    def p_of(number: float | None) -> float | None:
        return None if number is None else 0.005 if number > LIMIT else 0.61

    closest, along = [], []
    for i in range(n_first):
        row = {j: number for j, number in enumerate(values[i]) if number is not None}
        if not row:
            continue
        best = max(row, key=row.__getitem__)
        closest.append(
            Counterpart(
                layer=i,
                closest=best,
                value=estimate(i, best),
                p_value=p_of(row[best]) or 1.0,
                share=0.9,
            )
        )
        beside = i + 1 if own else min(i * n_second // n_first, n_second - 1)
        if beside in row:
            along.append(
                LayerStep(
                    layer=i,
                    beside=beside,
                    value=estimate(i, beside),
                    chance=0.0,
                    limit=LIMIT,
                    p_value=p_of(row[beside]) or 1.0,
                )
            )
    return LayerPair(
        first=first,
        second=second,
        measure=measure,
        aligned_by="next" if own else "depth",
        value=values,
        limit=tuple(tuple(None if cell is None else LIMIT for cell in row) for row in values),
        p_value=tuple(tuple(p_of(cell) for cell in row) for row in values),
        closest=tuple(closest),
        along=tuple(along),
    )


def run(name: str, n_layers: int, dead: int | None = None, stem: str = "block") -> LayeredRun:
    return LayeredRun(
        name=name,
        layers=tuple(
            Layer(name=f"{stem}.{i}", n_features=8, n_dead=8 if i == dead else 0)
            for i in range(n_layers)
        ),
    )


def layers(
    *sizes: int,
    names: tuple[str, ...] = ("seed-0", "seed-1", "seed-2", "seed-3", "seed-4", "seed-5"),
    measures: tuple[str, ...] = ("linear-cka",),
    dead: int | None = None,
    interval: bool = True,
    stem: str = "block",
    verdict: str = "3 of 6 layers have their closest counterpart at the same depth: by chance.",
    findings: tuple[Finding, ...] = (),
) -> LayersResult:
    """Make runs of so many layers each; one alone is compared with itself."""
    runs = tuple(
        run(name, size, dead if place == 0 else None, stem)
        for place, (name, size) in enumerate(zip(names, sizes, strict=False))
    )
    count = len(runs)
    meetings = [(i, j) for i in range(count) for j in range(i + 1, count)] or [(0, 0)]
    return LayersResult(
        runs=runs,
        n_samples=5000,
        n_used=1024,
        n_held_out=0,
        n_pairings=200,
        complete=False,
        measures=tuple(
            LayerMeasure(
                name=name,
                title=name.replace("-", " "),
                says="How similar.",
                closer="higher",
                low=-1.0,
                high=1.0,
                held_out=False,
            )
            for name in measures
        ),
        pairs=tuple(
            layer_pair(
                runs[i].name,
                runs[j].name,
                (sizes[i], sizes[j]),
                measure=name,
                dead=dead if i == 0 else None,
                interval=interval,
            )
            for i, j in meetings
            for name in measures
        ),
        verdict=verdict,
        findings=findings,
        provenance=Provenance(call="call", seed=0, engine="threads", seconds=1.0, versions={}),
    )
