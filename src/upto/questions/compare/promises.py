"""Bounds of the theorems for a pair of runs, compared with the measured errors.

Every length is in units of the diameter of the target, like the errors of a comparison.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Constant, Finding, Group, Promise, Promised, finite_or_none
from upto.evidence.prepare import ICA_TOLERANCE
from upto.evidence.split import take_rows
from upto.ica import smallest_curvature
from upto.ica.hessian import affordable_rows
from upto.theory import (
    rigid_mean_promise,
    rigid_promise,
    rigid_promise_from_defect,
    unmixing_promise,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from upto.core import Defect, Fit
    from upto.core.array_types import Float
    from upto.evidence.prepare import PreparedRun
    from upto.ica import Unmixing
    from upto.questions.compare.distortions import Distortion
    from upto.questions.compare.pair import Pair
    from upto.questions.compare.result import CompareResult


_ROUNDING = 100
"""Error allowed for rounding, in units of the machine epsilon of the runs' dtype."""


def promises(
    pair: Pair, result: CompareResult, distortions: tuple[Distortion, Distortion]
) -> tuple[tuple[Promised, ...], tuple[Finding, ...]]:
    """Compare the bound of every applicable theorem with the measured error."""
    rigid = _rigid(pair, result, distortions)
    found = [*rigid, *_similar(pair, result, distortions)]
    if result.defect is not None:
        found.append(_unchanged(pair, result, result.defect))
    found += _unmixed(pair, result, rigid[0].promise)
    rounding = _ROUNDING * max(_precision(run) for run in (pair.source, pair.target))
    found = [replace(each, rounding=rounding) for each in found]
    return tuple(found), tuple(_remarks(found))


def _rigid(
    pair: Pair, result: CompareResult, distortions: tuple[Distortion, Distortion]
) -> list[Promised]:
    first, second = (each.lipschitz for each in distortions)
    worst, mean = (_noted(promise, distortions) for promise in _theorem_one(pair, first, second))
    row = _row(result, "rigid")
    return [_worst(worst, row), _mean(mean, row)]


