"""Codes with known strengths and faults, and their factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from upto.core.array_types import Float

Whole = NDArray[np.intp]
Generator = np.random.Generator

NOISE = 0.01
"""Noise of a good code relative to its standard deviation: factor values stay separate."""
FAR = 1e4
MAJORITY = 0.9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Codes, the factors to score them against, and whether codes are discrete."""

    codes: Float
    factors: NDArray[Any]
    discrete_codes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kind of codes; `make` draws them for a number of rows and numbers of factor values."""

    name: str
    says: str
    make: Callable[[int, Sequence[int], Generator], Sample]


def draw_factors(n_rows: int, classes: Sequence[int], rng: Generator) -> Whole:
    """Draw independent, uniform factors."""
    return np.column_stack([rng.integers(count, size=n_rows) for count in classes])


def standardised(factors: Whole) -> Float:
    """Return factors standardised to mean zero and unit variance."""
    spread: Float = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    return spread


def blurred(clean: Float, noise: float, rng: Generator) -> Float:
    """Return codes with added Gaussian noise."""
    return clean + noise * rng.normal(size=clean.shape)


def good(n_rows: int, classes: Sequence[int], rng: Generator, *, noise: float = NOISE) -> Sample:
    """Return one code per factor."""
    factors = draw_factors(n_rows, classes, rng)
    return Sample(codes=blurred(standardised(factors), noise, rng), factors=factors)


def noise(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return two uninformative Gaussian codes per factor."""
    codes = rng.normal(size=(n_rows, 2 * len(classes)))
    return Sample(codes=codes, factors=draw_factors(n_rows, classes, rng))


