"""Exact arithmetic on stored numbers, which are fractions: ranks and opposite rows.

The rank is at least the rank modulo a prime. So full rank modulo one prime is a proof; a lower rank
modulo two primes of 25 bits is accidental for about one in 10¹⁵ matrices.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.theory.piecewise import PiecewiseNetwork

Whole = NDArray[np.int64]

_PRIMES = (2**25 - 39, 2**25 - 49)
_BITS = 53
_AT_ONCE = 4096
"""Number of products of two residues whose sum is below 2⁶³."""


def loses_rank(matrix: Float) -> bool:
    """Return whether the columns of a matrix are linearly dependent, exactly."""
    return all(_rank(_residues(matrix, prime), prime) < matrix.shape[1] for prime in _PRIMES)


def layer_residues(network: PiecewiseNetwork) -> list[list[Whole]]:
    """Return the weights of a network modulo each prime, for `piece_loses_rank`."""
    return [[_residues(matrix, prime) for matrix, _ in network.layers] for prime in _PRIMES]


def piece_loses_rank(
    network: PiecewiseNetwork, pattern: NDArray[np.bool_], residues: list[list[Whole]]
) -> bool:
    """Return whether the affine map of a network on a piece loses rank, exactly."""
    for prime, layers in zip(_PRIMES, residues, strict=True):
        leak = _residues(np.array([network.leak]), prime)
        linear: Whole = np.eye(network.n_inputs, dtype=np.int64)
        start = 0
        for number, matrix in enumerate(layers):
            linear = _product(matrix, linear, prime)
            if network.is_activated(number):
                active = pattern[start : start + len(matrix)]
                linear = np.where(active[:, None], linear, linear * leak % prime)
                start += len(matrix)
                if np.count_nonzero(linear.any(axis=1)) < network.n_inputs:
                    break
        if _rank(linear, prime) == network.n_inputs:
            return False
    return True


def are_opposite(row: Float, other: Float) -> bool:
    """Return whether one row is a negative multiple of the other, exactly."""
    first, second = _fractions(row), _fractions(other)
    place = int(np.abs(row).argmax())
    one, two = first[place], second[place]
    return one * two < 0 and all(a * two == b * one for a, b in zip(first, second, strict=True))


def leave_no_gap(row: Float, bias: float, other: Float, other_bias: float) -> bool:
    """Return whether the ReLUs of two opposite rows are never both zero on an open set."""
    place = int(np.abs(row).argmax())
    one, two = abs(Fraction(float(row[place]))), abs(Fraction(float(other[place])))
    return Fraction(float(bias)) * two + Fraction(float(other_bias)) * one >= 0


def _fractions(values: Float) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]


def _residues(values: Float, prime: int) -> Whole:
    """Return stored numbers, which are integers times powers of two, modulo a prime."""
    significands, exponents = np.frexp(values)
    whole = np.ldexp(significands, _BITS).astype(np.int64) % prime
    kinds, owner = np.unique(exponents - _BITS, return_inverse=True)
    powers = np.array([pow(2, int(kind), prime) for kind in kinds], dtype=np.int64)
    found: Whole = whole * powers[owner.reshape(values.shape)] % prime
    return found


def _product(left: Whole, right: Whole, prime: int) -> Whole:
    found = np.zeros((len(left), right.shape[1]), dtype=np.int64)
    for start in range(0, left.shape[1], _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        found = (found + left[:, part] @ right[part] % prime) % prime
    return found


def _rank(residues: Whole, prime: int) -> int:
    left = residues.copy()
    rank = 0
    for column in range(left.shape[1]):
        candidates = np.flatnonzero(left[rank:, column])
        if not len(candidates):
            continue
        pivot = rank + int(candidates[0])
        left[[rank, pivot]] = left[[pivot, rank]]
        left[rank] = left[rank] * pow(int(left[rank, column]), -1, prime) % prime
        below = left[rank + 1 :]
        below -= below[:, column, None] * left[rank] % prime
        below %= prime
        rank += 1
    return rank
