"""The map between two representations, determined by their heads alone.

Two models of the same classes have ``C f + β = log p`` up to a constant in y, where the rows of C
are centred class vectors and β are centred biases. If their log-probabilities differ by δ, then

    C' f' + β' = C* f* + β* + δ

and, as soon as C' has full rank M, ``f' = A f* + b + C'⁺ δ`` with A = C'⁺ C* and b = C'⁺ (β* - β').
Nothing else is assumed: equal probabilities (δ = 0) make the representations equal up to A and b,
and log-probabilities within η leave them within ‖C'⁺‖ ‖δ‖. Without biases b = 0 and the map is
linear; with them it is affine, and K ≥ M + 1 classes still suffice: treating the bias as a further
coordinate would require one class more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.linalg

from upto.core import Constant, Group, InputError, Promise, finite_or_none
from upto.core.array_types import Float
from upto.theory.class_vectors import as_frequencies, as_head, centred_rank, centred_triangle
from upto.theory.differences import independent_differences
from upto.theory.valid_numbers import check_size, infinite_says_nothing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Method = Literal["least-squares", "pairs"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadMap:
    """The map ``f' = A f* + b`` from a first to a second representation.

    Parameters
    ----------
    matrix, shift
        A (M×M) and b (M); b is zero for heads without biases.
    method
        ``"least-squares"`` over all classes, or M ``"pairs"`` as in the proof of the theorem.
    condition
        Condition number of A; None if A is not invertible, as when the first head lacks diversity.
    spread
        Smallest singular value of the inverted matrix: the square root of the covariance of the
        second head's class vectors, or L'.
    amplification
        Largest ratio of the error of the representation to that of the log-probabilities.
    head_error
        Distance of the second head from ``A⁻ᵀ g* + const``: the norm of the difference after A,
        over that of the first head; zero for models with the same probabilities.
    bias_error
        Root mean square difference of the biases after the same map.

    See Also
    --------
    linear_map_between : Returns it.
    """

    matrix: Float
    shift: Float
    method: Method
    condition: float | None
    spread: float
    amplification: float
    head_error: float
    bias_error: float

    def apply(self, features: ArrayLike) -> Float:
        """Map representations of the first model, one per row, to those of the second."""
        rows = np.asarray(features, dtype=np.float64)
        return np.asarray(rows @ self.matrix.T + self.shift, dtype=np.float64)

    def apply_to_head(self, head: ArrayLike) -> Float:
        """Map class vectors of the first model to those of the second, up to a constant vector.

        Raises
        ------
        InputError
            If A is not invertible.
        """
        if self.condition is None:
            message = (
                f"the {len(self.matrix)}×{len(self.matrix)} map is not invertible, so class "
                "vectors cannot be mapped: the first head lacks diversity."
            )
            raise InputError(message)
        vectors = np.asarray(head, dtype=np.float64)
        return np.asarray(np.linalg.solve(self.matrix.T, vectors.T).T, dtype=np.float64)

    def promise(self, log_error: float, *, reach: float | None = None) -> Promise:
        """Bound the distance of the second representation from the mapped first one.

        Parameters
        ----------
        log_error
            Largest |log p'(y|x) - log p*(y|x)| over classes, η.
        reach
            Largest norm of f' about its mean, if known: a bound that holds without the theorem.

        Raises
        ------
        InputError
            If the error or the reach is not a number of at least zero.
        """
        error = check_size(log_error, "the error of log-probabilities")
        ceiling = None if reach is None else finite_or_none(check_size(reach, "the reach"))
        width = len(self.matrix)
        pairs = self.method == "pairs"
        meaning = (
            "smallest singular value of the differences L'"
            if pairs
            else "root of the smallest eigenvalue of the covariance of g'(y)"
        )
        constants = [
            Constant(
                symbol="η",
                value=finite_or_none(error),
                meaning="largest error of a log-probability",
            ),
            Constant(symbol="σ", value=self.spread, meaning=meaning),
            Constant(symbol="M", value=float(width), meaning="width of the representations"),
        ]
        promise = Promise(
            statement="Linear identifiability with noise (ours, after Roeder et al. 2021)",
            claim=(
                f"‖f'(x) − A f*(x) − b‖ ≤ {'2 η √M / σ' if pairs else 'η / σ'} wherever "
                "log-probabilities differ by at most η"
            ),
            up_to=Group.AFFINE,
            value=finite_or_none(self.amplification * error),
            ceiling=ceiling,
            constants=tuple(constants),
            condition=f"the second head has {width} independent differences: σ = {self.spread:.3g}",
            holds=True,
        )
        return infinite_says_nothing(promise)


def linear_map_between(
    first_head: ArrayLike,
    second_head: ArrayLike,
    *,
    first_bias: ArrayLike | None = None,
    second_bias: ArrayLike | None = None,
    frequencies: ArrayLike | None = None,
    method: Method = "least-squares",
) -> HeadMap:
    r"""Return the map ``f' = A f* + b`` between the representations below two heads.

    Parameters
    ----------
    first_head, second_head
        K×M class vectors g* and g', one row per class, with classes in the same order.
    first_bias, second_bias
        One number per class; None for heads without biases.
    frequencies
        Weight of each class in the least squares; equal by default.
    method
        ``"least-squares"`` uses all classes; ``"pairs"`` is A = (L* L'⁻¹)ᵀ of the proof, with M
        differences chosen from the second head. They agree if the probabilities do; with noise,
        least squares is more accurate.

    Returns
    -------
    HeadMap
        The map, with the distance of the mapped heads from each other.

    Raises
    ------
    InputError
        If the heads do not fit each other or the second one lacks diversity.

    See Also
    --------
    head_diversity : Whether a head determines its representation.
    upto.compare : The map fitted to rows instead of derived from heads.

    Notes
    -----
    With C the K×M matrix of centred class vectors of a head and β its centred biases, equal
    probabilities mean :math:`C' f' + \beta' = C^* f^* + \beta^*`. So

    .. math::

        A = C'^{+} C^*, \qquad b = C'^{+} (\beta^* - \beta')

    where ⁺ is the pseudo-inverse, weighted by the frequencies. If log-probabilities differ by at
    most η, the mapped representation is within η/σ of the other, with σ the root of the smallest
    eigenvalue of the covariance of g′: `HeadMap.promise`.

    References
    ----------
    Roeder et al. (2021). On linear identifiability of learned representations. International
    Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.theory import linear_map_between
    >>> rng = np.random.default_rng(0)
    >>> head, turn = rng.normal(size=(10, 3)), rng.normal(size=(3, 3))
    >>> found = linear_map_between(head, head @ np.linalg.inv(turn))
    >>> bool(np.allclose(found.matrix, turn))
    True
    """
    first, second = as_head(first_head, "the first head"), as_head(second_head, "the second head")
    if first.shape != second.shape:
        message = (
            f"heads of shape {first.shape} and {second.shape} have no map between them: give the "
            "same classes and the same width."
        )
        raise InputError(message)
    if method not in ("least-squares", "pairs"):
        message = f"{method!r} is neither 'least-squares' nor 'pairs'."
        raise InputError(message)
    n_classes, width = first.shape
    shares = as_frequencies(frequencies, n_classes)
    occurring = np.flatnonzero(shares)
    # Biases of the first head minus those of the second, which the shift compensates.
    biases = _bias(first_bias, n_classes) - _bias(second_bias, n_classes)
    first, second, biases = first[occurring], second[occurring], biases[occurring]
    rank = centred_rank(second)
    if rank < width:
        message = (
            f"the second head has {rank} independent differences among {len(second)} classes and "
            f"needs {width}: its representation is not determined by its probabilities."
        )
        raise InputError(message)
    # One factorisation of [C' C* β* - β'] gives the least-squares solution and its residual.
    triangle = centred_triangle([second, first, biases[:, None]], shares[occurring])
    if method == "pairs":
        matrix, shift, spread = _from_pairs(first, second, biases)
        amplification = 2 * np.sqrt(width) / spread
    else:
        square = triangle[:width, :width]
        solved = scipy.linalg.solve_triangular(square, triangle[:width, width:])
        matrix, shift = solved[:, :width], solved[:, width]
        spread = float(scipy.linalg.svdvals(square)[-1])
        amplification = 1 / spread
    # R [A; -1] has the norm of C' A - C*, for either method.
    left = triangle[:, :width] @ matrix - triangle[:, width : 2 * width]
    left_bias = triangle[:, :width] @ shift - triangle[:, 2 * width]
    scale = float(np.linalg.norm(triangle[:, width : 2 * width]))
    values = scipy.linalg.svdvals(matrix)
    singular = values[-1] <= values[0] * width * np.finfo(np.float64).eps
    return HeadMap(
        matrix=matrix,
        shift=shift,
        method=method,
        condition=None if singular else float(values[0] / values[-1]),
        spread=spread,
        amplification=float(amplification),
        head_error=float(np.linalg.norm(left)) / scale if scale else 0.0,
        bias_error=float(np.linalg.norm(left_bias)),
    )


def _from_pairs(first: Any, second: Any, biases: Float) -> tuple[Float, Float, float]:
    base, chosen = independent_differences(second)
    # One row per pair: these are L'ᵀ and L*ᵀ of the paper.
    ours = np.asarray(second[chosen], dtype=np.float64) - second[base]
    theirs = np.asarray(first[chosen], dtype=np.float64) - first[base]
    matrix = np.linalg.solve(ours, theirs)
    shift = np.linalg.solve(ours, biases[chosen] - biases[base])
    return matrix, shift, float(scipy.linalg.svdvals(ours)[-1])


def _bias(bias: ArrayLike | None, n_classes: int) -> Float:
    if bias is None:
        return np.zeros(n_classes)
    values = np.asarray(bias, dtype=np.float64)
    if values.shape != (n_classes,) or not np.isfinite(values).all():
        message = (
            f"a bias of shape {values.shape} does not fit {n_classes} classes: give one finite "
            "number for each."
        )
        raise InputError(message)
    return values
