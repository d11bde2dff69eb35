"""Quantities computed once per run, before runs are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, Finding, RunSummary
from upto.core.array_types import Float
from upto.engines import Moments, meanwhile, moments
from upto.engines.directions import Span, find_span, stored_rounding
from upto.evidence.serial import MIN_WORTH, effective_rows
from upto.evidence.split import pick_rows, take_rows
from upto.files.survey import run_findings
from upto.ica import Unmixing, find_components, nongaussianity
from upto.ica.components import spans
from upto.ica.gaussianity import CLEAR
from upto.ica.whiten import Whitening, leading_whitening, principal_whitening
from upto.measures import diameter, distance_quantile
from upto.measures.distances import distances_to_median

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from upto.core import Diameter
    from upto.engines.base import Engine
    from upto.engines.passes import Survey
    from upto.evidence.split import Split


QUANTILE_ROWS = 2048
_JUDGED_BYTES = 2**26
_TINY = float(np.finfo(np.float64).tiny)
GAUSSIANITY_ROWS, MIN_GAUSSIANITY_ROWS = 20_000, 100
"""Largest and smallest number of held-out rows for a test of Gaussianity."""
ROWS_FOR_EACH, ROWS_FOR_EACH_OF_MANY, MANY = 5, 40, 32
"""Smallest numbers of fitted rows per component: of few components, and of more than `MANY`.

With fewer rows, the least Gaussian directions are those of noise, not of sources.
"""
MOST_PER_ROOT = 2.2
"""Largest number of components per square root of the fitted rows: more do not leave the start."""
ITERATIONS, ITERATIONS_AFTER_NONE, ICA_TOLERANCE = 100, 20, 1e-4
FEW_FOR_EACH = 50
"""Fitted rows per component below which ICA is unreliable."""
MOST = 0.9
"""Share of the variance that must be unmixed for an efficiency of ICA."""
SEARCHED_FOR_EACH, SEARCHED_PER_SQUARE = 60, 1.5
"""Smallest numbers of rows per component, and per square of their number, that are searched."""
ICA_WORK = 5e11
"""Largest number of floating-point operations of one ICA; it limits the rows used."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedRun:
    """A run with its moments, diameter and components.

    `sample` are the first rows in key order, in memory; `judged` are the held-out rows, in memory
    if they fit, in the order of the run; `paired` are the held-out rows whose pairing is permuted;
    `span` are the directions in which the run varies; `precision` is the relative deviation that
    rounding alone causes. The moments `held_out` have no scatter matrix. `unmixing` are the
    components of the fitted rows, `unmixing_in_sample` those of all rows.
    """

    rows: Any
    sample: Float
    judged: Float | None
    paired: Float
    span: Span
    precision: float
    pilot: Float
    fitted: Moments
    held_out: Moments
    everything: Moments
    summary: RunSummary
    unmixing: Unmixing | None
    unmixing_in_sample: Unmixing | None
    nongaussianity: Float | None
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.summary.name

    @property
    def axes(self) -> Float:
        """The principal directions, the widest first."""
        return self.span.axes

    @property
    def is_thin(self) -> bool:
        """Whether some directions are too narrow to resolve in a covariance matrix."""
        return self.span.is_thin

    @property
    def is_mostly_unmixed(self) -> bool:
        """Whether the directions that were unmixed have most of the variance."""
        return _leading_share(self.span, self.summary.n_components or 0) >= MOST

    @property
    def parts(self) -> tuple[Moments, Moments]:
        """Moments of the fitted and of the held-out rows."""
        return self.fitted, self.held_out