def blunt(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return good codes with as much noise as signal."""
    return good(n_rows, classes, rng, noise=1.0)


def turned(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return good codes after a random rotation."""
    rotation = np.linalg.qr(rng.normal(size=(len(classes), len(classes))))[0]
    factors = draw_factors(n_rows, classes, rng)
    return Sample(codes=blurred(standardised(factors) @ rotation, NOISE, rng), factors=factors)


def turned_by(n_rows: int, classes: Sequence[int], rng: Generator, *, degrees: float) -> Sample:
    """Return good codes with the first two rotated by an angle."""
    factors = draw_factors(n_rows, classes, rng)
    clean, angle = standardised(factors), np.deg2rad(degrees)
    clean[:, :2] = clean[:, :2] @ np.array(
        [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    )
    return Sample(codes=blurred(clean, NOISE, rng), factors=factors)


def doubled(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return two codes per factor."""
    factors = draw_factors(n_rows, classes, rng)
    twice = np.tile(standardised(factors), 2)
    return Sample(codes=blurred(twice, NOISE, rng), factors=factors)


def compressed(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return codes whose first coordinate encodes two factors without loss."""
    factors = draw_factors(n_rows, classes, rng)
    joint = factors[:, 0] * classes[1] + factors[:, 1]
    clean = standardised(np.column_stack([joint, factors[:, 2:]]))
    return Sample(codes=blurred(clean, NOISE, rng), factors=factors)


def outlying(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return good codes with one outlier."""
    sample = good(n_rows, classes, rng)
    codes = sample.codes.copy()
    codes[0, 0] = FAR
    return replace(sample, codes=codes)


def leaky(
    n_rows: int, classes: Sequence[int], rng: Generator, *, leak: float, noise: float
) -> Sample:
    """Return codes to which every other factor contributes a fraction `leak`."""
    factors = draw_factors(n_rows, classes, rng)
    mixing = np.eye(len(classes)) + leak * (1 - np.eye(len(classes)))
    return Sample(codes=blurred(standardised(factors) @ mixing, noise, rng), factors=factors)


def leaky_sharp(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return codes with a leak of 1 % and hardly any noise."""
    return leaky(n_rows, classes, rng, leak=0.01, noise=0.001)


def leaky_noisy(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return codes with a leak of 1 % and noise of 5 %."""
    return leaky(n_rows, classes, rng, leak=0.01, noise=0.05)


def collapsed(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return good codes and as many with almost no variance."""
    sample = good(n_rows, classes, rng)
    dead = 1e-3 * rng.normal(size=sample.codes.shape)
    return replace(sample, codes=np.hstack([sample.codes, dead]))


def unused(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return good codes and as many of noise with the same variance."""
    sample = good(n_rows, classes, rng)
    return replace(sample, codes=np.hstack([sample.codes, rng.normal(size=sample.codes.shape)]))


def imbalanced(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return good codes of factors dominated by one value."""
    factors = _mostly_one(n_rows, classes, rng)
    return Sample(codes=blurred(standardised(factors), NOISE, rng), factors=factors)


def imbalanced_noise(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return noise with factors dominated by one value."""
    return replace(noise(n_rows, classes, rng), factors=_mostly_one(n_rows, classes, rng))


def correlated(
    n_rows: int, classes: Sequence[int], rng: Generator, *, correlation: float = 0.7
) -> Sample:
    """Return good codes of factors whose first two are dependent.

    Their values are quantiles of two correlated Gaussian variables.
    """
    factors = draw_factors(n_rows, classes, rng)
    pair = rng.normal(size=(n_rows, 2))
    pair[:, 1] = correlation * pair[:, 0] + np.sqrt(1 - correlation**2) * pair[:, 1]
    factors[:, :2] = (ndtr(pair) * classes[:2]).astype(np.intp)
    return Sample(codes=blurred(standardised(factors), NOISE, rng), factors=factors)


def discrete(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return codes that are category names of the values, declared as discrete."""
    return replace(untold(n_rows, classes, rng), discrete_codes=True)


def untold(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return category names of the values, treated as numbers."""
    factors = draw_factors(n_rows, classes, rng)
    return Sample(codes=_renamed(factors, classes, rng).astype(np.float64), factors=factors)


def partial(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return good codes with half of the labels of each factor missing."""
    sample = good(n_rows, classes, rng)
    missing = rng.random(sample.factors.shape) < 0.5
    return replace(sample, factors=np.where(missing, np.nan, sample.factors))


def scaled(n_rows: int, classes: Sequence[int], rng: Generator) -> Sample:
    """Return good codes of very different variances."""
    sample = good(n_rows, classes, rng)
    return replace(sample, codes=sample.codes * 10.0 ** np.linspace(-2, 2, len(classes)))


def _mostly_one(n_rows: int, classes: Sequence[int], rng: Generator) -> Whole:
    shares = ([MAJORITY] + [(1 - MAJORITY) / (count - 1)] * (count - 1) for count in classes)
    columns = [rng.choice(len(share), size=n_rows, p=share) for share in shares]
    return np.column_stack(columns)


def _renamed(factors: Whole, classes: Sequence[int], rng: Generator) -> Whole:
    columns = [
        rng.permutation(count)[column] for count, column in zip(classes, factors.T, strict=True)
    ]
    return np.column_stack(columns)


CASES = (
    Case(name="good", says="a code for each factor, 1 % noise", make=good),
    Case(name="noise", says="two Gaussian codes a factor, which know nothing", make=noise),
    Case(name="blunt", says="a code for each factor, as much noise as signal", make=blunt),
    Case(name="turned", says="good codes after a random rotation", make=turned),
    Case(name="doubled", says="two codes for each factor", make=doubled),
    Case(name="compressed", says="one code for two factors, without loss", make=compressed),
    Case(name="outlier", says="one value of one good code is 10⁴", make=outlying),
    Case(name="leak, sharp", says="1 % of all others in each code, 0.1 % noise", make=leaky_sharp),
    Case(name="leak, noisy", says="1 % of all others in each code, 5 % noise", make=leaky_noisy),
    Case(name="dead", says="good codes and as many of 0.1 % of the spread", make=collapsed),
    Case(name="unused", says="good codes and as many of noise", make=unused),
    Case(name="imbalanced", says="good codes; one value has 90 % of rows", make=imbalanced),
    Case(name="imbalanced noise", says="noise; one value has 90 % of rows", make=imbalanced_noise),
    Case(name="correlated", says="good codes; two factors correlate at 0.7", make=correlated),
    Case(name="discrete", says="names of values, and the scores are told so", make=discrete),
    Case(name="untold", says="names of values, taken for numbers", make=untold),
    Case(name="partial", says="good codes; half of all labels are missing", make=partial),
    Case(name="scaled", says="good codes with deviations from 0.01 to 100", make=scaled),
)
"""All cases of the tables, the good one first."""
