"""Every pair of many runs: the numbers of one pair, in either order, on any number of threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_info

import upto
from upto.alignment import MonotoneFit, fit_maps, row_errors, row_errors_both_ways
from upto.core import Group
from upto.engines import ThreadsEngine, cross_moments, items_side_by_side, match
from upto.evidence.pairings import Close, pairing_p_values
from upto.questions.compare.images import TURNS, Images
from upto.questions.compare.shared_directions import _singular
from upto.questions.compare.side import White, explained_variance

ROWS, WIDTH = 240, 5


@pytest.fixture(scope="module")
def runs():
    """A rotation, another width, a scaled permutation and an unrelated run."""
    rng = np.random.default_rng(5)
    rows = rng.laplace(size=(ROWS, WIDTH))
    turn, _ = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))
    noise = 0.1 * rng.normal(size=(4, ROWS, WIDTH))
    return [
        rows,
        2 * rows @ turn + noise[0] + 3,
        rows[:, :3] + noise[1][:, :3],
        rows[:, ::-1] * np.arange(1, WIDTH + 1) + noise[2],
        rng.laplace(size=(ROWS, WIDTH)),
    ]


def matrices(found):
    return {each.name: each for each in found.pairs.matrices}


def numbers(found):
    return {
        (each.name, field): np.array(getattr(each, field), dtype=float)
        for each in found.pairs.matrices
        for field in ("error", "r2", "p_value")
    }


@pytest.fixture(scope="module")
def compared(runs):
    return upto.compare(*runs, ica=False, progress=False)


def test_the_order_of_the_runs_does_not_matter(runs, compared):
    order = [3, 0, 4, 2, 1]
    again = upto.compare(*(runs[place] for place in order), ica=False, progress=False)
    places = np.ix_(order, order)
    for key, values in numbers(compared).items():
        np.testing.assert_allclose(numbers(again)[key], values[places], rtol=1e-9, atol=1e-9)
    for field in ("up_to", "agreement"):
        whole = np.array(getattr(compared.pairs, field), dtype=object)
        assert (np.array(getattr(again.pairs, field), dtype=object) == whole[places]).all()


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_the_number_of_threads_does_not_matter(runs, compared, n_threads):
    again = upto.compare(
        *runs, ica=False, progress=False, engine=ThreadsEngine(n_threads=n_threads)
    )
    for key, values in numbers(compared).items():
        np.testing.assert_allclose(numbers(again)[key], values, rtol=1e-9, atol=1e-9)
    assert again.verdict == compared.verdict


def test_a_pair_of_many_has_the_errors_of_two_runs_alone(runs):
    # With three equal runs, the held-out rows are not those of two, so nothing is held out here.
    options = {"ica": False, "held_out": 0, "progress": False}
    many = upto.compare(*runs, **options)
    for i, j in ((0, 1), (1, 0), (0, 2), (2, 0), (3, 4)):
        alone = upto.compare(runs[i], runs[j], refits=0, **options)
        for fit in alone.fits:
            found = many.pairs.matrix(fit.name)
            assert found.error[i][j] == pytest.approx(fit.in_sample.mean.value, rel=1e-9)
            assert found.r2[i][j] == pytest.approx(fit.in_sample.r2, rel=1e-9)


def test_verdicts_of_runs_that_are_related_in_different_ways(compared):
    up_to, agreement = compared.pairs.up_to, compared.pairs.agreement
    assert up_to[0][1] is up_to[1][0] is Group.SIMILARITY
    assert up_to[0][3] is up_to[3][0] is Group.SCALED_PERMUTATION
    assert agreement[0][2] == agreement[2][0] == "image"
    assert {agreement[4][j] for j in range(4)} == {agreement[j][4] for j in range(4)} == {"chance"}


@pytest.mark.parametrize("width", [WIDTH, 3])
@pytest.mark.parametrize("selecting", [False, True])
def test_errors_both_ways_are_those_of_each_way(rng, width, selecting):
    x = rng.normal(size=(40, WIDTH)) + 3
    y = 1.7 * x[:, :width] + rng.normal(size=(40, width))
    engine, moments = ThreadsEngine(block_rows=7), cross_moments(ThreadsEngine(), x, y)
    groups = [group for group in Group if group is not Group.MONOTONE_PERMUTATION]
    groups = groups if width == WIDTH else groups[1:]
    forward = fit_maps(groups, moments)
    backward = fit_maps(groups, moments.flipped())
    keep = rng.random(40) < 0.5 if selecting else None
    there, back = row_errors_both_ways(
        engine, x, y, list(forward.values()), list(backward.values()), keep,
        turns=[width == WIDTH and group in TURNS for group in groups],
    )  # fmt: skip
    np.testing.assert_allclose(there, row_errors(engine, x, y, list(forward.values()), keep))
    np.testing.assert_allclose(back, row_errors(engine, y, x, list(backward.values()), keep))


@pytest.mark.parametrize("shape", [(6, 6), (4, 7), (7, 4), (1, 1), (0, 3)])
def test_matchings_have_the_largest_gain(rng, shape):
    gain = rng.normal(size=shape)
    best = gain[linear_sum_assignment(gain, maximize=True)].sum()
    assert gain[match(gain)].sum() == pytest.approx(best, abs=1e-12)


def test_factors_of_shared_products_are_those_of_the_rows(rng):
    x, y = rng.normal(size=(2, 60, 4))
    y += 0.05 * x
    factors = [(1.0, 1.0), (0.4, 1.0), (1.0, 2.5)]
    options = {"permutations": 199, "seed": 0, "near": rng.random(60) < 0.9}
    shared = pairing_p_values([[Close(x, y, *each)] for each in factors], **options)
    apart = pairing_p_values([[Close(a * x, b * y)] for a, b in factors], **options)
    assert shared == apart
    assert len(set(shared)) > 1


def test_places_give_the_values_of_a_search(rng):
    x = np.round(rng.laplace(size=(200, 3)), 1)
    y = np.sinh(x[:, [2, 0, 1, 1]]) + 0.1 * rng.normal(size=(200, 4))
    fit = MonotoneFit(x, y)
    found = fit.fit()
    rows = np.concatenate([x, 3 * rng.laplace(size=(50, 3)), found.knots[:, :3]])
    placed = found.predict_placed(rows, fit._source.places_of(rows))
    np.testing.assert_allclose(placed, found.predict(rows), rtol=1e-12, atol=1e-12)


def test_a_reversed_fit_is_that_of_the_other_direction(rng):
    x, y = rng.laplace(size=(2, 100, 4))
    fit = MonotoneFit(x, y)
    fit.fit()
    turned, direct = fit.flipped().fit(), MonotoneFit(y, x).fit()
    np.testing.assert_array_equal(turned.index, direct.index)
    np.testing.assert_allclose(turned.values, direct.values)


@pytest.mark.parametrize("shape", [(6, 6), (4, 7), (7, 4), (0, 3)])
@pytest.mark.parametrize("smallest", [0.3, 1e-6, 0.0])
def test_singular_vectors_by_squares_or_not(rng, shape, smallest):
    cross, rank = rng.normal(size=shape), min(shape)
    left, values, right = np.linalg.svd(cross, full_matrices=False)
    if rank:
        values[-1] = smallest
    cross = (left * values) @ right
    found = _singular(cross)
    np.testing.assert_allclose((found.x * found.correlations) @ found.y.T, cross, atol=1e-12)
    for vectors in (found.x, found.y):
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-9)


@pytest.mark.parametrize("n_agreeing", [0, 1, 4, 5])
def test_the_variance_of_few_or_most_directions(rng, n_agreeing):
    part = cross_moments(ThreadsEngine(), *rng.normal(size=(2, 50, 5))).source
    values, vectors = np.linalg.eigh(part.scatter / part.weight)
    directions = vectors / np.sqrt(values)
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    explained = float(((part.scatter @ directions / part.weight) ** 2).sum())
    agreeing = np.arange(5) < n_agreeing
    total = float(values.sum())
    white = White(directions=directions, explained=explained, total=total, paired=np.empty((0, 5)))
    found = explained_variance(part, white, turn, agreeing)
    along = part.scatter @ (directions @ turn)[:, agreeing] / part.weight
    assert found == pytest.approx((along**2).sum() / total, abs=1e-12)
    assert n_agreeing < 5 or found == pytest.approx(1.0)


def test_a_bound_from_some_directions_never_contradicts_all(runs):
    bounds = []
    is_less = Images.is_less_even

    def spied(images, name, limit):
        for each in images.maps:
            for least in (0.3, 0.9, 0.999):
                images._r2.clear()
                found = is_less(images, each, least)
                bounds.append((found, np.clip(images.r2(each), 0, 1).mean(), least))
        return is_less(images, name, limit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Images, "is_less_even", spied)
        upto.compare(*runs, ica=False, progress=False, engine=ThreadsEngine(n_threads=1))
    assert any(found for found, *_ in bounds)
    assert all(even < limit for found, even, limit in bounds if found)


def test_work_side_by_side_is_in_order_and_stops_at_an_error():
    engine = ThreadsEngine(n_threads=3)

    def everything(work, items, width=9):
        with items_side_by_side(engine, work, items, width=width) as found:
            return list(found)

    seen = everything(lambda own, item: (own.n_threads, item), range(20))
    assert seen == [(1, item) for item in range(20)]
    assert everything(lambda own, item: (own.n_threads, item), [0], width=10**4) == [(3, 0)]
    done = []

    def work(_, item):
        if item == 4:
            message = "the fifth"
            raise ValueError(message)
        done.append(item)

    with pytest.raises(ValueError, match="the fifth"):
        everything(work, range(100))
    assert len(done) < 20


def test_an_interrupted_comparison_stops(runs):
    class Interrupted(KeyboardInterrupt):
        pass

    class Task:
        def __init__(self, total):
            self.left = total

        def __enter__(self):
            return self.advance

        def __exit__(self, *_):
            return False

        def advance(self, amount):
            self.left -= amount
            if self.left < 3000:  # of 10,000: some pairs are done
                raise Interrupted

    class Watched:
        def task(self, label, total):
            return Task(total)

    threads = [each["num_threads"] for each in threadpool_info()]
    with pytest.raises(Interrupted) as held:
        upto.compare(*runs, ica=False, progress=Watched())
    assert held.tb is not None  # a prompt keeps the frames of the last error
    assert [each["num_threads"] for each in threadpool_info()] == threads
    assert upto.compare(*runs[:3], ica=False, progress=False).verdict


def test_held_out_rows_that_do_not_fit_in_memory_give_the_same(runs, compared, monkeypatch):
    monkeypatch.setattr("upto.evidence.prepare._JUDGED_BYTES", 0)
    again = upto.compare(*runs, ica=False, progress=False)
    for key, values in numbers(compared).items():
        np.testing.assert_allclose(numbers(again)[key], values, rtol=1e-9, atol=1e-9)


def test_scores_that_are_kept_hold_no_rows(runs, monkeypatch):
    kept = []
    import upto.questions.compare.all_pairs as module

    sentence = module._sentence
    monkeypatch.setattr(
        module, "_sentence", lambda *given: kept.append(given[1]) or sentence(*given)
    )
    upto.compare(*runs[:3], ica=False, progress=False)
    scores = [each for outcome in kept[0].values() for each in outcome.candidates.values()]
    assert all(each.images is None for each in scores)
    assert replace(scores[0]).even is None
