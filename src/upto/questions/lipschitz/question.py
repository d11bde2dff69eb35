"""Measure the bi-Lipschitz constant of a decoder, from its Jacobians or its outputs alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import (
    UNRECORDED,
    Estimate,
    InputError,
    Promise,
    choose_progress,
    finite_or_none,
    unique_findings,
    with_provenance,
)
from upto.core.arguments import check_whole
from upto.decoders.decoder import check_decoder, find_decoder, importing_from_here
from upto.engines import choose_engine
from upto.evidence.intervals import mean_intervals
from upto.geometry.distortion import (
    best_scale,
    bi_lipschitz,
    direction_estimate,
    isometry_deviation,
    scaled_bi_lipschitz,
    secant_range,
    share_within,
)
from upto.geometry.jacobians import power_of_two, row_lengths
from upto.questions.lipschitz import text
from upto.questions.lipschitz.distance_ratios import neighbour_stretches
from upto.questions.lipschitz.jacobian import Stretches, jacobian_stretches
from upto.questions.lipschitz.promises import certified_bound, promised_errors
from upto.questions.lipschitz.result import (
    LipschitzResult,
    PointStretch,
    Secants,
    Spread,
    WorstPoint,
)
from upto.questions.lipschitz.sample import Sample, read_sample

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from upto.core import Progress
    from upto.core.array_types import Float
    from upto.decoders.decoder import Decoder
    from upto.engines.base import Engine
    from upto.files.accept import Run


NEAR = 0.1
"""Singular values within this of 1 count as those of an isometry."""


@with_provenance
def lipschitz(
    latents: Run,
    outputs: Run | None = None,
    *,
    decoder: Any | None = None,
    n_points: int = 1000,
    directions: int = 10,
    method: Literal["auto", "dense", "lanczos"] = "auto",
    steps: int = 128,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> LipschitzResult:
    r"""Measure how far a decoder is from an isometry, at many latents.

    The bi-Lipschitz constant Λ at a point is the largest factor by which the decoder stretches or
    shrinks a direction there: max(σ_max, 1/σ_min) over the singular values of its Jacobian, 1 for
    an isometry. Theorems bound the error between two runs up to a rigid motion in terms of Λ.

    Parameters
    ----------
    latents
        An array, a tensor, a data frame, an AnnData or xarray object, a path or `Embeddings`, as
        `as_embeddings` takes it, one latent per row. Arrays with more axes are passed to the
        decoder in their own shape.
    outputs
        Outputs of the decoder for the latents, if the decoder itself is not available: ratios of
        distances to the nearest rows then replace singular values. Rows are matched by ids if both
        have them.
    decoder
        A torch module, a function of torch tensors, an object with ``jvp(points, directions)`` and
        optionally ``vjp(points, cotangents)`` over NumPy arrays, ``"package.module:attribute"``, or
        a TorchScript or `torch.export` file. It must map each row by itself; it is never modified.
    n_points
        Number of latents to sample, chosen by a hash of their values and the seed.
    directions
        Random directions per point, as in the paper; they miss part of the extremes. With
        `outputs`, the number of nearest rows. 0 skips them.
    method
        ``dense`` forms Jacobians; ``lanczos`` only multiplies by them; ``auto`` forms small ones.
    steps
        Maximum number of Lanczos steps; exact with as many as latent coordinates.
    seed
        Seed of the random number generator.
    engine
        Engine for the passes over the latents, as an object or by name.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    LipschitzResult
        Λ at every point, its spread and the bounds of Theorem 1.

    Raises
    ------
    InputError
        If the latents, the outputs or the decoder are not valid.

    See Also
    --------
    upto.LipschitzResult : What it returns.
    upto.theory.rigid_promise : What Theorem 1 promises for a constant.
    upto.theory.certify_network : A bound from the weights alone.
    upto.compare : Measured errors beside the bounds.

    Notes
    -----
    For the singular values σ of the Jacobian of the decoder f at the latent z,

    .. math::

        \Lambda(z) = \max\left( \sigma_{\max}(z), \frac{1}{\sigma_{\min}(z)} \right),
        \qquad L = \max_z \Lambda(z) - 1

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> latents = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = upto.lipschitz(latents, outputs=latents @ [[0.0, 2.0], [2.0, 0.0]])
    >>> round(found.spread("lipschitz").worst, 6), round(found.scaled, 6)
    (2.0, 1.0)
    """
    check_whole(least=1, n_points=n_points, steps=steps)
    check_whole(directions=directions, seed=seed)
    if (outputs is None) == (decoder is None):
        given = "neither a decoder nor its outputs" if decoder is None else "both"
        message = f"{given} were given: pass either the decoder or its outputs."
        raise InputError(message)
    if method not in ("auto", "dense", "lanczos"):
        message = f"there is no method {method!r}: choose auto, dense or lanczos."
        raise InputError(message)
    check_decoder(decoder)
    engine, progress = choose_engine(engine), choose_progress(progress)
    sample = read_sample(engine, latents, outputs, n_points=n_points, seed=seed)
    if decoder is not None:
        with importing_from_here(decoder):
            found = find_decoder(decoder, sample.shape)
            stretches = jacobian_stretches(
                found,
                sample.points,
                directions=directions,
                method=method,
                steps=steps,
                seed=seed,
                progress=progress,
            )
    else:
        found = None
        stretches = neighbour_stretches(
            engine,
            sample.runs,
            sample.split,
            sample.rows,
            sample.points,
            count=directions,
            progress=progress,
        )
    return _result(
        sample,
        stretches,
        found,
        n_directions=directions,
        seed=seed,
    )


def _result(
    sample: Sample,
    stretches: Stretches,
    decoder: Decoder | None,
    *,
    n_directions: int,
    seed: int,
) -> LipschitzResult:
    largest, smallest = stretches.largest, stretches.smallest
    constants = {
        "lipschitz": bi_lipschitz(largest, smallest),
        "scaled": scaled_bi_lipschitz(largest, smallest),
    }
    if stretches.lengths is not None:
        constants["directions"] = direction_estimate(stretches.lengths)
    scale, scaled = best_scale(largest, smallest)
    share = None if stretches.values is None else share_within(stretches.values, NEAR)
    width = sample.points.shape[1]
    spreads = tuple(_spread(name, values, sample.rows, seed) for name, values in constants.items())
    secants = _secants(sample, stretches.outputs)
    measured = float(np.max(constants["lipschitz"]))
    result = LipschitzResult(
        decoder=None if decoder is None else decoder.name,
        latents=sample.runs[0].name,
        outputs=None if decoder is not None else sample.runs[1].name,
        method=stretches.method,
        n_samples=len(sample.runs[0]),
        n_points=len(sample.rows),
        n_latents=width,
        n_outputs=stretches.n_outputs,
        n_directions=n_directions,
        diameter=sample.extent,
        points=_points(sample.rows, stretches, constants),
        spreads=spreads,
        worst=_worst(sample.rows, stretches, constants["lipschitz"]),
        scale=scale,
        scaled=finite_or_none(scaled),
        deviation=float(isometry_deviation(largest, smallest).max()),
        near=NEAR,
        share_near=share,
        coordinates=()
        if stretches.columns is None
        else tuple(float(e) for e in row_lengths(stretches.columns.T) / np.sqrt(len(largest))),
        secants=secants,
        certified=None if decoder is None else certified_bound(decoder, measured),
        promises=(),
        verdict="",
        findings=(),
        provenance=UNRECORDED,
    )
    if result.is_exact:
        result = replace(result, promises=_promises(result, largest, smallest))
    remarks = text.findings(
        result, n_dead=sample.n_dead, is_single=stretches.is_single, n_clashes=stretches.n_clashes
    )
    return replace(
        result,
        verdict=text.verdict(result, is_single=stretches.is_single),
        findings=unique_findings([*sample.findings, *remarks]),
    )


def _promises(result: LipschitzResult, largest: Float, smallest: Float) -> tuple[Promise, ...]:
    """Apply Theorem 1; it concerns all distances, so pairs count as well as points."""
    if result.secants is not None:
        largest = np.append(largest, result.secants.largest)
        smallest = np.append(smallest, result.secants.smallest)
    return promised_errors(
        worst=float(bi_lipschitz(largest, smallest).max()),
        median=result.spread("lipschitz").at("median"),
        scaled=best_scale(largest, smallest)[1],
        n_latents=result.n_latents,
        diameter=result.diameter.upper,
    )


def _spread(name: str, values: Float, rows: NDArray[np.intp], seed: int) -> Spread:
    # Interpolated quantiles are undefined next to infinite values.
    median, high = np.quantile(values, [0.5, 0.95], method="higher")
    mean: Estimate | None = None
    if np.isfinite(values).all():
        scale = float(power_of_two(values.max()))
        mean = mean_intervals(values[:, None] / scale, seed)[0]
        low, high_end = (None if e is None else e * scale for e in (mean.low, mean.high))
        low = None if low is None else max(1.0, low)
        mean = replace(mean, value=mean.value * scale, low=low, high=high_end)
    worst = int(np.argmax(values))
    return Spread(
        name=name,
        mean=mean,
        median=finite_or_none(median),
        q95=finite_or_none(high),
        worst=finite_or_none(values[worst]),
        row=int(rows[worst]),
    )


def _points(
    rows: NDArray[np.intp], stretches: Stretches, constants: dict[str, Float]
) -> tuple[PointStretch, ...]:
    tried = constants.get("directions", np.full(len(rows), np.nan))
    return tuple(
        PointStretch(
            row=int(row),
            largest=float(stretches.largest[place]),
            smallest=float(stretches.smallest[place]),
            lipschitz=finite_or_none(constants["lipschitz"][place]),
            scaled=finite_or_none(constants["scaled"][place]),
            by_directions=finite_or_none(tried[place]),
            settled=bool(stretches.settled[place]),
        )
        for place, row in enumerate(rows)
    )


def _worst(rows: NDArray[np.intp], stretches: Stretches, values: Float) -> WorstPoint:
    place = int(np.argmax(values))
    smallest, largest = float(stretches.smallest[place]), float(stretches.largest[place])
    shrinks = smallest == 0.0 or 1.0 / smallest > largest
    return WorstPoint(
        row=int(rows[place]),
        lipschitz=finite_or_none(values[place]),
        side="shrink" if shrinks else "stretch",
        factor=smallest if shrinks else largest,
        direction=stretches.direction_at(place, shrinks=shrinks),
    )


def _secants(sample: Sample, outputs: Float | None) -> Secants | None:
    if outputs is None or len(outputs) < 2:
        return None
    found = secant_range(sample.points, outputs)
    if not found.n_pairs:
        return None
    largest, smallest = np.array(found.largest), np.array(found.smallest)
    pairs: Sequence[tuple[int, int]] = (found.largest_pair, found.smallest_pair)
    first, second = ((int(sample.rows[one]), int(sample.rows[other])) for one, other in pairs)
    return Secants(
        n_pairs=found.n_pairs,
        largest=found.largest,
        smallest=found.smallest,
        lipschitz=finite_or_none(float(bi_lipschitz(largest, smallest))),
        scaled=finite_or_none(float(scaled_bi_lipschitz(largest, smallest))),
        largest_pair=first,
        smallest_pair=second,
    )
