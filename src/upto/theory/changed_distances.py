"""Largest change of distances between two runs, and the bounds of Theorem 1 that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from upto.core import Constant, Group, Promise, finite_or_none
from upto.theory.valid_numbers import check_count, check_finite, check_size, infinite_says_nothing


def isometry_constant(n_dimensions: int, defect: float, *, n_flat: int | None = None) -> float:
    r"""Return our constant c of isometric approximation: the worst error is at most c √e Δ.

    It is √(1 + e/2) · (1 + √(n′ + 1) · (1 + (2n)^¼)) and is valid for every e.

    Parameters
    ----------
    n_dimensions
        Dimension n of the space.
    defect
        Relative defect e: the largest change of a distance, as a fraction of the diameter.
    n_flat
        Dimension n′ of an affine subspace that contains the set; n by default.

    Returns
    -------
    float
        The constant c, for a defect of e.

    See Also
    --------
    rigid_promise_from_defect : The bound that this constant gives.
    rigid_promise : The bound from the constants of two decoders.
    relative_defect : The defect e of two decoders.

    Notes
    -----
    A map of a set of diameter Δ in n dimensions that changes no distance by more than eΔ is within
    c √e Δ of a rigid motion, with

    .. math::

        c = \sqrt{1 + e / 2} \, \left( 1 + \sqrt{n' + 1} \, \left( 1 + (2 n)^{1/4} \right) \right)

    where n′ is the dimension of a flat that contains the set. The rate √e cannot be improved for
    arbitrary sets.

    References
    ----------
    Alestalo et al. (2001). Isometric approximation. Israel Journal of Mathematics 125.

    Kiefer and Wolfowitz (1960). The equivalence of two extremum problems. Canadian Journal of
    Mathematics 12, 363-366.

    Powers and Størmer (1970). Free states of the canonical anticommutation relations.
    Communications in Mathematical Physics 16, 1-33.

    Examples
    --------
    >>> from upto.theory import isometry_constant
    >>> round(isometry_constant(8, 0.0), 3)
    10.0
    """
    n = check_count(n_dimensions, "n_dimensions")
    flat = n if n_flat is None else min(n, check_count(n_flat, "n_flat", least=0))
    e = check_size(defect, "the relative defect")
    return math.sqrt(1.0 + e / 2.0) * (
        1.0 + math.sqrt(flat + 1.0) * (1.0 + math.pow(2.0 * n, 0.25))
    )


def relative_defect(lipschitz: float, second: float | None = None) -> float:
    """Return the relative defect e = (1 + L₁)(1 + L₂) - 1 of two decoders.

    Parameters
    ----------
    lipschitz
        L, the excess over one of the bi-Lipschitz constant of a decoder.
    second
        L of the second decoder; the same by default.

    Returns
    -------
    float
        The relative defect e; infinite if either L is.

    See Also
    --------
    rigid_promise : The bound that uses it.
    isometry_constant : The constant for a given defect.

    Notes
    -----
    A decoder stretches and shrinks by at most 1 + L. The first decoder followed by the inverse of
    the second takes one representation to the other, and between convex sets it changes no distance
    by more than the fraction

    .. math::

        e = (1 + L_1) (1 + L_2) - 1

    of the diameter, which is 2L + L² for two decoders of the same constant.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import relative_defect
    >>> round(relative_defect(0.1), 2)
    0.21
    """
    one = check_size(lipschitz, "L")
    other = one if second is None else check_size(second, "the second L")
    if math.isinf(one) or math.isinf(other):
        return math.inf
    return one + other + one * other


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDistances:
    """Largest change of distances, from which every bound here is computed.

    `defect` is e, `change` is eΔ and `spread` is √(eΔ(Δ + eΔ/2)), which the constants multiply.
    """

    width: float
    defect: float
    change: float
    spread: float
    given: tuple[Constant, ...]
    condition: str
    holds: bool | None

    def worst(self, statement: str, n_dimensions: int, n_flat: int | None) -> Promise:
        """Bound the worst error of a rigid motion."""
        n = check_count(n_dimensions, "n_dimensions")
        return self._promise(
            n,
            statement=statement,
            claim="A rigid motion maps every row of one run to within this distance of its row in "
            "the other",
            value=isometry_constant(n, 0.0, n_flat=n_flat) * self.spread,
            # Jung: each run is in a ball of radius diameter/√2; match the centres.
            ceiling=(2.0 * self.width + self.change) / math.sqrt(2.0),
            named=Constant(
                symbol="c",
                value=finite_or_none(isometry_constant(n, self.defect, n_flat=n_flat)),
                meaning="our constant of isometric approximation, valid for every e",
            ),
        )

    def mean(self, statement: str, n_dimensions: int) -> Promise:
        """Bound the root mean square error of the best rigid motion."""
        n = check_count(n_dimensions, "n_dimensions")
        factor = math.pow(2.0 * n, 0.25)
        return self._promise(
            n,
            statement=statement,
            claim="The best rigid motion maps one run to the other with at most this root mean "
            "square error",
            value=factor * self.spread,
            # Each run has a variance of at most half its squared diameter, and some rotation makes
            # their covariance positive.
            ceiling=math.hypot(self.width, self.width + self.change) / math.sqrt(2.0),
            named=Constant(
                symbol="c", value=factor, meaning="(2n)^¼, our constant for mean squares"
            ),
        )

    def _promise(
        self, n: int, *, statement: str, claim: str, value: float, ceiling: float, named: Constant
    ) -> Promise:
        promise = Promise(
            statement=statement,
            claim=claim,
            up_to=Group.RIGID,
            value=finite_or_none(value),
            ceiling=finite_or_none(ceiling),
            constants=(
                *self.given,
                Constant(
                    symbol="e",
                    value=finite_or_none(self.defect),
                    meaning="largest change of a distance, as a fraction of the diameter",
                ),
                named,
                Constant(symbol="n", value=float(n), meaning="dimension of the latent spaces"),
                Constant(
                    symbol="Δ", value=self.width, meaning="diameter of the first run's latent space"
                ),
            ),
            condition=self.condition,
            holds=self.holds,
        )
        return infinite_says_nothing(promise)


def stitched(lipschitz: float, second: float | None, diameter: float) -> ChangedDistances:
    """Return the largest change by one decoder and the inverse of another."""
    e = relative_defect(lipschitz, second)
    width = check_finite(diameter, "the diameter")
    # A single point has no distances, whatever e. Products of lengths could underflow or overflow.
    return ChangedDistances(
        width=width,
        defect=e if width > 0.0 else 0.0,
        change=e * width if width > 0.0 else 0.0,
        spread=width * math.sqrt(e) * math.sqrt(1.0 + e / 2.0) if width > 0.0 else 0.0,
        given=_excesses(lipschitz, second),
        condition="both decoders are injective, smooth and nowhere stretch or shrink more than "
        "given, the two models have equal outputs, and both latent supports are convex, the first "
        f"with a diameter of at most {width:.4g}; none of this is checked here. The lemma as "
        f"cited requires e ≤ 1 (here {e:.4g}); our constant does not",
        holds=None,
    )


def measured(defect: float, diameter: float) -> ChangedDistances:
    """Return the largest change as measured between two runs."""
    change = check_size(defect, "the defect")
    width = check_finite(diameter, "the diameter")
    e = math.inf if width == 0.0 < change else (change / width if width > 0.0 else 0.0)
    return ChangedDistances(
        width=width,
        defect=e,
        change=change,
        spread=math.sqrt(change) * math.sqrt(width + change / 2.0),
        given=(
            Constant(
                symbol="δ",
                value=finite_or_none(change),
                meaning="near-isometry defect: largest change of a distance between two rows",
            ),
        ),
        condition=f"no distance between two rows changes by more than {change:.4g}, and none is "
        f"larger than {width:.4g} in the first run",
        holds=True,
    )


def _excesses(lipschitz: float, second: float | None) -> tuple[Constant, ...]:
    meaning = "excess over one of the bi-Lipschitz constant of "
    if second is None:
        return (
            Constant(symbol="L", value=finite_or_none(lipschitz), meaning=meaning + "the decoders"),
        )
    return (
        Constant(
            symbol="L₁", value=finite_or_none(lipschitz), meaning=meaning + "the first decoder"
        ),
        Constant(symbol="L₂", value=finite_or_none(second), meaning=meaning + "the second decoder"),
    )