def prepare_run(
    engine: Engine,
    run: Embeddings,
    found: Survey,
    split: Split,
    *,
    ica: bool,
    in_sample: bool,
    sample_rows: int = QUANTILE_ROWS,
    paired_rows: int = 0,
    seed: int,
) -> PreparedRun:
    """Compute everything that depends on a single placed run only."""
    rows = run.rows
    fitted, held_out = moments(engine, rows, found.mean, split.parts)
    everything = fitted + held_out
    sample = take_rows(engine, rows, split.first_rows(sample_rows))
    n_dead = int((found.low == found.high).sum())
    rounding = stored_rounding(sample)
    span = find_span(everything, sample, rounding)
    rank = span.rank

    def find_extents() -> tuple[Diameter, float]:
        some = sample[:QUANTILE_ROWS]
        return diameter(engine, rows, everything.mean, some), _bulk_extent(some)

    def find_unmixings() -> tuple[Unmixing | None, Unmixing | None]:
        # All fitted rows may be equal where the others are not.
        if not ica or fitted.total_variance == 0:
            return None, None
        fitting = split.first_rows(run.n_samples, 0)
        wanted = n_components_for(len(fitting), rank)
        whitening = None if span.is_thin else leading_whitening(fitted, wanted, rank)
        unmixing = _unmix(engine, rows, fitted, fitting, wanted, whitening, seed)
        if not in_sample:
            return unmixing, None
        everyone = split.first_rows(run.n_samples)
        whitening = None if span.is_thin else _whitening_along(span, everything, wanted)
        return unmixing, _unmix(
            engine, rows, everything, everyone, wanted, whitening, seed, unmixing
        )

    both = meanwhile(engine, find_extents, find_unmixings, width=run.n_features)
    (extent, bulk), (unmixing, unmixing_in_sample) = both
    findings = run_findings(run, rank=rank, n_dead=n_dead)
    findings += _extent_findings(run, extent.value, bulk)
    scores = n_components = n_non_gaussian = None
    if unmixing is not None:
        n_components = len(unmixing.components)
        scores = _judge_components(engine, rows, unmixing, split)
        findings += _ica_findings(run, unmixing, scores, span=span, split=split)
        if scores is not None:
            n_non_gaussian = int((scores >= CLEAR).sum())
    return PreparedRun(
        rows=rows,
        sample=sample,
        judged=_judged(engine, rows, split),
        paired=take_rows(engine, rows, split.distinct_held_out(paired_rows)),
        span=span,
        precision=_precision(rounding, everything),
        pilot=found.mean,
        fitted=fitted,
        held_out=held_out.without_scatter(),
        everything=everything,
        summary=RunSummary(
            name=run.name,
            n_samples=run.n_samples,
            n_features=run.n_features,
            rank=rank,
            n_dead=n_dead,
            diameter=extent,
            spread=float(np.sqrt(everything.total_variance)),
            layer=run.layer,
            seed=run.seed,
            n_components=n_components,
            n_non_gaussian=n_non_gaussian,
        ),
        unmixing=unmixing,
        unmixing_in_sample=unmixing_in_sample,
        nongaussianity=scores,
        findings=tuple(findings),
    )


def _precision(rounding: Float, part: Moments) -> float:
    spread = float(np.sqrt(part.total_variance))
    return float(np.linalg.norm(rounding)) / spread if spread > 0 else 0.0


def _judged(engine: Engine, rows: Any, split: Split) -> Float | None:
    index = np.flatnonzero(split.parts == 1)
    if len(index) * rows.shape[1] * 8 > _JUDGED_BYTES:
        return None
    return take_rows(engine, rows, index)


