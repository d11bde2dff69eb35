"""Choose the rows a similarity is scored on, and check its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.arguments import check_fraction, check_whole

if TYPE_CHECKING:
    from upto.core.array_types import Index
    from upto.evidence.split import Split


MIN_HALF_SAMPLES = 10


def check_options(
    held_out: Any, permutations: Any, half_samples: Any, max_rows: Any, seed: Any
) -> None:
    """Refuse invalid options of a similarity."""
    check_whole(least=19, permutations=permutations)
    check_whole(least=2, max_rows=max_rows)
    check_whole(half_samples=half_samples, seed=seed)
    check_fraction(held_out=held_out)
    if 0 < half_samples < MIN_HALF_SAMPLES:
        message = (
            f"half_samples is {half_samples}, but an interval needs at least {MIN_HALF_SAMPLES}; "
            "0 omits intervals."
        )
        raise InputError(message)


def choose_rows(split: Split, strata: Index | None, max_rows: int) -> Index:
    """Return the rows to use, in key order, with the same fraction held out.

    Rows that repeat another in every run are one observation: pairings that separate such copies
    are less likely than others, so copies are dropped. Serially dependent rows are taken at equal
    steps, in their own order.
    """
    if split.memory is not None:
        following = np.flatnonzero(~split.repeats)
        return following[:: -(-len(following) // max_rows)]
    order, is_first = split.order, ~split.repeats[split.order]
    if strata is not None:
        # Equal rows may differ in class: then the class decides, not their position.
        order = order[np.lexsort((strata[order], np.cumsum(is_first)))]
    distinct = order[is_first]
    held_out = split.parts[distinct] == 1
    count = min(max_rows, len(distinct))
    n_held_out = min(round(count * float(held_out.mean())), max(count - 2, 0))
    ranks = np.where(held_out, np.cumsum(held_out), np.cumsum(~held_out))
    return distinct[ranks <= np.where(held_out, n_held_out, count - n_held_out)]
