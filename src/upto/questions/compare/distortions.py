"""Bi-Lipschitz constants of the decoders of two runs: given, measured before or measured now."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto import LipschitzResult
    from upto.core import Embeddings, Progress

    Stretch: TypeAlias = float | LipschitzResult
    """L of a decoder, or the result of `lipschitz` for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortion:
    """Deviation of a decoder from an isometry.

    `lipschitz` is L, the excess of its bi-Lipschitz constant over one; `smallest` and `largest`
    bound its singular values, None if only L is known. `known` describes the source of L.
    """

    lipschitz: float
    smallest: float | None = None
    largest: float | None = None
    known: str = "user-specified"


def find_distortions(
    runs: Sequence[Embeddings],
    *,
    lipschitz: Stretch | Sequence[Stretch] | None,
    decoders: Sequence[Any] | None,
    seed: int,
    progress: Progress,
) -> tuple[Distortion, Distortion] | None:
    """Return L of the decoders of two runs, measured at the rows if decoders are passed."""
    if lipschitz is None and decoders is None:
        return None
    if lipschitz is not None and decoders is not None:
        message = "lipschitz and decoders were both given: pass one of them."
        raise InputError(message)
    if len(runs) != 2:
        message = f"bounds are for two runs, but there are {len(runs)}: compare them two at a time."
        raise InputError(message)
    if decoders is not None:
        given = _two(list(decoders), "decoders")
        return _measured(runs, given, seed=seed, progress=progress)
    one = isinstance(lipschitz, Real | str) or _is_measured(lipschitz)
    first, second = _two([lipschitz] * 2 if one else list(lipschitz), "lipschitz")  # type: ignore[arg-type]
    return _distortion(first), _distortion(second)


def _two(given: list[Any], what: str) -> list[Any]:
    if len(given) != 2:
        count = f"{len(given)} entr{'y' if len(given) == 1 else 'ies'}"
        message = f"{what} has {count} for 2 runs: pass one per run."
        raise InputError(message)
    return given


def _measured(
    runs: Sequence[Embeddings], decoders: list[Any], *, seed: int, progress: Progress
) -> tuple[Distortion, Distortion]:
    # Questions import each other only through the public interface.
    from upto import lipschitz

    first, second = (
        _distortion(lipschitz(run, decoder=decoder, seed=seed, progress=progress))
        for decoder, run in zip(decoders, runs, strict=True)
    )
    return first, second


def _refuse_lower_bound(found: LipschitzResult) -> None:
    """Reject an L that is only a lower bound, which gives no bound on errors."""
    if found.is_exact:
        return
    if found.method == "neighbours":
        message = (
            f"L of {found.latents} was measured from outputs, which is only a lower bound, but the "
            "theorems need an upper bound: measure the decoder itself, or pass L as a number."
        )
        raise InputError(message)
    unsettled = sum(not point.settled for point in found.points)
    message = (
        f"L of {found.decoder} is only a lower bound at {unsettled} of {found.n_points} points: "
        "measure it with more steps, or pass L as a number."
    )
    raise InputError(message)


def _is_measured(given: object) -> TypeGuard[LipschitzResult]:
    from upto import LipschitzResult

    return isinstance(given, LipschitzResult)


def _distortion(given: Any) -> Distortion:
    if _is_measured(given):
        _refuse_lower_bound(given)
        smallest = min(point.smallest for point in given.points)
        largest = max(point.largest for point in given.points)
        if given.secants is not None:
            smallest = min(smallest, given.secants.smallest)
            largest = max(largest, given.secants.largest)
        return Distortion(
            lipschitz=max(largest, 1.0 / smallest if smallest > 0.0 else np.inf) - 1.0,
            smallest=smallest,
            largest=largest,
            known=f"the largest at {given.n_points:,} points and over their pairs, not proved "
            "elsewhere",
        )
    if isinstance(given, bool | str) or not isinstance(given, Real) or not float(given) >= 0.0:
        message = (
            f"L is {given!r}, but it is the excess of a bi-Lipschitz constant over one: pass a "
            "number of at least 0 (0 for an isometry)."
        )
        raise InputError(message)
    return Distortion(lipschitz=float(given))
