"""Theorem 3 and Appendix A.5: recovery of the sources that generated the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Constant, Group, Promise, finite_or_none
from upto.theory.changed_distances import relative_defect
from upto.theory.ica_bounds import unmixing_promise
from upto.theory.rigid import rigid_promise
from upto.theory.valid_numbers import check_finite, check_size, infinite_says_nothing

if TYPE_CHECKING:
    from upto.ica.contrasts import Contrast
    from upto.theory.contrast_derivatives import ContrastBounds


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
    r"""Return the bounds of Theorem 3: sources up to a rigid motion, and to a signed permutation.

    Sources are independent, non-Gaussian, centred and of unit variance; the model reconstructs its
    input. The inverse of the generator replaces one encoder of Theorem 1, so the relative defect is
    (1 + L)(1 + δ) - 1; the paper uses the larger constant twice.

    Parameters
    ----------
    lipschitz
        L, the excess over one of the bi-Lipschitz constant of the decoder.
    generator_lipschitz
        δ, that of the map from sources to data.
    n_dimensions, diameter
        Number of sources, and the largest diameter of sources and representations.
    smallest_eigenvalue
        λ, a lower bound on the eigenvalues of the representations' covariance; sources have 1.
    curvature, contrast, alpha, curvature_at_optimum
        Same as in `ica_promise`, for the contrast of the sources.

    Returns
    -------
    tuple of Promise
        The bound up to a rigid motion, and the bound on components.

    See Also
    --------
    rigid_promise : The same between two trainings.
    unmixing_promise : The step from the first bound to the second.
    statistical_from_structural : What follows for two trainings.

    Notes
    -----
    With L of the decoder and δ of the process that generated the data from sources u, every
    representation f(x) has

    .. math::

        \lVert h(f(x)) - u \rVert \le \varepsilon = c \sqrt{e} \, \Delta,
        \qquad e = (1 + L)(1 + \delta) - 1

    for a rigid motion h, with c of `isometry_constant`. The second bound is that of
    `unmixing_promise` with 2ε, since centring removes the translation at the cost of another ε; the
    largest norm is Δ, and λ is at most one because sources have unit variance.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import structure_promises
    >>> rigid, components = structure_promises(
    ...     1e-6,
    ...     generator_lipschitz=1e-6,
    ...     n_dimensions=2,
    ...     diameter=1.0,
    ...     smallest_eigenvalue=0.1,
    ...     curvature=0.1,
    ... )
    >>> round(float(rigid), 4), rigid.is_vacuous, components.is_vacuous
    (0.0073, False, True)
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
            meaning="the same with the larger constant twice",
        ),
    )
    sources = (
        "the sources are independent, non-Gaussian, centred and of unit variance, and the model "
        "reconstructs its input, which is not checked here"
    )
    condition = f"{sources}; {rigid.condition}"
    structural = Promise(
        statement="Theorem 3, rigid",
        claim="A rigid motion maps every representation to within this distance of its sources",
        up_to=Group.RIGID,
        value=rigid.value,
        ceiling=rigid.ceiling,
        constants=given,
        condition=condition,
        holds=None,
    )
    # Theorem 1 allows a translation, which centring removes at the cost of another ε.
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
        claim="With representations whitened and unmixed, at the optimum that corresponds to the "
        "sources a signed permutation maps every row to within this distance of its sources",
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
    r"""Return the bound of Appendix A.5: runs close to the same structure are close.

    Parameters
    ----------
    error
        ε, the worst error of either run to the structure.
    largest_norm
        C, a bound on the operator norms of the inverses in the group; one for isometries.
    up_to
        The group, if it is to be named.

    Returns
    -------
    Promise
        The bound between the two runs.

    See Also
    --------
    structure_promises : The error of each run to the structure.
    upto.Group : The groups, and which of them are isometric.

    Notes
    -----
    If h₁ takes the first run to within ε of the structure and h₂ the second, then h₂⁻¹h₁ takes the
    first to the second within

    .. math::

        \varepsilon' = 2 C \varepsilon, \qquad C = \sup_h \lVert h^{-1} \rVert

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import statistical_from_structural
    >>> float(statistical_from_structural(0.1))
    0.2
    """
    eps = check_size(error, "the error")
    norm = check_size(largest_norm, "the largest norm")
    promise = Promise(
        statement="Appendix A.5",
        claim="An element of the group maps every row of one run to within this distance of its "
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
