"""The chance level: what is shared between refits, and when they stop."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import upto
from upto.alignment import AffineMap, row_errors
from upto.core import Group
from upto.engines import CrossMoments, Moments
from upto.evidence.pairings import shuffles
from upto.questions.compare import chance_level as chance_module
from upto.questions.compare import detail
from upto.questions.compare.pair import candidate_maps


@pytest.fixture(autouse=True)
def no_search_for_the_worst_error(monkeypatch):
    monkeypatch.setattr(detail, "SUPREMUM_WORK", 0.0)


# Errors are over the diameter; refits differ from each other by a hundred times as much.
EXACT = 1e-5


def rows_of(kind, rng):
    n_rows, width, other = 300, 16, 16
    if kind == "narrower":
        other = 10
    if kind == "wider":
        width = 10
    if kind == "few rows":
        n_rows, width, other = 50, 60, 60
    x = rng.laplace(size=(n_rows, width))
    y = rng.laplace(size=(n_rows, other))
    if kind == "narrow directions":
        x = (x * np.geomspace(1, 1e-7, width)) @ np.linalg.qr(rng.normal(size=(width, width)))[0]
    if kind == "scales":
        x, y = x * np.geomspace(1e-9, 1e9, width), y[:, ::-1] * 1e-20
    if kind == "far away":
        x, y = x + 1e6, y - 1e5
    if kind == "constant column":
        x[:, 3] = 5.0
    return x, y


def plainly(pair, options, n_refits):
    """Refit every map in double precision, each from its own moments."""
    x, y = pair.source.sample, pair.target.sample
    index = pair.split.first_rows(len(x))
    held_out = pair.split.parts[index] == 1
    found = {True: {}, False: {}}
    for order in shuffles(pair.split, index, n_refits, options.seed):
        shuffled = y[order]
        for judged_held_out in (False, True):
            fitted = ~held_out if judged_held_out else np.ones(len(x), dtype=bool)
            judged = held_out if judged_held_out else fitted
            parts = []
            for rows in (x[fitted], shuffled[fitted]):
                mean = rows.mean(axis=0)
                parts.append(Moments(float(len(rows)), mean, (rows - mean).T @ (rows - mean)))
            cross = (x[fitted] - parts[0].mean).T @ (shuffled[fitted] - parts[1].mean)
            maps = candidate_maps(options.groups, CrossMoments(*parts, cross), (None, None))
            affine = {name: each for name, each in maps.items() if isinstance(each, AffineMap)}
            errors = row_errors(pair.engine, x[judged], shuffled[judged], list(affine.values()))
            for name, each in zip(affine, errors.T / pair.extent, strict=True):
                found[judged_held_out].setdefault(name, []).append(each)
    return found


@pytest.mark.parametrize(
    "kind",
    [
        "rows", "narrower", "wider", "few rows", "narrow directions", "scales", "far away",
        "constant column",
    ],
)  # fmt: skip
def test_shared_parts_give_the_errors_of_refits_from_their_own_moments(kind, rng, monkeypatch):
    seen = {}

    def spy(pair, options, advance):
        seen["pair"], seen["options"] = pair, options
        seen["chance"] = chance_module.chance_level(pair, options, advance)
        return seen["chance"]

    monkeypatch.setattr(detail, "chance_level", spy)
    upto.compare(*rows_of(kind, rng), ica=False, refits=2)
    wanted, chance = plainly(seen["pair"], seen["options"], 2), seen["chance"]
    assert set(wanted[True]) == set(chance.held_out) - {str(Group.MONOTONE_PERMUTATION)}
    for judged, summaries in ((True, chance.held_out), (False, chance.in_sample)):
        for name, each in wanted[judged].items():
            size = max(1.0, float(np.mean(each)))
            means = float(np.mean([errors.mean() for errors in each]))
            worst = float(np.mean([errors.max() for errors in each]))
            assert summaries[name].mean.value == pytest.approx(means, abs=EXACT * size)
            assert summaries[name].worst == pytest.approx(worst, abs=EXACT * size)
    for name, each in wanted[True].items():
        np.testing.assert_allclose(
            chance.errors[name], np.concatenate(each), atol=EXACT * max(1.0, float(np.mean(each)))
        )


def test_refits_stop_when_they_agree_and_go_on_when_they_do_not(rng):
    wide, many, few = (
        rng.normal(size=(2, 3000, 300)),
        rng.normal(size=(2, 2000, 80)),
        rng.laplace(size=(2, 40, 2)),
    )
    assert upto.compare(*wide, ica=False).n_refits == 1
    assert upto.compare(*many, ica=False).n_refits == 2
    assert upto.compare(*few, ica=False).n_refits == 5


@pytest.mark.parametrize("kind", ["noise", "rotation", "narrowing", "clusters", "lengths"])
def test_one_refit_stops_only_where_others_would_differ_little(kind, rng, monkeypatch):
    x = rng.laplace(size=(3000, 100))
    if kind == "narrowing":
        x /= np.arange(1, 101) ** 0.25
    if kind == "clusters":
        x += 4 * rng.normal(size=(8, 100))[rng.integers(8, size=3000)]
    if kind == "lengths":
        x *= rng.lognormal(0, 0.5, size=(3000, 1))
    y = x @ np.linalg.qr(rng.normal(size=(100, 100)))[0] if kind != "noise" else x[::-1]
    judged = []

    def go_on(summaries, n_independent):
        first = {name: each[:1] for name, each in summaries.items()}
        judged.append((summaries, agree(first, n_independent)))
        return False

    agree = chance_module._agree
    monkeypatch.setattr(chance_module, "_agree", go_on)
    upto.compare(x, y, ica=False, refits=6)
    stopped = [each for each, is_enough in judged[-1:] if is_enough]
    assert bool(stopped) == (kind in ("noise", "rotation"))
    for summaries in stopped:
        size = summaries["constant"][0].mean.value
        for name, each in summaries.items():
            if name != Group.MONOTONE_PERMUTATION:
                assert np.std([one.mean.value for one in each]) < chance_module.AGREEMENT * size


def test_one_refit_does_not_stop_where_rows_depend_on_each_other(rng):
    groups = np.repeat(np.arange(500), 4)
    pair = rng.normal(size=(2, 2000, 200))
    assert upto.compare(*pair, ica=False, groups=groups).n_refits > 1


@pytest.mark.parametrize("refits", [0, 1, 2])
def test_no_more_refits_are_made_than_allowed(refits, rng):
    result = upto.compare(*rng.laplace(size=(2, 40, 2)), ica=False, refits=refits)
    assert result.n_refits == refits
    assert (result.rigid.chance is None) == (refits == 0)
    shown = result.tables()[-1].caption
    assert (f"chance from {refits} refit" in shown) == (refits > 0)


def test_refits_agree_if_the_standard_error_of_every_mean_is_small():
    def errors(*means):
        return [
            upto.core.Errors(mean=upto.core.Estimate(value=mean), rms=1, q99=1, worst=1, r2=0)
            for mean in means
        ]

    constant = {"constant": errors(1.0, 1.0)}
    # Two values differ by twice their standard error.
    assert chance_module._agree({**constant, "rigid": errors(1.3, 1.309)}, 100)
    assert not chance_module._agree({**constant, "rigid": errors(1.3, 1.311)}, 100)
    assert not chance_module._agree(
        {**constant, "rigid": errors(1.3, 1.3), "affine": errors(0.0, 0.02)}, 100
    )


def test_every_step_is_counted_even_if_refits_stop(rng):
    class Watcher:
        @contextmanager
        def task(self, label, total):
            counts = []
            yield counts.append
            assert sum(counts) == total, label

    upto.compare(*rng.normal(size=(2, 1000, 80)), ica=False, progress=Watcher())
