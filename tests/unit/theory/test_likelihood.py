"""Densities of piecewise affine networks under Gaussian mixtures, against other computations."""

import numpy as np
import pytest
import scipy.integrate
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from upto.core import InputError
from upto.measures import Mixture
from upto.theory import PiecewiseNetwork, mixture_likelihood, mixture_likelihoods
from upto.theory.line_pieces import StackedLayers
from upto.theory.mixture_lines import log_normal_interval
from upto.theory.segments import segments

RELU = PiecewiseNetwork(weights=[[[1.0]]], activated_output=True)
PRIOR = ([0.4, 0.6], [[-1.0], [2.0]], [[0.25], [0.64]])
PLANE = (
    [0.3, 0.7],
    [[-1.0, 0.5], [1.0, 0.0]],
    [[[0.5, 0.2], [0.2, 0.3]], [[0.2, 0.0], [0.0, 0.9]]],
)


def drawn_network(rng, *widths, **options):
    shapes = list(zip(widths[1:], widths, strict=False))
    return PiecewiseNetwork(
        weights=[rng.normal(size=shape) for shape in shapes],
        biases=[rng.normal(size=shape[0]) for shape in shapes],
        **options,
    )


def test_the_values_derived_by_hand():
    found = np.exp(mixture_likelihood(RELU, PRIOR, [[0.0], [0.5], [2.0]], noise=0.3))
    assert found == pytest.approx([0.548975233, 0.196964156, 0.280156462], abs=5e-10)


@pytest.mark.parametrize("widths", [(1, 3, 1), (1, 4, 2), (1, 3, 4, 2), (1, 3, 3, 3, 1)])
@pytest.mark.parametrize("options", [{}, {"leak": 0.2}, {"activated_output": True}])
def test_many_layers_agree_with_numerical_integration(rng, widths, options):
    network = drawn_network(rng, *widths, **options)
    weights, means, variances = (np.array(each) for each in PRIOR)
    rows = network(rng.normal(size=(4, 1))) + 0.3 * rng.normal(size=(4, widths[-1]))

    def integrand(z, row):
        prior = weights @ norm.pdf(z, means[:, 0], np.sqrt(variances[:, 0]))
        return prior * norm.pdf(row, network([[z]])[0], 0.3).prod()

    cuts = [each.high for each in segments(network)[:-1] if abs(each.high) < 9.0]
    expected = [
        sum(
            scipy.integrate.quad(integrand, low, high, args=(row,), epsabs=1e-14, limit=200)[0]
            for low, high in zip([-9.0, *cuts], [*cuts, 9.0], strict=True)
        )
        for row in rows
    ]
    found = mixture_likelihood(network, PRIOR, rows, noise=0.3)
    assert found == pytest.approx(np.log(expected), abs=1e-8)


def test_pieces_along_a_line_are_those_of_one_network(rng):
    networks = [drawn_network(rng, 1, 4, 3, 2, leak=0.1) for _ in range(5)]
    stack = StackedLayers(
        weights=[np.stack(each) for each in zip(*(one.weights for one in networks), strict=True)],
        biases=[np.stack(each) for each in zip(*(one.biases for one in networks), strict=True)],
        leak=0.1,
        activated_output=False,
    )
    found = stack.pieces(np.zeros((5, 1)), np.ones((5, 1)))
    for number, network in enumerate(networks):
        expected = segments(network)
        count = len(expected)
        assert found.ends[number, 1:count] == pytest.approx([each.high for each in expected[:-1]])
        assert found.slopes[number, :count] == pytest.approx(
            np.array([each.slope for each in expected])
        )
        assert found.offsets[number, :count] == pytest.approx(
            np.array([each.offset for each in expected])
        )
        assert np.isinf(found.ends[number, count:]).all()


def test_two_latents_agree_with_numerical_integration(rng):
    network = drawn_network(rng, 2, 3, 2)
    weights, means, covariances = (np.array(each) for each in PLANE)
    places = np.linspace(-8.0, 8.0, 801)
    grid = np.stack(np.meshgrid(places, places, indexing="ij"), axis=-1).reshape(-1, 2)
    away = grid[:, None] - means
    scaled = np.einsum("rja,jab,rjb->rj", away, np.linalg.inv(covariances), away)
    prior = np.exp(-0.5 * scaled) @ (weights / np.sqrt(np.linalg.det(covariances))) / (2 * np.pi)
    rows = network(rng.normal(size=(3, 2))) + 0.5 * rng.normal(size=(3, 2))
    images = network(grid)
    expected = [prior @ norm.pdf(row, images, 0.5).prod(axis=1) * 0.02**2 for row in rows]
    found = mixture_likelihood(network, PLANE, rows, noise=0.5)
    assert found == pytest.approx(np.log(expected), abs=2e-4)


