"""What is identifiable, against closed forms, finite differences and planted subspaces."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
from mixtures import DRAW, correlations, mixed, planted, some_gaussian

import upto
from upto import ThreadsEngine
from upto.ica import find_components, hessian, nongaussianity, pair_curvature, smallest_curvature
from upto.ica.contrasts import Cube, Exp, LogCosh
from upto.ica.gaussianity import CLEAR

pytestmark = pytest.mark.slow

FINITE_DIFFERENCE = 1e-5
NON_GAUSSIAN_ABOVE = 6.0

ENGINE = ThreadsEngine(n_threads=1)
CONTRASTS = {"logcosh": LogCosh(), "logcosh 1.5": LogCosh(1.5), "exp": Exp(), "cube": Cube()}
DENSITIES = {
    "uniform": (lambda s: 1 / (2 * np.sqrt(3)), np.sqrt(3)),
    "laplace": (lambda s: np.exp(-np.sqrt(2) * abs(s)) / np.sqrt(2), 30.0),
    "gaussian": (lambda s: np.exp(-(s**2) / 2) / np.sqrt(2 * np.pi), 12.0),
}

each_contrast = pytest.mark.parametrize("contrast", CONTRASTS.values(), ids=CONTRASTS)


def as_components(rows):
    """Take the coordinates themselves as components, each brought to unit variance."""
    return SimpleNamespace(mean=rows.mean(axis=0), components=np.diag(1 / rows.std(axis=0)))


def turned(found, rotation):
    return SimpleNamespace(mean=found.mean, components=rotation @ found.components)


def expected(function, kind) -> float:
    """Return the mean of a function of a source of unit variance."""
    density, edge = DENSITIES[kind]
    value, _ = scipy.integrate.quad(lambda s: function(s) * density(s), 0, edge, limit=400)
    return 2 * value


def slope_less_score(contrast, kind) -> float:
    """Return κ = E[g′(s)] - E[g(s)s]."""

    def difference(s):
        _, score, slope = (float(part[0]) for part in contrast(np, np.array([s])))
        return slope - score * s

    return expected(difference, kind)


def basis(k):
    """Return antisymmetric matrices of unit length, one for each pair."""
    found = []
    for i in range(k):
        for j in range(i + 1, k):
            turn = np.zeros((k, k))
            turn[i, j], turn[j, i] = 1 / np.sqrt(2), -1 / np.sqrt(2)
            found.append(turn)
    return found


class Along:
    """The contrast along turns from some components, by evaluating it and nothing else."""

    def __init__(self, rows, found, contrast):
        self.sources = (rows - found.mean) @ found.components.T
        self.contrast = contrast
        _, score, slope = contrast(np, self.sources)
        excess = slope.mean(axis=0) * np.square(self.sources).mean(axis=0)
        self.signs = np.where(excess < (score * self.sources).mean(axis=0), -1.0, 1.0)

    def value(self, turn):
        value, _, _ = self.contrast(np, self.sources @ scipy.linalg.expm(turn).T)
        return float(self.signs @ value.mean(axis=0))

    def second(self, turn, step=2e-3):
        """Return the second derivative along a geodesic, by differences of fourth order."""
        near = self.value(step * turn) + self.value(-step * turn)
        far = self.value(2 * step * turn) + self.value(-2 * step * turn)
        return (16 * near - far - 30 * self.value(0 * turn)) / (12 * step**2)

    def hessian(self, turns):
        entries = np.diag([self.second(turn) for turn in turns])
        for i in range(len(turns)):
            for j in range(i):
                both = self.second(turns[i] + turns[j]) - self.second(turns[i] - turns[j])
                entries[i, j] = entries[j, i] = both / 4
        return entries


@each_contrast
@pytest.mark.parametrize("formed", [True, False], ids=["formed", "iterated"])
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_the_smallest_curvature_is_that_of_the_hessian_by_differences(
    k, formed, contrast, monkeypatch
):
    monkeypatch.setattr(hessian, "DENSE", 48 if formed else 1)
    rng = np.random.default_rng(k)
    _, rows = mixed(rng, 600, ("laplace", "uniform", "skewed", "laplace", "uniform")[:k])
    optimum = find_components(ENGINE, rows, contrast=contrast, tolerance=1e-9)
    elsewhere = turned(optimum, scipy.linalg.expm(rng.normal(size=(1, k, k))[0] * 0.2 / k))
    elsewhere.components = np.linalg.qr(elsewhere.components @ optimum.mixing)[0] @ (
        optimum.components
    )
    for found in (optimum, elsewhere):
        wanted = Along(rows, found, contrast)
        values = np.linalg.eigvalsh(wanted.hessian(basis(k)))
        curvature = smallest_curvature(ENGINE, rows, found, contrast)
        assert abs(curvature.value - values[0]) < FINITE_DIFFERENCE * max(1, abs(values).max())
        np.testing.assert_allclose(curvature.turn, -curvature.turn.T)
        np.testing.assert_allclose(np.linalg.norm(curvature.turn), 1)
        along = wanted.second(curvature.turn)
        assert abs(along - values[0]) < 1e-4 * max(1, abs(values).max())
        assert curvature.identifiable == curvature.value


@pytest.mark.parametrize("formed", [True, False], ids=["formed", "iterated"])
def test_turns_within_a_subspace_are_left_out_where_asked(formed, monkeypatch):
    monkeypatch.setattr(hessian, "DENSE", 48 if formed else 1)
    _, rows = mixed(np.random.default_rng(0), 600, some_gaussian(2, 5))
    found = find_components(ENGINE, rows, tolerance=1e-7)
    subspace = (3, 4)
    outside = [turn for turn in basis(5) if not np.abs(turn[np.ix_(subspace, subspace)]).any()]
    assert len(outside) == 9
    wanted = np.linalg.eigvalsh(Along(rows, found, LogCosh()).hessian(outside))[0]
    curvature = smallest_curvature(ENGINE, rows, found, None, [subspace])
    assert abs(curvature.identifiable - wanted) < FINITE_DIFFERENCE
    assert curvature.value < 0.7 * curvature.identifiable
    assert smallest_curvature(ENGINE, rows, found, None, [range(5)]).identifiable is None


@pytest.mark.parametrize("seed", range(3))
def test_iterations_find_what_forming_the_hessian_finds(seed, monkeypatch):
    _, rows = mixed(np.random.default_rng(seed), 3000, some_gaussian(3, 12))
    found = find_components(ENGINE, rows)
    formed = smallest_curvature(ENGINE, rows, found, None, [(9, 10, 11)])
    monkeypatch.setattr(hessian, "DENSE", 1)
    iterated = smallest_curvature(ENGINE, rows, found, None, [(9, 10, 11)])
    np.testing.assert_allclose(iterated.value, formed.value, atol=1e-4)
    np.testing.assert_allclose(iterated.identifiable, formed.identifiable, atol=1e-4)


def test_one_component_cannot_turn(rng):
    rows = rng.laplace(size=(100, 1))
    assert smallest_curvature(ENGINE, rows, as_components(rows)) is None


def test_the_rows_a_hessian_may_see_keep_its_cost_bounded():
    assert hessian.affordable_rows(5) == 200_000
    for k in (30, hessian.DENSE, 100, 384, 2000):
        rows = hessian.affordable_rows(k)
        turns = k * k / 2 if k <= hessian.DENSE else 160
        assert 2000 <= rows <= 200_000
        assert rows == 2000 or 6 * rows * k * k * turns <= hessian.WORK


@each_contrast
@pytest.mark.parametrize(
    "kinds", [("uniform", "uniform"), ("laplace", "laplace"), ("uniform", "laplace")]
)
def test_independent_sources_have_the_curvature_of_the_closed_form(contrast, kinds):
    rows = planted(np.random.default_rng(11), 200_000, kinds)
    sizes = [abs(slope_less_score(contrast, kind)) for kind in kinds]
    wanted = sum(sizes) / 2
    # A few standard errors of means of 200,000 values.
    tolerance = 0.03 * max(1.0, wanted)
    found = as_components(rows)
    assert abs(smallest_curvature(ENGINE, rows, found, contrast).value - wanted) < tolerance
    pairs = pair_curvature(ENGINE, rows, found, contrast)
    assert abs(pairs.value[0, 1] - wanted) < min(tolerance, 5 * pairs.error[0, 1])
    assert abs(pairs.excess[0, 1]) < 5 * pairs.excess_error[0, 1]


def test_uniform_sources_have_the_curvature_measured_before():
    """The design's own probe, with the log cosh contrast, found 0.11 to 0.13."""
    assert 0.11 < abs(slope_less_score(LogCosh(), "uniform")) < 0.13


