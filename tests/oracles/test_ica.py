"""ICA against scikit-learn, against Picard and against planted sources, whatever the rows are."""

from __future__ import annotations

import numpy as np
import picard
import pytest
from mixtures import amari, correlations, mismatch, mixed, planted, sources_of
from picard.densities import Cube, Exp, Tanh
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from upto import ICA, ThreadsEngine, TorchEngine
from upto.core import InputError
from upto.ica import find_components

# Both stop near one fixed point; what the issue asks for.
SAME_SOURCES = 1e-6
# Sources of a finite sample are recovered up to sampling noise.
RECOVERED = 0.02
# The same data in other words, each search stopped at the default tolerance.
SAME_ANSWER = 1e-4

SOLVERS = ("auto", "fastica", "picard")
MIXED_KINDS = ("laplace", "laplace", "uniform", "uniform", "two values", "skewed")
CONTRASTS = {
    "logcosh": ("logcosh", 1.0, Tanh()),
    "logcosh 1.5": ("logcosh", 1.5, Tanh({"alpha": 1.5})),
    "exp": ("exp", 1.0, Exp({"alpha": 1.0})),
    "cube": ("cube", 1.0, Cube()),
}
SEEDS = range(3)
N_ROWS, N_SOURCES = 2000, 4

ENGINES = {
    "threads": lambda: ThreadsEngine(n_threads=1),
    "torch": lambda: pytest.importorskip("torch") and TorchEngine(device="cpu"),
}


@pytest.fixture(params=["threads", pytest.param("torch", marks=pytest.mark.slow)])
def engine(request):
    return ENGINES[request.param]()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("contrast", "alpha", "density"), CONTRASTS.values(), ids=CONTRASTS)
def test_components_are_those_of_scikit_learn_and_of_picard(contrast, alpha, density, seed):
    _, rows = mixed(np.random.default_rng(seed), 3000, MIXED_KINDS)
    rows = rows + 3
    fastica = FastICA(
        algorithm="parallel",
        whiten="unit-variance",
        whiten_solver="eigh",
        fun=contrast,
        fun_args={"alpha": alpha} if contrast == "logcosh" else None,
        tol=1e-13,
        max_iter=1000,
        random_state=seed,
    ).fit(rows)
    whitening, rotation, _ = picard.picard(
        rows.T,
        fun=density,
        ortho=True,
        extended=True,
        tol=1e-10,
        max_iter=1000,
        random_state=seed,
        check_fun=False,
    )
    for solver in SOLVERS:
        ours = ICA(
            solver=solver, contrast=contrast, alpha=alpha, tolerance=1e-9, random_state=seed
        ).fit(rows)
        assert ours.converged_
        assert amari(ours.components_, fastica.components_) < SAME_SOURCES, solver
        assert amari(ours.components_, rotation @ whitening) < SAME_SOURCES, solver


def test_the_distance_between_answers_notices_a_small_turn():
    turn = np.eye(4)
    turn[:2, :2] = [[np.cos(1e-4), np.sin(1e-4)], [-np.sin(1e-4), np.cos(1e-4)]]
    assert amari(np.eye(4)[[2, 0, 3, 1]] * -3.0, np.eye(4)) < 1e-12
    assert amari(turn, np.eye(4)) > 10 * SAME_SOURCES


def test_a_function_is_as_good_as_a_name():
    def own(xp, sources):
        score = xp.tanh(sources)
        return xp.log(xp.cosh(sources)), score, 1 - score**2

    _, rows = mixed(np.random.default_rng(0), N_ROWS)
    wanted = ICA(random_state=0, tolerance=1e-9).fit(rows)
    found = ICA(random_state=0, tolerance=1e-9, contrast=own).fit(rows)
    np.testing.assert_allclose(found.components_, wanted.components_, atol=1e-8)


