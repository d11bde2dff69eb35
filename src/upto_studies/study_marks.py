"""Marks of plots that several studies draw: means with intervals, and curves of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Estimate
    from upto.core.array_types import Float

_SHOWN_STEPS = 60


def estimate_marks(name: str, means: Sequence[Estimate | None], *, aside: float = 0.0) -> Marks:
    """Return means with intervals at the places 1, 2, … or `aside`; unknown ones are left out."""
    known = [(place + aside, each) for place, each in enumerate(means, 1) if each is not None]
    return Marks(
        name=name,
        x=tuple(place for place, _ in known),
        y=tuple(each.value for _, each in known),
        low=tuple(each.value if each.low is None else each.low for _, each in known),
        high=tuple(each.value if each.high is None else each.high for _, each in known),
    )


def curve_marks(name: str, losses: Float) -> Marks:
    """Return the mean loss over members and neighbouring steps, from steps × members."""
    length = max(1, len(losses) // _SHOWN_STEPS)
    count = len(losses) // length
    means = losses[: count * length].reshape(count, length, -1).mean(axis=(1, 2))
    steps = tuple(float(length * (number + 1)) for number in range(count))
    return Marks(name=name, x=steps, y=tuple(means.tolist()), kind="line")