@each_contrast
def test_gaussian_sources_have_no_curvature(contrast):
    assert abs(slope_less_score(contrast, "gaussian")) < 1e-9
    rows = planted(np.random.default_rng(5), 100_000, ("gaussian", "gaussian"))
    pairs = pair_curvature(ENGINE, rows, as_components(rows), contrast)
    assert abs(pairs.value[0, 1]) < 5 * pairs.error[0, 1]


@each_contrast
def test_the_curvature_of_pairs_is_the_second_difference_of_the_contrast(contrast):
    _, rows = mixed(np.random.default_rng(6), 1600, ("laplace", "uniform", "skewed"))
    found = find_components(ENGINE, rows, contrast=contrast)
    curvature = pair_curvature(ENGINE, rows, found, contrast)
    along = Along(rows, found, contrast)
    for turn in basis(3):
        i, j = np.argwhere(turn > 0)[0]
        wanted = along.second(turn)
        np.testing.assert_allclose(curvature.value[i, j], wanted, atol=1e-5 * max(1, abs(wanted)))


def test_standard_errors_of_pairs_are_those_of_repetitions():
    values, excesses, errors, excess_errors = [], [], [], []
    for seed in range(60):
        rows = planted(np.random.default_rng(seed), 800, ("laplace", "uniform"))
        found = pair_curvature(ENGINE, rows, as_components(rows))
        values.append(found.value[0, 1])
        errors.append(found.error[0, 1])
        excesses.append(found.excess[0, 1])
        excess_errors.append(found.excess_error[0, 1])
    for repeated, claimed in ((values, errors), (excesses, excess_errors)):
        assert 0.7 < np.std(repeated) / np.mean(claimed) < 1.4
    assert abs(np.mean(excesses)) < 4 * np.std(excesses) / np.sqrt(60)


