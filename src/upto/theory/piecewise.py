"""Networks of affine layers and (leaky) ReLUs: affine pieces and injectivity.

Two facts are used. A leaky ReLU is a bijection, so a leaky network whose weights all have full
column rank is injective. And ``x ↦ ReLU(W x + b)`` is injective if and only if, at every u, the
rows w_i with w_i·u + b_i ≥ 0 span the input space. If they do and two points x, y have one image,
every row that is active at u = (x + y)/2 is either active at one of them, hence equal at both, or
zero at both; so it annihilates x - y, which is therefore zero. If they do not at some u, a small
step orthogonal to all of them changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float
from upto.theory.exact import are_opposite, leave_no_gap, loses_rank
from upto.theory.precision import rounding_norm, stored_precision
from upto.theory.spectrum import noise_directions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray


_NEARLY = 1e-9
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
_ILL_CONDITIONED = 1e8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PiecewiseNetwork:
    """A decoder made of affine layers with a ReLU or leaky ReLU between them.

    Parameters
    ----------
    weights
        One matrix per layer, outputs × inputs.
    biases
        One vector per layer; zero by default.
    leak
        Slope of the activation below zero: zero for a ReLU, one for the identity.
    activated_output
        Whether the last layer is followed by the activation too.

    See Also
    --------
    check_decoder : Which assumptions it satisfies.
    certify_injective : Whether it is injective.
    mixture_likelihood : Density of its images of a mixture.
    certify_network : Its bi-Lipschitz constant, from the same weights.

    Examples
    --------
    >>> from upto.theory import PiecewiseNetwork
    >>> absolute = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]])
    >>> absolute([[-2.0], [3.0]]).ravel().tolist()
    [2.0, 3.0]
    """

    weights: tuple[Float, ...]
    biases: tuple[Float, ...] = ()
    leak: float = 0.0
    activated_output: bool = False

    def __post_init__(self) -> None:
        weights = tuple(_as_numbers(each, "weights") for each in self.weights)
        biases = tuple(_as_numbers(each, "biases") for each in self.biases)
        if not biases:
            biases = tuple(np.zeros(each.shape[:1]) for each in weights)
        _refuse_misfits(weights, biases, self.leak)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "biases", biases)

    @property
    def layers(self) -> tuple[tuple[Float, Float], ...]:
        """Matrix and offset of each layer."""
        return tuple(zip(self.weights, self.biases, strict=True))

    @property
    def n_inputs(self) -> int:
        """Number m of latent coordinates."""
        return int(self.layers[0][0].shape[1])

    @property
    def n_outputs(self) -> int:
        """Number n of outputs."""
        return len(self.layers[-1][0])

    @property
    def narrowest(self) -> int:
        """Width of the narrowest layer."""
        return min(len(matrix) for matrix, _ in self.layers)

    def is_activated(self, layer: int) -> bool:
        """Return whether the activation follows a layer."""
        return layer < len(self.layers) - 1 or self.activated_output

    def __call__(self, latents: ArrayLike) -> Float:
        """Map latents, one per row."""
        rows = np.asarray(latents, dtype=np.float64)
        for number, (matrix, offset) in enumerate(self.layers):
            rows = rows @ matrix.T + offset
            if self.is_activated(number):
                rows = np.where(rows > 0, rows, self.leak * rows)
        return rows

    def pattern(self, latents: ArrayLike) -> NDArray[np.bool_]:
        """Return which units are active at each latent; equal patterns are in one piece."""
        rows = np.asarray(latents, dtype=np.float64)
        found = [np.empty((len(rows), 0), dtype=bool)]
        for number, (matrix, offset) in enumerate(self.layers):
            rows = rows @ matrix.T + offset
            if self.is_activated(number):
                found.append(rows > 0)
                rows = np.where(rows > 0, rows, self.leak * rows)
        return np.hstack(found)

    def piece(self, pattern: NDArray[np.bool_]) -> tuple[Float, Float]:
        """Return the matrix and offset of f on the piece with an activation pattern."""
        linear, shift = np.eye(self.n_inputs), np.zeros(self.n_inputs)
        start = 0
        for number, (matrix, offset) in enumerate(self.layers):
            linear, shift = matrix @ linear, matrix @ shift + offset
            if self.is_activated(number):
                active = pattern[start : start + len(matrix)]
                slope = np.where(active, 1.0, self.leak)
                linear, shift = slope[:, None] * linear, slope * shift
                start += len(matrix)
        return linear, shift


def certify_injective(network: PiecewiseNetwork) -> tuple[bool | None, str]:
    r"""Decide from the weights alone, if possible, whether a network is injective.

    Parameters
    ----------
    network
        The network.

    Returns
    -------
    True, False, or None if the weights do not decide, and the reason.

    See Also
    --------
    check_decoder : Searches for counterexamples where weights do not decide.
    certify_network : Its bi-Lipschitz constant.

    Notes
    -----
    A leaky network whose weights all have full column rank is injective. A layer
    :math:`x \mapsto \mathrm{ReLU}(W x + b)` is injective if and only if at every u the active rows,
    those with :math:`w_i \cdot u + b_i \ge 0`, span the input space; this is shown by pairs of
    opposite rows of which one is always active.

    References
    ----------
    Puthawala et al. (2022). Globally injective ReLU networks. Journal of Machine Learning Research
    23.

    Examples
    --------
    >>> from upto.theory import PiecewiseNetwork, certify_injective
    >>> rows = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> certify_injective(PiecewiseNetwork(weights=[rows], activated_output=True))[0]
    True
    >>> certify_injective(PiecewiseNetwork(weights=[rows[:3]], activated_output=True))[0] is None
    True
    """
    width = network.n_inputs
    if network.narrowest < width:
        return (
            False,
            f"a layer of {network.narrowest} units cannot represent {width} latent coordinates",
        )
    rank = column_rank(network.layers[0][0])
    if rank < width and loses_rank(network.layers[0][0]):
        return (
            False,
            f"the first layer has rank {rank} and is constant along {width - rank} directions",
        )
    if rank < width:
        return None, f"the first layer has rank {width}, but {rank} up to rounding"
    for number, reason in _doubts(network):
        return None, f"layer {number + 1} {reason}, which does not decide"
    kind = "leaky ReLU" if network.leak else "ReLU"
    return True, f"each layer of this {kind} network is injective; it has {len(network.layers)}"


def column_rank(matrix: Float) -> int:
    """Return the rank of a matrix at the rounding of its entries."""
    return int(np.linalg.matrix_rank(matrix))


def slight_margin(matrix: Float) -> str:
    """Return why a matrix may have full column rank by accident; empty if it may not.

    Weights that were rounded for storage have full rank even if they had not before. The criteria
    are those for heads: precision, condition number, and a separate group of singular values.
    """
    values = np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)
    smallest, largest = float(values[-1]), float(values[0])
    precision = stored_precision(matrix)
    rounding = rounding_norm(matrix, precision)
    if smallest <= rounding:
        return (
            f"has full rank by a singular value of {smallest:.2g}, and rounding to "
            f"{precision.name} can cause {rounding:.2g}"
        )
    if largest > _ILL_CONDITIONED * smallest:
        return (
            f"has full rank with a condition number of {largest / smallest:.2g}, above "
            f"{_ILL_CONDITIONED:.0e}, which noise can cause"
        )
    if apart := noise_directions(values, len(matrix)):
        return (
            f"has full rank, but the smallest {apart} of {len(values)} singular values lie apart "
            "from the others, as those of rounding or noise do"
        )
    return ""


def always_active_span(matrix: Float, offset: Float) -> int:
    """Return the number of directions to which a ReLU layer is sensitive at every point.

    It is the rank of `always_active_rows`.
    """
    kept = always_active_rows(matrix, offset)
    lengths = np.linalg.norm(kept, axis=1)
    return column_rank(kept / lengths[:, None]) if len(kept) else 0


def always_active_rows(matrix: Float, offset: Float) -> Float:
    """Return rows of a ReLU layer whose rank is a lower bound on that of active rows anywhere.

    A row w with bias b and a row -c w with bias b', c > 0, are never both inactive if and only if
    b + b'/c ≥ 0. If the rank of all such rows is the number of inputs, the layer is injective. Both
    are tested exactly: rows that are only nearly opposite are both inactive far out.
    """
    kept = {
        first
        for first, second in _nearly_opposite(matrix, offset)
        if are_opposite(matrix[first], matrix[second])
        and leave_no_gap(matrix[first], offset[first], matrix[second], offset[second])
    }
    return matrix[sorted(kept)]


def _nearly_opposite(matrix: Float, offset: Float) -> list[tuple[int, int]]:
    """Return pairs of rows that are opposite, and leave no gap, up to rounding.

    Entries are compared one by one: a zero in one row must be a zero in the other.
    """
    norms = np.linalg.norm(matrix, axis=1)
    alive = np.flatnonzero(norms > 0)
    units = matrix[alive] / norms[alive, None]
    levels = offset[alive] / norms[alive]
    both = levels[:, None] + levels[None]
    covered = both >= -_ROUNDING * (np.abs(levels[:, None]) + np.abs(levels[None]))
    first, second = (alive[each] for each in np.nonzero((units @ units.T < -1 + _NEARLY) & covered))
    rows, others = matrix[first], matrix[second]
    largest = np.abs(rows).argmax(axis=1)[:, None]
    ratios = np.take_along_axis(others, largest, axis=1) / np.take_along_axis(rows, largest, axis=1)
    near = (np.abs(others - ratios * rows) <= _ROUNDING * np.abs(others)).all(axis=1)
    near &= ratios[:, 0] < 0.0
    return list(zip(first[near].tolist(), second[near].tolist(), strict=True))


def _doubts(network: PiecewiseNetwork) -> Iterator[tuple[int, str]]:
    """Yield the layers that are not known to be injective on all inputs, with the reason."""
    for number, (matrix, offset) in enumerate(network.layers):
        inputs = matrix.shape[1]
        seen = matrix
        if network.is_activated(number) and network.leak == 0:
            seen = always_active_rows(matrix, offset)
            span = always_active_span(matrix, offset)
            if span < inputs:
                reason = f"is certainly sensitive to {span} of {inputs} directions at every point"
                rounded = len(_nearly_opposite(matrix, offset)) // 2 - len(seen) // 2
                if rounded > 0:
                    reason += f", and {rounded} pairs of rows are opposite up to rounding"
                yield number, reason
                continue
        elif (rank := column_rank(matrix)) < inputs:
            yield number, f"has rank {rank} for {inputs} inputs"
            continue
        if reason := slight_margin(seen):
            yield number, reason


def _as_numbers(values: Any, name: str) -> Float:
    try:
        found = np.asarray(values)
    except ValueError:
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in "fiub":
        message = f"{name} of a layer are not an array of real numbers: give one row per output."
        raise InputError(message)
    return found.astype(np.float64)


def _refuse_misfits(weights: tuple[Float, ...], biases: tuple[Float, ...], leak: Any) -> None:
    if not isinstance(leak, Real) or not 0.0 <= float(leak) <= 1.0:
        message = f"a leak of {leak!r} is not between zero and one: give the slope below zero."
        raise InputError(message)
    shapes = ", ".join(str(each.shape) for each in (*weights, *biases))
    fits = bool(weights) and all(each.ndim == 2 and each.size for each in weights)
    fits = fits and [each.shape for each in biases] == [(len(each),) for each in weights]
    if not fits or any(len(one) != two.shape[1] for one, two in pairwise(weights)):
        message = (
            f"weights and biases of shapes {shapes} do not match: give outputs × inputs "
            "and one bias per output."
        )
        raise InputError(message)
    if not all(np.isfinite(each).all() for each in (*weights, *biases)):
        message = "the network has weights that are not finite: give numbers."
        raise InputError(message)
