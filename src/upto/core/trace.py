"""Steps of a search for components, and what is known of one that was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Identifiability = Literal["identifiable", "turning", "not shown"]
"""What is known of a component: that it is one, that it turns into others, or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One iteration of a solver, as it was reported while it ran.

    `contrast` is how far components are from Gaussian, the mean of ``|E[g′(s)] - E[g(s)s]|``: it
    rises.
    `gradient` is the largest entry of the relative gradient between components that are not held
    fixed; `turned` is the largest entry by which the rotation changed; `passes` counts passes over
    the rows so far.
    """

    iteration: int
    solver: str
    dtype: str
    contrast: float
    gradient: float
    turned: float
    passes: int
    seconds: float
