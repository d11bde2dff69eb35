"""The search: its gradient, its trace, and how it starts, stops and goes on."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from mixtures import amari, mismatch, mixed, planted, some_gaussian, sources_of
from sklearn.exceptions import ConvergenceWarning

from upto import ICA, ThreadsEngine
from upto.core import InputError
from upto.engines import row_moments
from upto.ica import components, find_components, white_rows
from upto.ica import search as searching
from upto.ica.approach import STEPS, approach
from upto.ica.components import pose, settle, starting_rotation, whitening_for
from upto.ica.contrasts import Cube, Exp, LogCosh
from upto.ica.solver import orthogonalised

SOLVERS = ("auto", "fastica", "picard")
CONTRASTS = {"logcosh": LogCosh(), "logcosh 1.5": LogCosh(1.5), "exp": Exp(), "cube": Cube()}
ENGINE = ThreadsEngine(n_threads=1)
RECOVERED = 0.02

each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_contrast = pytest.mark.parametrize("contrast", CONTRASTS.values(), ids=CONTRASTS)


@pytest.fixture
def rows(rng):
    return mixed(rng, 1500)[1]


@pytest.fixture
def interruptible():
    """Let an interrupt raise, also where the suite runs in the background and ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def posed(rows, contrast, **options):
    whitening = whitening_for(ENGINE, rows, None)
    return pose(ENGINE, rows, whitening, contrast, **options), whitening


def pair_turn(k, i, j):
    turn = np.zeros((k, k))
    turn[i, j], turn[j, i] = 1.0, -1.0
    return turn


@each_contrast
@pytest.mark.parametrize("frozen", [(), (1, 2), (0, 2, 3)], ids=["free", "two frozen", "three"])
def test_the_relative_gradient_is_the_slope_of_the_loss_along_every_turn(frozen, contrast, rows):
    problem, whitening = posed(rows, contrast)
    if frozen:
        problem = problem.freeze(np.isin(np.arange(4), frozen))
    rotation = starting_rotation(whitening, None, 5)
    (point,) = problem.evaluate([rotation])
    step = 1e-5
    for i in range(4):
        for j in range(4):
            if i == j or (i in frozen and j in frozen):
                assert point.skew[i, j] == 0
                continue
            turn = step * pair_turn(4, i, j)
            after, before = problem.evaluate(
                [scipy.linalg.expm(turn) @ rotation, scipy.linalg.expm(-turn) @ rotation]
            )
            slope = (after.loss(point.signs) - before.loss(point.signs)) / (2 * step)
            np.testing.assert_allclose(point.skew[i, j], slope, atol=1e-7)
    assert point.gradient == np.abs(point.skew).max() > 0


@each_contrast
def test_the_curvature_of_independent_components_is_the_second_difference_of_the_loss(contrast):
    sources = planted(np.random.default_rng(0), 60_000, ("laplace", "uniform", "skewed"))
    problem, whitening = posed(sources, contrast)
    rotation = orthogonalised(whitening.inverse)
    (point,) = problem.evaluate([rotation])
    step = 1e-2
    for i, j in ((0, 1), (0, 2), (1, 2)):
        turn = step * pair_turn(3, i, j)
        after, before = problem.evaluate(
            [scipy.linalg.expm(turn) @ rotation, scipy.linalg.expm(-turn) @ rotation]
        )
        second = after.loss(point.signs) + before.loss(point.signs) - 2 * point.loss(point.signs)
        # Equal for independent components, so up to sampling noise here.
        np.testing.assert_allclose(point.curvature[i, j], second / step**2, rtol=0.1, atol=0.03)
    np.testing.assert_allclose(np.diag(point.curvature), 2 * np.abs(point.excess), rtol=1e-9)


def test_only_gaussian_components_have_no_excess(rng):
    rows = planted(rng, 100_000, ("gaussian", "laplace", "uniform"))
    problem, whitening = posed(rows, LogCosh())
    (point,) = problem.evaluate([orthogonalised(whitening.inverse)])
    np.testing.assert_array_equal(point.unclear, [True, False, False])
    np.testing.assert_array_equal(point.signs[1:], [1.0, -1.0])
    np.testing.assert_allclose(point.excess, [0.0, 0.148, -0.126], atol=0.01)
    np.testing.assert_allclose(point.contrast, np.abs(point.excess).mean())


