"""Appendix A.4: bi-Lipschitz constants from singular values of the Jacobian."""

from __future__ import annotations

import math

from upto.core import Constant, InputError, Promise, finite_or_none
from upto.theory.valid_numbers import check_size, infinite_says_nothing


def lipschitz_from_singular_values(smallest: float, largest: float) -> Promise:
    r"""Return the local bi-Lipschitz constant Λ from the extreme singular values.

    Its constants include L = Λ - 1, the input of `rigid_promise`, and Λ up to a global scale of the
    output.

    Parameters
    ----------
    smallest, largest
        Extreme singular values of the Jacobian over all points.

    Returns
    -------
    Promise
        Λ, with the constants ``L`` and ``Λ scaled``.

    See Also
    --------
    lipschitz_from_isometry : The same from one bound on their deviation from one.
    certify_network : The same from the weights of a network.
    upto.lipschitz : Measures singular values of a decoder.
    rigid_promise : Takes L.

    Notes
    -----
    A map is locally Λ-bi-Lipschitz if near every point distances change by a factor between 1/Λ and
    Λ:

    .. math::

        \Lambda = \max(\sigma_+, 1 / \sigma_-), \qquad L = \Lambda - 1, \qquad
        \Lambda_{\mathrm{scaled}} = \sqrt{\sigma_+ / \sigma_-}

    The last is the smallest Λ over all global scales of the output.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import lipschitz_from_singular_values
    >>> float(lipschitz_from_singular_values(0.5, 1.25))
    2.0
    """
    low = check_size(smallest, "the smallest singular value")
    high = check_size(largest, "the largest singular value")
    if low > high:
        message = (
            f"the smallest singular value, {low:g}, exceeds the largest, {high:g}: exchange them."
        )
        raise InputError(message)
    promise = Promise(
        statement="Appendix A.4",
        claim=LOCAL_CLAIM,
        value=finite_or_none(stretch := max(high, 1.0 / low if low > 0.0 else math.inf)),
        constants=(
            *stretch_constants(stretch, scaled_stretch(low, high)),
            Constant(symbol="σ₋", value=finite_or_none(low), meaning="smallest singular value"),
            Constant(symbol="σ₊", value=finite_or_none(high), meaning="largest singular value"),
        ),
        condition=f"all singular values of the Jacobian are between {low:.4g} and {high:.4g} at "
        "every point, the smaller of which must be more than 0",
        holds=low > 0.0,
    )
    return infinite_says_nothing(promise)


def lipschitz_from_isometry(deviation: float) -> Promise:
    r"""Return the local bi-Lipschitz constant under dynamical isometry.

    Parameters
    ----------
    deviation
        δ: all singular values of the Jacobian are between 1 - δ and 1 + δ.

    Returns
    -------
    Promise
        Λ, with the constants ``L``, ``Λ scaled`` and ``Λ of the paper``.

    See Also
    --------
    lipschitz_from_singular_values : The same from both extremes.
    rigid_promise : Takes L.

    Notes
    -----
    The smallest valid constant is 1/(1 - δ), as 1 + δ is never larger; the paper bounds the
    condition number instead:

    .. math::

        \Lambda = \frac{1}{1 - \delta}, \qquad
        \Lambda_{\mathrm{paper}} = \frac{1 + \delta}{1 - \delta}

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import lipschitz_from_isometry
    >>> promise = lipschitz_from_isometry(0.1)
    >>> round(float(promise), 6), round(promise.constant("Λ of the paper"), 6)
    (1.111111, 1.222222)
    """
    delta = check_size(deviation, "the deviation δ")
    sharp = 1.0 / (1.0 - delta) if delta < 1.0 else math.inf
    paper = (1.0 + delta) / (1.0 - delta) if delta < 1.0 else math.inf
    return Promise(
        statement="Appendix A.4",
        claim=LOCAL_CLAIM,
        value=finite_or_none(sharp),
        constants=(
            *stretch_constants(sharp, math.sqrt(paper)),
            Constant(
                symbol="Λ of the paper",
                value=finite_or_none(paper),
                meaning="(1 + δ)/(1 - δ), a bound on the condition number",
            ),
            Constant(
                symbol="δ",
                value=finite_or_none(delta),
                meaning="largest deviation of a singular value from one",
            ),
        ),
        condition=f"all singular values are within {delta:.4g} of one, which must be less than 1",
        holds=delta < 1.0,
    )


LOCAL_CLAIM = "Near every point, distances are neither stretched nor shrunk by more than this"


def scaled_stretch(smallest: float, largest: float) -> float:
    """Return the smallest Λ over global scales of the output."""
    if smallest <= 0.0 or math.isinf(largest):
        return math.inf
    return math.sqrt(largest / smallest)


def stretch_constants(stretch: float, scaled: float) -> tuple[Constant, ...]:
    """List a bi-Lipschitz constant, its excess, and its value after a global scale."""
    return (
        Constant(
            symbol="Λ",
            value=finite_or_none(stretch),
            meaning="local bi-Lipschitz constant, one for an isometry",
        ),
        Constant(
            symbol="L", value=finite_or_none(stretch - 1.0), meaning="its excess over one, Λ - 1"
        ),
        Constant(
            symbol="Λ scaled",
            value=finite_or_none(scaled),
            meaning="the same after the best global scale of the output, √(σ₊/σ₋)",
        ),
    )
