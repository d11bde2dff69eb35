"""One bar for a comparison, and a time left that is right within a factor of two."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import upto
from upto.core import progress_bar
from upto.core.progress import PARTS
from upto.questions.compare import detail, judged_pair, question, work
from upto.questions.compare.pair_options import Options
from upto.questions.compare.work import TRUSTED, Work, plan_work, watch_work

MOMENTS = (0.25, 0.5, 0.75)


class Clock:
    """A clock that is set."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Counted:
    """A receiver of one's own, with the two calls of the protocol."""

    def __init__(self):
        self.tasks = []

    @contextmanager
    def task(self, label, total):
        steps = []
        self.tasks.append((label, total, steps))
        yield steps.append


def options(**changed):
    return Options(held_out=0.3, seed=0, **changed)


def shown_over_true(monkeypatch, plan, seconds):
    """Play a comparison of these seconds for each step; return shown over true time left.

    Steps that take None are left out: they were not needed.
    """
    clock = Clock()
    monkeypatch.setattr(progress_bar, "time", SimpleNamespace(monotonic=clock))
    bar = progress_bar._Task("compare", PARTS)
    watched = Work(plan, bar.advance, clock=clock)
    total = sum(each for each in seconds if each is not None)
    started, to_ask = clock.now, [share * total for share in MOMENTS]
    found, durations = [], iter(seconds)
    for label, steps in plan.items():
        with watched.task(label, len(steps)) as advance:
            for _ in steps:
                taken = next(durations)
                if taken is None:
                    continue
                ends = clock.now + taken
                while to_ask and started + to_ask[0] < ends:
                    clock.now = started + to_ask.pop(0)
                    left = bar.seconds_left
                    assert left is not None
                    found.append(left / (started + total - clock.now))
                clock.now = ends
                advance(1)
    watched.end()
    assert bar.done == PARTS
    assert len(found) == len(MOMENTS)
    return found


def costs_of(plan):
    return np.array([cost for steps in plan.values() for _, cost in steps])


@pytest.mark.parametrize("speed", [0.2, 1.0, 8.0])
@pytest.mark.parametrize(
    ("n_samples", "widths"),
    [(5000, (256, 256)), (5000, (1024, 1024)), (200_000, (64, 64)), (5000, (128,) * 8)],
)
def test_the_time_left_is_right_within_a_factor_of_two(monkeypatch, n_samples, widths, speed):
    plan = plan_work(n_samples, widths, options())
    rng = np.random.default_rng(0)
    kinds = [kind for steps in plan.values() for kind, _ in steps]
    wrong = {kind: rng.uniform(0.7, 1.4) for kind in kinds}
    each = speed * rng.uniform(0.85, 1.2, size=len(kinds)) * [wrong[kind] for kind in kinds]
    for ratio in shown_over_true(monkeypatch, plan, list(costs_of(plan) * each)):
        assert 0.5 < ratio < 2


def test_it_is_right_where_runs_take_twice_as_long_as_expected(monkeypatch):
    plan = plan_work(5000, (512, 512), options())
    seconds = [
        cost * (2 if kind == "prepare" else 1) for steps in plan.values() for kind, cost in steps
    ]
    # What the first run took is known before the second.
    for ratio in shown_over_true(monkeypatch, plan, seconds):
        assert 0.5 < ratio < 2


def test_steps_that_are_not_needed_cost_nothing(monkeypatch):
    plan = plan_work(5000, (512, 512), options(ica=False))
    seconds = list(costs_of(plan))
    kinds = [kind for steps in plan.values() for kind, _ in steps]
    seconds[kinds.index("refit")] = None
    for ratio in shown_over_true(monkeypatch, plan, seconds):
        assert 0.5 < ratio < 2


def test_the_share_told_is_that_of_the_time():
    clock, told = Clock(), []
    watched = Work({"one": [("a", 1.0), ("a", 1.0)], "two": [("b", 8.0)]}, told.append, clock=clock)
    with watched.task("one", 2) as advance:
        clock.now += 100
        advance(1)
        # Another step as long as this one, and eight at the speed of all, nearly.
        assert sum(told) == pytest.approx(
            PARTS * 100 / (200 + 8 * (100 + TRUSTED) / (1 + TRUSTED)), abs=1
        )
        clock.now += 100
        advance(1)
    with watched.task("two", 1):
        pass
    watched.end()
    assert sum(told) == PARTS
    assert min(told) > 0