def test_several_rotations_are_judged_in_one_pass_as_each_alone(rows):
    problem, whitening = posed(rows, LogCosh())
    rotations = [starting_rotation(whitening, None, seed) for seed in range(5)]
    together = problem.evaluate(rotations)
    for rotation, point in zip(rotations, together, strict=True):
        (alone,) = problem.evaluate([rotation])
        np.testing.assert_allclose(point.cross, alone.cross, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(point.value, alone.value, rtol=1e-10)
        np.testing.assert_allclose(point.slope, alone.slope, rtol=1e-10)


def test_a_point_without_its_contrast_says_so(rows):
    problem, whitening = posed(rows, LogCosh())
    (point,) = problem.evaluate([starting_rotation(whitening, None, 0)], values=False)
    with pytest.raises(ValueError, match="without its contrast"):
        point.loss(point.signs)


@pytest.mark.parametrize("shape", [(4, 4), (3, 3), (1, 1)])
def test_the_nearest_rotation_is_the_polar_factor(shape, rng):
    matrix = rng.normal(size=shape)
    wanted, _ = scipy.linalg.polar(matrix)
    np.testing.assert_allclose(orthogonalised(matrix), wanted, atol=1e-12)


class CountingEngine(ThreadsEngine):
    """Count the passes, and raise an interrupt in one of them if asked."""

    __slots__ = ()
    passes = 0
    interrupted_pass = None

    def reduce_blocks(self, *args, **kwargs):
        type(self).passes += 1
        if self.passes == self.interrupted_pass:
            raise KeyboardInterrupt
        return super().reduce_blocks(*args, **kwargs)


@pytest.fixture
def counting():
    CountingEngine.passes, CountingEngine.interrupted_pass = 0, None
    return CountingEngine(n_threads=1)


@each_solver
@pytest.mark.parametrize("kinds", [("laplace",) * 4, some_gaussian(3, 5)], ids=["clear", "turning"])
def test_every_pass_is_counted(solver, kinds, counting):
    _, rows = mixed(np.random.default_rng(0), 2000, kinds)
    part = row_moments(ENGINE, rows)
    found = find_components(counting, rows, part=part, solver=solver)
    assert found.n_passes == counting.passes
    assert found.steps[-1].passes <= counting.passes


@each_solver
def test_the_trace_tells_every_step(solver, rows):
    seen = []
    ica = ICA(solver=solver, callback=seen.append, random_state=0).fit(rows)
    assert tuple(seen) == ica.trace_
    assert [step.iteration for step in ica.trace_] == list(range(ica.n_iter_ + 1))
    assert ica.n_iter_ > 2
    passes = [step.passes for step in ica.trace_]
    assert passes[0] == 1
    assert np.all(np.diff(passes) >= 1)
    assert np.all(np.diff([step.seconds for step in ica.trace_]) >= 0)
    assert ica.trace_[-1].gradient <= ica.tolerance < ica.trace_[-2].gradient
    assert ica.trace_[0].turned == 0
    assert all(step.turned > 0 for step in ica.trace_[1:])
    assert ica.trace_[-1].contrast > ica.trace_[0].contrast
    assert {step.solver for step in ica.trace_} == {"picard" if solver == "picard" else "fastica"}
    assert {step.dtype for step in ica.trace_} == {"float64"}


@each_solver
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_the_search_ends_at_the_first_gradient_below_the_tolerance(solver, tolerance, rows):
    ica = ICA(solver=solver, tolerance=tolerance, random_state=0).fit(rows)
    gradients = [step.gradient for step in ica.trace_]
    assert ica.converged_
    assert gradients[-1] <= tolerance
    assert min(gradients[:-1]) > tolerance


@each_solver
def test_a_limit_of_steps_is_kept_and_told(solver, rows):
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 steps with a gradient of .*: ra"):
        ica = ICA(solver=solver, max_iterations=2, tolerance=1e-12, random_state=0).fit(rows)
    assert (ica.n_iter_, ica.converged_) == (2, False)
    assert len(ica.trace_) == 3
    assert np.isfinite(ica.components_).all()


def test_a_warm_start_ends_at_once(rows):
    ica = ICA(warm_start=True, random_state=0).fit(rows)
    before = ica.components_
    assert ica.n_iter_ > 2
    ica.fit(rows)
    assert ica.n_iter_ <= 2
    np.testing.assert_allclose(ica.components_, before, atol=1e-5)


def test_a_warm_start_on_part_of_the_rows_is_short(rows):
    cold = find_components(ENGINE, rows)
    warm = find_components(ENGINE, rows[:1000], start=cold.components)
    assert warm.n_iterations <= cold.n_iterations
    assert warm.steps[0].gradient < 0.3 * cold.steps[0].gradient
    assert amari(warm.components, cold.components) < 0.1


@each_solver
def test_an_interrupt_keeps_the_components_and_a_warm_start_goes_on(solver, rows, interruptible):
    wanted = ICA(solver=solver, random_state=0, tolerance=1e-9).fit(rows).components_

    def interrupt(step):
        if step.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    ica = ICA(solver=solver, random_state=0, tolerance=1e-9, callback=interrupt, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        ica.fit(rows)
    assert not ica.converged_
    assert ica.n_iter_ == 3
    assert np.abs(ica.components_ - wanted).max() > 1e-9
    reached = ica.components_
    ica.set_params(callback=None).fit(rows)
    assert ica.converged_
    assert ica.trace_[0].gradient < 0.1
    np.testing.assert_allclose(ica.components_, wanted, atol=1e-6)
    assert amari(reached, wanted) < 1


@each_solver
def test_an_interrupt_within_a_pass_loses_nothing_either(solver, rows, counting):
    ica = ICA(solver=solver, random_state=0, engine=counting, warm_start=True)
    CountingEngine.interrupted_pass = 5
    with pytest.raises(KeyboardInterrupt):
        ica.fit(rows)
    assert ica.n_iter_ >= 1
    assert np.isfinite(ica.components_).all()
    wanted = ICA(random_state=0, engine=ENGINE).fit(rows).components_
    np.testing.assert_allclose(ica.fit(rows).components_, wanted, atol=1e-5)


@pytest.mark.slow
@each_solver
def test_a_search_among_many_gaussian_directions_ends_and_finds_the_others(solver):
    for seed in range(3):
        kinds = some_gaussian(20, 40)
        sources, rows = mixed(np.random.default_rng(seed), 5000, kinds)
        found = find_components(ENGINE, rows, solver=solver, seed=seed)
        assert found.converged
        assert found.steps[-1].passes < 150
        clear = sources_of(found, rows)[:, :20]
        assert mismatch(clear, sources[:, 20:]) < RECOVERED
        assert not found.frozen[:20].any()


@pytest.mark.parametrize("seed", range(3))
def test_what_is_identifiable_does_not_depend_on_the_start_beside_gaussian_directions(seed):
    """Where the search settles only once those are held."""
    _, rows = mixed(np.random.default_rng(seed), 3000, some_gaussian(12, 16))
    found = [find_components(ENGINE, rows, seed=each, tolerance=1e-8) for each in (0, 1, 2)]
    for other in found:
        np.testing.assert_array_equal(other.frozen, [False] * 4 + [True] * 12)
        np.testing.assert_allclose(other.components[:4], found[0].components[:4], atol=1e-5)
        span = found[0].components @ other.mixing[:, 4:]
        np.testing.assert_allclose(span[:4], 0, atol=1e-5)


@each_solver
def test_components_of_a_round_pair_do_not_keep_the_search_from_ending(solver):
    """Fixed points circle there; what descends gets on."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        angle = rng.uniform(0, 2 * np.pi, 4000)
        sources = np.column_stack([planted(rng, 4000), np.cos(angle), np.sin(angle)])
        found = find_components(ENGINE, sources @ rng.normal(size=(6, 6)), solver=solver)
        assert found.n_passes < 60
        assert found.converged or solver == "fastica"


@pytest.mark.parametrize("seed", range(3))
def test_a_descent_leaves_a_saddle_in_growing_steps(seed):
    """Halfway between two best places of a round pair, no curvature tells how far to go."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 4000)
    rows = np.column_stack([np.cos(angle), np.sin(angle)])
    best = find_components(ENGINE, rows, solver="picard", tolerance=1e-9)
    turn = scipy.linalg.expm((np.pi / 4 + 1e-3) * pair_turn(2, 0, 1))
    found = find_components(ENGINE, rows, solver="picard", start=turn @ best.components)
    assert found.steps[0].gradient < 1e-3
    assert found.converged
    assert found.n_iterations < 30
    assert amari(found.components, best.components) < 0.01


@each_solver
def test_large_searches_start_in_single_precision_and_end_in_double(solver, rows, monkeypatch):
    wanted = find_components(ENGINE, rows, solver=solver, tolerance=1e-8)
    monkeypatch.setattr(components, "LARGE", 0)
    found = find_components(ENGINE, rows, solver=solver, tolerance=1e-8)
    types = [step.dtype for step in found.steps]
    assert types[0] == "float32"
    assert types[-1] == "float64"
    assert types == sorted(types)
    assert found.converged
    np.testing.assert_allclose(found.components, wanted.components, atol=1e-5)


@each_solver
def test_a_start_on_a_sample_leads_to_the_same_components(solver, rows, monkeypatch, counting):
    wanted = find_components(ENGINE, rows, solver=solver, tolerance=1e-8)
    monkeypatch.setattr(components, "LARGE", 0)
    monkeypatch.setattr(white_rows, "SAMPLE_ROWS", 80)
    found = find_components(counting, rows, solver=solver, tolerance=1e-8)
    assert found.steps[0].contrast > wanted.steps[0].contrast + 0.01
    np.testing.assert_allclose(found.components, wanted.components, atol=1e-5)


def test_an_interrupt_during_the_start_on_a_sample_is_not_lost(rows, monkeypatch, counting):
    monkeypatch.setattr(components, "LARGE", 0)
    monkeypatch.setattr(white_rows, "SAMPLE_ROWS", 80)
    CountingEngine.interrupted_pass = 4
    with pytest.raises(KeyboardInterrupt):
        find_components(counting, rows)


@pytest.mark.parametrize("deflation", [False, True], ids=["together", "one by one"])
def test_an_interrupt_in_any_pass_is_told_and_keeps_the_components(deflation, rows, counting):
    part = row_moments(ENGINE, rows)

    def find(interrupted_pass):
        CountingEngine.passes, CountingEngine.interrupted_pass = 0, interrupted_pass
        try:
            return find_components(counting, rows, part=part, deflation=deflation)
        except KeyboardInterrupt:
            return None

    whole = find(None)
    assert not whole.interrupted
    # In the first pass there is nothing to keep.
    for number in range(2, counting.passes + 1):
        found = find(number)
        assert found is not None, f"pass {number} of {whole.n_passes}"
        assert found.interrupted, f"pass {number} of {whole.n_passes}"
        assert not found.converged
        assert np.isfinite(found.components).all()


def test_an_interrupt_while_components_that_turn_are_polished_is_told(rng, monkeypatch, counting):
    _, rows = mixed(rng, 2000, some_gaussian(2, 4))
    problem, whitening = posed(rows, LogCosh())
    found = searching.search(problem, starting_rotation(whitening, None, 0))
    assert found.problem.frozen.any()
    # As if there were few rows.
    monkeypatch.setattr("upto.ica.solver.TELLING_ROWS", 10**6)
    found = replace(found, problem=replace(found.problem, engine=counting))
    whole = settle(found, whitening, tolerance=1e-6)
    n_passes = counting.passes
    assert whole.converged
    assert n_passes > 2
    for number in range(1, n_passes + 1):
        CountingEngine.passes, CountingEngine.interrupted_pass = 0, number
        settled = settle(found, whitening, tolerance=1e-6)
        assert settled.interrupted, f"pass {number} of {n_passes}"
        assert not settled.converged


def test_another_interrupt_ends_a_search_at_once(rows, monkeypatch):
    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(components, "canonical_form", interrupted)
    with pytest.raises(KeyboardInterrupt):
        find_components(ENGINE, rows)


@pytest.mark.parametrize("kind", ["laplace", "uniform"])
def test_lazy_steps_lead_to_the_same_components_with_less_work(kind, rng):
    """Evaluating only the components that still turn must not change where the search ends."""
    sources = rng.laplace(size=(6000, 24)) if kind == "laplace" else rng.uniform(size=(6000, 24))
    rows = sources @ rng.normal(size=(24, 24))
    whitening = whitening_for(ENGINE, rows, None)
    problem = pose(ENGINE, rows, whitening, LogCosh())
    start = starting_rotation(whitening, None, 0)
    full, lazy = (
        searching.search(problem, start, tolerance=1e-8, lazy=lazy) for lazy in (False, True)
    )
    assert lazy.converged
    assert amari(lazy.point.rotation, full.point.rotation) < 1e-6
    shares = [share for _, share in approach(problem, start, "float64")]
    assert shares[0] == 1.0
    assert min(shares) < 0.5
    assert sum(shares) < len(shares) - 1


def test_lazy_steps_stop_if_some_components_never_settle(rng):
    sources = rng.laplace(size=(3000, 12))
    sources[:, :6] = rng.normal(size=(3000, 6))
    whitening = whitening_for(ENGINE, sources, None)
    problem = pose(ENGINE, sources, whitening, LogCosh())
    steps = list(approach(problem, starting_rotation(whitening, None, 1), "float64"))
    assert len(steps) < STEPS


def test_few_rows_of_many_are_whitened_by_their_own_covariance(rng):
    """Whitened by the moments of all rows, a part is white only roughly, and steps go astray."""
    mixing = rng.normal(size=(40, 40))
    rows = rng.laplace(size=(30_000, 40)) @ mixing
    part = row_moments(ENGINE, rows)
    found = find_components(ENGINE, rows[:2400], part=part, tolerance=1e-4, max_iterations=100)
    assert found.converged
    assert found.n_passes < 40
    assert amari(found.components, np.linalg.inv(mixing.T)) < 0.1
    covariance = found.components @ (part.scatter / part.weight) @ found.components.T
    np.testing.assert_allclose(covariance, np.eye(40), atol=1e-9)


def test_components_of_few_directions_are_those_of_the_rows_as_given(rng):
    """Rows are whitened once if there are few components; order, signs and values stay."""
    rows = rng.laplace(size=(3000, 12)) @ (rng.normal(size=(12, 12)) * np.geomspace(5, 0.1, 12))
    few = find_components(ENGINE, rows, n_components=4, tolerance=1e-9)
    whitening = whitening_for(ENGINE, rows, None, n_components=4)
    problem = pose(ENGINE, rows, whitening, LogCosh())
    start = starting_rotation(whitening, None, 0)
    slow = components.settle(
        searching.search(problem, start, tolerance=1e-9), whitening, tolerance=1e-9
    )
    np.testing.assert_allclose(few.components, slow.components, atol=1e-6)


@pytest.mark.parametrize(
    "change",
    [lambda x: x + 1e6, lambda x: x @ np.diag([1.0, 1.0, 1.0, 1e-6])],
    ids=["far from the origin", "ill-conditioned"],
)
def test_rows_that_single_precision_would_spoil_are_searched_in_double(change, rows, monkeypatch):
    monkeypatch.setattr(components, "LARGE", 0)
    found = find_components(ENGINE, change(rows))
    assert {step.dtype for step in found.steps} == {"float64"}


def test_only_rows_that_are_kept_count(rows, rng):
    keep = rng.uniform(size=len(rows)) < 0.6
    wanted = find_components(ENGINE, rows[keep], tolerance=1e-9)
    rows = rows.copy()
    rows[~keep] *= 100.0
    part = row_moments(ENGINE, rows[keep])
    found = find_components(ENGINE, rows, part=part, keep=keep, tolerance=1e-9)
    np.testing.assert_allclose(found.components, wanted.components, atol=1e-7)
    np.testing.assert_array_equal(found.form.signs, wanted.form.signs)


def test_what_cannot_be_searched_is_refused_in_words(rows):
    with pytest.raises(InputError, match=r"shape \(5, 4\), but 4 components of 4 coordinates"):
        find_components(ENGINE, rows, start=np.ones((5, 4)))
    with pytest.raises(InputError, match="no solver 'newton': choose one of auto, fastica"):
        searching.search(posed(rows, LogCosh())[0], np.eye(4), solver="newton")
