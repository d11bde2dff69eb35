"""Search for classifiers of equal probabilities whose representations no affine map relates.

If `head_diversity` calls a head diverse without reserve, representations of the same
log-probabilities, up to η, are affine images of each other up to η times its amplification. Heads
are constructed to be diverse only by accident: of too low rank and then rounded, in any type and
scaled afterwards, shifted far from zero, of nearly equal classes, or by classes that hardly occur.
The rival moves representations along the direction to which its head is least sensitive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax

from upto.theory.differences import HeadDiversity, head_diversity
from upto.theory.precision import rounding_norm, type_precision
from upto_studies.trials.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from upto.core.array_types import Float


BY_TYPE = "diversity-by-type"
"""Control: a false rule that takes the precision of a head from its type alone."""

_ROWS = 60
_ROUNDING = 1e-13
"""Precision of log-probabilities, in units of the largest logit."""


def as_bfloat16(values: Float) -> NDArray[np.float32]:
    """Round to bfloat16, to even, and widen to float32."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.astype(np.uint32).view(np.float32)


def _cut(values: Float) -> NDArray[np.float32]:
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def _quantised(values: Float) -> NDArray[np.int8]:
    found: NDArray[np.int8] = np.rint(127.0 * values / np.abs(values).max()).astype(np.int8)
    return found


def _halves(values: Float) -> NDArray[np.float32]:
    return np.asarray(values, dtype=np.float16).astype(np.float32)


