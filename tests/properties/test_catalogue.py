"""Every declaration of every measure, checked in both directions."""

from __future__ import annotations

import numpy as np
import pytest

import upto.measures
from upto.core import InputError
from upto.measures.catalogue import DEFAULT_MEASURES, MEASURES, find_measure, find_measures
from upto.measures.kinds import AFFINE, LARGEST, SCALED_SHAPE, SMALLEST, Change, MomentMeasure
from upto.measures.moments import pair_moments

pytestmark = pytest.mark.slow

N_SAMPLES, WIDTHS = 64, (6, 5)
IGNORED, NOTICED = 1e-6, 1e-4
BOUND = 1e-12


def related(seed, n_samples=N_SAMPLES, widths=WIDTHS):
    """Two runs of one source, off centre, with coordinates of their own scales."""
    rng = np.random.default_rng(seed)
    source = rng.laplace(size=(n_samples, max(widths)))
    return tuple(
        source @ rng.normal(size=(source.shape[1], width)) * rng.uniform(0.5, 2.0, size=width)
        + 0.5 * rng.normal(size=(n_samples, width))
        + 0.3 * rng.normal(size=width)
        for width in widths
    )


def changed(change, rows, rng):
    width = rows.shape[1]
    if change is Change.TRANSLATION:
        return rows + rng.normal(size=width)
    if change is Change.SCALE:
        return 2.7 * rows
    if change is Change.PERMUTATION:
        return rows[:, np.roll(np.arange(width), 2)]
    if change is Change.SIGNS:
        return rows * np.where(np.arange(width) % 2, -1.0, 1.0)
    if change is Change.ROTATION:
        return rows @ np.linalg.qr(rng.normal(size=(width, width)))[0]
    if change is Change.COORDINATE_SCALES:
        return rows * np.exp(rng.normal(size=width))
    if change is Change.LINEAR:
        return rows @ (rng.normal(size=(width, width)) + np.eye(width))
    assert change is Change.MONOTONE
    return np.sinh(rows / rows.std(axis=0))


def moves(measure, change, seed):
    """Return how far a change of either run moves the value."""
    first, second = related(seed)
    rng = np.random.default_rng([seed, 1])
    value = measure(first, second)
    values = [
        measure(changed(change, first, rng), second),
        measure(first, changed(change, second, rng)),
    ]
    return np.abs(np.array(values) - value)


@pytest.fixture(params=MEASURES.values(), ids=list(MEASURES))
def measure(request):
    return request.param


@pytest.mark.parametrize("change", Change, ids=str)
def test_a_measure_notices_exactly_the_changes_it_does_not_declare(measure, change):
    if measure.parameter_name == "principal directions":
        # Runs of few coordinates would keep all of them.
        measure = measure.with_parameter(3)
    moved = np.array([moves(measure, change, seed) for seed in range(4)])
    if change in measure.ignores:
        assert moved.max() <= IGNORED
    else:
        assert moved.max() > NOTICED


def test_a_measure_is_symmetric_exactly_if_it_says_so(measure):
    gaps = []
    for seed in range(4):
        first, second = related(seed, widths=(WIDTHS[0], WIDTHS[seed % 2]))
        gaps.append(abs(measure(first, second) - measure(second, first)))
    if measure.symmetric:
        assert max(gaps) <= IGNORED
    else:
        assert max(gaps) > NOTICED


def held_out(measure, first, second):
    """Fit a moment measure on every other row and score it on the rest."""
    parts = [
        pair_moments(measure.prepared(first[rows]), measure.prepared(second[rows]))
        for rows in (slice(0, None, 2), slice(1, None, 2))
    ]
    return measure.scored(*parts)


@pytest.fixture(
    params=[each for each in MEASURES.values() if isinstance(each, MomentMeasure)], ids=str
)
def moment_measure(request):
    return request.param


@pytest.mark.parametrize("widths", [(6, 5), (50, 40)], ids=["many rows", "few rows"])
def test_a_held_out_value_ignores_what_a_measure_declares(moment_measure, widths):
    few = moment_measure.ignores >= AFFINE and max(widths) > N_SAMPLES // 2
    for seed in range(2):
        first, second = related(seed, widths=widths)
        rng = np.random.default_rng([seed, 1])
        value = held_out(moment_measure, first, second)
        for change in SCALED_SHAPE if few else moment_measure.ignores:
            turned = changed(change, first, rng), changed(change, second, rng)
            assert held_out(moment_measure, *turned) == pytest.approx(value, abs=IGNORED), change