def _similar(
    pair: Pair, result: CompareResult, distortions: tuple[Distortion, Distortion]
) -> list[Promised]:
    """Apply Theorem 1 to decoders rescaled to be as close to isometries as possible.

    A decoder with singular values from a to b is √(b/a)-bi-Lipschitz after division by √(ab), and
    the ratio of the two scales is the scale of a similarity.
    """
    scales, excesses = [], []
    for each in distortions:
        if not each.smallest or not each.largest:
            return []
        scales.append(float(np.sqrt(each.smallest) * np.sqrt(each.largest)))
        excesses.append(float(np.sqrt(each.largest / each.smallest)) - 1.0)
    scale = scales[0] / scales[1]
    named = Constant(symbol="s", value=scale, meaning="scale of the similarity, from the decoders")
    worst, mean = (
        replace(
            _noted(promise, distortions),
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
    """Return the bounds on the worst error and on the mean squared error."""
    diameter = scale * pair.source.summary.diameter.upper / pair.extent
    return (
        rigid_promise(first, second_lipschitz=second, n_dimensions=pair.width, diameter=diameter),
        rigid_mean_promise(
            first, second_lipschitz=second, n_dimensions=pair.width, diameter=diameter
        ),
    )


def _unchanged(pair: Pair, result: CompareResult, defect: Defect) -> Promised:
    """Apply the lemma behind Theorem 1 to the distances themselves, without a decoder."""
    promise = rigid_promise_from_defect(
        defect.value,
        n_dimensions=pair.width,
        diameter=pair.source.summary.diameter.upper / pair.extent,
    )
    if defect.n_rows < result.n_samples:
        promise = replace(
            promise,
            condition=f"{promise.condition}; measured on {defect.n_rows} of {result.n_samples} "
            "rows and proved for these only",
            holds=None,
        )
    return _worst(promise, _row(result, "rigid"))


def _unmixed(pair: Pair, result: CompareResult, rigid: Promise) -> list[Promised]:
    """Apply Theorem 2 to the measured worst error and to its bound."""
    unmixing, row = pair.source.unmixing_in_sample, _row(result, "ica")
    same = pair.source.summary.n_features == pair.target.summary.n_features
    if row is None or unmixing is None or not same:
        return []
    curvature = _curvature(pair, unmixing)
    values = [_eigenvalues(run) / pair.extent**2 for run in (pair.source, pair.target)]
    radius = max(run.summary.diameter.upper for run in (pair.source, pair.target)) / pair.extent
    mixing = float(np.sqrt(values[1][-1]))

    def promised(error: float, statement: str, after: Promise | None) -> Promised:
        promise = unmixing_promise(
            error,
            radius=radius,
            # Rank-deficient runs have an eigenvalue of zero up to rounding, of either sign.
            smallest_eigenvalue=max(0.0, min(float(each[0]) for each in values)),
            curvature=curvature / 2.0,
            curvature_at_optimum=curvature,
            n_dimensions=len(unmixing.components),
            translated=True,
        )
        promise = _mixed_again(promise, statement, mixing, len(unmixing.components))
        if after is not None:
            promise = replace(
                promise,
                condition=f"{after.condition}; {promise.condition}",
                holds=_weakest(after, promise),
            )
        return Promised(
            promise=_searched(promise, pair),
            measured=row.in_sample.worst,
            measured_as="worst in-sample row after ICA",
        )

    found = [promised(float(rigid), "Theorems 1 and 2", rigid)]
    measured = _row(result, "rigid")
    if measured is not None and measured.supremum is not None:
        high = measured.supremum.high
        found.insert(0, promised(high, "Theorem 2, from the measured ε", None))
    return found


def _curvature(pair: Pair, unmixing: Unmixing) -> float:
    n_rows = affordable_rows(len(unmixing.components))
    rows = take_rows(pair.engine, pair.source.rows, pair.split.first_rows(n_rows))
    found = smallest_curvature(pair.engine, rows, unmixing)
    # One component cannot rotate, and the theory takes its curvature as infinite.
    return np.inf if found is None else found.value


def _searched(promise: Promise, pair: Pair) -> Promise:
    """Void bounds that rest on an ICA search that did not converge."""
    searches = [(run.name, run.unmixing_in_sample) for run in (pair.source, pair.target)]
    open_ended = [name for name, found in searches if found is None or not found.converged]
    if not open_ended:
        return promise
    names = " and ".join(open_ended)
    return replace(
        promise, condition=f"{promise.condition}; ICA of {names} did not converge", holds=False
    )


def _mixed_again(promise: Promise, statement: str, mixing: float, n_components: int) -> Promise:
    """Convert a bound on components of unit variance to the coordinates of the target.

    The theorem concerns stationary points; the solutions found have gradients within the tolerance,
    so each is rotated from a stationary point by at most the gradient norm over the curvature.
    """
    slack = 0.0
    if promise.value is not None:
        turned = ICA_TOLERANCE * n_components / promise.constant("μ")
        slack = 2.0 * promise.constant("B") * turned

    def mixed(number: float | None, more: float = 0.0) -> float | None:
        return None if number is None else finite_or_none((number + more) * mixing)

    return replace(
        promise,
        statement=statement,
        value=mixed(promise.value, slack),
        ceiling=mixed(promise.ceiling),
        constants=(
            *promise.constants,
            Constant(
                symbol="slack",
                value=finite_or_none(slack),
                meaning="largest distance of rows from stationary points at a tolerance of "
                f"{ICA_TOLERANCE:g}, summed over both runs",
            ),
            Constant(
                symbol="√λ₁",
                value=mixing,
                meaning="largest standard deviation of the target, the factor by which remixing "
                "components multiplies an error",
            ),
        ),
    )


def _weakest(*chain: Promise) -> bool | None:
    """Return whether a chain of bounds is valid: as certain as its least certain link."""
    known = {each.holds for each in chain}
    return False if False in known else None if None in known else True


def _eigenvalues(run: PreparedRun) -> Float:
    covariance = run.everything.scatter / run.everything.weight
    return np.asarray(np.linalg.eigvalsh(covariance), dtype=np.float64)


def _precision(run: PreparedRun) -> float:
    kind = np.dtype(str(run.rows.dtype).removeprefix("torch."))
    return float(np.finfo(kind if kind.kind == "f" else np.float64).eps)


def _worst(promise: Promise, row: Fit | None) -> Promised:
    found = None if row is None else row.supremum
    return Promised(
        promise=promise,
        measured=None if found is None else found.high,
        at_least=None if found is None else found.low or 0.0,
        measured_as="smallest worst in-sample row found",
    )


def _mean(promise: Promise, row: Fit | None) -> Promised:
    return Promised(
        promise=promise,
        measured=None if row is None else row.in_sample.rms,
        measured_as="in-sample root mean square",
    )


def _noted(promise: Promise, distortions: tuple[Distortion, Distortion]) -> Promise:
    known = " and ".join(dict.fromkeys(each.known for each in distortions))
    return replace(promise, condition=f"L is {known}; {promise.condition}")


def _row(result: CompareResult, name: str) -> Fit | None:
    return next((fit for fit in result.fits if fit.name == name), None)


def _remarks(found: Sequence[Promised]) -> Iterator[Finding]:
    vacuous = [each.promise.statement for each in found if each.promise.is_vacuous]
    if vacuous:
        message = f"no useful bound from: {'; '.join(vacuous)}."
        yield Finding(code="UP012", message=message)
    for each in found:
        if each.is_kept is False:
            message = (
                f"{each.promise.statement} bounds the error by {float(each.promise):.4g}, but "
                f"{each.measured:.4g} was measured."
            )
            yield Finding(code="UP057", message=message)