@pytest.mark.parametrize("second", [0.0, 0.01, 4.0])
def test_a_second_latent_that_does_nothing_changes_nothing(rng, second):
    network = drawn_network(rng, 1, 3, 2)
    wide = PiecewiseNetwork(
        weights=[np.hstack([network.weights[0], np.zeros((3, 1))]), network.weights[1]],
        biases=network.biases,
    )
    weights, means, variances = PRIOR
    prior = (weights, np.hstack([means, [[3.0], [-1.0]]]), np.hstack([variances, [[second]] * 2]))
    rows = rng.normal(size=(20, 2))
    found = mixture_likelihood(wide, prior, rows, noise=0.4)
    expected = mixture_likelihood(network, PRIOR, rows, noise=0.4)
    # The wider axis is integrated exactly, so a useless wide one leaves the other to quadrature.
    assert found == pytest.approx(expected, abs=1e-9 if second < 0.25 else 1e-4)


def test_a_simulated_density_agrees(rng):
    network = drawn_network(rng, 2, 4, 1)
    weights, means, covariances = (np.array(each) for each in PLANE)
    count = 200_000
    chosen = rng.choice(2, size=count, p=weights)
    roots = np.linalg.cholesky(covariances)
    latents = means[chosen] + np.einsum("rab,rb->ra", roots[chosen], rng.normal(size=(count, 2)))
    images = network(latents)
    rows = np.linspace(images.min(), images.max(), 5)[1:-1, None]
    terms = norm.pdf(rows, images.T, 0.6)
    errors = terms.std(axis=1) / np.sqrt(count)
    found = np.exp(mixture_likelihood(network, PLANE, rows, noise=0.6))
    assert np.all(np.abs(found - terms.mean(axis=1)) < 4.5 * errors)


@pytest.mark.parametrize("widths", [(1, 5, 1), (1, 3, 3, 1), (2, 3, 1)])
def test_densities_integrate_to_one(rng, widths):
    network = drawn_network(rng, *widths)
    places = np.linspace(-60.0, 60.0, 1201)[:, None]
    prior = PRIOR if widths[0] == 1 else PLANE
    found = mixture_likelihood(network, prior, places, noise=0.3)
    assert np.exp(found).sum() * 0.1 == pytest.approx(1.0, abs=1e-9)


def test_degenerate_components_are_points_of_the_image():
    points = ([0.5, 0.5], [[0.5], [3.0]], [[0.0], [0.0]])
    expected = np.log(0.5 * (norm.pdf(1.0, 0.5, 0.3) + norm.pdf(1.0, 3.0, 0.3)))
    assert mixture_likelihood(RELU, points, [[1.0]], noise=0.3)[0] == pytest.approx(expected)
    nearly = (points[0], points[1], [[1e-14], [1e-14]])
    assert mixture_likelihood(RELU, nearly, [[1.0]], noise=0.3)[0] == pytest.approx(expected)
    flat = PiecewiseNetwork(weights=[[[0.0]]], biases=[[2.0]])
    assert mixture_likelihood(flat, PRIOR, [[1.0]], noise=0.5)[0] == pytest.approx(
        norm.logpdf(1.0, 2.0, 0.5)
    )
    line = ([1.0], [[0.0, 0.0]], [[[1.0, 1.0], [1.0, 1.0]]])
    total = PiecewiseNetwork(weights=[[[1.0, 1.0]]])
    assert mixture_likelihood(total, line, [[3.0]], noise=1.0)[0] == pytest.approx(
        norm.logpdf(3.0, 0.0, np.sqrt(5.0))
    )


def test_little_noise_leaves_the_image_and_much_noise_only_itself(rng):
    network = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[2.0, -0.5]]])
    rows = np.array([[3.0], [-1.0]])
    latents = np.array([1.5, -2.0])
    prior = 0.4 * norm.pdf(latents, -1.0, 0.5) + 0.6 * norm.pdf(latents, 2.0, 0.8)
    for noise in (1e-3, 1e-6, 1e-9):
        found = mixture_likelihood(network, PRIOR, rows, noise=noise)
        assert found == pytest.approx(np.log(prior / [2.0, 0.5]), abs=1e-4)
    found = mixture_likelihood(network, PRIOR, 1e5 * rows, noise=1e5)
    assert found == pytest.approx(norm.logpdf(1e5 * rows[:, 0], 0.0, 1e5), abs=1e-4)