@pytest.mark.parametrize("widths", [(6, 6), (50, 50)], ids=["many rows", "few rows"])
def test_a_held_out_value_is_symmetric_if_a_measure_says_so(moment_measure, widths):
    if not moment_measure.symmetric:
        pytest.skip("it is not symmetric in sample")
    for seed in range(2):
        first, second = related(seed, widths=widths)
        value = held_out(moment_measure, first, second)
        assert held_out(moment_measure, second, first) == pytest.approx(value, abs=IGNORED)


def test_closer_runs_have_the_value_that_closer_means(measure):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        first, _ = related(seed)
        near = first + 0.05 * rng.normal(size=first.shape)
        far = rng.normal(size=first.shape)
        values = [measure.oriented(measure(first, other)) for other in (first, near, far)]
        assert values[0] >= values[1] - IGNORED
        assert values[1] > values[2]


def test_a_run_is_as_close_to_itself_as_a_measure_goes(measure):
    first, _ = related(0)
    if measure.name == "udr":
        pytest.skip("UDR is lower the more the coordinates of a run correlate")
    best = measure.high if measure.closer == "higher" else measure.low
    assert measure(first, first) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("name", [name for name, each in MEASURES.items() if each.metric])
def test_a_metric_obeys_the_triangle_inequality(name):
    measure = MEASURES[name]
    assert measure.closer == "lower"
    for seed in range(40):
        rng = np.random.default_rng(seed)
        runs = [rng.normal(size=(12, 3)) * np.exp(rng.normal(size=3)) for _ in range(3)]
        if seed % 2:
            runs[1] = runs[0] + rng.uniform(0, 1) * (runs[2] - runs[0])
        a, b, c = measure(runs[0], runs[1]), measure(runs[1], runs[2]), measure(runs[0], runs[2])
        assert c <= a + b + 1e-7


def dead(rows):
    rows = rows.copy()
    rows[:, 1] = 3.0
    return rows


def duplicated(rows):
    return np.concatenate([rows[:, :3], rows[:, :3]], axis=1)


@pytest.mark.parametrize(
    "name", [name for name, each in MEASURES.items() if isinstance(each, MomentMeasure)]
)
def test_runs_without_variance_are_not_close(name):
    measure = MEASURES[name]
    flat = np.full((N_SAMPLES, 3), 0.1)
    first, _ = related(0)
    far = measure(first, np.random.default_rng(0).normal(size=first.shape))
    assert measure.oriented(measure(flat, flat)) <= max(measure.oriented(far), 0.0) + 0.5


DEGENERATE = {
    "dead units": lambda x, y: (dead(x), dead(y)),
    "a run without variance": lambda x, y: (x, np.ones_like(y)),
    "two runs without variance": lambda x, y: (np.ones_like(x), np.zeros_like(y)),
    "two runs of one number": lambda x, y: (np.full_like(x, 0.1), np.full_like(y, 0.1)),
    "duplicated coordinates": lambda x, y: (duplicated(x), y),
    "fewer rows than coordinates": lambda x, y: (
        np.tile(x[:14], (1, 4)) + np.arange(14)[:, None] * 0.01,
        np.concatenate([y[:14], y[14:28]], axis=1),
    ),
    "few rows": lambda x, y: (x[:12], y[:12]),
    "one coordinate": lambda x, y: (x[:, :1], y),
    "duplicated rows": lambda x, y: (np.tile(x[:16], (3, 1)), np.tile(y[:16], (3, 1))),
    "far from the origin": lambda x, y: (x + 1e6, y - 1e6),
    "tiny": lambda x, y: (1e-9 * x, y),
    "huge": lambda x, y: (1e9 * x, y),
    "single precision": lambda x, y: (x.astype(np.float32), y.astype(np.float32)),
    "whole numbers": lambda x, y: (np.round(10 * x).astype(int), np.round(10 * y).astype(int)),
}


@pytest.mark.parametrize("case", DEGENERATE.values(), ids=DEGENERATE)
def test_no_rows_make_a_measure_leave_its_range(measure, case):
    first, second = case(*related(3))
    for value in (measure(first, second), measure(second, first)):
        assert measure.low - BOUND <= value <= measure.high + BOUND


