"""Independent components of rows: whiten, search, put into canonical form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, TraceStep, random_stream
from upto.core.array_types import Float
from upto.engines import row_moments
from upto.engines.algebra import eigh
from upto.ica.canonical import CanonicalForm, canonical_form
from upto.ica.contrasts import LogCosh, gaussian_moments
from upto.ica.deflation import deflate
from upto.ica.search import LARGE, despite_interrupt, search
from upto.ica.solver import Problem, orthogonalised
from upto.ica.white_directions import Dropped, Source
from upto.ica.white_rows import WhiteRows, searched_in_place_of, start_on_a_sample
from upto.ica.whiten import Whitening, find_whitening

if TYPE_CHECKING:
    from upto.engines import Moments
    from upto.engines.base import Engine
    from upto.ica.contrasts import Contrast
    from upto.ica.search import Listener, Search, Solver

Whiten = Literal["unit-variance", "active", "rotation", "none"]
WHITEN = ("unit-variance", "active", "rotation", "none")

ACTIVE = 0.01
"""Directions with more than this fraction of the largest variance count as active."""
_FAR = 1e3
_FLAT = 1e-6
_ILL_CONDITIONED = 1e8


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unmixing:
    """Independent components of a run.

    ``(rows - mean) @ components.T`` are the sources; ``sources @ mixing.T`` are the centred rows.
    `whitening` is the map before the rotation, so ``rotation @ whitening`` are the components and
    another fit can start from `rotation`. `frozen` marks components that the search could not
    distinguish from rotations of each other; `form` is their order and signs; `dropped` describes
    the directions that were too narrow.
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
        """Return a subset of the components."""
        return replace(
            self,
            components=self.components[kept],
            mixing=self.mixing[:, kept],
            rotation=self.rotation[kept],
            frozen=self.frozen[kept],
        )

    @property
    def n_iterations(self) -> int:
        """Number of steps of the search."""
        return self.steps[-1].iteration if self.steps else 0


