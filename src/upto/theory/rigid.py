"""Theorem 1: near-isometric decoders agree up to a rigid motion and a small error.

L is the excess of the bi-Lipschitz constant Λ = 1 + L: an isometry has L = 0. Two decoders with
equal outputs compose to a map from one latent space to the other that stretches by at most
1 + e = (1 + L₁)(1 + L₂), so no distance within a diameter Δ changes by more than eΔ. Such a map is
close to a rigid motion. The literature's constant for that step is not printed in the sources
available to us; `isometry_constant` is our own, proved for every e.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.theory.changed_distances import measured, stitched

if TYPE_CHECKING:
    from upto.core import Promise


def rigid_promise(
    lipschitz: float,
    *,
    n_dimensions: int,
    diameter: float,
    second_lipschitz: float | None = None,
    n_flat: int | None = None,
) -> Promise:
    r"""Return the bound of Theorem 1 on the worst error after the best rigid motion.

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

    Returns
    -------
    Promise
        The bound with its constants, its condition, and the error that holds without any theorem.

    See Also
    --------
    rigid_mean_promise : The same for the root mean square error.
    rigid_promise_from_defect : The same from two runs only, without decoders.
    lipschitz_from_singular_values : L from measured Jacobians.
    structure_promises : The same against the sources that generated the data.

    Notes
    -----
    For every row x of the first run with the row y of the second, the best rigid motion h has

    .. math::

        \lVert y - h(x) \rVert \le c \sqrt{e} \, \Delta, \qquad e = (1 + L_1)(1 + L_2) - 1

    with c from `isometry_constant` and Δ the diameter of the first run. It is vacuous above
    (2 + e)Δ/√2: two sets can always be shifted to within that of each other (Jung's theorem).

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Alestalo et al. (2001). Isometric approximation. Israel Journal of Mathematics 125.

    Examples
    --------
    >>> from upto.theory import rigid_promise
    >>> round(float(rigid_promise(0.01, n_dimensions=8, diameter=1.0)), 5)
    1.42485
    """
    changed = stitched(lipschitz, second_lipschitz, diameter)
    return changed.worst("Theorem 1", n_dimensions, n_flat)


def rigid_mean_promise(
    lipschitz: float,
    *,
    n_dimensions: int,
    diameter: float,
    second_lipschitz: float | None = None,
) -> Promise:
    r"""Return the bound of Theorem 1 on the root mean square error, which is several times smaller.

    Parameters
    ----------
    lipschitz, n_dimensions, diameter, second_lipschitz
        Same as in `rigid_promise`.

    Returns
    -------
    Promise
        The bound on the root mean square error.

    See Also
    --------
    rigid_promise : The bound on the worst error.
    rigid_mean_promise_from_defect : The same from two runs only.

    Notes
    -----
    Over any distribution of rows x with counterparts y, the best rigid motion h has

    .. math::

        \sqrt{ \mathrm{E} \lVert y - h(x) \rVert^2 } \le (2 n)^{1/4} \sqrt{e + e^2 / 2} \, \Delta

    with e of `relative_defect`. The Procrustes solution attains it; the proof compares the roots of
    two Gram matrices by the inequality of Powers and Størmer.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Powers and Størmer (1970). Free states of the canonical anticommutation relations.
    Communications in Mathematical Physics 16, 1-33.

    Examples
    --------
    >>> from upto.theory import rigid_mean_promise
    >>> round(float(rigid_mean_promise(0.01, n_dimensions=8, diameter=1.0)), 4)
    0.285
    """
    changed = stitched(lipschitz, second_lipschitz, diameter)
    return changed.mean("Theorem 1, mean square", n_dimensions)


def rigid_promise_from_defect(
    defect: float, *, n_dimensions: int, diameter: float, n_flat: int | None = None
) -> Promise:
    r"""Return the bound on the worst error from a measured near-isometry defect.

    It requires neither decoders nor convexity, only that no distance between two rows changes by
    more than the defect from one run to the other.

    Parameters
    ----------
    defect
        δ, the largest change of a distance between two rows.
    n_dimensions, diameter, n_flat
        Same as in `rigid_promise`, for the first run.

    Returns
    -------
    Promise
        The bound on the worst error.

    See Also
    --------
    rigid_promise : The bound from the constants of two decoders.
    rigid_mean_promise_from_defect : The same for the root mean square error.
    isometry_constant : The constant c.

    Notes
    -----
    With e = δ/Δ and c of `isometry_constant`, the best rigid motion h has

    .. math::

        \lVert y - h(x) \rVert \le c \sqrt{e} \, \Delta = c \sqrt{\delta \Delta}

    No rigid motion can have a worst error below δ/2, since it changes no distance.

    References
    ----------
    Alestalo et al. (2001). Isometric approximation. Israel Journal of Mathematics 125.

    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import rigid_promise_from_defect
    >>> promise = rigid_promise_from_defect(0.001, n_dimensions=2, diameter=1.0)
    >>> round(float(promise), 4), promise.is_vacuous
    (0.1639, False)
    """
    changed = measured(defect, diameter)
    return changed.worst("Lemma A.4 with our constant", n_dimensions, n_flat)


def rigid_mean_promise_from_defect(defect: float, *, n_dimensions: int, diameter: float) -> Promise:
    r"""Return the bound on the root mean square error from a measured defect.

    Parameters
    ----------
    defect, n_dimensions, diameter
        Same as in `rigid_promise_from_defect`.

    Returns
    -------
    Promise
        The bound on the root mean square error.

    See Also
    --------
    rigid_promise_from_defect : The bound on the worst error, with the meaning of the defect.
    rigid_mean_promise : The same from the constants of two decoders.

    Notes
    -----
    With e = δ/Δ, the best rigid motion h has

    .. math::

        \sqrt{ \mathrm{E} \lVert y - h(x) \rVert^2 } \le (2 n)^{1/4} \sqrt{e + e^2 / 2} \, \Delta

    References
    ----------
    Powers and Størmer (1970). Free states of the canonical anticommutation relations.
    Communications in Mathematical Physics 16, 1-33.

    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import rigid_mean_promise_from_defect
    >>> promise = rigid_mean_promise_from_defect(0.001, n_dimensions=2, diameter=1.0)
    >>> round(float(promise), 4)
    0.0447
    """
    return measured(defect, diameter).mean("Lemma A.4 in mean square", n_dimensions)
