"""Lemma A.8 and Theorem 2: constants of contrasts, their numbers and what they need."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

from upto.core import Group, InputError
from upto.engines import choose_engine
from upto.ica import find_components, smallest_curvature
from upto.ica.contrasts import Cube, Custom, Exp, LogCosh
from upto.theory import ContrastBounds, contrast_bounds, ica_promise, unmixing_promise
from upto_studies.trials.stationary_points import contrast_signs, derivatives, follow, skew_basis
from upto_studies.trials.white import centred, whitening_map

UNIT = ContrastBounds(name="any", first=1.0, second=1.0)
GIVEN = {
    "radius": 2.0,
    "smallest_eigenvalue": 0.5,
    "curvature": 0.1,
    "n_dimensions": 8,
    "contrast": UNIT,
}


@pytest.mark.parametrize("contrast", [LogCosh(), LogCosh(2.0), Exp(), Cube()])
def test_bounds_are_the_suprema_of_the_derivatives(contrast):
    radius = 2.0
    # Far out logcosh and exp have reached their suprema; the cube's are those of the ball.
    u = np.linspace(-radius, radius, 200_001)
    if contrast.name != "cube":
        u = np.linspace(-12.0, 12.0, 200_001)
    score, slope = contrast.derivatives(np, u)
    bend = np.gradient(slope, u)
    bounds = contrast_bounds(contrast, n_dimensions=4, radius=radius)
    assert bounds.first == pytest.approx(2.0 * np.abs(score).max(), rel=1e-6)
    assert bounds.second == pytest.approx(np.abs(slope).max(), rel=1e-6)
    assert bounds.third == pytest.approx(np.abs(bend[1:-1]).max(), rel=1e-4)


def test_contrasts_are_known_by_name():
    assert contrast_bounds("exp", n_dimensions=1, radius=1.0).first == pytest.approx(0.60653066)
    assert contrast_bounds("logcosh", n_dimensions=1, radius=1.0, alpha=1.5).second == 1.5


def test_a_contrast_of_the_user_needs_its_bounds():
    own = Custom(lambda xp, s: (s**2, 2 * s, 2 + 0 * s))
    with pytest.raises(InputError, match="ContrastBounds"):
        contrast_bounds(own, n_dimensions=2, radius=1.0)


def test_theorem_2_has_the_constants_worked_out_by_hand():
    promise = unmixing_promise(1e-3, **GIVEN)
    assert promise.constant("B") == pytest.approx(2.828427, rel=1e-6)
    assert promise.constant("K") == pytest.approx(1390.9617, rel=1e-7)
    assert promise.constant("K′") == pytest.approx(4582.0519, rel=1e-7)
    assert float(promise) == pytest.approx(1.3909617 + 0.0045820519, rel=1e-6)
    assert promise.up_to is Group.SIGNED_PERMUTATION
    assert promise.holds is None
    assert "which is not checked here" in promise.condition


def test_a_translation_at_most_doubles_the_error():
    doubled = unmixing_promise(1e-3, **GIVEN, translated=True)
    assert float(doubled) == pytest.approx(float(unmixing_promise(2e-3, **GIVEN)))
    from_constants = doubled.constant("K") * 1e-3 + doubled.constant("K′") * 1e-6
    assert float(doubled) == pytest.approx(from_constants)


def test_lemma_a8_is_its_formula():
    promise = ica_promise(0.01, radius=3.0, curvature=0.2, n_dimensions=4, contrast="exp")
    first, second = 2 * math.exp(-0.5), 1.0
    linear, quadratic = 1 + 3 * (first + second * 3) / 0.2, 3 * second / 0.2
    assert float(promise) == pytest.approx(linear * 0.01 + quadratic * 0.01**2)
    assert promise.ceiling == pytest.approx(6.01)


def test_the_cube_is_bounded_where_the_moved_rows_are():
    promise = ica_promise(0.5, radius=1.0, curvature=0.2, n_dimensions=1 + 1, contrast="cube")
    assert promise.constant("G₂") == pytest.approx(3 * 1.5**2)


@pytest.mark.parametrize("curvature", [0.0, -0.1])
def test_without_curvature_nothing_is_promised(curvature):
    promise = ica_promise(0.0, radius=2.0, curvature=curvature, n_dimensions=2)
    assert (promise.value, promise.holds) == (None, False)
    promise = unmixing_promise(0.1, **GIVEN | {"curvature": curvature})
    assert (promise.value, promise.holds) == (None, False)


def test_a_direction_without_variance_cannot_be_unmixed():
    promise = unmixing_promise(0.1, **GIVEN | {"smallest_eigenvalue": 0.0})
    assert (promise.value, promise.ceiling, promise.holds) == (None, None, False)


def test_a_single_component_cannot_turn():
    promise = ica_promise(0.1, radius=2.0, curvature=math.inf, n_dimensions=1)
    assert float(promise) == pytest.approx(0.1)
    assert promise.holds is True
    alone = {"curvature": math.inf, "n_dimensions": 1}
    assert unmixing_promise(1e-3, **GIVEN | alone).holds is True
    with pytest.raises(InputError, match="only a single one cannot rotate"):
        ica_promise(0.1, radius=2.0, curvature=math.inf, n_dimensions=2)


def test_two_optima_of_one_run_are_further_apart_than_theorem_2_allows_corresponding_ones():
    """A star with eight points has its axes along four arms or along the other four."""
    angles = np.arange(8) * np.pi / 4
    lengths = np.linspace(0.5, 1.5, 5)
    star = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rows = (lengths[:, None, None] * star).reshape(1, -1, 2)
    white = rows @ whitening_map(rows)[0]
    contrast = LogCosh()
    optima = []
    for turn in (0.0, np.pi / 4):
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        components = white @ rotation.T
        signs = contrast_signs(contrast, components)
        gradient, hessian = derivatives(contrast, signs, components, skew_basis(2))
        assert np.abs(gradient).max() < 1e-12
        optima.append((components[0], float(np.abs(hessian).min())))
    (first, curvature), (second, other) = optima
    assert curvature == pytest.approx(other)
    assert curvature > 1e-4
    orders = [[0, 1], [1, 0]]
    flips = [np.array(flip) for flip in ([1, 1], [1, -1], [-1, 1], [-1, -1])]
    apart = min(
        np.linalg.norm(first[:, order] * flip - second, axis=1).max()
        for order in orders
        for flip in flips
    )
    promise = unmixing_promise(
        1e-9,
        radius=1.5,
        smallest_eigenvalue=float(np.linalg.eigvalsh(np.cov(rows[0].T, ddof=0))[0]),
        curvature=curvature / 2,
        curvature_at_optimum=curvature,
        n_dimensions=2,
    )
    assert float(promise) < apart / 10
    # All that can be proved of curvatures is: what is left open is which optimum a search finds.
    assert "proved to stay above" in promise.condition
    assert "does not decide" not in promise.condition
    assert promise.holds is None
    assert "corresponding optima" in promise.claim
    assert "both searches end in corresponding optima" in promise.condition


@pytest.mark.parametrize(
    ("bound", "error", "given"),
    [
        (ica_promise, 0.1, {"radius": 1e200, "contrast": "cube"}),
        (ica_promise, 0.0, {"radius": 1e200, "contrast": "cube"}),
        (ica_promise, 0.1, {"radius": 1.0, "curvature": 1e-320}),
        (unmixing_promise, 0.1, {"radius": 2.0, "smallest_eigenvalue": 1e-210}),
        (unmixing_promise, 0.1, {"radius": 2.0, "smallest_eigenvalue": 1e-130}),
        (unmixing_promise, math.inf, {"radius": 2.0, "smallest_eigenvalue": 0.5}),
    ],
)
def test_a_bound_beyond_the_largest_number_promises_nothing(bound, error, given):
    promise = bound(error, **{"curvature": 0.1, "n_dimensions": 2} | given)
    assert (promise.value, promise.holds) == (None, None)
    assert promise.condition.count("overflows, so nothing is promised") == 1
    assert all(each.value is None or math.isfinite(each.value) for each in promise.constants)


def test_one_component_needs_no_bounds_of_the_contrast():
    alone = ica_promise(0.1, radius=1e200, curvature=0.1, n_dimensions=1, contrast="cube")
    assert (alone.value, alone.holds) == (0.1, True)


def test_an_infinite_error_promises_nothing():
    assert unmixing_promise(math.inf, **GIVEN).value is None


def test_that_curvature_is_kept_is_proved_for_small_errors_only():
    given = {
        "radius": 2.0,
        "curvature": 0.05,
        "curvature_at_optimum": 0.1,
        "n_dimensions": 2,
    }
    assert ica_promise(1e-5, **given).holds is True
    undecided = ica_promise(1e-2, **given)
    assert undecided.holds is None
    assert "does not decide" in undecided.condition


@pytest.mark.parametrize("contrast", [LogCosh(), LogCosh(2.0), Exp(), Cube()])
@pytest.mark.parametrize("n_rows", [1, 2, 30])
def test_curvature_is_lost_no_faster_than_the_proof_allows(contrast, n_rows, rng):
    moved, radius, d = 0.05, 1.5, 3
    promise = ica_promise(
        moved,
        radius=radius,
        curvature=0.1,
        curvature_at_optimum=0.2,
        n_dimensions=d,
        contrast=contrast,
    )
    rate = promise.constant("μ lost") / float(promise)
    rows, shift = rng.normal(size=(2, 2000, n_rows, d))
    rows *= radius / np.linalg.norm(rows, axis=2, keepdims=True)
    shift *= moved / np.linalg.norm(shift, axis=2, keepdims=True)
    signs = np.ones((len(rows), d))
    _, before = derivatives(contrast, signs, rows, skew_basis(d))
    _, after = derivatives(contrast, signs, rows + shift, skew_basis(d))
    change = np.linalg.norm(after - before, ord=2, axis=(1, 2)).max()
    assert change <= rate * moved
    # The rate is not idle: a single row comes within a factor of ten.
    assert n_rows > 1 or change > 0.1 * rate * moved


def test_a_curvature_that_is_not_a_number_is_refused():
    with pytest.raises(InputError, match="the curvature is nan"):
        ica_promise(0.1, radius=1.0, curvature=math.nan, n_dimensions=2)


@pytest.mark.parametrize("contrast", [LogCosh(), Exp()])
def test_the_curvature_the_library_measures_is_that_of_the_lemma(contrast):
    rng = np.random.default_rng(3)
    rows = np.stack([rng.laplace(size=400), rng.uniform(size=400), rng.laplace(size=400)], axis=1)
    white = centred(rows[None])
    white = white @ whitening_map(white)[0]
    found = find_components(choose_engine(None), white[0], contrast=contrast, tolerance=1e-9)
    components = (white[0] - found.mean) @ found.components.T
    signs = contrast_signs(contrast, components[None])
    at_optimum = follow(contrast, signs, white, white, found.components[None], n_stops=0)
    measured = smallest_curvature(choose_engine(None), white[0], found, contrast).value
    assert at_optimum.found.all()
    assert measured == pytest.approx(at_optimum.curvature[0], rel=1e-5)

    def value(turn):
        value, _, _ = contrast(np, components @ scipy.linalg.expm(turn).T)
        return float(signs[0] @ value.mean(axis=0))

    # Along the softest turn, of unit Frobenius norm, the contrast curves by exactly this much.
    turn, step = at_optimum.softest[0], 1e-3
    assert np.linalg.norm(turn) == pytest.approx(1.0)
    second = (value(step * turn) + value(-step * turn) - 2 * value(0 * turn)) / step**2
    assert second == pytest.approx(measured, rel=1e-3)


def test_turns_are_orthonormal_skew_matrices():
    turns = skew_basis(4)
    assert np.allclose(np.einsum("kij,lij->kl", turns, turns), np.eye(6))
    assert np.allclose(turns, -turns.swapaxes(1, 2))
