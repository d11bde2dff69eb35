"""What holds for any runs: order does not matter, and no number leaves its range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import upto
from upto import Embeddings

MEASURES = ("linear-cka", "mutual-knn:2", "mean-cca", "r2", "procrustes", "mcc")
OPTIONS = {"measures": MEASURES, "permutations": 19, "half_samples": 10}


@st.composite
def some_runs(draw):
    """Draw related and unrelated runs, of integers with ties or of reals, some rows twice."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, count = draw(st.integers(4, 40)), draw(st.integers(2, 4))
    source = rng.normal(size=(n, 3))
    runs = []
    for place in range(count):
        rows = source @ rng.normal(size=(3, draw(st.integers(1, 5)))) + rng.normal(size=(n, 1))
        if draw(st.booleans()):
            rows = np.round(rows)
        if np.ptp(rows) == 0:
            rows[0] += 1
        runs.append(Embeddings(rows=rows, name=f"run {place}"))
    doubled = draw(st.integers(0, n // 2))
    index = np.concatenate([np.arange(n), np.arange(doubled)])
    classes = rng.integers(draw(st.integers(1, 3)), size=n)[index] if draw(st.booleans()) else None
    return [Embeddings(rows=run.rows[index], name=run.name) for run in runs], classes, rng


def measured(runs, classes):
    try:
        return upto.similarity(*runs, within=classes, **OPTIONS)
    except upto.InputError as error:
        return str(error)


def numbers(result):
    found = {}
    for row in result.rows:
        names = (row.first, row.second)
        if result.measure(row.measure).symmetric:
            names = tuple(sorted(names))
        cells = (row.value.value, row.value.low, row.chance, row.limit, row.calibrated)
        found[(*names, row.measure)] = [np.nan if cell is None else cell for cell in cells]
    return found


@pytest.mark.slow
@given(some_runs())
@settings(max_examples=15)
def test_the_order_of_rows_and_runs_changes_nothing(drawn):
    runs, classes, rng = drawn
    order = rng.permutation(len(runs[0]))
    shuffled = [runs[place] for place in rng.permutation(len(runs))]
    again = [Embeddings(rows=run.rows[order], name=run.name) for run in shuffled]
    one = measured(runs, classes)
    other = measured(again, None if classes is None else classes[order])
    if isinstance(one, str):
        assert one == other
        return
    ours, theirs = numbers(one), numbers(other)
    assert ours.keys() == theirs.keys()
    for key, cells in ours.items():
        np.testing.assert_allclose(cells, theirs[key], rtol=1e-6, atol=1e-8, err_msg=str(key))


@given(some_runs())
def test_no_number_leaves_its_range(drawn):
    runs, classes, _ = drawn
    result = measured(runs, classes)
    if isinstance(result, str):
        assert "be re-paired" in result or "zero variance" in result
        return
    for row in result.rows:
        measure = result.measure(row.measure)
        for cell in (row.value.value, row.value.low, row.value.high, row.chance, row.limit):
            assert cell is None or measure.low <= cell <= measure.high
        assert row.calibrated is None or 0 <= row.calibrated <= 1
        assert 0 < row.p_value <= row.adjusted <= 1
        if row.calibrated is not None and row.calibrated > 1e-6:
            assert row.p_value <= 0.05
    for measure in result.measures:
        assert sorted(measure.order) == list(range(len(runs)))
        assert measure.mean.low is None or measure.mean.low <= measure.mean.value
    assert upto.SimilarityResult.from_json(result.to_json()) == result


@given(st.integers(0, 2**32 - 1), st.sampled_from(MEASURES))
def test_a_run_is_as_close_to_itself_as_can_be(seed, name):
    rows = np.random.default_rng(seed).normal(size=(40, 3))
    result = upto.similarity(rows, rows, measures=name, permutations=19, half_samples=10)
    measure = result.measures[0]
    best = measure.high if measure.closer == "higher" else measure.low
    for row in result.rows:
        assert row.value.value == pytest.approx(best, abs=1e-6)
        assert row.value.high - row.value.low == pytest.approx(0.0, abs=1e-6)
        assert row.p_value == 0.05
