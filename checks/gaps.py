"""Measure which heads that are diverse only by rounding are detected from their spectrum.

``python -m checks.gaps`` draws heads, asks `upto.theory.head_diversity` whether their smallest
singular values lie apart or rounding may have made them, and writes ``checks/gaps.json``:

left alone
    Heads of full rank whose singular values fall by a power law, are log-normal, or have three
    large ones. The rate of heads of which nothing is said is at least 95 %.
seen
    Heads of a rank too low that were stored with few bits and turned, so that no bits show.
known by their step
    Heads of a rank too low that were stored with four bits, as they were stored.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from checks.rates import Rate, report
from threadpoolctl import threadpool_limits

from upto.theory import head_diversity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]
    Draw = Callable[[np.random.Generator, int, int], Float]

SEED = 20261117
TRIALS = 100
LEFT_ALONE, BY_STEP = "left alone", "known by their step"


def falling(decay: float) -> Draw:
    """Singular values that fall by a power law."""
    return lambda rng, n, d: rng.normal(size=(n, d)) * np.arange(1.0, d + 1) ** -decay


def spread(rng: np.random.Generator, n: int, d: int) -> Float:
    """Log-normal singular values."""
    return rng.normal(size=(n, d)) * np.exp(rng.normal(size=d))


def spiked(rng: np.random.Generator, n: int, d: int) -> Float:
    """Three large singular values above many of one size."""
    return rng.normal(size=(n, d)) * np.where(np.arange(d) < 3, 30.0, 1.0)


def low_rank(rng: np.random.Generator, n: int, d: int, rank: int) -> Float:
    """Draw a head of too low rank."""
    head: Float = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    return head


def half_turned(rng: np.random.Generator, n: int, d: int) -> Float:
    """Rank 3/4, stored as float16 and rotated."""
    head = low_rank(rng, n, d, 3 * d // 4).astype(np.float16).astype(np.float64)
    turned: Float = head @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    return turned


def four_bits(eighths: int) -> Draw:
    """Store a head of some eighths of full rank with four bits and a scale for each row."""

    def draw(rng: np.random.Generator, n: int, d: int) -> Float:
        head = low_rank(rng, n, d, eighths * d // 8)
        scale = np.abs(head).max(axis=1, keepdims=True) / 7.0
        stored: Float = np.rint(head / scale) * scale
        return stored

    return draw


def turned(draw: Draw) -> Draw:
    """Rotate heads, so that their numbers are no longer multiples of a step."""

    def drawn(rng: np.random.Generator, n: int, d: int) -> Float:
        head: Float = draw(rng, n, d) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
        return head

    return drawn


FULL: tuple[tuple[str, Draw], ...] = (
    ("equal singular values", falling(0.0)),
    ("falling as k^-0.5", falling(0.5)),
    ("falling as k^-1", falling(1.0)),
    ("falling as k^-2", falling(2.0)),
    ("log-normal", spread),
    ("three large ones", spiked),
)
LOW: tuple[tuple[str, Draw], ...] = (
    ("rank 3/4, float16, turned", half_turned),
    ("rank 4/8, four bits a number, turned", turned(four_bits(4))),
    ("rank 6/8, four bits a number, turned", turned(four_bits(6))),
    ("rank 7/8, four bits a number, turned", turned(four_bits(7))),
)
STEPS: tuple[tuple[str, Draw], ...] = (
    ("rank 4/8, four bits a number", four_bits(4)),
    ("rank 7/8, four bits a number", four_bits(7)),
)
SHAPES = ((17, 16), (100, 16), (65, 64), (500, 64))


def rates(seed: int) -> Iterator[Rate]:
    """Measure all three."""
    for check, laws in ((LEFT_ALONE, FULL), ("seen", LOW), (BY_STEP, STEPS)):
        for name, draw in laws:
            for n_classes, width in SHAPES:
                rng = np.random.default_rng((seed, n_classes))
                heads = (draw(rng, n_classes, width) for _ in range(TRIALS))
                found = map(head_diversity, heads)
                seen = sum(
                    bool(each.singular_values[-1] <= each.rounding)
                    if check == BY_STEP
                    else each.n_apart > 0
                    for each in found
                )
                yield Rate(
                    check=check,
                    case=name,
                    n_samples=n_classes,
                    n_features=width,
                    hits=TRIALS - seen if check == LEFT_ALONE else seen,
                    trials=TRIALS,
                    nominal=0.95 if check == LEFT_ALONE else None,
                )


def main() -> None:
    """Run all checks, print their table and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("gaps.json"))
    options = parser.parse_args()
    with threadpool_limits(1, "blas"):
        report(
            "What the spectrum of a head shows",
            rates(options.seed),
            options.output,
            seed=options.seed,
            share=1.0,
        )


if __name__ == "__main__":
    main()