def locked(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


SAME_ROWS = {
    "two dead columns": lambda x: np.column_stack([np.zeros(len(x)), x, np.full(len(x), 7.0)]),
    "a constant column far away": lambda x: np.column_stack([x, np.full(len(x), 1e8)]),
    "duplicated columns": lambda x: x[:, [0, 1, 2, 3, 0, 0, 1]],
    "three dead and two duplicated": lambda x: np.column_stack([x, np.ones((len(x), 3)), x[:, :2]]),
    "a wider space": lambda x: x @ np.random.default_rng(9).normal(size=(N_SOURCES, 9)),
    "scale 1e-9": lambda x: 1e-9 * x,
    "scale 1e9": lambda x: 1e9 * x,
    "scale 1e-9 in single precision": lambda x: (1e-9 * x).astype(np.float32),
    "scale 1e9 in single precision": lambda x: (1e9 * x).astype(np.float32),
    "coordinates 1e6 apart": lambda x: x * [1e-3, 1.0, 1e3, 1.0],
    "coordinates 1e12 apart": lambda x: x * [1e-6, 1.0, 1e6, 1.0],
    "mean 1e3 sigma": lambda x: x + 1e3 * x.std(),
    "single precision": lambda x: x.astype(np.float32),
    "big-endian": lambda x: x.astype(">f8"),
    "Fortran order": np.asfortranarray,
    "read-only": locked,
    "every other row and column": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "objects that are numbers": lambda x: x.astype(object),
    "nested lists": lambda x: x.tolist(),
}
ROUNDED_ROWS = {
    "half precision": lambda x: x.astype(np.float16),
    "single precision with a mean of 1e3 sigma": lambda x: (x + 1e3 * x.std()).astype(np.float32),
    "whole numbers": lambda x: np.round(100 * x).astype(np.int64),
    "16-bit whole numbers": lambda x: np.round(x / np.abs(x).max() * 30_000).astype(np.int16),
    "unsigned numbers": lambda x: np.round((x - x.min()) / np.ptp(x) * 30_000).astype(np.uint16),
}


@pytest.mark.parametrize("change", SAME_ROWS.values(), ids=SAME_ROWS)
def test_the_sources_are_the_same_however_the_rows_are_written(change, engine):
    for seed in SEEDS:
        sources, rows = mixed(np.random.default_rng(seed), N_ROWS)
        wanted = sources_of(ICA(random_state=0, engine=engine).fit(rows), rows)
        other = change(rows)
        ica = ICA(random_state=seed, engine=engine).fit(other)
        assert len(ica.components_) == N_SOURCES
        found = ica.transform(other)
        np.testing.assert_allclose(found, wanted, atol=SAME_ANSWER)
        assert mismatch(found, sources) < RECOVERED
        back = np.asarray(ica.inverse_transform(found), dtype=np.float64)
        given = np.asarray(other, dtype=np.float64)
        np.testing.assert_allclose(back, given, atol=1e-6 * np.abs(given).max())


@pytest.mark.parametrize("change", ROUNDED_ROWS.values(), ids=ROUNDED_ROWS)
def test_sources_are_recovered_from_rounded_rows(change, engine):
    for seed in SEEDS:
        sources, rows = mixed(np.random.default_rng(seed), N_ROWS)
        other = change(rows)
        ica = ICA(random_state=seed, engine=engine).fit(other)
        assert len(ica.components_) == N_SOURCES
        assert mismatch(ica.transform(other), sources) < RECOVERED


def test_repeating_every_row_changes_nothing(engine):
    for seed in SEEDS:
        sources, rows = mixed(np.random.default_rng(seed), N_ROWS)
        once = ICA(random_state=0, engine=engine).fit(rows)
        thrice = ICA(random_state=0, engine=engine).fit(np.repeat(rows, 3, axis=0))
        np.testing.assert_allclose(thrice.components_, once.components_, atol=SAME_ANSWER)
        assert mismatch(sources_of(thrice, rows), sources) < RECOVERED


def test_one_gaussian_source_is_recovered_with_the_others(engine):
    for seed in SEEDS:
        kinds = ("laplace", "uniform", "gaussian", "laplace", "uniform")
        sources, rows = mixed(np.random.default_rng(seed), 4000, kinds)
        ica = ICA(random_state=seed, engine=engine).fit(rows)
        assert mismatch(sources_of(ica, rows), sources) < RECOVERED


@pytest.mark.parametrize("n_gaussian", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_sources_beside_gaussian_ones_are_recovered(n_gaussian, engine):
    for seed in SEEDS:
        kinds = ("laplace", "uniform", "laplace", *["gaussian"] * n_gaussian)
        sources, rows = mixed(np.random.default_rng(seed), 4000, kinds)
        ica = ICA(random_state=seed, engine=engine).fit(rows)
        assert not ica.turning_[:3].any()
        assert mismatch(sources_of(ica, rows)[:, :3], sources[:, :3]) < RECOVERED


HEAVY = {
    "Student, three degrees": lambda rng, size: rng.standard_t(3, size=size),
    "Student, two degrees": lambda rng, size: rng.standard_t(2, size=size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size=size),
}


@pytest.mark.parametrize("contrast", ["logcosh", "exp"])
@pytest.mark.parametrize("draw", HEAVY.values(), ids=HEAVY)
def test_heavy_tails_are_unmixed(draw, contrast, engine):
    """Variances may be infinite, so the unmixing is compared and not correlations."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        mixing = rng.normal(size=(N_SOURCES, N_SOURCES))
        rows = draw(rng, (N_ROWS, N_SOURCES)) @ mixing
        ica = ICA(contrast=contrast, random_state=seed, engine=engine).fit(rows)
        assert amari(ica.components_, np.linalg.inv(mixing).T) < 0.05


FEW_ROWS_EACH = {
    "4 sources, 100 rows": (("laplace", "uniform") * 2, 100),
    "4 sources, 200 rows": (("laplace", "uniform") * 2, 200),
    "10 sources, 200 rows": (("laplace", "uniform") * 5, 200),
    "10 sources, 500 rows": (("laplace", "uniform") * 5, 500),
}


@pytest.mark.parametrize(("kinds", "n_rows"), FEW_ROWS_EACH.values(), ids=FEW_ROWS_EACH)
def test_sources_of_few_rows_are_recovered_as_well_as_by_scikit_learn(kinds, n_rows):
    """No component looks clearly non-Gaussian then, but most of them are the sources."""
    ours, theirs = [], []
    for seed in range(6):
        sources, rows = mixed(np.random.default_rng(seed), n_rows, kinds)
        peer = FastICA(whiten="unit-variance", tol=1e-8, max_iter=500, random_state=0).fit(rows)
        theirs.append(correlations(peer.transform(rows), sources).max(axis=0).mean())
        found = ICA(random_state=0).fit_transform(rows)
        ours.append(correlations(found, sources).max(axis=0).mean())
    assert np.mean(theirs) > 0.95
    assert np.mean(ours) > np.mean(theirs) - 0.03


FEW_ROWS = {
    "two rows": (2, 5, 1),
    "fewer rows than columns": (5, 20, 4),
    "as many": (20, 20, 19),
    "one more": (21, 20, 20),
    "two more": (22, 20, 20),
    "twice as many": (40, 20, 20),
    "one column": (100, 1, 1),
    "one column of two rows": (2, 1, 1),
}


@pytest.mark.parametrize(("n_rows", "width", "rank"), FEW_ROWS.values(), ids=FEW_ROWS)
def test_few_rows_have_as_many_components_as_they_span(n_rows, width, rank, engine):
    for seed in SEEDS:
        rows = np.random.default_rng(seed).laplace(size=(n_rows, width)) + 1e3
        ica = ICA(random_state=seed, engine=engine).fit(rows)
        assert_consistent(ica, rows, rank)


def assert_consistent(ica, rows, rank):
    """Check everything that holds whatever the components are."""
    assert ica.components_.shape == (rank, rows.shape[1])
    assert ica.mixing_.shape == (rows.shape[1], rank)
    sources = sources_of(ica, rows)
    assert np.isfinite(sources).all()
    np.testing.assert_allclose(sources.T @ sources / len(rows), np.eye(rank), atol=1e-6)
    np.testing.assert_allclose(ica.components_ @ ica.mixing_, np.eye(rank), atol=1e-6)
    projector = ica.mixing_ @ ica.components_
    np.testing.assert_allclose(projector @ projector, projector, atol=1e-6)
    back = sources @ ica.mixing_.T + ica.mean_
    np.testing.assert_allclose(back, rows, atol=1e-8 * np.abs(rows).max())


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 0], [0, 1, 2, 3, 3, 3]])
def test_components_that_never_settle_stay_in_the_span_of_the_rows(columns, rng):
    """Gaussian rows could take every step there is, and each could amplify rounding."""
    rows = (rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)))[:, columns]
    engine = ThreadsEngine(n_threads=1)
    found = find_components(engine, rows, tolerance=1e-300, max_iterations=200)
    projector = found.mixing @ found.components
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(centred @ projector.T, centred, atol=1e-9)
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(4), atol=1e-12)


def some(rng):
    return rng.laplace(size=(50, 3))


def with_value(value):
    def rows(rng):
        found = some(rng)
        found[7, 1] = value
        return found

    return rows


REFUSED = {
    "one row": (lambda rng: some(rng)[:1], ValueError, "minimum of 2 is required by ICA"),
    "no rows": (lambda rng: some(rng)[:0], ValueError, "minimum of 2 is required by ICA"),
    "no columns": (lambda rng: some(rng)[:, :0], ValueError, "minimum of 1 is required by ICA"),
    "one dimension": (lambda rng: some(rng)[0], ValueError, "Expected 2D array"),
    "three dimensions": (
        lambda rng: some(rng)[None],
        ValueError,
        r"dim <= 2 is required by ICA|dim 3\. ICA expected <= 2",
    ),
    "NaN": (with_value(np.nan), ValueError, "Input X contains NaN"),
    "infinite": (with_value(np.inf), ValueError, "Input X contains infinity"),
    "complex": (lambda rng: some(rng) + 1j, ValueError, "Complex data not supported"),
    "words": (lambda rng: np.array([["a", "b"]] * 9), InputError, "contains <U1 values, not"),
    "objects": (
        lambda rng: np.array([["a", 1.0]] * 9, dtype=object),
        ValueError,
        "could not convert string",
    ),
    "equal rows": (lambda rng: np.full((9, 3), 2.0), InputError, "all rows are equal"),
}


@pytest.mark.parametrize(("make", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_rows_without_components_are_refused_in_words(make, error, message, engine, rng):
    with pytest.raises(error, match=message):
        ICA(engine=engine).fit(make(rng))


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_rows_whose_squares_overflow_are_refused_in_words(engine, rng):
    with pytest.raises(InputError, match="squares overflow float64"):
        ICA(engine=engine).fit(1e200 * some(rng))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_fewer_components_span_the_widest_directions(n_components, seed):
    rows = planted(np.random.default_rng(seed), N_ROWS) * [10.0, 5.0, 2.0, 1.0]
    ica = ICA(n_components, random_state=seed).fit(rows)
    assert ica.components_.shape == (n_components, N_SOURCES)
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    wanted = axes[:n_components].T @ axes[:n_components]
    np.testing.assert_allclose(ica.mixing_ @ ica.components_, wanted, atol=1e-8)


def test_a_share_of_the_variance_keeps_as_many_directions_as_it_needs(rng):
    rows = planted(rng, N_ROWS) * [10.0, 5.0, 2.0, 1.0]
    shares = np.cumsum(np.sort(rows.var(axis=0))[::-1]) / rows.var(axis=0).sum()
    for count, share in enumerate(shares[:-1], 1):
        for wanted, fraction in ((count, share - 0.005), (count + 1, share + 0.005)):
            assert len(ICA(float(fraction), random_state=0).fit(rows).components_) == wanted


def turned(seed, scale=1.0, shift=0.0):
    """Return rows that are a rotation of sources of one variance."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(N_SOURCES, N_SOURCES)))
    return scale * planted(rng, 1500) @ rotation + shift


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_rotation_is_that_of_scikit_learn_on_centred_rows_over_one_number(solver, scale, seed):
    rows = turned(seed, scale, shift=30 * scale)
    centred = rows - rows.mean(axis=0)
    variances = np.linalg.eigvalsh(centred.T @ centred / len(rows))
    number = np.sqrt(variances[variances > 0.01 * variances[-1]].mean())
    peer = FastICA(whiten=False, tol=1e-13, max_iter=1000, random_state=seed).fit(centred / number)
    ica = ICA(whiten="rotation", solver=solver, tolerance=1e-9, random_state=seed).fit(rows)
    rotation = ica.components_ * number
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(N_SOURCES), atol=1e-12)
    np.testing.assert_allclose(ica.mixing_, rotation.T * number, rtol=1e-9, atol=1e-12 * number)
    np.testing.assert_allclose(ica.mean_, rows.mean(axis=0), rtol=1e-9)
    assert amari(rotation, peer.components_) < SAME_SOURCES


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rotation_leaves_inactive_directions_alone(seed):
    """They neither enter the number that is divided by nor keep the search from its end."""
    rng = np.random.default_rng(seed)
    sources = np.column_stack([planted(rng, 3000), 1e-3 * rng.normal(size=(3000, 2))])
    rows = sources @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    ica = ICA(whiten="rotation", random_state=seed, tolerance=1e-9).fit(rows)
    assert ica.converged_
    assert not ica.turning_.any()
    number = np.sqrt(np.sort(np.linalg.eigvalsh(np.cov(rows.T, bias=True)))[2:].mean())
    np.testing.assert_allclose(np.linalg.norm(ica.components_, axis=1), 1 / number, rtol=1e-6)
    active = np.argsort(ica.transform(rows).std(axis=0))[2:]
    found = ica.transform(rows)[:, active]
    assert mismatch(found, sources[:, :4]) < 0.05
    centred = (rows - rows.mean(axis=0)) / number
    peer = FastICA(whiten=False, tol=1e-13, max_iter=1000, random_state=seed).fit(centred)
    theirs = peer.transform(centred)
    assert mismatch(found, theirs[:, np.argsort(theirs.std(axis=0))[2:]]) < SAME_SOURCES


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rotation_of_unequal_variances_ends_where_fixed_points_circle(seed):
    rng = np.random.default_rng(seed)
    sources = planted(rng, 3000) * [1.2, 1.1, 0.9, 0.8]
    rows = sources @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    ica = ICA(whiten="rotation", random_state=seed).fit(rows)
    assert ica.converged_
    assert not ica.turning_.any()
    assert {step.solver for step in ica.trace_} == {"fastica", "picard"}
    assert mismatch(ica.transform(rows), sources) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 1.0, 2**0.5, 2.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_taken_as_they_are_have_the_components_of_scikit_learn(scale, seed):
    """From one start, both take the same steps, also where the rows are not of unit variance."""
    rows = turned(seed, scale)
    start = np.random.default_rng(seed).normal(size=(N_SOURCES, N_SOURCES))
    peer = FastICA(whiten=False, w_init=start, tol=1e-12, max_iter=3000).fit(rows)
    ours = find_components(
        ThreadsEngine(n_threads=1),
        rows,
        whiten="none",
        start=start,
        tolerance=1e-7,
        max_iterations=3000,
    )
    assert ours.converged
    np.testing.assert_array_equal(ours.mean, 0)
    np.testing.assert_allclose(ours.components @ ours.components.T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(ours.mixing, ours.components.T, atol=1e-12)
    assert amari(ours.components, peer.components_) < 1e-4


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_taken_as_they_are_are_stepped_through_as_by_scikit_learn_also_in_circles(seed):
    rows = turned(seed, shift=1.0)
    start = np.random.default_rng(seed).normal(size=(N_SOURCES, N_SOURCES))
    with pytest.warns(ConvergenceWarning):
        peer = FastICA(whiten=False, w_init=start, tol=1e-12, max_iter=60).fit(rows)
    ours = find_components(
        ThreadsEngine(n_threads=1), rows, whiten="none", start=start, max_iterations=60
    )
    assert not ours.converged
    assert ours.n_iterations == 60
    assert amari(ours.components, peer.components_) < SAME_SOURCES


@pytest.mark.parametrize("whiten", ["none", False])
def test_rows_taken_as_they_are_are_not_centred(whiten):
    rows = turned(0)
    ica = ICA(whiten=whiten, random_state=0).fit(rows)
    np.testing.assert_allclose(ica.transform(rows), rows @ ica.components_.T, rtol=1e-12)
    np.testing.assert_allclose(ica.inverse_transform(ica.transform(rows)), rows, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_only_active_directions_are_whitened_if_asked(seed):
    rng = np.random.default_rng(seed)
    sources = planted(rng, N_ROWS)
    # Variances of 1 and of 0.0049 of that: half the share from which a direction counts.
    rows = np.column_stack([sources, 0.07 * rng.laplace(size=(N_ROWS, 2)) / np.sqrt(2)])
    rotation, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    ica = ICA(whiten="active", random_state=seed).fit(rows @ rotation)
    assert len(ica.components_) == N_SOURCES
    assert mismatch(ica.transform(rows @ rotation), sources) < RECOVERED
    assert len(ICA(random_state=seed).fit(rows @ rotation).components_) == 6


NOT_POSSIBLE = {
    "whitening": (ICA(whiten="zca"), "no whitening 'zca': choose one of unit-variance, active"),
    "solver": (ICA(solver="newton"), "no solver 'newton': choose one of auto, fastica, picard"),
    "contrast": (ICA(contrast="tanh"), "no contrast 'tanh': choose one of logcosh, exp, cube"),
    "alpha": (ICA(alpha=3.0), "alpha of logcosh is 3, but it must be between 1 and 2"),
    "none": (ICA(0), "n_components is 0: give at least 1"),
    "two and a half": (ICA(2.5), "n_components is 2.5: give a number of directions"),
    "unwhitened": (ICA(2, whiten="none"), "without whitening all coordinates are kept"),
    "turned": (ICA(2, whiten="rotation"), "without whitening all coordinates are kept"),
    "restarts": (ICA(restarts=0), "restarts is 0: it must be a whole number, at least 1"),
    "iterations": (ICA(max_iterations=0), "max_iterations is 0: it must be a whole number"),
    "tolerance": (ICA(tolerance=-1e-6), "the tolerance is -1e-06: it must not be negative"),
    "engine": (ICA(engine="spark"), "there is no engine 'spark'"),
}


@pytest.mark.parametrize(("ica", "message"), NOT_POSSIBLE.values(), ids=NOT_POSSIBLE)
def test_what_cannot_be_done_is_refused_in_words(ica, message, rng):
    with pytest.raises(InputError) as caught:
        ica.fit(some(rng))
    assert message in str(caught.value)


def test_a_warm_start_of_another_width_is_refused_in_words(rng):
    ica = ICA(warm_start=True, random_state=0).fit(rng.laplace(size=(200, 3)))
    with pytest.raises(InputError, match=r"shape \(3, 3\), but 4 components of 4 coordinates"):
        ica.fit(rng.laplace(size=(200, 4)))
