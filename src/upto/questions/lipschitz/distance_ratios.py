"""Lower bounds on the constant from outputs alone: ratios of distances to the nearest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.evidence.split import take_rows
from upto.geometry.distortion import nearest_rows, neighbour_ratios
from upto.questions.lipschitz.jacobian import Stretches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core import Embeddings, Progress
    from upto.core.array_types import Float
    from upto.engines.base import Engine
    from upto.evidence.split import Split


POOL = 20_000
"""Number of rows among which neighbours are searched."""
_TOGETHER = 64
_COPIES = 1000
"""Maximum number of equal latents whose outputs are compared."""


def neighbour_stretches(
    engine: Engine,
    runs: Sequence[Embeddings],
    split: Split,
    rows: NDArray[np.intp],
    points: Float,
    *,
    count: int,
    progress: Progress,
) -> Stretches:
    """Compare the distances from each point to its nearest rows before and after the map."""
    latents, outputs = runs
    if count < 1:
        message = "directions is 0: with outputs alone, at least one nearest row is needed."
        raise InputError(message)
    pool = split.order[:POOL]
    candidates = take_rows(engine, latents.rows, pool)
    near = nearest_rows(points, candidates, count)
    if (near < 0).all(axis=1).any():
        message = (
            f"all {len(pool)} latents are equal: ratios of distances need at least two different "
            "ones."
        )
        raise InputError(message)
    wanted, back = np.unique(near, return_inverse=True)
    back = back.reshape(near.shape)
    images = take_rows(engine, outputs.rows, pool[wanted])
    values = take_rows(engine, outputs.rows, rows)
    largest, smallest = np.empty((2, len(points)))
    with progress.task("neighbours", len(points)) as advance:
        for start in range(0, len(points), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            ratios = neighbour_ratios(
                points[some], values[some], candidates[near[some]], images[back[some]]
            )
            ratios[near[some] < 0] = np.nan
            largest[some], smallest[some] = np.nanmax(ratios, axis=1), np.nanmin(ratios, axis=1)
            advance(len(ratios))
    return Stretches(
        method="neighbours",
        largest=largest,
        smallest=smallest,
        settled=np.ones(len(points), dtype=bool),
        values=None,
        columns=None,
        lengths=None,
        outputs=values,
        n_outputs=outputs.n_features,
        is_single=False,
        n_clashes=_count_clashes(engine, outputs, split),
        direction_at=_no_direction,
    )


def _no_direction(_place: int, *, shrinks: bool) -> tuple[float, ...]:
    return ()


def _count_clashes(engine: Engine, outputs: Embeddings, split: Split) -> int:
    """Count latents that equal another but have different outputs."""
    places = np.flatnonzero(split.repeats[split.order])[:_COPIES]
    if not len(places):
        return 0
    here = take_rows(engine, outputs.rows, split.order[places])
    there = take_rows(engine, outputs.rows, split.order[places - 1])
    size = np.abs(here).max(axis=1, initial=0.0)
    return int((np.abs(here - there).max(axis=1, initial=0.0) > 1e-6 * size).sum())
