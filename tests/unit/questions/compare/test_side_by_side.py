"""Steps of a comparison in turn and side by side, with algebra on the host and in torch."""

from __future__ import annotations

import numpy as np
import pytest
from in_torch import InTorch

import upto
from upto.engines import (
    ThreadsEngine,
    TorchEngine,
    concurrent_steps,
    cores,
    has_cores_to_spare,
)
from upto.questions.compare import chance_level, detail, judged_pair, prediction


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(3)
    x = rng.laplace(size=(500, 130))
    turn = np.linalg.qr(rng.normal(size=(130, 130)))[0]
    return x, x @ turn + 0.1 * rng.normal(size=(500, 130))


def numbers(result):
    """All errors of a result, in order."""
    found = []
    for fit in result.fits:
        for errors in (fit.in_sample, fit.held_out, fit.chance_in_sample, fit.chance):
            if errors is not None:
                found += [errors.mean.value, errors.rms, errors.q99, errors.worst, errors.r2]
                found += [errors.mean.low or 0.0, errors.mean.high or 0.0]
        found.append(fit.p_value or 0.0)
        found += [] if fit.supremum is None else [fit.supremum.high, fit.supremum.low or 0.0]
    return np.array(found)


def assert_alike(found, wanted, **tolerance):
    assert found.verdict == wanted.verdict
    assert [each.up_to for each in found.fits] == [each.up_to for each in wanted.fits]
    assert [each.code for each in found.findings] == [each.code for each in wanted.findings]
    np.testing.assert_allclose(numbers(found), numbers(wanted), **tolerance)


class Elsewhere(ThreadsEngine):
    """An engine that leaves the cores idle, as a GPU does."""

    is_elsewhere = True


@pytest.mark.parametrize("kind", [ThreadsEngine, Elsewhere])
@pytest.mark.parametrize("held_out", [0.3, 0.0])
def test_steps_side_by_side_change_no_result(runs, held_out, kind, monkeypatch):
    alone = ThreadsEngine(n_threads=1)
    assert not has_cores_to_spare(alone, 130)
    in_turn = upto.compare(*runs, held_out=held_out, engine=alone)
    monkeypatch.setattr(cores, "n_cores", lambda: 5)
    monkeypatch.setattr(concurrent_steps, "NARROWEST_STEPS", 130)
    engine = kind(n_threads=2)
    assert has_cores_to_spare(engine, 130)
    several = [upto.compare(*runs, held_out=held_out, engine=engine) for _ in range(2)]
    assert several[0].fits == several[1].fits
    assert_alike(several[0], in_turn, rtol=1e-9)


def test_steps_have_cores_to_spare_where_one_blas_thread_is_enough():
    widths = (130, 383, 384, 512, 513, 3000)
    found = [has_cores_to_spare(ThreadsEngine(n_threads=2), width) for width in widths]
    assert found == [False, False, True, True, False, False]


def test_algebra_in_torch_changes_results_by_rounding_only(runs):
    pytest.importorskip("torch")
    here, there = (upto.compare(*runs, engine=engine) for engine in (ThreadsEngine(), InTorch()))
    assert_alike(there, here, rtol=1e-4, atol=1e-7)


def test_a_gpu_gives_the_results_of_the_cpu(runs):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    here, there = (upto.compare(*runs, engine=each) for each in (ThreadsEngine(), TorchEngine()))
    assert_alike(there, here, rtol=1e-3, atol=1e-6)
    several = [*runs, runs[0][:, ::-1]]
    one, other = (upto.compare(*several, engine=each) for each in (ThreadsEngine(), TorchEngine()))
    assert (other.pairs.up_to, other.pairs.agreement) == (one.pairs.up_to, one.pairs.agreement)
    for mine, theirs in zip(other.pairs.matrices, one.pairs.matrices, strict=True):
        errors = [np.array(each.error, dtype=float) for each in (mine, theirs)]
        np.testing.assert_allclose(*errors, rtol=1e-3, atol=1e-6)


def test_rows_sorted_by_a_step_meanwhile_do_not_disturb_another(runs, monkeypatch):
    class Flipping:
        def flipped(self):
            pair._sorted[False] = self
            return self

    pairs = []
    monkeypatch.setattr(detail, "pair_moments", lambda pair: pairs.append(pair) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        upto.compare(*runs, ica=False)
    (pair,) = pairs
    pair._sorted[True] = Flipping()
    assert set(pair.flipped()._sorted) == {True}


def test_a_step_that_fails_stops_the_others(runs, monkeypatch):
    def fail(*_):
        raise MemoryError

    counted = []
    refits = chance_level._agree
    monkeypatch.setattr(chance_level, "_agree", lambda *each: counted.append(refits(*each)))
    monkeypatch.setattr(detail, "_defect", fail)
    monkeypatch.setattr(cores, "n_cores", lambda: 5)
    with pytest.raises(MemoryError):
        upto.compare(*runs, ica=False, refits=500, engine=Elsewhere())
    assert len(counted) < 400


@pytest.fixture
def wide(monkeypatch):
    """Treat every width as one of which memory has room for few matrices."""
    for module in (concurrent_steps, chance_level, detail, prediction):
        monkeypatch.setattr(module, "WIDEST_SIDE_BY_SIDE", 2)


@pytest.mark.parametrize("held_out", [0.3, 0.0])
def test_freeing_the_memory_of_wide_runs_changes_no_result(runs, held_out, request):
    engine = ThreadsEngine(n_threads=1)
    kept = upto.compare(*runs, held_out=held_out, engine=engine)
    request.getfixturevalue("wide")
    assert_alike(upto.compare(*runs, held_out=held_out, engine=engine), kept, rtol=1e-9)


def test_wide_runs_keep_no_matrix_longer_than_a_step_needs_it(runs, wide, monkeypatch):
    pairs, inverses = [], []

    def judge_pair(pair, *rest):
        pairs.append(pair)
        inverses.append([run.everything.has_inverse for run in (pair.source, pair.target)])
        assert False not in pair._sorted
        return judged_pair.judge_pair(pair, *rest)

    monkeypatch.setattr(detail, "judge_pair", judge_pair)
    upto.compare(*runs, ica=False, engine=ThreadsEngine(n_threads=1))
    (pair,) = pairs
    assert inverses == [[False, False]]
    assert not pair._sorted
    for run in (pair.source, pair.target):
        assert not run.fitted.has_inverse
        assert pair.side(run)._white is pair.side(run)._columns is None