@pytest.mark.parametrize(
    "scales",
    [(0.1 * LARGEST, 1.0), (10 * SMALLEST, 1.0), (0.1 * LARGEST,) * 2, (10 * SMALLEST,) * 2],
    ids=["large", "small", "both large", "both small"],
)
def test_the_ends_of_the_scales_change_no_value(measure, scales):
    first, second = (rows / np.abs(rows).max() for rows in related(2))
    value = measure(scales[0] * first, scales[1] * second)
    assert measure.low <= value <= measure.high
    if Change.SCALE in measure.ignores:
        assert value == pytest.approx(measure(first, second), abs=IGNORED)


@pytest.mark.parametrize("scale", [1e100, 1e155, 1e300, 1e-100, 1e-160, 1e-300])
def test_magnitudes_whose_powers_overflow_or_vanish_are_refused_or_make_no_difference(
    measure, scale
):
    """Ranks and relations do not depend on them."""
    first, second = (rows / np.abs(rows).max() for rows in related(2))
    if isinstance(measure, MomentMeasure) and measure.prepare is None:
        words = rf"largest magnitude of the second run is {scale:g}, .*: multiply the run by a"
        with pytest.raises(InputError, match=words.replace("+", r"\+")):
            measure(first, scale * second)
    else:
        wanted = measure(first, second)
        assert measure(first, scale * second) == pytest.approx(wanted, abs=IGNORED)


@pytest.mark.parametrize(
    "of",
    [
        lambda rows: upto.measures.minibatch_linear_cka([(rows, rows)]),
        lambda rows: upto.measures.fit_mixture(rows, 1),
        lambda rows: upto.measures.udr_scores([rows, rows]),
    ],
    ids=["minibatches", "a mixture", "a ranking"],
)
@pytest.mark.parametrize("scale", [1e100, 1e-160])
def test_whatever_takes_moments_refuses_what_they_cannot_hold(of, scale, rng):
    with pytest.raises(InputError, match="multiply the run by a constant"):
        of(scale * rng.normal(size=(30, 3)))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (np.ones((4, 2)), np.ones((5, 2)), "4 rows but the second has 5"),
        (np.ones(4), np.ones((4, 2)), r"shape \(4,\)"),
        (np.array([["a"]]), np.ones((1, 1)), "not an array of numbers"),
        (np.full((4, 2), np.nan), np.ones((4, 2)), "8 non-finite values"),
    ],
    ids=["lengths", "a vector", "words", "not finite"],
)
def test_what_is_no_pair_of_runs_is_refused_in_words(measure, first, second, message):
    with pytest.raises(InputError, match=message):
        measure(first, second)


def test_names_find_measures_and_parameters_follow_a_colon():
    assert [each.name for each in find_measures(["svcca:7", "linear-cka", "svcca:7"])] == [
        "svcca:7",
        "linear-cka",
    ]
    assert find_measure("svcca:7").parameter == 7
    assert len(find_measures(["all"])) == len(MEASURES)
    assert set(DEFAULT_MEASURES) <= set(MEASURES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "there is no measure 'nothing': choose from mean-cca, "),
        ("svcca:many", "needs a number after the colon, as in svcca:20"),
        ("svcca:", "'svcca:' needs a number after the colon, as in svcca:20"),
        ("linear-cka:3", "has no parameter: leave out 3"),
        ("linear-cka:", "has no parameter: leave out ':'"),
    ],
)
def test_names_that_mean_nothing_are_refused_in_words(name, message):
    with pytest.raises(InputError, match=message):
        find_measure(name)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0.9999999, "svcca-share:0.9999999"),
        (1.0, "svcca-share:1"),
        (np.float64(1 / 3), "svcca-share:0.3333333333333333"),
    ],
)
def test_a_name_gives_its_parameter_back(number, name):
    measure = find_measure("svcca-share").with_parameter(number)
    assert measure.name == name
    assert find_measure(name).parameter == number


def test_names_that_are_found_on_first_use_are_listed():
    assert set(upto.measures.__all__) <= set(dir(upto.measures))


def test_names_say_their_default_parameter(measure):
    name, _, number = measure.name.partition(":")
    assert MEASURES[name] is measure
    assert (number == "") == (measure.parameter is None)
    if number:
        assert float(number) == measure.parameter
        assert measure.parameter_name