def test_gaussian_components_score_as_standard_errors_do(rng):
    rows = rng.normal(size=(2000, 300)) * 3 + 100
    z = nongaussianity(ENGINE, rows, as_components(rows)).z
    assert z.shape == (300,)
    # The absolute value of a standard normal: its root mean square is one.
    np.testing.assert_allclose(np.sqrt(np.mean(z**2)), 1.0, atol=0.15)
    assert np.mean(z < CLEAR) > 0.98


@pytest.mark.parametrize("kind", ["laplace", "uniform", "two values"])
def test_other_components_score_high(kind, rng):
    rows = planted(rng, 2000, (kind,) * 50)
    assert nongaussianity(ENGINE, rows, as_components(rows)).z.min() > NON_GAUSSIAN_ABOVE


@each_contrast
@pytest.mark.parametrize("kind", ["laplace", "uniform"])
def test_intervals_of_non_gaussianity_cover_the_truth(contrast, kind, rng):
    def value(s):
        return float(contrast(np, np.array([s]))[0][0])

    wanted = abs(expected(value, kind) - expected(value, "gaussian"))
    rows = planted(rng, 4000, (kind,) * 200)
    estimates = nongaussianity(ENGINE, rows, as_components(rows), contrast).estimates()
    covered = np.mean([each.low <= wanted <= each.high for each in estimates])
    # The fourth power of heavy tails is too skewed for intervals to be exact.
    assert (0.8 if contrast.name == "cube" else 0.9) < covered <= 1.0
    assert {each.level for each in estimates} == {0.95}
    assert all(0 <= each.low <= each.value <= each.high for each in estimates)


def test_gaussian_components_are_told_from_the_others_on_held_out_rows(rng):
    kinds = (*["laplace"] * 2, *["uniform"] * 2, *["gaussian"] * 2)
    sources, rows = mixed(rng, 6000, kinds)
    fitted = find_components(ENGINE, rows[:3000])
    z = nongaussianity(ENGINE, rows[3000:], fitted).z
    found = (rows[3000:] - fitted.mean) @ fitted.components.T
    gaussian = np.square(correlations(found, sources[3000:]))[:, 4:].sum(axis=1) > 0.5
    assert gaussian.sum() == 2
    assert z[gaussian].max() < CLEAR
    assert z[~gaussian].min() > NON_GAUSSIAN_ABOVE


def unmixed(tmp_path, rows, **options):
    """Return the result and the components of every row."""
    result = upto.unmix(rows, output=tmp_path / "out.npy", engine=ENGINE, **options)
    return result, np.load(tmp_path / "out.npy")


def shares_of(found, sources):
    """Return how much of each component each source explains."""
    return np.square(correlations(found, sources))