def test_rows_far_out_have_finite_densities():
    found = mixture_likelihood(RELU, PRIOR, [[-1e4], [1e4], [-1e8]], noise=1e-2)
    assert np.isfinite(found).all()
    # Below zero only the noise around the kink remains: the parabola of its density.
    assert found[0] == pytest.approx(-0.5 * 1e12, rel=1e-6)
    assert found[0] > found[2]


def test_intervals_of_the_normal_law_are_accurate_in_both_tails():
    lows = np.array([-1.0, -40.0, 39.0, 5.0, -np.inf, 2.0, 30.0, -np.inf, 0.0])
    highs = np.array([1.0, -39.0, 40.0, 5.0 + 1e-9, np.inf, 2.0, np.inf, -np.inf, 1e-17])
    expected = [
        np.log(norm.cdf(1.0) - norm.cdf(-1.0)),
        norm.logcdf(-39.0),
        norm.logsf(39.0),
        norm.logpdf(5.0) + np.log(1e-9),
        0.0,
        -np.inf,
        norm.logsf(30.0),
        -np.inf,
        norm.logpdf(0.0) + np.log(1e-17),
    ]
    assert log_normal_interval(lows, highs) == pytest.approx(expected, rel=1e-7)


IDENTITY = PiecewiseNetwork(weights=[np.eye(2)])
NORMAL = ([1.0], [[0.0, 0.0]], [np.eye(2)])


@pytest.mark.parametrize("noise", [0.1, 0.01])
@pytest.mark.parametrize("matrix", [np.eye(2), [[1.0, 0.5], [-0.3, 0.8]], [[1.0, 0], [0, 0.2]]])
@pytest.mark.parametrize("spread", [[1.0, 1.0], [4.0, 0.25], [0.25, 4.0]])
def test_linear_decoders_of_two_latents_are_gaussian_far_out(noise, matrix, spread):
    rows = np.array([[0.0, 0.0], [7.0, 7.0], [9.0, 0.0], [0.0, 20.0], [20.0, 0.0], [-3.0, 1.0]])
    if matrix != pytest.approx(np.eye(2)):
        rows = rows / 5.0
    matrix = np.array(matrix)
    law = multivariate_normal(
        cov=matrix @ np.diag(spread) @ matrix.T + noise**2 * np.eye(2), allow_singular=False
    )
    prior = ([1.0], [[0.0, 0.0]], [np.diag(spread)])
    found = mixture_likelihood(PiecewiseNetwork(weights=[matrix]), prior, rows, noise=noise)
    assert found == pytest.approx(law.logpdf(rows), abs=1e-8)


def test_rows_off_the_image_of_two_latents_are_gaussian():
    tall = PiecewiseNetwork(weights=[[[1.0, 0.0], [0.5, 1.0], [0.0, 0.3]]])
    rows = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 2.0], [0.0, 9.0, -4.0]])
    law = multivariate_normal(cov=tall.weights[0] @ tall.weights[0].T + 0.01 * np.eye(3))
    found = mixture_likelihood(tall, NORMAL, rows, noise=0.1)
    assert found == pytest.approx(law.logpdf(rows), rel=1e-9)


@pytest.mark.parametrize("row", [[-1.0, -1.0], [-2.0, 1.0], [0.5, -1.5], [0.5, 0.5]])
def test_peaks_where_pieces_meet_are_resolved(row):
    each = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    both = PiecewiseNetwork(weights=[each, [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]])
    absolute = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]])
    apart = [
        mixture_likelihood(absolute, ([1.0], [[mean]], [[1.0]]), [[value]], noise=0.1)[0]
        for mean, value in zip([0.317, 0.2], row, strict=True)
    ]
    prior = ([1.0], [[0.317, 0.2]], [np.eye(2)])
    found = mixture_likelihood(both, prior, [row], noise=0.1)
    assert found == pytest.approx(sum(apart), abs=5e-4)