def test_what_a_task_leaves_is_not_waited_for():
    clock = Clock()
    watched = Work({"one": [("a", 9.0)] * 5, "two": [("b", 1.0)]}, lambda _: None, clock=clock)
    with watched.task("one", 5) as advance:
        clock.now += 9
        advance(1)
        assert watched.seconds_left() == pytest.approx(37)
    assert watched.seconds_left() == pytest.approx(1)


def test_the_bar_is_full_at_the_end_whatever_was_left_out():
    progress = Counted()
    with watch_work(progress, {"one": [("a", 1.0)] * 3}) as watched, watched.task("one", 3) as did:
        did(1)
    ((_, _, steps),) = progress.tasks
    assert sum(steps) == PARTS


def test_more_steps_than_planned_are_no_error():
    told = []
    watched = Work({"one": [("a", 1.0)]}, told.append, clock=Clock())
    with watched.task("one", 1) as advance:
        advance(1)
        advance(1)
        advance(3)
    watched.end()
    assert sum(told) == PARTS


def test_refits_beyond_the_plan_take_no_step_of_another_task():
    clock, told = Clock(), []
    plan = plan_work(1500, (1000, 1000), options())
    watched = Work(plan, told.append, clock=clock)
    (relation,) = [cost for kind, cost in plan["compare"] if kind == "relation"]
    for label in ("prepare runs", "compare"):
        with watched.task(label, len(plan[label])) as advance:
            for _, cost in plan[label][: 2 if label == "compare" else None]:
                clock.now += cost
                advance(1)
            if label == "compare":
                with watched.task("chance level", 5) as refitted:
                    for _ in range(4):
                        clock.now += plan["chance level"][0][1]
                        refitted(1)
                assert relation / 2 < watched.seconds_left() < 2 * relation
                assert sum(told) < 0.95 * PARTS


def test_few_rows_for_each_column_are_planned_with_equal_correlations_and_two_refits():
    few, many = (plan_work(n_samples, (600, 600), options()) for n_samples in (1000, 5000))
    assert [len(plan["chance level"]) for plan in (few, many)] == [2, 1]
    narrow, wide = (
        dict(plan_work(1000, (width, width), options())["compare"])["relation"]
        for width in (300, 600)
    )
    assert wide > 4 * narrow


def test_a_failure_does_not_fill_the_bar():
    progress = Counted()
    with (
        pytest.raises(ZeroDivisionError),
        watch_work(progress, {"one": [("a", 1.0)]}) as watched,
        watched.task("one", 1),
    ):
        _ = 1 / 0
    assert progress.tasks == [("compare", PARTS, [])]


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(0)
    first = rng.laplace(size=(200, 3))
    return first, first @ np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=(200, 2))


@pytest.mark.parametrize("count", [2, 3])
def test_a_comparison_is_one_task_of_a_progress(runs, count):
    progress = Counted()
    upto.compare(*runs[:count], ica=False, refits=2, progress=progress)
    ((label, total, steps),) = progress.tasks
    assert (label, total) == ("compare", PARTS)
    assert sum(steps) == PARTS
    assert all(isinstance(step, int) and step > 0 for step in steps)


def test_each_step_is_charged_with_its_own_time(runs, monkeypatch):
    clock, kept = Clock(), []

    class Kept(Work):
        def __init__(self, *arguments):
            super().__init__(*arguments, clock=clock)
            kept.append(self)

    def slow(module, name, seconds):
        function = getattr(module, name)

        def slowed(*arguments, **given):
            clock.now += seconds
            return function(*arguments, **given)

        monkeypatch.setattr(module, name, slowed)

    monkeypatch.setattr(work, "Work", Kept)
    slow(question, "choose_held_out", 1)
    slow(question, "prepare_run", 10)
    slow(detail, "pair_moments", 100)
    slow(judged_pair, "relate", 1000)
    slow(detail, "chance_level", 10_000)
    upto.compare(*runs[:2], ica=False, refits=1)
    spent = {kind: seconds for kind, seconds in kept[0]._spent.items() if seconds}
    assert spent == pytest.approx(
        {"survey": 1, "prepare": 20, "errors": 100, "relation": 1000, "refit": 10_000}
    )
