"""Solver iterations of ICA, and the identifiability of components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Identifiability = Literal["identifiable", "turning", "not shown"]
"""Whether a component is identifiable, rotates freely with others, or neither is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One iteration of a solver, as reported while running.

    `contrast` measures non-Gaussianity, the mean of ``|E[g′(s)] - E[g(s)s]|``; it increases.
    `gradient` is the largest entry of the relative gradient between components not held fixed;
    `turned` is the largest change of an entry of the rotation; `passes` counts the passes over
    the rows so far.

    See Also
    --------
    upto.ICA : Calls `callback` with one for every step.
    upto.UnmixResult : Keeps them.
    """

    iteration: int
    solver: str
    dtype: str
    contrast: float
    gradient: float
    turned: float
    passes: int
    seconds: float