def _unit(values: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = values / np.linalg.norm(values, axis=1, keepdims=True)
    return found


def _multiples(values: Float, most: int, axis: int | None = None) -> Float:
    """Round to multiples of a step: one for all numbers, or one per column or row."""
    step = np.abs(values).max(axis=axis, keepdims=True) / most
    found: Float = np.rint(values / step) * step
    return found


def _in_blocks(values: Float, block: int, most: int) -> NDArray[np.float32]:
    """Round to multiples of a float16 step for each block along a row."""
    found = np.empty(values.shape, dtype=np.float32)
    for start in range(0, values.shape[1], block):
        part = values[:, start : start + block]
        step = (np.abs(part).max(axis=1, keepdims=True) / most).astype(np.float16)
        found[:, start : start + block] = np.rint(part / step) * step
    return found


def _short(values: Float, bits: int) -> Float:
    """Round to a few bits of the significand."""
    significands, exponents = np.frexp(values)
    found: Float = np.ldexp(np.rint(np.ldexp(significands, bits)), exponents - bits)
    return found


STORED: dict[str, Callable[[Float], NDArray[np.generic]]] = {
    "float64": lambda values: values,
    "float32": lambda values: values.astype(np.float32),
    "float32 widened": lambda values: values.astype(np.float32).astype(np.float64),
    "float16": lambda values: values.astype(np.float16),
    "float16 widened": _halves,
    "float16 scaled": lambda values: _halves(values) * np.float32(0.1234),
    "float16, unit rows": lambda values: _unit(_halves(values)),
    "float16 of tiny numbers": lambda values: _halves(1e-6 * values),
    "bfloat16": as_bfloat16,
    "bfloat16 cut off": _cut,
    "bfloat16 scaled": lambda values: as_bfloat16(values) * np.float32(0.1234),
    "bfloat16, unit rows": lambda values: _unit(as_bfloat16(values)),
    "bfloat16, columns scaled": lambda values: (
        as_bfloat16(values) * np.linspace(0.5, 2.0, values.shape[1], dtype=np.float32)
    ),
    "int8": _quantised,
    "int8 widened": lambda values: _quantised(values).astype(np.float32),
    "int8 scaled": lambda values: _multiples(values, 127).astype(np.float32),
    "int8, rows scaled": lambda values: _multiples(values, 127, 1),
    "int8, columns scaled": lambda values: _multiples(values, 127, 0).astype(np.float32),
    "int8 scaled, as bfloat16": lambda values: as_bfloat16(_multiples(values, 127)),
    "int4 scaled": lambda values: _multiples(values, 7).astype(np.float32),
    "int4, rows scaled": lambda values: _multiples(values, 7, 1),
    "Q8_0": lambda values: _in_blocks(values, 32, 127),
    "Q4_0": lambda values: _in_blocks(values, 32, 8),
    "three decimals": lambda values: np.round(values, 3),
    "float8 e4m3": lambda values: _short(values, 4),
    "float8 e5m2": lambda values: _short(values, 3),
    "float8 e4m3 scaled": lambda values: (0.1234 * _short(values, 4)).astype(np.float32),
}

MADE = ("any", "low rank", "nearly low rank", "shifted", "equal classes", "rare", "few classes")


def head_cases(rng: np.random.Generator, count: int) -> list[Case]:
    """Attack heads that `head_diversity` calls diverse without reserve.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of heads; constructions and storage types alternate.

    Returns
    -------
    Cases of the rule, and of one that uses only the type of the numbers.
    """
    cases = []
    kinds = [(made, stored) for made in MADE for stored in STORED]
    for number in range(count):
        made, stored = kinds[number % len(kinds)]
        head, counts = _draw_head(rng, made)
        kept = STORED[stored](head)
        found = head_diversity(kept, frequencies=counts)
        # The stored head is the true one, unless it is diverse only by rounding.
        true = head if made == "low rank" else np.asarray(kept, dtype=np.float64)
        attack = _attacked(rng, true, counts, found, f"{made}, {stored}")
        if attack is None:
            continue
        if not found.is_ill_conditioned:
            cases.append(attack)
        if found.singular_values[-1] > rounding_norm(kept, type_precision(kept)):
            cases.append(replace(attack, statement=BY_TYPE))
    return cases


def _attacked(
    rng: np.random.Generator, head: Float, counts: Float, found: HeadDiversity, kind: str
) -> Case | None:
    if not found.holds:
        return None
    occurring = np.flatnonzero(counts)
    shares = counts[occurring] / counts.sum()
    vectors = head[occurring]
    centred = vectors - shares @ vectors
    least = np.linalg.svd(np.sqrt(shares)[:, None] * centred)[2][-1]
    features = rng.normal(size=(_ROWS, head.shape[1]))
    bend = np.sin(3.0 * features[:, :1]) + features[:, 1:2] ** 2
    moved = features + 10.0 ** rng.uniform(-6.0, 0.0) * bend * least
    logits = features @ centred.T
    error = np.abs(
        log_softmax(moved @ centred.T, axis=1) - log_softmax(logits, axis=1)
    ).max() + _ROUNDING * (1.0 + np.abs(logits).max())
    design = np.column_stack([features, np.ones(_ROWS)])
    left = moved - design @ np.linalg.lstsq(design, moved, rcond=None)[0]
    return Case(
        statement="diversity",
        kind=kind,
        n_dimensions=found.width,
        # The least-squares fit is at least as good as the promised map.
        measured=float(np.sqrt(np.square(left).sum(axis=1).mean())),
        bound=float(error / np.sqrt(found.smallest_variance)),
    )


def _draw_head(rng: np.random.Generator, made: str) -> tuple[Float, Float]:
    width = int(rng.integers(2, 17))
    # Rounding before scaling is detectable only from some hundreds of numbers.
    count = int(rng.integers(max(30, 400 // width), 400))
    if made == "few classes":
        count = width + int(rng.integers(1, 3))
    head = rng.normal(size=(count, width))
    counts = np.ones(count)
    if made == "low rank":
        rank = int(rng.integers(1, width))
        head = head[:, :rank] @ rng.normal(size=(rank, width))
    elif made == "nearly low rank":
        left, values, right = np.linalg.svd(head, full_matrices=False)
        values[-1] *= 10.0 ** rng.uniform(-16.0, -1.0)
        head = left * values @ right
    elif made == "shifted":
        head += 10.0 ** rng.uniform(1.0, 3.0) * rng.normal(size=width)
    elif made == "equal classes":
        head = head[rng.integers(width + 1, size=count)]
    elif made == "rare":
        head[1:, -1] = head[1:, 0]
        counts[0] = 10.0 ** rng.uniform(-20.0, 0.0)
        counts[1:] = rng.integers(1, 1000, size=count - 1)
    return head, counts
