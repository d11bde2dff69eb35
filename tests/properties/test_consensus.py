"""A consensus does not depend on what it should not: orders, rotations, and the runs' own axes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upto import consensus

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**31 - 1)
FEW = settings(max_examples=8)


def runs_of(seed, *, n_rows=240, width=3, n_runs=3, noise=0.2):
    """Skewed sources, so that every sign is settled, of variances that are well apart."""
    rng = np.random.default_rng(seed)
    latent = (rng.exponential(size=(n_rows, width)) - 1) * 2.0 ** -np.arange(width)
    runs = []
    for _ in range(n_runs):
        turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
        runs.append(latent @ turn + noise * 2.0**-width * rng.normal(size=latent.shape))
    return rng, runs


def found(tmp_path, runs, **options):
    result = consensus(*runs, output=tmp_path / "out.npy", **options)
    return result, np.load(tmp_path / "out.npy")


def numbers(result):
    return np.array(
        [[run.explained.value, run.explained.low, run.p_value] for run in result.runs]
    ), np.array([component.correlations for component in result.components], dtype=float)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("consensus")


@pytest.mark.parametrize("up_to", ["rigid", "similarity", "ica"])
@FEW
@given(seed=SEEDS)
def test_the_order_of_runs_does_not_matter(folder, up_to, seed):
    rng, runs = runs_of(seed)
    order = rng.permutation(len(runs))
    result, rows = found(folder, runs, up_to=up_to)
    other, again = found(folder, [runs[i] for i in order], up_to=up_to)
    np.testing.assert_allclose(again, rows, atol=1e-6)
    of_runs, of_components = numbers(result)
    np.testing.assert_allclose(numbers(other)[0], of_runs[order], atol=1e-8)
    np.testing.assert_allclose(numbers(other)[1], of_components[:, order], atol=1e-8)
    assert other.chance_limit == pytest.approx(result.chance_limit, abs=1e-9)


@pytest.mark.parametrize("up_to", ["rigid", "similarity", "ica"])
@FEW
@given(seed=SEEDS)
def test_the_order_of_rows_does_not_matter(folder, up_to, seed):
    rng, runs = runs_of(seed)
    order = rng.permutation(len(runs[0]))
    result, rows = found(folder, runs, up_to=up_to)
    other, again = found(folder, [run[order] for run in runs], up_to=up_to)
    np.testing.assert_allclose(again, rows[order], atol=1e-5)
    for before, after in zip(numbers(result), numbers(other), strict=True):
        np.testing.assert_allclose(after, before, atol=1e-5)


@pytest.mark.parametrize("up_to", ["rigid", "similarity", "ica"])
@FEW
@given(seed=SEEDS)
def test_a_consensus_does_not_see_how_its_runs_were_moved(folder, up_to, seed):
    """All rows are fitted: the split follows the values of rows, and moving changes them."""
    # From few rows ICA may find other components when it starts elsewhere.
    rng, runs = runs_of(seed, n_rows=2000 if up_to == "ica" else 240)
    moved = []
    for run in runs:
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        if up_to == "ica":
            turn = turn @ np.diag(rng.uniform(0.5, 2, size=3))
        scale = rng.uniform(0.5, 2) if up_to == "similarity" else 1.0
        moved.append(scale * (run @ turn) + rng.normal(size=3))
    _, rows = found(folder, runs, up_to=up_to, held_out=0)
    _, again = found(folder, moved, up_to=up_to, held_out=0)
    if up_to == "similarity":
        # One scale of everything is free.
        rows, again = rows / rows.std(), again / again.std()
    if up_to == "ica":
        # The order of components that are equally alike is not settled.
        correlation = np.abs(np.corrcoef(rows.T, again.T)[:3, 3:])
        np.testing.assert_allclose(np.sort(correlation, axis=1)[:, -1], 1, atol=1e-3)
    else:
        np.testing.assert_allclose(again, rows, atol=1e-6)


@FEW
@given(seed=SEEDS, n_runs=st.integers(2, 5))
def test_every_number_stays_in_its_range(folder, seed, n_runs):
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 5, size=n_runs)
    runs = [rng.normal(size=(60, width)) for width in widths]
    for up_to in ("rigid", "similarity", "ica"):
        result, rows = found(folder, runs, up_to=up_to)
        assert rows.shape[1] == len(result.components) <= max(widths)
        assert np.isfinite(rows).all()
        for run in result.runs:
            assert run.explained.low <= run.explained.value <= run.explained.high <= 1
            assert 0 < run.p_value <= 1
        for component in result.components:
            known = [value for value in component.correlations if value is not None]
            assert all(abs(value) <= 1 + 1e-12 for value in known)
            assert 0 <= component.n_runs <= len(known)
            if component.mean is not None:
                mean = component.mean
                assert mean.value == pytest.approx(np.mean(known))
                assert -1 <= mean.low <= mean.value <= mean.high <= 1 + 1e-12
