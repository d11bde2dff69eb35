"""Theorem 3 and Appendix A.5: what is said about the sources that made the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Constant, Group, Promise, finite_or_none
from upto.theory.arguments import check_finite, check_size, infinite_says_nothing
from upto.theory.ica_bounds import unmixing_promise
from upto.theory.rigid import relative_defect, rigid_promise

if TYPE_CHECKING:
    from upto.ica.contrasts import Contrast
    from upto.theory.ica_bounds import ContrastBounds


def structure_promises(
    lipschitz: float,
    *,
    generator_lipschitz: float,
    n_dimensions: int,
    diameter: float,
    smallest_eigenvalue: float,
    curvature: float,
    contrast: str | Contrast | ContrastBounds = "logcosh",
    alpha: float = 1.0,
    curvature_at_optimum: float | None = None,
) -> tuple[Promise, Promise]:
    """Return what Theorem 3 promises: sources up to a rigid motion, then up to signed permutations.

    Sources are independent, not Gaussian, centred and of unit variance; the model reconstructs its
    input. The inverse of what generated the data takes the place of one encoder of Theorem 1, so
    the relative defect is (1 + L)(1 + δ) - 1; the paper takes the larger constant twice.

    Parameters
    ----------
    lipschitz
        L, the excess over one of the bi-Lipschitz constant of the decoder.
    generator_lipschitz
        δ, that of the map that generated the data from its sources.
    n_dimensions, diameter
        Number of sources, and the diameter neither sources nor representations exceed.
    smallest_eigenvalue
        λ, below no eigenvalue of the representations' covariance; sources have 1.
    curvature, contrast, alpha, curvature_at_optimum
        As for `ica_promise`, of the contrast of the sources.

    Returns
    -------
    tuple of Promise
        The rigid claim and the claim on components.
    """
    decoder = check_size(lipschitz, "L")
    generator = check_size(generator_lipschitz, "L of the generator")
    rigid = rigid_promise(
        decoder, second_lipschitz=generator, n_dimensions=n_dimensions, diameter=diameter
    )
    excess = "excess over one of the bi-Lipschitz constant of "
    given = (
        Constant(symbol="L", value=finite_or_none(decoder), meaning=excess + "the decoder"),
        Constant(symbol="δ", value=finite_or_none(generator), meaning=excess + "the generator"),
        *(each for each in rigid.constants if each.symbol in ("e", "c", "n", "Δ")),
        Constant(
            symbol="e of the paper",
            value=finite_or_none(relative_defect(max(decoder, generator))),
            meaning="the same with the larger constant in both places",
        ),
    )
    sources = (
        "the sources are independent, not Gaussian, centred and of unit variance, and the model "
        "reconstructs its input: no number given here shows that"
    )
    condition = f"{sources}; {rigid.condition}"
    structural = Promise(
        statement="Theorem 3, rigid",
        claim="A rigid motion takes every representation to within this distance of its sources",
        up_to=Group.RIGID,
        value=rigid.value,
        ceiling=rigid.ceiling,
        constants=given,
        condition=condition,
        holds=None,
    )
    # Theorem 1 allows a translation, which centring undoes at the price of another ε.
    unmixed = unmixing_promise(
        float(rigid),
        radius=diameter,
        smallest_eigenvalue=min(1.0, check_finite(smallest_eigenvalue, "the smallest eigenvalue")),
        curvature=curvature,
        n_dimensions=n_dimensions,
        contrast=contrast,
        alpha=alpha,
        curvature_at_optimum=curvature_at_optimum,
        translated=True,
    )
    components = Promise(
        statement="Theorem 3, components",
        claim="The representations whitened and unmixed, at the optimum that corresponds to the "
        "sources a signed permutation takes every row to within this distance of its sources",
        up_to=Group.SIGNED_PERMUTATION,
        value=unmixed.value,
        ceiling=unmixed.ceiling,
        constants=(*unmixed.constants, *given),
        condition=f"{condition}; {unmixed.condition}",
        holds=False if unmixed.holds is False else None,
    )
    return infinite_says_nothing(structural), infinite_says_nothing(components)


def statistical_from_structural(
    error: float, *, largest_norm: float = 1.0, up_to: Group | None = None
) -> Promise:
    """Return what Appendix A.5 promises: runs near the same structure are near each other.

    Parameters
    ----------
    error
        ε, the worst error of either run to the structure.
    largest_norm
        C, a bound on the operator norms of the inverses in the group; one for isometries.
    up_to
        The group, where it is to be named.

    Examples
    --------
    >>> float(statistical_from_structural(0.1))
    0.2
    """
    eps = check_size(error, "the error")
    norm = check_size(largest_norm, "the largest norm")
    promise = Promise(
        statement="Appendix A.5",
        claim="An element of the group takes every row of one run to within this distance of its "
        "row in the other",
        up_to=up_to,
        value=0.0 if eps == 0.0 else finite_or_none(2.0 * norm * eps),
        constants=(
            Constant(symbol="ε", value=finite_or_none(eps), meaning="worst error to the structure"),
            Constant(
                symbol="C",
                value=finite_or_none(norm),
                meaning="largest stretch of an inverse in the group",
            ),
        ),
        condition=f"both runs are within {eps:.4g} of the structure and no inverse in the group "
        f"stretches by more than {norm:.4g}",
        holds=True,
    )
    return infinite_says_nothing(promise)
