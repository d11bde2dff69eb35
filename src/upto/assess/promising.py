"""What the theorems promise for a pair, beside what was measured between the two runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.assess.prepare import ICA_TOLERANCE
from upto.assess.split import take_rows
from upto.core import (
    Constant,
    Finding,
    Group,
    InputError,
    Lipschitz,
    Promise,
    Promised,
    finite_or_none,
)
from upto.theory import (
    rigid_mean_promise,
    rigid_promise,
    rigid_promise_from_defect,
    unmixing_promise,
)
from upto.unmix import smallest_curvature
from upto.unmix.hessian import affordable_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.assess.pair import Pair
    from upto.assess.prepare import PreparedRun
    from upto.core import Comparison, Embeddings, Fit, Progress

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distortion:
    """How far a decoder is from an isometry.

    `lipschitz` is L, the excess of its bi-Lipschitz constant over one; `smallest` and `largest`
    bound its singular values, None where only L is known. `known` says where the numbers are from.
    """

    lipschitz: float
    smallest: float | None = None
    largest: float | None = None
    known: str = "as given"


def find_distortions(
    runs: Sequence[Embeddings],
    *,
    lipschitz: float | Lipschitz | Sequence[float | Lipschitz] | None,
    decoders: Sequence[Any] | None,
    seed: int,
    progress: Progress,
) -> tuple[Distortion, Distortion] | None:
    """Take what is known of the decoders of two runs, or measure them at the rows."""
    if lipschitz is None and decoders is None:
        return None
    if lipschitz is not None and decoders is not None:
        message = "lipschitz and decoders were both given: give one, for decoders are measured."
        raise InputError(message)
    if len(runs) != 2:
        message = (
            f"promises are for two runs, and there are {len(runs)}: compare them two at a time."
        )
        raise InputError(message)
    given: list[Any]
    if decoders is not None:
        given = list(decoders)
    else:
        one = isinstance(lipschitz, Lipschitz) or np.isscalar(lipschitz)
        given = [lipschitz, lipschitz] if one else list(lipschitz)  # type: ignore[arg-type]
    if len(given) != 2:
        what = "lipschitz" if decoders is None else "decoders"
        message = f"{what} has {len(given)} entries for 2 runs: give one for each."
        raise InputError(message)
    if decoders is not None:
        from upto.assess.geometry.stretching import lipschitz as measure_decoder

        given = [
            measure_decoder(run, decoder=decoder, seed=seed, progress=progress)
            for decoder, run in zip(given, runs, strict=True)
        ]
    first, second = (_distortion(each) for each in given)
    return first, second


def _distortion(given: float | Lipschitz) -> Distortion:
    if not isinstance(given, Lipschitz):
        number = float(given)
        if not number >= 0.0:
            message = (
                f"L is {given}, but it is the excess of a bi-Lipschitz constant over one: it is "
                "at least 0, and 0 for an isometry."
            )
            raise InputError(message)
        return Distortion(lipschitz=number)
    constant = given.worst.lipschitz
    return Distortion(
        lipschitz=np.inf if constant is None else constant - 1.0,
        smallest=min(point.smallest for point in given.points),
        largest=max(point.largest for point in given.points),
        known=f"the largest at {given.n_points:,} points and not proved elsewhere",
    )


def promises(
    pair: Pair, result: Comparison, distortions: tuple[Distortion, Distortion]
) -> tuple[tuple[Promised, ...], tuple[Finding, ...]]:
    """Set every theorem that applies to a pair beside what was measured, over the diameter."""
    found = [*_rigid(pair, result, distortions), *_similar(pair, result, distortions)]
    found += [_unchanged(pair, result), *_unmixed(pair, result, found[0].promise)]
    return tuple(found), tuple(_remarks(found))


def _rigid(
    pair: Pair, result: Comparison, distortions: tuple[Distortion, Distortion]
) -> list[Promised]:
    first, second = distortions
    known = f"L is {first.known}"
    if second.known != first.known:
        known += f" and {second.known}"
    worst, mean = (
        replace(promise, condition=f"{known}; {promise.condition}")
        for promise in _theorem_one(pair, first.lipschitz, second.lipschitz)
    )
    row = _row(result, "rigid")
    return [_worst(worst, row), _mean(mean, row)]


def _similar(
    pair: Pair, result: Comparison, distortions: tuple[Distortion, Distortion]
) -> list[Promised]:
    """Apply Theorem 1 to decoders that were rescaled to be as near to isometries as they can.

    A decoder with singular values from a to b is √(b/a)-bi-Lipschitz once it is divided by √(ab),
    and the quotient of the two scales is the scale of a similarity.
    """
    scales, excesses = [], []
    for each in distortions:
        if not each.smallest or not each.largest:
            return []
        scales.append(float(np.sqrt(each.smallest * each.largest)))
        excesses.append(float(np.sqrt(each.largest / each.smallest)) - 1.0)
    scale = scales[0] / scales[1]
    named = Constant(symbol="s", value=scale, meaning="scale of the similarity, from the decoders")
    worst, mean = (
        replace(
            promise,
            statement=f"{promise.statement}, rescaled",
            claim=promise.claim.replace("rigid motion", "rigid motion and one scale"),
            up_to=Group.SIMILARITY,
            constants=(*promise.constants, named),
        )
        for promise in _theorem_one(pair, *excesses, scale=scale)
    )
    row = _row(result, "similarity")
    return [_worst(worst, row), _mean(mean, row)]


def _theorem_one(
    pair: Pair, first: float, second: float, *, scale: float = 1.0
) -> tuple[Promise, Promise]:
    """Return the bounds on the worst and on the mean square error, in diameters of the target."""
    diameter = scale * pair.source.summary.diameter.upper / pair.extent
    return (
        rigid_promise(first, second_lipschitz=second, n_dimensions=pair.width, diameter=diameter),
        rigid_mean_promise(
            first, second_lipschitz=second, n_dimensions=pair.width, diameter=diameter
        ),
    )


def _unchanged(pair: Pair, result: Comparison) -> Promised:
    """Apply the lemma behind Theorem 1 to the distances themselves: it needs no decoder."""
    defect = result.defect
    promise = rigid_promise_from_defect(
        defect.value,
        n_dimensions=pair.width,
        diameter=pair.source.summary.diameter.upper / pair.extent,
        n_flat=pair.source.summary.rank,
    )
    if defect.n_rows < result.n_samples:
        promise = replace(
            promise,
            condition=f"{promise.condition}; measured on {defect.n_rows} of {result.n_samples} "
            "rows, and proved for these",
            holds=None,
        )
    return _worst(promise, _row(result, "rigid"))


def _unmixed(pair: Pair, result: Comparison, rigid: Promise) -> list[Promised]:
    """Apply Theorem 2 to the worst error that was measured, and to the one that is promised."""
    source, target = pair.source, pair.target
    row = _row(result, "ica")
    unmixing = source.unmixing_in_sample
    if row is None or unmixing is None or source.summary.n_features != target.summary.n_features:
        return []
    sample = take_rows(
        pair.engine,
        source.rows,
        pair.split.first_rows(affordable_rows(len(unmixing.components))),
    )
    found_curvature = smallest_curvature(pair.engine, sample, unmixing)
    # One component cannot turn, and theory takes its curvature as infinite.
    curvature = np.inf if found_curvature is None else found_curvature.value
    values = [_eigenvalues(run) for run in (source, target)]
    # Rank-deficient runs have fewer components than coordinates, and whitening is not defined.
    smallest = max(0.0, min(float(each[0]) for each in values))
    back = float(np.sqrt(values[1][-1])) / pair.extent
    measured = _row(result, "rigid")
    errors = {"Theorems 1 and 2": float(rigid)}
    if measured is not None and measured.supremum is not None:
        errors = {"Theorem 2, from the measured ε": measured.supremum.high} | errors
    found = []
    for statement, error in errors.items():
        promise = unmixing_promise(
            error * pair.extent,
            radius=max(run.summary.diameter.upper for run in (source, target)),
            smallest_eigenvalue=smallest,
            curvature=curvature / 2.0,
            curvature_at_optimum=curvature,
            n_dimensions=len(unmixing.components),
            translated=True,
        )
        found.append(
            Promised(
                promise=_mixed_again(promise, statement, back, len(unmixing.components)),
                measured=row.in_sample.worst,
                measured_as="worst row in sample after ICA",
            )
        )
    return found


def _mixed_again(promise: Promise, statement: str, back: float, n_components: int) -> Promise:
    """Take a bound on components of unit variance back to the coordinates of the target.

    The theorem is of stationary points; those found have gradients within the tolerance, and are
    turned from them by no more than its norm over the curvature, in each run.
    """
    slack = 0.0
    if promise.value is not None:
        turned = ICA_TOLERANCE * n_components / promise.constant("μ")
        slack = 2.0 * promise.constant("B") * turned

    def scaled(number: float | None, more: float = 0.0) -> float | None:
        return None if number is None else finite_or_none((number + more) * back)

    return replace(
        promise,
        statement=statement,
        value=scaled(promise.value, slack),
        ceiling=scaled(promise.ceiling),
        constants=(
            *promise.constants,
            Constant(
                symbol="slack",
                value=finite_or_none(slack),
                meaning=f"how far rows may be from stationary ones at a tolerance of "
                f"{ICA_TOLERANCE:g}, in both runs together",
            ),
            Constant(
                symbol="√λ₁/Δ",
                value=back,
                meaning="largest standard deviation of the target over its diameter: what mixing "
                "components again multiplies an error by",
            ),
        ),
    )


def _eigenvalues(run: PreparedRun) -> Float:
    covariance = run.everything.scatter / run.everything.weight
    return np.asarray(np.linalg.eigvalsh(covariance), dtype=np.float64)


def _worst(promise: Promise, row: Fit | None) -> Promised:
    measured = None if row is None or row.supremum is None else row.supremum.high
    return Promised(
        promise=promise, measured=measured, measured_as="smallest worst row found, in sample"
    )


def _mean(promise: Promise, row: Fit | None) -> Promised:
    return Promised(
        promise=promise,
        measured=None if row is None else row.in_sample.rms,
        measured_as="root mean square in sample",
    )


def _row(result: Comparison, name: str) -> Fit | None:
    return next((fit for fit in result.fits if fit.name == name), None)


def _remarks(found: Iterable[Promised]) -> list[Finding]:
    vacuous = [each.promise.statement for each in found if each.promise.is_vacuous]
    if not vacuous:
        return []
    message = f"nothing is promised by: {'; '.join(vacuous)}."
    return [Finding(code="UP012", message=message)]
