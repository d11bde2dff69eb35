"""The best map of every group: exact on its own elements, optimal, stable, invertible."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.spatial
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from upto.alignment import (
    fit_map,
    fit_maps,
    row_errors,
    smallest_worst_error,
    smallest_worst_errors,
)
from upto.core import Group, InputError
from upto.engines import ThreadsEngine, cross_moments, nearest_rotation, pseudo_inverse
from upto.testing import embeddings_strategy, random_element

ROUNDING = 1e-9
# Directions below 1e-12 of the variance are taken as absent: 1e-6 of the size of the data.
ABSENT = 5e-6
SOLVER = 1e-6
# Lawson's iteration approaches the smallest worst error; this is how near it must come.
CHEBYSHEV = 5e-3
EARLY_END = 0.1

GROUPS = [group for group in Group if group.is_affine]
MOVING = [group for group in GROUPS if group is not Group.IDENTITY]
NESTED = [
    (outer, inner)
    for outer, inner in itertools.product(GROUPS, repeat=2)
    if outer is not inner and outer.contains(inner)
]
ENGINE = ThreadsEngine(n_threads=1)
seeds = st.integers(0, 2**32 - 1)


def fitted(group, source, target):
    return fit_map(group, cross_moments(ENGINE, source, target))


def rms(group, source, target) -> float:
    residual = target - fitted(group, source, target).predict(source)
    return float(np.sqrt(np.square(residual).sum(axis=1).mean()))


def size(*arrays) -> float:
    return max(float(np.abs(array).max()) for array in arrays) + np.finfo(float).tiny


def centred(rows):
    return rows - rows.mean(axis=0)


def padded(rows, width):
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


def pair(rng, n=30, source_width=3, target_width=3, noise=1.0):
    source = rng.normal(size=(n, source_width)) + 3
    target = source @ rng.normal(size=(source_width, target_width))
    return source, target + noise * rng.normal(size=target.shape)


# Exactness.


@pytest.mark.parametrize("group", GROUPS)
@given(source=embeddings_strategy(), seed=seeds)
def test_a_run_moved_by_an_element_is_aligned_exactly(group, source, seed):
    linear, translation = random_element(group, source.shape[1], np.random.default_rng(seed))
    target = source @ linear + translation
    prediction = fitted(group, source, target).predict(source)
    np.testing.assert_allclose(prediction, target, atol=ABSENT * size(source, target))


@pytest.mark.parametrize("group", MOVING)
@given(source=embeddings_strategy(max_features=4), extra=st.integers(1, 3), seed=seeds)
def test_a_run_moved_into_a_wider_space_is_aligned_exactly(group, source, extra, seed):
    width = source.shape[1]
    rng = np.random.default_rng(seed)
    linear, translation = random_element(group, width, rng, n_out=width + extra)
    target = source @ linear + translation
    prediction = fitted(group, source, target).predict(source)
    np.testing.assert_allclose(prediction, target, atol=ABSENT * size(source, target))


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_element_itself_is_recovered_at_any_scale_and_distance(group, offset, scale, rng):
    source = scale * (rng.laplace(size=(200, 4)) + offset)
    linear, translation = random_element(group, 4, rng)
    found = fitted(group, source, source @ linear + scale * translation)
    np.testing.assert_allclose(found.linear(), linear, atol=ROUNDING * max(1.0, offset / 1e2))


# Nesting.


@pytest.mark.parametrize(("outer", "inner"), NESTED, ids=str)
@given(data=st.data(), seed=seeds)
def test_the_error_never_grows_with_a_larger_group(outer, inner, data, seed):
    source = data.draw(embeddings_strategy())
    rng = np.random.default_rng(seed)
    target = rng.permutation(source) + source[:, ::-1] * rng.choice([0.0, 1e-3, 1.0])
    small, large = rms(inner, source, target), rms(outer, source, target)
    assert large <= small + ABSENT * size(source, target)


@pytest.mark.parametrize(("outer", "inner"), NESTED, ids=str)
def test_the_error_never_grows_with_a_larger_group_on_ordinary_data(outer, inner, rng):
    for width in (1, 2, 6):
        source, target = pair(rng, source_width=width, target_width=width)
        assert rms(outer, source, target) <= rms(inner, source, target) * (1 + ROUNDING)


# Least squares, checked by trying everything or by another library.


def signed_permutations(width):
    for order in itertools.permutations(range(width)):
        for signs in itertools.product([-1.0, 1.0], repeat=width):
            matrix = np.zeros((width, width))
            matrix[order, np.arange(width)] = signs
            yield matrix


@pytest.mark.parametrize(
    ("source_width", "target_width"),
    [(1, 1), (2, 2), (3, 3), (4, 4), (2, 4), (1, 3), (4, 2), (3, 1)],
)
def test_the_signed_permutation_is_the_best_of_all(source_width, target_width, rng):
    width = max(source_width, target_width)
    for _ in range(3):
        source, target = pair(rng, 15, source_width, target_width)
        x, y = padded(centred(source), width), padded(centred(target), width)
        errors = [np.square(y - x @ matrix).sum() for matrix in signed_permutations(width)]
        scores = {
            matrix[:source_width, :target_width].tobytes(): error
            for matrix, error in zip(signed_permutations(width), errors, strict=True)
        }
        found = fitted(Group.SIGNED_PERMUTATION, source, target).linear()
        np.testing.assert_allclose(scores[(found + 0.0).tobytes()], min(errors), rtol=ROUNDING)
        scaled = [
            np.square(y - x @ matrix * (np.vdot(x @ matrix, y) / np.vdot(x, x))).sum()
            for matrix in signed_permutations(width)
        ]
        similar = fitted(Group.SIGNED_SIMILARITY, source, target).linear()
        full = np.zeros((width, width))
        full[:source_width, :target_width] = similar
        # What is left out maps onto the padding, where the best scale is the same one.
        if source_width <= target_width:
            np.testing.assert_allclose(np.square(y - x @ full).sum(), min(scaled), rtol=ROUNDING)


@pytest.mark.parametrize(
    ("source_width", "target_width"), [(1, 1), (3, 3), (4, 4), (2, 4), (4, 2), (3, 1), (1, 3)]
)
def test_the_scaled_permutation_is_the_best_of_all(source_width, target_width, rng):
    for _ in range(5):
        source, target = pair(rng, 15, source_width, target_width)
        x, y = centred(source), centred(target)
        matched = min(source_width, target_width)
        best = np.inf
        for sources in itertools.permutations(range(source_width), matched):
            for targets in itertools.combinations(range(target_width), matched):
                prediction = np.zeros_like(y)
                for i, j in zip(sources, targets, strict=True):
                    prediction[:, j] = x[:, i] * (x[:, i] @ y[:, j]) / (x[:, i] @ x[:, i])
                best = min(best, float(np.sqrt(np.square(y - prediction).sum(axis=1).mean())))
        np.testing.assert_allclose(
            rms(Group.SCALED_PERMUTATION, source, target), best, rtol=ROUNDING
        )


@pytest.mark.parametrize(("source_width", "target_width"), [(1, 1), (5, 5), (3, 6)])
def test_the_rigid_map_is_scipys(source_width, target_width, rng):
    width = max(source_width, target_width)
    source, target = pair(rng, 40, source_width, target_width)
    x, y = padded(centred(source), width), padded(centred(target), width)
    rotation, _ = scipy.linalg.orthogonal_procrustes(x, y)
    wanted = np.trace(rotation.T @ x.T @ y)
    found = fitted(Group.RIGID, source, target)
    np.testing.assert_allclose(
        np.vdot(found.linear(), centred(source).T @ centred(target)), wanted, rtol=ROUNDING
    )
    if source_width == target_width:
        np.testing.assert_allclose(found.linear(), rotation, atol=ROUNDING)
        np.testing.assert_allclose(found.predict(source), x @ rotation + target.mean(axis=0))


def test_a_rigid_map_that_drops_coordinates_beats_the_padded_one(rng):
    source, target = pair(rng, 40, 6, 3)
    x, y = centred(source), centred(target)
    rotation, _ = scipy.linalg.orthogonal_procrustes(x, padded(y, 6))
    found = fitted(Group.RIGID, source, target).linear()
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=ROUNDING)
    assert np.sum((y - x @ found) ** 2) <= np.sum((y - x @ rotation[:, :3]) ** 2)


@pytest.mark.parametrize("size", [0.1, 0.5, 1.0, 2.0, 10.0])
@pytest.mark.parametrize("group", [Group.SIGNED_SIMILARITY, Group.SIMILARITY])
def test_a_scaled_map_that_drops_coordinates_is_no_worse_than_the_planted_one(group, size, rng):
    kept = rng.laplace(size=(300, 4))
    # Coordinates to drop, which tell of those to keep and vary more.
    source = np.column_stack([kept[:, :2] ** 2, kept])
    turn = np.eye(4)[:, [2, 0, 3, 1]] * [1, -1, 1, -1]
    if group is Group.SIMILARITY:
        turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    target = size * (kept @ turn + 0.2 * rng.normal(size=(300, 4))) + 7
    planted = centred(source) @ np.vstack([np.zeros((2, 4)), turn])
    scale = np.vdot(planted, centred(target)) / np.vdot(planted, planted)
    wanted = np.sqrt(np.square(centred(target) - scale * planted).sum(axis=1).mean())
    assert rms(group, source, target) <= wanted * (1 + ROUNDING)


@pytest.mark.parametrize(("source_width", "target_width"), [(1, 1), (5, 5), (3, 6)])
def test_the_similarity_is_scipys(source_width, target_width, rng):
    width = max(source_width, target_width)
    source, target = pair(rng, 40, source_width, target_width)
    *_, disparity = scipy.spatial.procrustes(padded(target, width), padded(source, width))
    total = np.sqrt(np.square(centred(target)).sum(axis=1).mean())
    np.testing.assert_allclose(
        rms(Group.SIMILARITY, source, target), np.sqrt(disparity) * total, rtol=ROUNDING
    )


def test_a_similarity_gives_its_scale_back(rng):
    source = rng.normal(size=(50, 4))
    rotation, translation = random_element(Group.RIGID, 4, rng)
    found = fitted(Group.SIMILARITY, source, 3 * source @ rotation + translation)
    np.testing.assert_allclose(found.scale, 3.0, rtol=ROUNDING)


def test_a_constant_source_is_mapped_to_the_mean_of_the_target(rng):
    source, target = np.full((20, 3), 7.0), rng.normal(size=(20, 3))
    for group in (
        Group.SIGNED_SIMILARITY,
        Group.SCALED_PERMUTATION,
        Group.SIMILARITY,
        Group.AFFINE,
    ):
        prediction = fitted(group, source, target).predict(source)
        np.testing.assert_allclose(prediction, np.tile(target.mean(axis=0), (20, 1)), atol=ROUNDING)


@pytest.mark.parametrize("shape", [(50, 4, 4), (50, 6, 2), (50, 2, 6), (5, 4, 3), (6, 1, 1)])
def test_the_affine_map_is_scikit_learns(shape, rng):
    source, target = pair(rng, *shape)
    oracle = LinearRegression().fit(source, target)
    found = fitted(Group.AFFINE, source, target)
    np.testing.assert_allclose(found.linear(), oracle.coef_.T.reshape(shape[1:]), atol=ROUNDING)
    fresh = rng.normal(size=(10, shape[1]))
    np.testing.assert_allclose(
        found.predict(fresh), oracle.predict(fresh).reshape(10, -1), atol=ROUNDING
    )


DEFICIENT = {
    "fewer rows than coordinates": lambda x: x[:4],
    "one row more than coordinates": lambda x: x[:7],
    "a dead coordinate": lambda x: x * [1, 1, 0, 1, 1, 1],
    "a duplicated coordinate": lambda x: x[:, [0, 1, 2, 3, 4, 0]],
    "a dead and a duplicated coordinate": lambda x: x[:, [0, 1, 2, 3, 0, 0]] * [1, 1, 0, 1, 1, 1],
    "rank two": lambda x: x[:, :2] @ np.random.default_rng(1).normal(size=(2, 6)),
    "two rows": lambda x: x[:2],
}


@pytest.mark.parametrize("deficient", DEFICIENT.values(), ids=DEFICIENT)
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_the_affine_map_of_least_norm_is_taken_where_many_fit(deficient, offset, rng):
    source = deficient(rng.normal(size=(40, 6))) + offset
    target = rng.normal(size=(len(source), 3))
    wanted, *_ = np.linalg.lstsq(centred(source), centred(target), rcond=1e-8)
    found = fitted(Group.AFFINE, source, target).linear()
    np.testing.assert_allclose(found, wanted, atol=SOLVER * size(wanted))


@pytest.mark.parametrize("deficient", [lambda x: x, *DEFICIENT.values()], ids=["full", *DEFICIENT])
def test_coordinates_of_very_different_scale_are_all_used(deficient, rng):
    source = deficient(rng.normal(size=(40, 6)))
    target = rng.normal(size=(len(source), 3)) + source[:, :3]
    # The coefficients of least norm mix the scales, so rounding limits how far apart they may be.
    full_rank = np.linalg.matrix_rank(centred(source)) == 6
    scales = np.array([1e-6, 1e6, 1, 1e3, 1e-6, 1e6] if full_rank else [1e-3, 1e3, 1, 10, 1, 1e3])
    wanted, *_ = np.linalg.lstsq(centred(source), centred(target), rcond=1e-8)
    found = fitted(Group.AFFINE, source * scales, target).predict(source * scales)
    np.testing.assert_allclose(
        found, centred(source) @ wanted + target.mean(axis=0), atol=SOLVER * size(target)
    )


# Pieces.


def assert_moore_penrose(matrix, inverse):
    scale = np.linalg.norm(matrix, 2) * np.linalg.norm(inverse, 2) + 1
    for product, wanted in (
        (matrix @ inverse @ matrix, matrix),
        (inverse @ matrix @ inverse, inverse),
        ((matrix @ inverse).T, matrix @ inverse),
    ):
        np.testing.assert_allclose(product, wanted, atol=ROUNDING * scale * size(wanted))


@pytest.mark.parametrize("rank", range(6))
def test_the_pseudo_inverse_is_numpys(rank, rng):
    rows = rng.normal(size=(20, rank)) @ rng.normal(size=(rank, 5)) * [0.1, 1, 10, 1, 1]
    scatter = rows.T @ rows
    found = pseudo_inverse(scatter)
    wanted = np.linalg.pinv(scatter, rcond=1e-10, hermitian=True)
    np.testing.assert_allclose(found, wanted, atol=SOLVER * size(wanted))
    assert_moore_penrose(scatter, found)


@pytest.mark.parametrize("scale", [1e-17, 1e-9, 1e9])
def test_the_pseudo_inverse_follows_the_scale_of_the_data(scale, rng):
    rows = rng.normal(size=(30, 5))[:, [0, 1, 2, 0, 3]] * [1, 0, 1, 1, 1]
    wanted = pseudo_inverse(rows.T @ rows)
    found = pseudo_inverse(scale**2 * (rows.T @ rows))
    np.testing.assert_allclose(found * scale**2, wanted, atol=ROUNDING)


@pytest.mark.parametrize("small", [1e-29, 1e-14, 1e-10])
def test_a_coordinate_that_hardly_varies_does_not_spoil_the_affine_map(small, rng):
    source = rng.normal(size=(30, 4))[:, [0, 1, 2, 0]] * [1, small, 1, 1]
    target = rng.normal(size=(30, 2))
    with_it, without = rms(Group.AFFINE, source, target), rms(Group.AFFINE, source[:, ::2], target)
    assert with_it <= without * (1 + 1e-5)


def test_the_pseudo_inverse_does_not_let_a_large_coordinate_hide_the_others(rng):
    scales = np.array([1e-6, 1.0, 1e6])
    rows = rng.normal(size=(50, 3))
    found = pseudo_inverse((rows * scales).T @ (rows * scales))
    wanted = np.linalg.inv(rows.T @ rows)
    np.testing.assert_allclose(found * np.outer(scales, scales), wanted, atol=ROUNDING)


matrices = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 5), seeds)


@given(draw=matrices)
def test_the_nearest_rotation_is_always_orthogonal(draw):
    rows, columns, rank, seed = draw
    rng = np.random.default_rng(seed)
    cross = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))
    rotation = nearest_rotation(cross)
    assert rotation.shape == (rows, columns)
    gram = rotation @ rotation.T if rows <= columns else rotation.T @ rotation
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=ROUNDING)
    reached = np.linalg.svd(cross, compute_uv=False).sum()
    np.testing.assert_allclose(np.vdot(rotation, cross), reached, atol=ROUNDING * (1 + reached))


@given(source=embeddings_strategy())
def test_the_nearest_rotation_of_any_data_is_orthogonal(source):
    rotation = nearest_rotation(source[: source.shape[1]].T @ source[: source.shape[1]])
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(len(rotation)), atol=ROUNDING)


@pytest.mark.parametrize("rank", range(5))
def test_the_nearest_rotation_does_not_depend_on_rounding(rank, rng):
    cross = rng.normal(size=(5, rank)) @ rng.normal(size=(rank, 5))
    wanted = nearest_rotation(cross)
    for _ in range(5):
        shaken = cross + 1e-15 * rng.normal(size=cross.shape) * (rank > 0)
        np.testing.assert_allclose(nearest_rotation(shaken), wanted, atol=SOLVER)


@pytest.mark.parametrize("shape", [(4, 4), (2, 5), (5, 2)])
def test_without_any_correlation_the_identity_is_taken(shape):
    np.testing.assert_allclose(nearest_rotation(np.zeros(shape)), np.eye(*shape), atol=ROUNDING)


def test_directions_the_data_do_not_reach_are_left_alone(rng):
    cross = np.zeros((5, 5))
    turn, _ = np.linalg.qr(rng.normal(size=(2, 2)))
    cross[:2, :2] = turn
    wanted = np.eye(5)
    wanted[:2, :2] = turn
    np.testing.assert_allclose(nearest_rotation(cross), wanted, atol=ROUNDING)


# Maps as objects.


@pytest.mark.parametrize("group", GROUPS)
def test_the_inverse_undoes_the_map(group, rng):
    source, target = pair(rng, 60, 4, 4)
    found = fitted(group, source, target)
    fresh = rng.normal(size=(10, 4))
    np.testing.assert_allclose(found.inverse().predict(found.predict(fresh)), fresh, atol=SOLVER)
    twice = found.inverse().inverse()
    np.testing.assert_allclose(twice.predict(fresh), found.predict(fresh), atol=SOLVER)


def test_the_inverse_of_an_embedding_projects_back(rng):
    source, target = pair(rng, 60, 3, 5)
    for group in MOVING:
        found = fitted(group, source, target)
        np.testing.assert_allclose(
            found.inverse().predict(found.predict(source)), source, atol=SOLVER
        )


@pytest.mark.parametrize("group", GROUPS)
def test_predictions_are_the_linear_part_between_the_means(group, rng):
    source, target = pair(rng)
    found = fitted(group, source, target)
    by_hand = (source - found.source_mean) @ found.linear() + found.target_mean
    np.testing.assert_allclose(found.predict(source), by_hand, atol=ROUNDING)


@given(order=st.permutations(GROUPS), seed=seeds)
def test_groups_fitted_together_are_those_fitted_alone(order, seed):
    source, target = pair(np.random.default_rng(seed), 20, 4, 4)
    moments = cross_moments(ENGINE, source, target)
    together = fit_maps(order, moments)
    assert list(together) == order
    for group, found in together.items():
        np.testing.assert_allclose(
            found.linear(), fit_map(group, moments).linear(), atol=ROUNDING, err_msg=group
        )


@pytest.mark.parametrize("keep", [None, np.arange(30) % 3 == 0])
def test_row_errors_are_the_norms_of_the_residuals(keep, rng):
    source, target = pair(rng, 30, 4, 4)
    maps = fit_maps(GROUPS, cross_moments(ENGINE, source, target))
    errors = row_errors(ThreadsEngine(block_rows=7), source, target, list(maps.values()), keep)
    kept = slice(None) if keep is None else keep
    assert errors.shape == (len(source[kept]), len(GROUPS))
    for column, found in zip(errors.T, maps.values(), strict=True):
        wanted = np.linalg.norm(target - found.predict(source), axis=1)[kept]
        np.testing.assert_allclose(column, wanted, rtol=ROUNDING)


def test_the_identity_between_widths_is_refused(rng):
    with pytest.raises(InputError, match="equal width, not 3 and 5 coordinates: compare up to an"):
        fitted(Group.IDENTITY, *pair(rng, 20, 3, 5))


# The smallest worst error.


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@given(source=embeddings_strategy(), seed=seeds)
def test_the_smallest_worst_error_is_never_worse_than_least_squares(group, source, seed):
    rng = np.random.default_rng(seed)
    target = source[:, ::-1] + rng.normal(size=source.shape)
    start = fitted(group, source, target)
    found = smallest_worst_error(group, source, target, start)
    best, worst = found.map, found.worst
    assert 0.0 <= found.bound <= worst
    errors = np.linalg.norm(target - best.predict(source), axis=1)
    np.testing.assert_allclose(errors.max(), worst)
    first = np.linalg.norm(target - start.predict(source), axis=1).max()
    assert worst <= first * (1 + ROUNDING)


@pytest.mark.parametrize("widths", [(4, 4), (5, 3)])
def test_groups_searched_together_have_the_worst_errors_of_each_alone(widths, rng):
    source = rng.laplace(size=(300, widths[0]))
    target = source[:, : widths[1]] * 1.5 + 0.3 * rng.laplace(size=(300, widths[1]))
    groups = [group for group in GROUPS if widths[0] == widths[1] or group is not Group.IDENTITY]
    starts = {group: fitted(group, source, target) for group in groups}
    together = smallest_worst_errors(source, target, starts, max_iterations=12)
    for group, start in starts.items():
        alone = smallest_worst_error(group, source, target, start, max_iterations=12)
        assert together[group].worst == pytest.approx(alone.worst, rel=ROUNDING)
        assert together[group].bound == pytest.approx(alone.bound, rel=ROUNDING)
        first = np.linalg.norm(target - start.predict(source), axis=1).max()
        assert group is Group.IDENTITY or together[group].worst < first
    none = smallest_worst_errors(source, target, starts, max_iterations=0)
    assert all(none[group].map is starts[group] for group in groups)


def test_the_smallest_worst_error_of_the_identity_is_its_own(rng):
    source, target = pair(rng)
    start = fitted(Group.IDENTITY, source, target)
    found = smallest_worst_error(Group.IDENTITY, source, target, start)
    best, worst = found.map, found.worst
    assert found.bound == worst
    np.testing.assert_allclose(worst, np.linalg.norm(target - source, axis=1).max())
    np.testing.assert_allclose(best.predict(source), source)


def test_an_exact_fit_stays(rng):
    source = rng.normal(size=(20, 3))
    start = fitted(Group.AFFINE, source, source)
    found = smallest_worst_error(Group.AFFINE, source, source, start)
    best, worst = found.map, found.worst
    assert best is start
    np.testing.assert_allclose(worst, 0.0, atol=ROUNDING)


def chebyshev_line(x, y) -> float:
    """Return the smallest worst error of a line by linear programming."""
    n = len(x)
    ones = np.ones(n)
    upper = np.column_stack([x, ones, -ones])
    limits = np.vstack([upper, np.column_stack([-x, -ones, -ones])])
    solution = scipy.optimize.linprog(
        [0, 0, 1], A_ub=limits, b_ub=np.r_[y, -y], bounds=[(None, None), (None, None), (0, None)]
    )
    return float(solution.fun)


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_worst_error_of_a_line_is_the_chebyshev_solution(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 1))
    y = x**2 + 0.3 * rng.normal(size=x.shape)
    start = fitted(Group.AFFINE, x, y)
    wanted = chebyshev_line(x[:, 0], y[:, 0])
    found = smallest_worst_error(Group.AFFINE, x, y, start, max_iterations=1000, tolerance=0)
    worst = found.worst
    assert worst >= wanted * (1 - ROUNDING)
    assert found.bound <= wanted * (1 + ROUNDING)
    np.testing.assert_allclose(found.bound, wanted, rtol=CHEBYSHEV)
    np.testing.assert_allclose(worst, wanted, rtol=CHEBYSHEV)


@pytest.mark.parametrize("seed", range(6))
def test_by_default_the_iteration_ends_near_the_smallest_worst_error(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 1))
    y = x**2 + 0.3 * rng.normal(size=x.shape)
    start = fitted(Group.AFFINE, x, y)
    wanted = chebyshev_line(x[:, 0], y[:, 0])
    found = smallest_worst_error(Group.AFFINE, x, y, start)
    np.testing.assert_allclose(found.worst, wanted, rtol=EARLY_END)
    assert found.bound <= wanted * (1 + ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_worst_error_of_a_plane_is_what_a_general_solver_finds(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(15, 2))
    y = np.sin(2 * x) + 0.1 * rng.normal(size=x.shape)
    start = fitted(Group.AFFINE, x, y)
    worst = smallest_worst_error(Group.AFFINE, x, y, start, max_iterations=1000, tolerance=0).worst
    ones = np.column_stack([x, np.ones(15)])

    def slack(free):
        return free[-1] ** 2 - np.square(y - ones @ free[:-1].reshape(3, 2)).sum(axis=1)

    begin = np.linalg.lstsq(ones, y, rcond=None)[0].ravel()
    solution = scipy.optimize.minimize(
        lambda free: free[-1],
        np.r_[begin, 3.0],
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert solution.success
    np.testing.assert_allclose(worst, solution.fun, rtol=CHEBYSHEV)


def test_the_translation_alone_finds_the_middle_of_the_range():
    """In one dimension the best rigid motion of equal points centres the target's range."""
    source = np.zeros((4, 1))
    target = np.array([[0.0], [0.0], [0.0], [8.0]])
    start = fitted(Group.RIGID, source, target)
    worst = smallest_worst_error(
        Group.RIGID, source, target, start, max_iterations=1000, tolerance=0
    ).worst
    np.testing.assert_allclose(worst, 4.0, rtol=CHEBYSHEV)


@pytest.mark.parametrize("group", GROUPS)
@given(seed=seeds)
def test_no_element_of_the_group_beats_the_proved_bound(group, seed):
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(20, 3))
    linear, translation = random_element(group, 3, rng)
    target = source @ linear + translation + rng.normal(size=source.shape)
    bound = smallest_worst_error(group, source, target, fitted(group, source, target)).bound
    planted = np.linalg.norm(target - source @ linear - translation, axis=1).max()
    assert bound <= planted * (1 + ROUNDING)