def find_components(
    engine: Engine,
    rows: Any,
    *,
    part: Moments | None = None,
    keep: NDArray[np.bool_] | None = None,
    n_components: int | float | None = None,
    whiten: Whiten = "unit-variance",
    whitening: Whitening | None = None,
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
        The engine, and the rows, which it places if they are not yet.
    part
        Moments of the rows; computed in one pass by default.
    keep
        Mask of the rows to use, given together with their moments; all by default.
    n_components
        Number of components, taken from the widest directions, or the fraction of the variance
        they must explain; all by default.
    whiten
        ``unit-variance`` whitens; ``active`` whitens only directions with appreciable variance;
        ``rotation`` centres and divides by one number, so that the result is a rotation of the
        rows; ``none`` uses the raw rows and plain FastICA steps, whether they converge or not.
    whitening
        The whitening, if it is known, instead of `n_components` and `whiten`.
    contrast
        Contrast to optimise; log cosh by default.
    solver
        ``fastica``, ``picard``, or ``auto``: FastICA, then Picard-O once FastICA stalls.
    start
        Components to start from, as in `Unmixing.components`; a random rotation by default.
    seed
        Seed of the random rotation.
    tolerance, max_iterations
        Stopping rule: the largest entry of the relative gradient, or the number of steps.
    turn
        Stop when the cosine between two steps is this close to one, instead of by the gradient.
    rank_tolerance
        Directions whose variance is below this fraction of the largest are dropped; by default
        those indistinguishable from rounding.
    deflation
        Find the components one by one, as scikit-learn's deflation does.
    listener
        Called with every step and the components so far.
    """
    contrast, rows = contrast or LogCosh(), engine.place(rows)
    whitening = whitening or whitening_for(
        engine,
        rows,
        part,
        keep=keep,
        whiten=whiten,
        n_components=n_components,
        rank_tolerance=rank_tolerance,
    )
    given = pose(engine, rows, whitening, contrast, keep, literal=whiten == "none")
    rotation = starting_rotation(whitening, start, seed)

    def listen(step: TraceStep, turned: Float) -> None:
        if listener is not None:
            listener(step, searched.back(turned) @ whitening.matrix)

    heard = None if listener is None else listen
    searched = WhiteRows(given)
    if deflation:
        enough = 1.0 - np.cos(tolerance) if turn is None else turn
        one_by_one = deflate(
            given, rotation, turn=enough, max_iterations=max_iterations, listener=heard
        )
        return settle(one_by_one, whitening, tolerance=tolerance)
    large = given.n_samples * whitening.matrix.size > LARGE
    if whitening.is_white:
        weight = given.n_samples if part is None else part.weight
        searched = searched_in_place_of(given, weight, large=large)
    single = large and (searched.is_white or is_safe_in_single(whitening))
    problem, rotation = searched.problem, searched.there(rotation)
    lazy = single and start is None and solver != "picard" and not problem.literal
    if single and start is None:
        rotation, is_near = start_on_a_sample(problem, rotation)
        lazy = lazy and not is_near
    found = search(
        problem,
        rotation,
        solver=solver,
        tolerance=tolerance,
        turn=turn,
        max_iterations=max_iterations,
        single=single,
        lazy=lazy,
        listener=heard,
    )
    # Signs and order are those of the rows themselves.
    found = replace(
        found,
        problem=replace(given, frozen=found.problem.frozen),
        point=replace(found.point, rotation=searched.back(found.point.rotation)),
    )
    return settle(found, whitening, tolerance=tolerance, searched=searched)


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
    """Return the linear map applied before the search: a whitening, or a scaled identity."""
    if whiten not in WHITEN:
        message = f"there is no whitening {whiten!r}: choose one of {', '.join(WHITEN)}."
        raise InputError(message)
    part = part or row_moments(engine, rows)
    if whiten in ("unit-variance", "active"):
        source: Source | None = Source(engine, rows, keep)
        if whiten == "active" or Source(engine, rows, keep).n_samples != part.weight:
            # Narrow directions are never active, and other rows have other narrow directions.
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
    """Set up the search for the components of whitened rows."""
    n_samples = int(rows.shape[0] if keep is None else np.count_nonzero(keep))
    width = len(whitening.matrix)
    _, deviation = gaussian_moments(contrast)
    # The factors are those that searches on Gaussian rows reach with bounded contrasts.
    noise = deviation * (1.6 * np.sqrt(width / n_samples) + 2.0 / np.sqrt(n_samples))
    if not whitening.is_white:
        # Components then differ in variance, so this level does not apply to them.
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
    """Return the rotation of `start`, completed at random if too short, or a random rotation.

    It is drawn in the coordinates of the rows, because rounding may flip whitened coordinates.
    """
    n_components, width = whitening.matrix.shape
    drawn = random_stream(seed, "ica").normal(size=(n_components, width)) @ _directions(whitening)
    if start is None:
        return orthogonalised(drawn)
    if start.shape[1] != width or len(start) > n_components:
        message = (
            f"the components to start from have shape {start.shape}, but {n_components} components "
            f"of {width} coordinates are needed: start without them."
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


def spans(
    components: Float, part: Moments, n_components: int, whitening: Whitening | None = None
) -> bool:
    """Return whether a search on rows with these moments can start from the components."""
    whitening = whitening or find_whitening(part, n_components=n_components)
    if len(components) > len(whitening.matrix):
        return False
    return len(components) > 0 and not _is_flat(components @ whitening.inverse)


def _is_flat(given: Float) -> bool:
    squares, _ = eigh(given @ given.T)
    return bool(squares[0] <= _FLAT**2 * squares[-1])


def settle(
    found: Search, whitening: Whitening, *, tolerance: float, searched: WhiteRows | None = None
) -> Unmixing:
    """Put components into canonical form; the axes of frozen ones do not depend on the start.

    `searched` is the problem that was searched in place of this one.
    """
    problem, point, passes = found.problem, found.point, found.n_passes
    interrupted = found.interrupted
    frozen = np.zeros(len(point.rotation), dtype=np.bool_)
    if problem.frozen is not None:
        frozen = problem.frozen
        turned = point.rotation.copy()
        mixing = whitening.inverse @ turned[frozen].T
        turned[frozen] = np.linalg.svd(mixing, full_matrices=False)[2] @ turned[frozen]
        if not problem.is_telling and not interrupted:
            place = searched or WhiteRows(problem)
            turned[frozen], more, interrupted = _polished(place, turned[frozen], tolerance)
            passes += more
        point = replace(point, rotation=turned)
    form, interrupted = despite_interrupt(
        lambda: canonical_form(problem, point, frozen), interrupted=interrupted
    )
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
        converged=found.converged and not interrupted,
        interrupted=interrupted,
        n_passes=passes + 1,
        steps=found.steps,
        dropped=whitening.dropped,
    )


def _polished(searched: WhiteRows, axes: Float, tolerance: float) -> tuple[Float, int, bool]:
    """Rotate the axes of frozen components to the nearest optimum, if the rows have one.

    With few rows, components that no test distinguishes from Gaussian are often sources even so.
    The search starts at the axes of largest variance, so its result does not depend on the start.
    Returns also the number of passes, and whether they were interrupted.
    """
    problem = searched.problem
    matrix = searched.there(axes) @ problem.matrix
    within = replace(problem, matrix=matrix, noise=0.0, frozen=None)
    try:
        found = search(
            within, np.eye(len(axes)), solver="picard", tolerance=tolerance, max_iterations=40
        )
    except KeyboardInterrupt:
        return axes, 0, True
    return found.point.rotation @ axes, found.n_passes, found.interrupted


def _directions(whitening: Whitening) -> Float:
    """Return the axes of the whitened coordinates, orthonormal, in coordinates of the rows."""
    lengths = np.linalg.norm(whitening.inverse, axis=0)
    directions: Float = whitening.inverse / np.where(lengths > 0, lengths, 1.0)
    return directions


def is_safe_in_single(whitening: Whitening) -> bool:
    """Return whether whitened rows keep their digits in single precision."""
    narrow, wide = float(whitening.variances[-1]), float(whitening.variances[0])
    is_far = float(np.abs(whitening.mean).max()) > _FAR * np.sqrt(max(narrow, 0.0))
    return not is_far and wide < _ILL_CONDITIONED * narrow