@pytest.mark.parametrize(
    ("n_gaussian", "n_sources"),
    [
        *((g, 6) for g in range(7)),
        pytest.param(2, 20, marks=pytest.mark.slow),
        pytest.param(5, 20, marks=pytest.mark.slow),
    ],
)
def test_exactly_the_planted_gaussian_components_are_a_subspace(n_gaussian, n_sources, tmp_path):
    # One Gaussian component in 370 is three standard errors away: these seeds have none.
    for seed in (5, 6, 8):
        kinds = some_gaussian(n_gaussian, n_sources)
        sources, rows = mixed(np.random.default_rng(seed), 8000, kinds)
        result, found = unmixed(tmp_path, rows, seed=seed)
        assert result.converged
        shares = shares_of(found, sources)
        gaussian = shares[:, :n_gaussian].sum(axis=1)
        inside = tuple(int(i) for i in np.flatnonzero(gaussian > 0.5))
        assert len(inside) == n_gaussian
        # Nothing is half in and half out, or the subspace would not mean much.
        assert np.all((gaussian < 0.05) | (gaussian > 0.95))
        wanted = (inside,) if n_gaussian > 1 else ()
        assert result.subspaces == wanted
        turning = n_gaussian if n_gaussian > 1 else 0
        assert result.n_identifiable == n_sources - turning
        for i, component in enumerate(result.components):
            assert component.subspace == (1 if turning and i in inside else None)
            assert (component.z < CLEAR) == (i in inside)
        if turning:
            assert abs(result.curvature.value) < 0.03
        else:
            assert result.curvature.value > 0.03
        if turning == n_sources:
            assert result.curvature_identifiable is None
        else:
            assert result.curvature_identifiable > 0.03


def direction(rng, n_rows, width):
    rows = rng.normal(size=(n_rows, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


ROUND = {
    "a circle": lambda rng, n: direction(rng, n, 2) * np.sqrt(2),
    "a sphere": lambda rng, n: direction(rng, n, 3) * np.sqrt(3),
    "a round pair of heavy tails": lambda rng, n: (
        direction(rng, n, 2) * rng.gamma(2, size=(n, 1)) / np.sqrt(3)
    ),
}


@pytest.mark.parametrize("draw", ROUND.values(), ids=ROUND)
def test_components_that_are_round_but_not_gaussian_are_a_subspace(draw, tmp_path):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        around = draw(rng, 10_000)
        sources = np.column_stack([around, planted(rng, 10_000)])
        width = sources.shape[1]
        rows = sources @ rng.normal(size=(width, width))
        result, found = unmixed(tmp_path, rows, seed=seed)
        inside = shares_of(found, sources)[:, : around.shape[1]].sum(axis=1) > 0.5
        assert result.subspaces == (tuple(int(i) for i in np.flatnonzero(inside)),)
        assert abs(result.curvature.value) < 0.03
        assert result.curvature_identifiable > 0.03
        assert min(component.z for component in result.components) > NON_GAUSSIAN_ABOVE


def test_two_round_pairs_are_two_subspaces(tmp_path):
    rng = np.random.default_rng(1)
    first, second = direction(rng, 10_000, 2), direction(rng, 10_000, 2)
    sources = np.column_stack([first, DRAW["laplace"](rng, 10_000), second])
    result, found = unmixed(tmp_path, sources @ rng.normal(size=(5, 5)))
    shares = shares_of(found, sources)
    wanted = [
        tuple(int(i) for i in np.flatnonzero(shares[:, pair].sum(axis=1) > 0.5))
        for pair in ([0, 1], [3, 4])
    ]
    assert sorted(result.subspaces) == sorted(wanted)
    assert result.n_identifiable == 1


@pytest.mark.slow
@pytest.mark.parametrize("n_gaussian", [0, 2, 5])
def test_identifiable_components_are_seldom_called_turning(n_gaussian, tmp_path):
    """Also with few held-out rows for the many pairs, 190 of which are looked at."""
    wrong = 0
    for seed in range(20):
        sources, rows = mixed(np.random.default_rng(seed), 6000, some_gaussian(n_gaussian, 20))
        result, found = unmixed(tmp_path, rows, seed=seed)
        gaussian = shares_of(found, sources)[:, :n_gaussian].sum(axis=1) > 0.5
        turning = {i for group in result.subspaces for i in group}
        wrong += not turning <= set(np.flatnonzero(gaussian).tolist())
    assert wrong <= 1
