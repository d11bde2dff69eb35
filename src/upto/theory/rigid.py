"""Theorem 1: near-isometric decoders agree up to a rigid motion and a small error.

L is the excess of the bi-Lipschitz constant Λ = 1 + L: an isometry has L = 0. Two decoders with
equal outputs compose to a map from one latent space to the other that stretches by at most
1 + e = (1 + L₁)(1 + L₂), so no distance within a diameter Δ changes by more than eΔ. Such a map is
close to a rigid motion. The literature's constant for that step is not printed in the sources
available to us; `isometry_constant` is our own, proved for every e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from upto.core import Constant, Group, Promise, finite_or_none
from upto.theory.valid_numbers import check_count, check_finite, check_size, infinite_says_nothing


def isometry_constant(n_dimensions: int, defect: float, *, n_flat: int | None = None) -> float:
    """Return our constant c of isometric approximation: the worst error is at most c √e Δ.

    It is √(1 + e/2) · (1 + √(n′ + 1) · (1 + (2n)^¼)) and is valid for every e.

    Parameters
    ----------
    n_dimensions
        Dimension n of the space.
    defect
        Relative defect e: the largest change of a distance, as a fraction of the diameter.
    n_flat
        Dimension n′ of an affine subspace that contains the set; n by default.

    Examples
    --------
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

    Examples
    --------
    >>> round(relative_defect(0.1), 2)
    0.21
    """
    one = check_size(lipschitz, "L")
    other = one if second is None else check_size(second, "the second L")
    if math.isinf(one) or math.isinf(other):
        return math.inf
    return one + other + one * other


def rigid_promise(
    lipschitz: float,
    *,
    n_dimensions: int,
    diameter: float,
    second_lipschitz: float | None = None,
    n_flat: int | None = None,
) -> Promise:
    """Return the bound of Theorem 1 on the worst error after the best rigid motion.

    Parameters
    ----------
    lipschitz
        L, the excess over one of the local bi-Lipschitz constant of the decoders: zero for an
        isometry, and 0.05 if no distance changes by more than 5 %.
    n_dimensions, diameter
        Dimension of the latent spaces, and diameter Δ of that of the first run.
    second_lipschitz
        L of the second decoder, if it differs.
    n_flat
        Dimension of an affine subspace that contains the representations, if it is smaller.

    Examples
    --------
    >>> round(float(rigid_promise(0.01, n_dimensions=8, diameter=1.0)), 5)
    1.42485
    """
    changed = _stitched(lipschitz, second_lipschitz, diameter)
    return changed.worst("Theorem 1", n_dimensions, n_flat)


def rigid_mean_promise(
    lipschitz: float,
    *,
    n_dimensions: int,
    diameter: float,
    second_lipschitz: float | None = None,
) -> Promise:
    """Return the bound of Theorem 1 on the root mean square error, which is several times smaller.

    Parameters
    ----------
    lipschitz, n_dimensions, diameter, second_lipschitz
        Same as in `rigid_promise`.
    """
    changed = _stitched(lipschitz, second_lipschitz, diameter)
    return changed.mean("Theorem 1, mean square", n_dimensions)


def rigid_promise_from_defect(
    defect: float, *, n_dimensions: int, diameter: float, n_flat: int | None = None
) -> Promise:
    """Return the bound on the worst error from a measured near-isometry defect.

    It requires neither decoders nor convexity, only that no distance between two rows changes by
    more than the defect from one run to the other.

    Parameters
    ----------
    defect
        δ, the largest change of a distance between two rows.
    n_dimensions, diameter, n_flat
        Same as in `rigid_promise`, for the first run.
    """
    changed = _measured(defect, diameter)
    return changed.worst("Lemma A.4 with our constant", n_dimensions, n_flat)


def rigid_mean_promise_from_defect(defect: float, *, n_dimensions: int, diameter: float) -> Promise:
    """Return the bound on the root mean square error from a measured defect.

    Parameters
    ----------
    defect, n_dimensions, diameter
        Same as in `rigid_promise_from_defect`.
    """
    return _measured(defect, diameter).mean("Lemma A.4 in mean square", n_dimensions)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changed:
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


def _stitched(lipschitz: float, second: float | None, diameter: float) -> _Changed:
    e = relative_defect(lipschitz, second)
    width = check_finite(diameter, "the diameter")
    # A single point has no distances, whatever e. Products of lengths could underflow or overflow.
    return _Changed(
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


def _measured(defect: float, diameter: float) -> _Changed:
    change = check_size(defect, "the defect")
    width = check_finite(diameter, "the diameter")
    e = math.inf if width == 0.0 < change else (change / width if width > 0.0 else 0.0)
    return _Changed(
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