def test_a_fixed_number_of_nodes_that_does_not_do_is_not_silent():
    with pytest.warns(UserWarning, match="of 1 rows are wrong, first that of row 1: they lie wh"):
        mixture_likelihood(IDENTITY, NORMAL, [[0.0, 0.0], [9.0, 9.0]], noise=0.1, n_nodes=257)
    with pytest.warns(UserWarning, match="between 25 quadrature points x can move by 5.42 times"):
        mixture_likelihood(IDENTITY, NORMAL, [[0.0, 0.0]], noise=0.1, n_nodes=25)
    found = mixture_likelihood(IDENTITY, NORMAL, [[1.0, 2.0]], noise=0.1, n_nodes=257)
    expected = multivariate_normal(cov=1.01 * np.eye(2)).logpdf([1.0, 2.0])
    assert found == pytest.approx(expected, abs=1e-8)


def test_rows_that_need_too_many_nodes_are_refused():
    with pytest.raises(InputError, match="row 1 needs more than 1048576 quadrature points"):
        mixture_likelihood(IDENTITY, NORMAL, [[0.0, 0.0], [1e8, 0.0]], noise=0.1)


@pytest.mark.parametrize(
    ("weight", "row", "noise"),
    [(1.0, 1.0, 1e-160), (1e160, 1.0, 0.1), (1.0, 1e160, 0.1), (1.0, 1.0, 1e200), (1e308, 1, 1)],
)
def test_numbers_that_cannot_be_squared_are_refused(weight, row, noise):
    network = PiecewiseNetwork(weights=[[[weight]], [[1.0]]])
    with pytest.raises(InputError, match="too far from each other or from one to be squared"):
        mixture_likelihood(network, PRIOR, [[row]], noise=noise)


def test_many_models_at_once_are_those_one_by_one(rng, monkeypatch):
    networks = [drawn_network(rng, 1, 3, 2, 2) for _ in range(7)]
    three = ([0.2, 0.3, 0.5], [[-1.0], [0.0], [2.0]], [[0.1], [0.0], [0.4]])
    models = [(each, PRIOR if k % 2 else three) for k, each in enumerate(networks)]
    rows = rng.normal(size=(9, 2))
    expected = [mixture_likelihood(*model, rows, noise=0.2) for model in models]
    assert mixture_likelihoods(models, rows, noise=0.2) == pytest.approx(np.array(expected))
    # Small blocks split the components of one model.
    monkeypatch.setattr("upto.theory.mixture_lines._CELLS", 300)
    assert mixture_likelihoods(models, rows, noise=0.2) == pytest.approx(np.array(expected))


def test_a_mixture_of_the_library_is_accepted():
    mixture = Mixture(weights=PRIOR[0], means=PRIOR[1], covariances=np.array(PRIOR[2])[:, :, None])
    found = mixture_likelihood(RELU, mixture, [[0.5]], noise=0.3)
    assert logsumexp(found) == pytest.approx(np.log(0.196964156))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"noise": 0.0}, "noise is 0, but x has no density without it"),
        ({"noise": -1.0}, "noise is -1, but it must be zero or more"),
        ({"noise": np.inf}, "noise is infinite"),
        ({"noise": "0.3"}, "must be a number"),
        ({"rows": [1.0, 2.0]}, r"rows of shape \(2,\) are no values of a decoder of 1 outputs"),
        ({"rows": [[1.0, 2.0]]}, "give n×1 numbers"),
        ({"rows": [["a"]]}, "give n×1 numbers"),
        ({"rows": [[np.nan]]}, "rows are not all finite"),
        ({"mixture": PLANE}, "a mixture in 2 dimensions does not fit a decoder of 1 inputs"),
        ({"mixture": 3}, "is not a mixture"),
        ({"network": len}, "has no known pieces: give a PiecewiseNetwork"),
        ({"network": PiecewiseNetwork(weights=[np.ones((1, 3))])}, "the decoder has 3 inputs"),
        ({"n_nodes": 0}, "n_nodes is 0, but it must be a whole number"),
    ],
)
def test_what_has_no_density_is_refused(change, sentence):
    given = {"network": RELU, "mixture": PRIOR, "rows": [[0.0]], "noise": 0.3} | change
    with pytest.raises(InputError, match=sentence):
        mixture_likelihood(given.pop("network"), given.pop("mixture"), given.pop("rows"), **given)


def test_models_of_several_shapes_are_refused(rng):
    other = drawn_network(rng, 1, 2, 1)
    with pytest.raises(InputError, match="decoders differ in layers or activation"):
        mixture_likelihoods([(RELU, PRIOR), (other, PRIOR)], [[0.0]], noise=0.3)
    with pytest.raises(InputError, match="give at least one pair"):
        mixture_likelihoods([], [[0.0]], noise=0.3)
    with pytest.raises(InputError, match="give at least one pair"):
        mixture_likelihoods([RELU], [[0.0]], noise=0.3)
