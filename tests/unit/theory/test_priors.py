"""Checks of the assumptions on a Gaussian mixture prior."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from upto.core import Group, InputError
from upto.measures import Mixture, fit_mixture, push_forward
from upto.theory import check_prior, distinct_ratios, stated, what_is_identified


def mixture_of(variances, means=None):
    variances = np.asarray(variances, dtype=float)
    count, width = variances.shape
    if means is None:
        means = np.arange(count * width, dtype=float).reshape(count, width)
    return np.full(count, 1 / count), np.asarray(means, dtype=float), variances


def holds(mixture, **options):
    return [each.holds for each in check_prior(mixture, **options)]


def test_unequal_ratios_hold_and_equal_ones_fail():
    assert holds(mixture_of([[1, 1, 1], [1, 2, 3]]))[1]
    assert holds(mixture_of([[1, 1, 1], [1, 2, 2]]))[1] is False
    assert holds(mixture_of([[1, 2, 3], [2, 4, 6]]))[1] is False


def test_one_pair_of_states_is_enough_but_it_must_be_one_pair():
    assert holds(mixture_of([[1, 1, 1], [1, 2, 2], [1, 2, 4]]))[1]
    # Each two coordinates are told apart by some pair of states, all three by none.
    assert holds(mixture_of([[1, 1, 1], [1, 1, 2], [1, 1, 4]]))[1] is False


def test_the_best_pair_and_its_gap_are_reported():
    pair, gap = distinct_ratios([[1.0, 1.0], [1.0, 1.1], [1.0, 8.0], [2.0, 2.0]])
    assert pair == (0, 2)
    np.testing.assert_allclose(gap, np.log(8))
    evidence = check_prior(mixture_of([[1, 1], [1, 1.1], [1, 8]]))[1].evidence
    assert "components 1 and 3" in evidence
    assert "2.08 apart" in evidence


def test_a_gap_below_the_tolerance_is_none():
    mixture = mixture_of([[1, 1], [1, 1.05]])
    assert holds(mixture)[1]
    assert holds(mixture, gap=0.1)[1] is False


def test_one_state_fails_and_one_coordinate_needs_two():
    assert holds(mixture_of([[1, 2]]))[:2] == [True, False]
    assert holds(mixture_of([[1.0], [2.0]]))[1]
    assert holds(mixture_of([[1.0]]))[1] is False


def test_states_with_a_constant_coordinate_have_no_ratio():
    assert distinct_ratios([[0.0, 1.0], [1.0, 2.0]]) == (None, 0.0)
    assert holds(mixture_of([[0, 1], [1, 2]]))[1] is False
    assert "1 of 2 are degenerate" in check_prior(mixture_of([[0, 1], [1, 2]]))[0].evidence


def test_correlated_coordinates_fail_with_their_correlation():
    weights, means, variances = mixture_of([[1, 4], [1, 2]])
    covariances = np.stack([np.diag(each) for each in variances])
    covariances[0, 0, 1] = covariances[0, 1, 0] = 0.6
    check = check_prior((weights, means, covariances))[1]
    assert check.holds is False
    assert "correlated by 0.3 within component 1" in check.evidence
    # Correlations that may be zero are not known to be.
    assert holds((weights, means, covariances), correlation=0.31)[1] is None


def test_equal_components_are_counted():
    mixture = mixture_of([[1, 2], [1, 2], [3, 1]], means=[[0, 0], [0, 0], [1, 1]])
    check = check_prior(mixture)[3]
    assert (check.name, check.holds) == ("distinct", False)
    assert "1 of 3 pairs of components are equal, the first of them 1 and 2" in check.evidence


def test_correlations_alone_tell_components_apart():
    covariances = np.array([np.eye(2), [[1.0, 0.5], [0.5, 1.0]]])
    assert holds(([0.5, 0.5], np.zeros((2, 2)), covariances))[3]


def test_a_hidden_variable_that_no_coordinate_depends_on_fails():
    equal = mixture_of(np.ones((2, 2)), np.zeros((2, 2)))
    check = check_prior(equal)[2]
    assert check.holds is False
    assert "no coordinate depends on hidden variable 1" in check.evidence
    unseen = mixture_of(np.ones((4, 2)), np.column_stack([GRID[:, 0], GRID[:, 0]]))
    check = check_prior(unseen, states=GRID)[2]
    assert check.holds is False
    assert "no coordinate depends on hidden variable 2" in check.evidence


GRID = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


def test_two_hidden_variables_with_coordinates_of_their_own_hold():
    means = np.column_stack([GRID[:, 0], GRID[:, 1], GRID[:, 0] + 2 * GRID[:, 1]])
    check = check_prior(mixture_of(np.ones((4, 3)), means), states=GRID)[2]
    assert check.holds
    assert "4 states are a product of 2 sizes at most" in check.evidence


def test_a_hidden_variable_seen_only_where_another_is_fails():
    means = np.column_stack([GRID[:, 0] + 2 * GRID[:, 1], GRID[:, 1]])
    check = check_prior(mixture_of(np.ones((4, 2)), means), states=GRID)[2]
    assert check.holds is False
    assert "(c) fails: all 1 coordinates that depend on hidden variable 1" in check.evidence


def test_states_that_a_coordinate_confuses_fail():
    # The second coordinate depends on both variables but is the same for (0, 1) and (1, 0).
    means = np.column_stack([GRID[:, 0], GRID[:, 1], GRID.sum(axis=1)])
    check = check_prior(mixture_of(np.ones((4, 3)), means), states=GRID)[2]
    assert check.holds is False
    assert "(a) fails: coordinate 3 has the same law in components 2 and 3" in check.evidence


def test_variances_tell_states_apart_as_well_as_means():
    variances = np.column_stack([1 + GRID[:, 0], 1 + GRID[:, 1]])
    check = check_prior(mixture_of(variances, np.zeros((4, 2))), states=GRID)[2]
    assert check.holds


def test_one_hidden_variable_with_four_states_could_be_two():
    means = np.arange(8.0).reshape(4, 2)
    assert holds(mixture_of(np.ones((4, 2)), means))[2] is None
    assert holds(mixture_of(np.ones((3, 2)), means[:3]))[2] is True


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_fitted_mixture_of_scikit_learn_is_read_and_does_not_tell(rng, kind):
    rows = np.vstack([rng.normal(size=(300, 2)) * [1, 3], rng.normal(size=(300, 2)) + 9])
    fitted = GaussianMixture(2, covariance_type=kind, random_state=0).fit(rows)
    checks = check_prior(fitted, correlation=0.3, gap=0.1)
    assert "2 Gaussian components in 2 dimensions" in checks[0].evidence
    assert [each.holds for each in checks] == [None] * 5
    assert "give the rows for a test" in checks[1].evidence


def test_a_component_that_is_there_by_chance_is_not_taken_for_one():
    """Two diagonal components fitted to a round Gaussian differ in shape by more than √(2/n)."""
    rows = np.random.default_rng(0).normal(size=(600, 3))
    fitted = GaussianMixture(2, covariance_type="diag", random_state=0).fit(rows)
    assert distinct_ratios(fitted.covariances_)[1] > np.sqrt(2 / 600)
    decoder = stated("F1", "F4", "continuous")
    parameters = fitted.weights_, fitted.means_, fitted.covariances_
    tested = check_prior(fitted, rows=rows)
    for checks, group in (
        (check_prior(fitted), None),
        (check_prior(parameters, fitted=True), None),
        (tested, Group.AFFINE),
    ):
        found = what_is_identified([*checks, *decoder], hidden_variables=1)
        assert found.prior is group
        assert found.decoder is group
        assert not found.hidden
    assert "1 Gaussian component would suffice" in tested[1].evidence
    assert "may be spurious" in tested[1].evidence


@pytest.mark.parametrize("seed", range(2))
def test_few_rows_of_a_cloud_do_not_make_it_two_gaussians(seed):
    rows = np.random.default_rng(seed).laplace(size=(60, 2))
    fitted = GaussianMixture(2, covariance_type="diag", n_init=2, random_state=0).fit(rows)
    checks = {each.name: each for each in check_prior(fitted, rows=rows)}
    assert not {"P1", "P1 partly", "P2", "distinct"} & {n for n, c in checks.items() if c.holds}
    assert "fewer than 300 rows often hide another law" in checks["P1"].evidence
    assert checks["P1"].n_enough == 300


@pytest.mark.slow
def test_components_that_are_there_are_told_from_the_rows(rng):
    rows = np.vstack([rng.normal(size=(400, 2)) * [1, 3], rng.normal(size=(400, 2)) + 6])
    fitted = GaussianMixture(2, covariance_type="diag", random_state=0).fit(rows)
    checks = check_prior(fitted, rows=rows)
    assert [each.holds for each in checks] == [True, True, None, True, True]
    assert "slightly heavier tails would go undetected" in checks[0].evidence
    assert "1 Gaussian component would suffice 0.01 by 99 draws" in checks[1].evidence
    # Correlations of a full fit are never zero, so that they are is not known.
    full = GaussianMixture(2, random_state=0).fit(rows)
    assert check_prior(full, correlation=0.5)[1].holds is None


def test_what_is_degenerate_does_not_depend_on_units():
    mixture = mixture_of([[1e-9, 1.0], [4e-9, 1.0]], means=[[0, 0], [1e-5, 5]])
    assert holds(mixture) == holds(mixture_of([[1, 1], [4, 1]], means=[[0, 0], [0.3, 5]]))
    assert holds(mixture)[0]


def test_flat_components_and_points_are_degenerate_in_any_direction():
    line = np.array([[1.0, 1.0], [1.0, 1.0]])
    means = np.array([[0.0, 0.0], [3.0, 1.0]])
    for covariances, expected in [
        ([np.eye(2), line], (False, True)),
        ([line, np.zeros((2, 2))], (False, False)),
        ([line.astype(np.float32) * np.float32(0.1)] * 2, (False, False)),
        ([np.eye(2), line + 1e-3 * np.eye(2)], (True, True)),
    ]:
        checks = check_prior(([0.5, 0.5], means, np.array(covariances)))
        assert (checks[0].holds, checks[4].holds) == expected
        assert (checks[0].name, checks[4].name) == ("P1", "P1 partly")


def test_the_mixture_of_the_measures_is_read():
    mixture = Mixture(
        weights=[0.5, 0.5], means=[[0, 0], [1, 1]], covariances=[np.eye(2), np.diag([1.0, 2.0])]
    )
    assert holds(mixture) == [True, True, True, True, True]


@pytest.mark.parametrize(
    ("mixture", "options", "message"),
    [
        ("mixture", {}, "a str is not a mixture"),
        (([0.5, 0.5], [[0.0]], [[1.0]]), {}, "not a mixture"),
        (([0.5, 0.6], [[0.0], [1.0]], [[1.0], [1.0]]), {}, "sum to 1.1"),
        (([1.0], [[np.nan]], [[1.0]]), {}, "not all finite"),
        (([1.0], [[0.0]], [[-1.0]]), {}, "none below zero"),
        (([1.0], [[0.0, 0.0]], [[[1.0, 0.5], [0.0, 1.0]]]), {}, "give symmetric ones"),
        (mixture_of(np.ones((2, 2))), {"gap": -1.0}, "gap is -1"),
        (mixture_of(np.ones((2, 2))), {"correlation": np.nan}, "correlation"),
        (mixture_of(np.ones((2, 2))), {"rows": np.ones((5, 2))}, "5 rows are too few"),
        (mixture_of(np.ones((2, 2))), {"rows": np.ones((90, 3))}, "3 coordinates"),
        (mixture_of(np.ones((4, 2))), {"states": [[0], [1]]}, "one row for each"),
        (mixture_of(np.ones((4, 2))), {"states": [[0, 0], [0, 1], [1, 0], [1, 0]]}, "2×2 values"),
        (mixture_of(np.ones((2, 2))), {"states": [[0, 0], [1, 0]]}, "2×1 values"),
    ],
)
def test_what_is_no_mixture_is_refused(mixture, options, message):
    with pytest.raises(InputError, match=message):
        check_prior(mixture, **options)


@pytest.mark.slow
def test_coordinates_that_are_correlated_in_the_rows_refute_p2():
    """A diagonal fit has no correlations to show: the rows have."""
    rng = np.random.default_rng(3)
    shapes = [[1.0, 0.9], [0.9, 1.0]], [[1.0, -0.5], [-0.5, 3.0]]
    rows = np.vstack(
        [
            rng.multivariate_normal([at, at], shape, 150)
            for at, shape in zip((0, 8), shapes, strict=True)
        ]
    )
    fitted = GaussianMixture(2, covariance_type="diag", random_state=0).fit(rows)
    check = check_prior(fitted, rows=rows)[1]
    assert check.holds is False
    assert "that all are zero has p = 0.01" in check.evidence


def test_rows_that_are_no_gaussian_mixture_tell_nothing():
    rows = np.random.default_rng(0).uniform(size=(300, 2))
    fitted = GaussianMixture(2, covariance_type="diag", random_state=0).fit(rows)
    checks = check_prior(fitted, rows=rows)
    assert [each.holds for each in checks] == [None] * 5
    assert "so their law is different" in checks[0].evidence


@pytest.mark.slow
def test_parameters_of_another_law_tell_nothing_of_rows():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(400, 2)), rng.normal(size=(400, 2)) * [1, 7**0.5] + [9, 0]])
    away = [0.5, 0.5], [[0, 0], [100, 0]], [[1, 1], [1, 7]]
    checks = check_prior(away, rows=rows)
    assert [each.holds for each in checks] == [None] * 5
    assert "do not belong together" in checks[1].evidence
    right = [0.5, 0.5], [[0, 0], [9, 0]], [[1, 1], [1, 7]]
    assert holds(right, rows=rows) == [True, True, None, True, True]


def test_variance_ratios_that_rounding_can_make_are_not_known_to_differ():
    means = [[0, 0], [3, 1]]
    exact = np.array([[0.1, 0.7], [0.3, 2.1]])
    assert holds(([0.5, 0.5], means, exact))[1] is False
    stored = exact.astype(np.float16)
    for variances in (stored, stored.astype(float)):
        check = check_prior(([0.5, 0.5], means, variances))[1]
        assert check.holds is None
        assert "rounding to float16 can cause" in check.evidence
    # Few bits do not matter where ratios are far apart.
    assert holds(([0.5, 0.5], means, np.float16([[0.1, 0.7], [0.3, 0.1]])))[1]


def test_a_covariance_that_rounding_made_positive_definite_is_not_known_to_be():
    for seed in range(5):
        factor = np.random.default_rng(seed).normal(size=(4, 3)).astype(np.float32)
        flat = (factor @ factor.T).astype(float)
        checks = check_prior(([1.0], [[0] * 4], [flat]))
        assert checks[0].holds is not True
        assert checks[4].holds is not True


def test_points_have_no_variance_ratios():
    means = [[0, 0], [3, 1]]
    checks = check_prior(([0.5, 0.5], means, [[1, 2], [0, 0]]))
    assert [each.holds for each in checks][:2] == [False, False]
    assert "two positive definite components are needed" in checks[1].evidence
    # Variances so small may be meant as none.
    checks = check_prior(([0.5, 0.5], means, [[1, 2], [1e-20, 5e-20]]))
    assert [each.holds for each in checks][:2] == [None, None]


def test_the_fit_of_the_measures_is_not_taken_for_the_prior(rng):
    rows = rng.uniform(size=(300, 2))
    fitted = fit_mixture(rows, 2)
    assert holds(fitted) == [None] * 5
    moved = push_forward(fitted, np.eye(2), np.ones(2))
    assert holds(moved) == [None] * 5
    assert "parameters fitted to rows do not decide this" in check_prior(moved)[0].evidence


def test_components_far_apart_are_told_in_their_own_units():
    checks = check_prior(([0.5, 0.5], [[0], [1e7]], [[1.0], [4.0]]))
    assert [each.holds for each in checks] == [True] * 5
    three = [0.3, 0.3, 0.4], [[0], [10], [1e8]], [[1.0], [1.0], [1.0]]
    assert holds(three)[3] is True
    equal = [0.3, 0.3, 0.4], [[0], [0], [1e8]], [[1.0], [1.0], [1.0]]
    assert holds(equal)[3] is False
    # Also in what a hidden variable shows.
    assert holds(three)[2] is True


def test_correlations_far_apart_are_seen_in_the_rows(rng):
    shape = np.array([[1.0, 0.9], [0.9, 1.0]])
    rows = np.vstack([rng.multivariate_normal([at, at], shape, 150) for at in (0, 1e7)])
    mixture = [0.5, 0.5], [[0, 0], [1e7, 1e7]], [shape, shape]
    assert "coordinates are correlated by 0.9" in check_prior(mixture)[1].evidence
    assert check_prior(mixture, rows=rows)[1].holds is not True


def test_a_covariance_that_only_its_computing_made_positive_definite_is_not_known():
    rng = np.random.default_rng(0)
    times = rng.normal(size=1000) + 1000
    rows = np.column_stack([times, 0.3 * times + 7])
    mean = rows.mean(axis=0)
    covariance = rows.T @ rows / len(rows) - np.outer(mean, mean)
    if np.linalg.eigvalsh(covariance)[0] < 0:
        covariance += 1e-9 * np.eye(2)
    check = check_prior(([1.0], [mean], [covariance]))[0]
    assert check.holds is None
    assert "in their computation" in check.evidence


def test_a_correlation_above_rounding_is_not_known_to_be_zero():
    shapes = np.array([np.eye(2), np.diag([1.0, 4.0])])
    assert holds(([0.5, 0.5], [[0, 0], [3, 1]], shapes))[1] is True
    shapes[0, 0, 1] = shapes[0, 1, 0] = 5e-7
    assert holds(([0.5, 0.5], [[0, 0], [3, 1]], shapes))[1] is None


def test_square_variances_are_named_as_such():
    checks = check_prior(([0.5, 0.5], [[0, 0], [3, 1]], [[1.0, 0.5], [0.5, 2.0]]))
    for check in checks[:2]:
        assert "the 2×2 numbers are read as variances of 2 components" in check.evidence
    assert "read as" not in check_prior(mixture_of([[1, 2], [3, 4]]))[0].evidence


@pytest.mark.parametrize(
    ("mixture", "message"),
    [
        (([0.5, 0.5], [[0], [1, 2]], [[1.0], [1.0]]), "not arrays of real numbers"),
        ((["a", "b"], [[0], [1]], [[1.0], [1.0]]), "not arrays of real numbers"),
        (([0.5, 0.5], [[0], [1]], [[1j], [1.0]]), "not arrays of real numbers"),
        (([0.5, 0.5], [[0], [1]], [[1e300], [1e300]]), "give latents in other units"),
        (([0.5, 0.5], [[0], [1e200]], [[1.0], [1.0]]), "give latents in other units"),
        (([0.5, 0.5], [[0], [1]], [[1e-300], [1e-300]]), "give latents in other units"),
    ],
)
def test_parameters_that_are_no_numbers_are_refused(mixture, message):
    with pytest.raises(InputError, match=message):
        check_prior(mixture)


@pytest.mark.slow
def test_correlations_that_were_only_not_refuted_do_not_make_p2_true():
    """Within-component correlations of 0.2, of which 200 rows show little."""
    answers = []
    for seed in range(3):
        rng = np.random.default_rng((1, seed))
        shapes = [[1.0, 0.2], [0.2, 1.0]], [[1.0, 0.35], [0.35, 3.0]]
        rows = np.vstack(
            [
                rng.multivariate_normal([at, at], shape, 100)
                for at, shape in zip((0, 6), shapes, strict=True)
            ]
        )
        fitted = GaussianMixture(2, covariance_type="diag", random_state=0).fit(rows)
        check = check_prior(fitted, rows=rows)[1]
        answers.append(check.holds)
        if check.holds is None and "that all are zero has p" in check.evidence:
            assert "at most by their 95 % limit, where 0.2 would suffice" in check.evidence
    assert True not in answers
