"""Measure which heads that rounding made diverse are seen in their spectrum, and which are not.

``python -m checks.gaps`` draws heads, asks `upto.theory.head_diversity` whether their smallest
singular values lie apart, and writes ``checks/gaps.json``:

left alone
    Heads of full rank whose singular values fall by a power law, are log-normal, or have three
    large ones. The rate of heads of which nothing is said is at least 95 %.
seen
    Heads of a rank too low that were stored with few bits, in ways that no bits show.
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
    """Draw a head of a rank too low."""
    head: Float = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    return head


def half_turned(rng: np.random.Generator, n: int, d: int) -> Float:
    """Rank 3/4, stored as float16, and turned."""
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
    ("rank 4/8, four bits a number", four_bits(4)),
    ("rank 6/8, four bits a number", four_bits(6)),
    ("rank 7/8, four bits a number", four_bits(7)),
)
SHAPES = ((17, 16), (100, 16), (65, 64), (500, 64))


def rates(seed: int) -> Iterator[Rate]:
    """Measure both."""
    for check, laws in (("left alone", FULL), ("seen", LOW)):
        for name, draw in laws:
            for n_classes, width in SHAPES:
                rng = np.random.default_rng((seed, n_classes))
                heads = (draw(rng, n_classes, width) for _ in range(TRIALS))
                seen = sum(head_diversity(head).n_apart > 0 for head in heads)
                yield Rate(
                    check=check,
                    case=name,
                    n_samples=n_classes,
                    n_features=width,
                    hits=seen if check == "seen" else TRIALS - seen,
                    trials=TRIALS,
                    nominal=None if check == "seen" else 0.95,
                )


def main() -> None:
    """Run both checks, print their table and write the record."""
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
