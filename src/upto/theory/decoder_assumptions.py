"""Check assumptions F1 to F4 on a network with (leaky) ReLUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.theory.exact import layer_residues, piece_loses_rank
from upto.theory.hierarchy import Assumption
from upto.theory.piecewise import PiecewiseNetwork, certify_injective, column_rank
from upto.theory.segments import scalar_preimages

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_SAME = 1e-9
"""Relative distance below which images are equal and above which latents are distinct."""
_APART = 1e-6
_HALVINGS = 40
_ILL_CONDITIONED = 1e8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Preimages:
    """Result of a search for second preimages of f(z) at some latents z.

    Parameters
    ----------
    n_points
        Number of latents.
    n_pieces
        Number of affine pieces that contain them; only these were searched.
    n_deficient
        Number of latents at which f is constant along some direction.
    n_shared
        Number of the other latents whose image has a further preimage.
    example
        Two latents with one image, the farthest apart found; None if there are none.

    See Also
    --------
    find_preimages : Returns it.
    """

    n_points: int
    n_pieces: int
    n_deficient: int
    n_shared: int
    example: tuple[Float, Float] | None


def check_decoder(
    network: PiecewiseNetwork,
    latents: ArrayLike | None = None,
    *,
    n_points: int = 256,
    seed: int = 0,
) -> tuple[Assumption, ...]:
    """Check assumptions F1 to F4 and continuity on a network.

    F1 and continuity hold by construction. Injectivity is decided from the weights if possible;
    for a scalar latent it is decided exactly, piece by piece. Otherwise second preimages are
    searched for: finding one refutes injectivity, finding none proves nothing.

    Parameters
    ----------
    network
        The decoder.
    latents
        Latents to test, one per row, drawn from a law with a density such as the fitted mixture, so
        that a finding at one of them holds on a set of positive measure. By default `n_points`
        standard normal ones.
    n_points
        Number of latents to draw.
    seed
        Seed of the random number generator.

    Returns
    -------
    The checks of F1, F2, F3, F4 and continuity.

    Raises
    ------
    InputError
        If `network` is not a `PiecewiseNetwork`, or latents do not fit it.

    See Also
    --------
    what_is_identified : Takes these checks.
    certify_injective : The decision from the weights alone.
    find_preimages : The search.
    PiecewiseNetwork : The decoder.

    References
    ----------
    Kivva et al. (2022). Identifiability of deep generative models without auxiliary information.
    Advances in Neural Information Processing Systems.

    Puthawala et al. (2022). Globally injective ReLU networks. Journal of Machine Learning Research
    23.

    Examples
    --------
    >>> from upto.theory import PiecewiseNetwork, check_decoder
    >>> absolute = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]])
    >>> [(check.name, check.holds) for check in check_decoder(absolute)]
    [('F1', True), ('F2', False), ('F3', False), ('F4', False), ('continuous', True)]
    """
    _refuse_others(network)
    if latents is not None:
        latents = _as_latents(latents, network.n_inputs)
    kind = "leaky ReLUs" if network.leak else "ReLUs"
    always = f"affine layers and {kind}, by construction"
    injective, reason = certify_injective(network)
    if injective:
        weak, observable, full = (
            Assumption(name=name, holds=True, evidence=reason) for name in ("F2", "F3", "F4")
        )
    elif injective is False:
        # Every piece is constant along a direction, so none of its images has a unique preimage.
        evidence = f"{reason}, so preimages are infinite"
        weak, observable, full = (
            Assumption(name=name, holds=False, evidence=evidence) for name in ("F2", "F3", "F4")
        )
    elif network.n_inputs == 1:
        weak, observable, full = _scalar_checks(network)
    else:
        if latents is None:
            latents = random_stream(seed, "latents").normal(size=(n_points, network.n_inputs))
        weak, observable, full = _searched_checks(find_preimages(network, latents), reason)
    return (
        Assumption(name="F1", holds=True, evidence=always),
        weak,
        observable,
        full,
        Assumption(name="continuous", holds=True, evidence=always),
    )


def find_preimages(network: PiecewiseNetwork, latents: ArrayLike) -> Preimages:
    """Search every piece that contains a latent for further preimages of every f(z).

    A piece with matrix A and offset a has a single candidate, A⁺(f(z) - a), which is a preimage if
    the network maps it to f(z). If f is constant along a direction, a step along it is one.

    Parameters
    ----------
    network
        The decoder.
    latents
        Latents to test, one per row.

    Returns
    -------
    Preimages
        How many images have a further preimage, and an example.

    Raises
    ------
    InputError
        If latents do not fit the network.

    See Also
    --------
    check_decoder : Uses it where weights do not decide.
    certify_injective : The decision from the weights alone.

    Notes
    -----
    On the piece with activation pattern s the network is :math:`f(z) = A_s z + a_s`. The candidate
    for an image x is

    .. math::

        z_s = A_s^{+} (x - a_s)

    with the pseudo-inverse, and it counts if :math:`f(z_s) = x` and it is not z itself. Pieces that
    are too ill-conditioned for this to be a proof, and pieces without a latent, are not searched.

    Examples
    --------
    >>> from upto.theory import PiecewiseNetwork, find_preimages
    >>> absolute = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]])
    >>> found = find_preimages(absolute, [[-2.0], [3.0]])
    >>> found.n_shared, found.n_deficient
    (2, 0)
    """
    width = network.n_inputs
    points = _as_latents(latents, width)
    images = network(points)
    size = float(np.abs(images).max()) or 1.0
    patterns, owner = np.unique(network.pattern(points), axis=0, return_inverse=True)
    owner = owner.ravel()
    deficient = np.zeros(len(points), dtype=bool)
    shared = np.zeros(len(points), dtype=bool)
    furthest, example = 0.0, None
    residues = layer_residues(network)
    for number, pattern in enumerate(patterns):
        linear, offset = network.piece(pattern)
        is_deficient = column_rank(linear) < width and piece_loses_rank(network, pattern, residues)
        if not is_deficient and not np.linalg.cond(linear) <= _ILL_CONDITIONED:
            # Images of distant latents differ only by rounding, so none is a proof.
            continue
        if is_deficient:
            deficient |= owner == number
            sources = np.flatnonzero(owner == number)
            candidates = _step_unseen(network, linear, points[sources])
        else:
            sources = np.flatnonzero(owner != number)
            candidates = (images[sources] - offset) @ np.linalg.pinv(linear).T
        same = np.abs(network(candidates) - images[sources]).max(axis=1) <= _SAME * size
        away = np.linalg.norm(candidates - points[sources], axis=1)
        apart = away > _APART * (1.0 + np.linalg.norm(points[sources], axis=1))
        hits = np.flatnonzero(same & apart)
        shared[sources[hits]] = True
        if len(hits) and away[hits].max() > furthest:
            best = hits[np.argmax(away[hits])]
            furthest = float(away[best])
            example = points[sources[best]], candidates[best]
    return Preimages(
        n_points=len(points),
        n_pieces=len(patterns),
        n_deficient=int(deficient.sum()),
        n_shared=int(np.sum(shared & ~deficient)),
        example=example,
    )


def _refuse_others(network: object) -> None:
    if not isinstance(network, PiecewiseNetwork):
        message = (
            f"a {type(network).__name__} is not a PiecewiseNetwork: give its weights, as "
            "PiecewiseNetwork(weights=…, biases=…, leak=…)."
        )
        raise InputError(message)


def _as_latents(latents: ArrayLike, width: int) -> Float:
    try:
        points = np.asarray(latents)
    except ValueError:
        points = np.empty(0, dtype=object)
    if points.dtype.kind not in "fiub" or points.ndim != 2 or points.shape[1:] != (width,):
        message = f"latents of shape {points.shape} do not fit {width} inputs: give n×{width}."
        raise InputError(message)
    if not len(points) or not np.isfinite(points).all():
        message = f"{len(points)} latents are not all finite: give one or more finite ones."
        raise InputError(message)
    return points.astype(np.float64)


def _step_unseen(network: PiecewiseNetwork, linear: Float, points: Float) -> Float:
    """Move points along a direction in which their piece is constant, within the piece."""
    direction = np.linalg.svd(linear)[2][-1]
    here = network.pattern(points)
    moved = points.copy()
    waiting = np.ones(len(points), dtype=bool)
    for halving in range(_HALVINGS):
        candidates = points + direction * 2.0**-halving
        arrived = waiting & (network.pattern(candidates) == here).all(axis=1)
        moved[arrived] = candidates[arrived]
        waiting &= ~arrived
    return moved


def _searched_checks(found: Preimages, reason: str) -> tuple[Assumption, Assumption, Assumption]:
    total, pieces = found.n_points, found.n_pieces
    single = total - found.n_deficient - found.n_shared
    searched = f"{pieces} affine pieces around {total} latents"
    weak = (
        f"evidence only: {single} of {total} images have no second preimage in {searched}, and f "
        f"is constant along a direction at {found.n_deficient}"
    )
    observable = f"evidence only: no overlap of images found in {searched}"
    if found.n_shared:
        observable = f"{found.n_shared} of {total} images have a second preimage in {searched}"
    full = f"evidence only: no second preimage found in {searched}; {reason}"
    if found.example is not None:
        first, second = (np.array2string(each[:4], precision=4) for each in found.example)
        more = " (first 4 coordinates)" if len(found.example[0]) > 4 else ""
        full = f"latents {first} and {second}{more} have one image"
    elif found.n_deficient:
        full = f"f is constant along a direction at {found.n_deficient} of {total} latents"
    refuted = found.example is not None or found.n_deficient > 0
    return (
        Assumption(name="F2", holds=None, evidence=weak),
        Assumption(name="F3", holds=False if found.n_shared else None, evidence=observable),
        Assumption(name="F4", holds=False if refuted else None, evidence=full),
    )


def _scalar_checks(network: PiecewiseNetwork) -> tuple[Assumption, Assumption, Assumption]:
    found = scalar_preimages(network)
    if not found.is_exact:
        evidence = (
            "not decided: with weights of such different sizes, rounding may change which of "
            f"{found.n_pieces} pieces overlap"
        )
        return (
            Assumption(name="F2", holds=None, evidence=evidence),
            Assumption(name="F3", holds=None, evidence=evidence),
            Assumption(name="F4", holds=None, evidence=evidence),
        )
    pieces = f"decided on all {found.n_pieces} pieces of a scalar latent"
    weak = f"{pieces}: with an interval of single preimages {found.n_single}"
    observable = f"{pieces}: overlapping pairs {found.n_overlapping}, flat pieces {found.n_flat}"
    full = f"{observable}, pairs that meet in a point {found.n_crossing}"
    injective = found.n_overlapping == found.n_crossing == found.n_flat == 0
    return (
        Assumption(name="F2", holds=found.n_single > 0, evidence=weak),
        Assumption(
            name="F3",
            holds=found.n_overlapping == 0 and found.n_flat < found.n_pieces,
            evidence=observable,
        ),
        Assumption(name="F4", holds=injective, evidence=full),
    )
