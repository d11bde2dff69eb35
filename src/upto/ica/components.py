"""Independent components of rows: whiten, search, bring into canonical form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, TraceStep, random_stream
from upto.core.arrays import Float
from upto.engines import row_moments
from upto.ica.canonical import CanonicalForm, canonical_form
from upto.ica.contrasts import LogCosh, gaussian_moments
from upto.ica.deflation import deflate
from upto.ica.search import LARGE, search
from upto.ica.solver import Problem, orthogonalised
from upto.ica.white_directions import Dropped, Source
from upto.ica.whiten import Whitening, find_whitening

if TYPE_CHECKING:
    from upto.engines import Moments
    from upto.engines.base import Arrays, Engine
    from upto.ica.contrasts import Contrast
    from upto.ica.search import Listener, Search, Solver

Whiten = Literal["unit-variance", "active", "rotation", "none"]
WHITEN = ("unit-variance", "active", "rotation", "none")

ACTIVE = 0.01
"""Directions with more than this fraction of the largest variance count as active."""
SAMPLE_ROWS, SAMPLE_BYTES = 500, 2**29
"""Rows for each dimension a search starts on, and the memory they may take."""
_FAR = 1e3
_FLAT = 1e-6
_ILL_CONDITIONED = 1e8


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unmixing:
    """Independent components of a run.

    ``(rows - mean) @ components.T`` are the sources; ``sources @ mixing.T`` gives the centred rows
    back. `whitening` is the map before the rotation; ``rotation @ whitening`` are the components,
    so `rotation` is what another fit can start from. `frozen` marks components between which the
    search saw nothing to choose; `form` says how order and signs were settled; `dropped` which
    directions were too narrow.
    """

    mean: Float
    components: Float
    mixing: Float
    whitening: Float
    rotation: Float
    rank: int
    frozen: NDArray[np.bool_]
    form: CanonicalForm
    converged: bool
    interrupted: bool
    n_passes: int
    steps: tuple[TraceStep, ...]
    dropped: Dropped | None = None

    def restricted(self, kept: NDArray[np.bool_]) -> Unmixing:
        """Return some of the components only."""
        return replace(
            self,
            components=self.components[kept],
            mixing=self.mixing[:, kept],
            rotation=self.rotation[kept],
            frozen=self.frozen[kept],
        )

    @property
    def n_iterations(self) -> int:
        """Steps the search took."""
        return self.steps[-1].iteration if self.steps else 0


def find_components(
    engine: Engine,
    rows: Any,
    *,
    part: Moments | None = None,
    keep: NDArray[np.bool_] | None = None,
    n_components: int | float | None = None,
    whiten: Whiten = "unit-variance",
    contrast: Contrast | None = None,
    solver: Solver = "auto",
    start: Float | None = None,
    seed: int = 0,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    turn: float | None = None,
    rank_tolerance: float | None = None,
    deflation: bool = False,
    listener: Listener | None = None,
) -> Unmixing:
    """Find independent components.

    Parameters
    ----------
    engine, rows
        The run and where it lives.
    part
        Moments of the rows, where they are known; otherwise a pass finds them.
    keep
        Which rows count, given with their moments; all by default.
    n_components
        Components to find: the widest directions, or the share of the variance they shall reach;
        all by default.
    whiten
        ``unit-variance`` whitens; ``active`` whitens directions of some variance only; ``rotation``
        centres and divides by one number, so that the result is a rotation of the rows; ``none``
        takes the rows as they are and FastICA's steps literally, whether they converge or not.
    contrast
        What is searched for; log cosh by default.
    solver
        ``fastica``, ``picard``, or ``auto``: the first, then the second where it stops progressing.
    start
        Components to start from, as `Unmixing.components`; a random rotation by default.
    seed
        Seed of that rotation.
    tolerance, max_iterations
        When to stop: the largest entry of the relative gradient, or the number of steps.
    turn
        How far the cosine between two steps may be from one, rather than a gradient.
    rank_tolerance
        Directions whose variance is below this fraction of the largest are taken as absent; by
        default those that cannot be told from rounding.
    deflation
        Find one component after the other, as scikit-learn's deflation does.
    listener
        Called with every step and the components so far.
    """
    contrast = contrast or LogCosh()
    whitening = whitening_for(
        engine,
        rows,
        part,
        keep=keep,
        whiten=whiten,
        n_components=n_components,
        rank_tolerance=rank_tolerance,
    )
    problem = pose(engine, rows, whitening, contrast, keep, literal=whiten == "none")
    rotation = starting_rotation(whitening, start, seed)

    def listen(step: TraceStep, turned: Float) -> None:
        if listener is not None:
            listener(step, turned @ whitening.matrix)

    if deflation:
        enough = 1.0 - np.cos(tolerance) if turn is None else turn
        one_by_one = deflate(
            problem, rotation, turn=enough, max_iterations=max_iterations, listener=listen
        )
        return settle(one_by_one, whitening, tolerance=tolerance)
    is_large = problem.n_samples * whitening.matrix.size > LARGE
    single = is_large and is_safe_in_single(whitening)
    if single and start is None:
        rotation = _start_on_a_sample(problem, rotation)
    found = search(
        problem,
        rotation,
        solver=solver,
        tolerance=tolerance,
        turn=turn,
        max_iterations=max_iterations,
        single=single,
        listener=listen,
    )
    return settle(found, whitening, tolerance=tolerance)


def whitening_for(
    engine: Engine,
    rows: Any,
    part: Moments | None,
    *,
    keep: NDArray[np.bool_] | None = None,
    whiten: Whiten = "unit-variance",
    n_components: int | float | None = None,
    rank_tolerance: float | None = None,
) -> Whitening:
    """Return the linear map a search works behind: a whitening, or a scaled identity."""
    if whiten not in WHITEN:
        message = f"there is no whitening {whiten!r}: choose one of {', '.join(WHITEN)}."
        raise InputError(message)
    part = part or row_moments(engine, rows)
    if whiten in ("unit-variance", "active"):
        source: Source | None = Source(engine, rows, keep)
        if whiten == "active" or Source(engine, rows, keep).n_samples != part.weight:
            # Narrow directions are not active, and those of other rows are not these.
            source = None
        full = find_whitening(
            part, n_components=n_components, rank_tolerance=rank_tolerance, source=source
        )
        if whiten == "unit-variance":
            return full
        active = int(np.count_nonzero(full.variances > ACTIVE * full.variances[0]))
        return find_whitening(part, n_components=active, rank_tolerance=rank_tolerance)
    if n_components is not None:
        message = (
            f"n_components is {n_components}, but without whitening all coordinates are kept: "
            "leave it out, or whiten."
        )
        raise InputError(message)
    width = len(part.mean)
    scale = 1.0
    if whiten == "rotation":
        variances = np.linalg.eigvalsh(part.scatter / part.weight)
        if variances[-1] <= 0:
            message = "all rows are equal: there are no components to find."
            raise InputError(message)
        scale = float(np.sqrt(variances[variances > ACTIVE * variances[-1]].mean()))
    return Whitening(
        mean=part.mean if whiten == "rotation" else np.zeros(width),
        matrix=np.eye(width) / scale,
        inverse=np.eye(width) * scale,
        variances=np.diag(part.scatter) / part.weight,
        rank=width,
        is_white=False,
    )


def pose(
    engine: Engine,
    rows: Any,
    whitening: Whitening,
    contrast: Contrast,
    keep: NDArray[np.bool_] | None = None,
    *,
    literal: bool = False,
) -> Problem:
    """Make the search for the components of rows behind a whitening."""
    n_samples = int(rows.shape[0] if keep is None else np.count_nonzero(keep))
    width = len(whitening.matrix)
    _, deviation = gaussian_moments(contrast)
    # The factor is what searches over Gaussian rows reach for bounded contrasts.
    noise = deviation * (1.6 * np.sqrt(width / n_samples) + 2.0 / np.sqrt(n_samples))
    if not whitening.is_white:
        # Components have variances of their own, so nothing can be said about them from this.
        noise = 0.0
    return Problem(
        engine=engine,
        rows=rows,
        mean=whitening.mean,
        matrix=whitening.matrix,
        contrast=contrast,
        noise=float(noise),
        n_samples=float(n_samples),
        keep=keep,
        literal=literal,
    )


def starting_rotation(whitening: Whitening, start: Float | None, seed: int) -> Float:
    """Return the rotation of given components, or a random one; too few are completed at random.

    It is drawn in the coordinates of the rows: those of the whitening may flip by rounding.
    """
    n_components, width = whitening.matrix.shape
    drawn = random_stream(seed, "ica").normal(size=(n_components, width)) @ _directions(whitening)
    if start is None:
        return orthogonalised(drawn)
    if start.shape[1] != width or len(start) > n_components:
        message = (
            f"the components to start from have shape {start.shape}, but {n_components} components "
            f"of {width} coordinates are looked for: start without them."
        )
        raise InputError(message)
    given = start @ whitening.inverse
    if len(start) == 0 or _is_flat(given):
        message = (
            f"the {len(start)} components to start from do not span {len(start)} directions of "
            "these rows: start without them."
        )
        raise InputError(message)
    given = orthogonalised(given)
    missing = drawn[len(given) :]
    if len(missing):
        given = np.vstack([given, orthogonalised(missing - (missing @ given.T) @ given)])
    return given


def spans(components: Float, part: Moments, n_components: int) -> bool:
    """Say whether components can be started from on rows of these moments."""
    whitening = find_whitening(part, n_components=n_components)
    if len(components) > len(whitening.matrix):
        return False
    return len(components) > 0 and not _is_flat(components @ whitening.inverse)


def _is_flat(given: Float) -> bool:
    lengths = np.linalg.svd(given, compute_uv=False)
    return bool(lengths[-1] <= _FLAT * lengths[0])


def settle(found: Search, whitening: Whitening, *, tolerance: float) -> Unmixing:
    """Bring components into canonical form; those that may turn get axes that need no start."""
    problem, point, passes = found.problem, found.point, found.n_passes
    frozen = np.zeros(len(point.rotation), dtype=np.bool_)
    if problem.frozen is not None:
        frozen = problem.frozen
        turned = point.rotation.copy()
        mixing = whitening.inverse @ turned[frozen].T
        turned[frozen] = np.linalg.svd(mixing, full_matrices=False)[2] @ turned[frozen]
        if not problem.is_telling and not found.interrupted:
            turned[frozen], more = _polished(problem, turned[frozen], tolerance)
            passes += more
        point = replace(point, rotation=turned)
    form = canonical_form(problem, point, frozen)
    rotation = form.signs[:, None] * point.rotation[form.order]
    return Unmixing(
        mean=whitening.mean,
        components=rotation @ whitening.matrix,
        mixing=whitening.inverse @ rotation.T,
        whitening=whitening.matrix,
        rotation=rotation,
        rank=whitening.rank,
        frozen=frozen[form.order],
        form=form,
        converged=found.converged,
        interrupted=found.interrupted,
        n_passes=passes + 1,
        steps=found.steps,
        dropped=whitening.dropped,
    )


def _polished(problem: Problem, axes: Float, tolerance: float) -> tuple[Float, int]:
    """Turn the axes of components that may turn to the nearest optimum, as far as rows show one.

    With few rows, components that no test tells from Gaussian ones are often sources all the same.
    The search starts at the axes of most variance, so it ends at the same place from every start.
    """
    within = replace(problem, matrix=axes @ problem.matrix, noise=0.0, frozen=None)
    found = search(
        within, np.eye(len(axes)), solver="picard", tolerance=tolerance, max_iterations=40
    )
    return found.point.rotation @ axes, found.n_passes


def _start_on_a_sample(problem: Problem, rotation: Float) -> Float:
    """Turn a random start most of the way on a part of the rows, white and in memory.

    Most steps of a search are taken far from its end, where a part of the rows shows the way. Fewer
    than `SAMPLE_ROWS` for each dimension have spurious components, and the search would start anew.
    """
    n_samples, width = int(problem.rows.shape[0]), len(rotation)
    wanted = SAMPLE_ROWS * width
    if n_samples < 2 * wanted or wanted * width * 4 > SAMPLE_BYTES:
        return rotation
    keep = np.zeros(n_samples, dtype=bool)
    keep[np.linspace(0, n_samples - 1, wanted).astype(np.intp)] = True
    if problem.keep is not None:
        keep &= problem.keep
    params = (problem.mean.astype(np.float32), np.ascontiguousarray(problem.matrix.T, np.float32))
    white = problem.engine.map_blocks(
        _whitened_part, problem.rows, keep, params=params, dtype="float32"
    )
    sample = replace(
        problem,
        rows=problem.engine.place(white),
        mean=np.zeros(width),
        matrix=np.eye(width),
        n_samples=float(len(white)),
        keep=None,
        noise=problem.noise * np.sqrt(n_samples / len(white)),
    )
    found = search(sample, rotation, max_iterations=60, single=True, coarse=True)
    if found.interrupted:
        raise KeyboardInterrupt
    return found.point.rotation


def _whitened_part(xp: Any, x: Any, keep: Any, mean: Any, matrix: Any) -> Arrays:
    return (xp.matmul(x[keep] - mean, matrix),)


def _directions(whitening: Whitening) -> Float:
    """Return the orthonormal axes of the whitened coordinates in those of the rows."""
    lengths = np.linalg.norm(whitening.inverse, axis=0)
    directions: Float = whitening.inverse / np.where(lengths > 0, lengths, 1.0)
    return directions


def is_safe_in_single(whitening: Whitening) -> bool:
    """Say whether white rows keep their digits in single precision."""
    narrow, wide = float(whitening.variances[-1]), float(whitening.variances[0])
    is_far = float(np.abs(whitening.mean).max()) > _FAR * np.sqrt(max(narrow, 0.0))
    return not is_far and wide < _ILL_CONDITIONED * narrow