def n_components_for(n_fitted: int, rank: int) -> int:
    """Return how many components these rows can carry."""
    carried = min(n_fitted // ROWS_FOR_EACH_OF_MANY, int(MOST_PER_ROOT * np.sqrt(n_fitted)))
    return max(1, min(rank, max(MANY, carried), n_fitted // ROWS_FOR_EACH))


def _leading_share(span: Span, count: int) -> float:
    return float((span.widths[:count] ** 2).sum() / max((span.widths**2).sum(), _TINY))


def _whitening_along(span: Span, part: Moments, n_components: int) -> Whitening:
    axes, widths = span.axes[:, :n_components], span.widths[:n_components]
    return principal_whitening(part.mean, axes, widths, span.rank)


def _unmix(
    engine: Engine,
    rows: Any,
    part: Moments,
    positions: NDArray[np.intp],
    n_components: int,
    whitening: Whitening | None,
    seed: int,
    start: Unmixing | None = None,
) -> Unmixing:
    width = n_components if whitening is not None else int(rows.shape[1])
    affordable = int(ICA_WORK / (4.0 * width**2 * ITERATIONS))
    # With fewer rows per component than components, most steps are spent on leaving the start.
    searched = SEARCHED_PER_SQUARE * n_components**2
    limit = max(affordable, int(searched), SEARCHED_FOR_EACH * n_components, 2048)
    held = pick_rows(engine, rows, positions[:limit])
    # Where the fitted rows led nowhere, the others added to them rarely do.
    is_promising = start is None or start.converged
    if start is not None and not spans(start.components, part, n_components, whitening):
        start = None
    unmixing = find_components(
        engine,
        held,
        part=part,
        n_components=n_components,
        whitening=whitening,
        start=None if start is None else start.components,
        seed=seed,
        tolerance=ICA_TOLERANCE,
        max_iterations=ITERATIONS if is_promising else ITERATIONS_AFTER_NONE,
    )
    if unmixing.interrupted:
        raise KeyboardInterrupt
    return unmixing


def _extent_findings(run: Embeddings, extent: float, bulk: float) -> Iterator[Finding]:
    if run.n_samples > 10 and bulk > 0 and extent > 3 * bulk:
        message = (
            f"the diameter of {run.name} is {extent:.4g}, {extent / bulk:.3g} times that of its "
            f"rows without the outermost 1 % ({bulk:.4g})."
        )
        yield Finding(code="UP011", message=message)


def _bulk_extent(sample: Float) -> float:
    """Return the 99.9 % quantile of distances without the outermost rows.

    One outlier affects 2/n of all distances, so with few rows no quantile is robust to it.
    """
    away = distances_to_median(sample)
    kept = len(sample) - -(-len(sample) // 100)
    return distance_quantile(sample[np.argsort(away, kind="stable")[:kept]], 0.999)


def _judge_components(engine: Engine, rows: Any, unmixing: Unmixing, split: Split) -> Float | None:
    """Return the distance of each component from a Gaussian on held-out rows, in standard errors.

    None if there are too few rows, or too few effective ones.
    """
    index = split.distinct_held_out(GAUSSIANITY_ROWS)
    if len(index) < MIN_GAUSSIANITY_ROWS:
        return None
    held = take_rows(engine, rows, index)
    found = nongaussianity(engine, held, unmixing)
    if split.memory is not None:
        worth = effective_rows(held)
        if worth < MIN_WORTH:
            return None
        found = found.widened(float(np.sqrt(len(held) / worth)))
    return found.z


def _ica_findings(
    run: Embeddings, unmixing: Unmixing, scores: Float | None, *, span: Span, split: Split
) -> Iterator[Finding]:
    n_fitted, n_found = run.n_samples - split.n_held_out, len(unmixing.components)
    rank, widest = span.rank, ""
    if n_fitted < FEW_FOR_EACH * n_found or n_found < rank:
        if n_found < rank:
            share = _leading_share(span, n_found)
            widest = f", so only the {n_found} widest directions ({share:.0%} of the variance) "
            widest += "are unmixed" + ("" if share >= MOST else ", too few for an efficiency")
        message = (
            f"{run.name} has {n_fitted} fitted rows for {rank} directions, "
            f"{n_fitted / rank:.1f} for each{widest}."
        )
        yield Finding(code="UP035", message=message)
    if scores is None:
        takes = str(MIN_GAUSSIANITY_ROWS)
        if split.memory is not None:
            takes += f" worth {MIN_WORTH} independent rows"
        message = (
            f"{split.n_held_out} held-out rows of {run.name} are too few to test components for "
            f"Gaussianity, which takes {takes}."
        )
        yield Finding(code="UP015", message=message)
    near = 0 if scores is None else int((scores < CLEAR).sum())
    if near >= 2:
        message = (
            f"{near} of {n_found} components of {run.name} cannot be distinguished from Gaussian "
            "on held-out rows."
        )
        yield Finding(code="UP003", message=message)
    if not unmixing.converged:
        message = f"ICA of {run.name} stopped after {unmixing.n_iterations} iterations."
        yield Finding(code="UP004", message=message)
