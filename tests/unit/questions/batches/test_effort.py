"""What judging batches takes: no training without use, and steps that can be watched."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import sklearn.manifold
from threadpoolctl import threadpool_info

import upto
from upto import Embeddings, InputError
from upto.batch_metrics.retrieval import mean_average_precision
from upto.questions.batches.in_sample import map_rows
from upto.questions.batches.parts import BatchMap
from upto.questions.batches.screen import read_screen

ASKED = {
    "batch": "plate",
    "label": "label",
    "control": "0",
    "classifier": "linear",
    "conditions": ("base", "pca"),
    "mixing": False,
    "maps": False,
}


class Watched:
    """Progress that remembers every step."""

    def __init__(self):
        self.tasks = {}

    @contextmanager
    def task(self, label, total):
        steps = []
        self.tasks[label] = (total, steps)
        yield steps.append


def wells(n_labels=6):
    random = np.random.default_rng(0)
    label = np.tile(np.arange(3 * n_labels) % n_labels, 6)
    rows = random.standard_normal((len(label), 4)) + 0.3 * (label % 3)[:, None]
    columns = {"plate": np.repeat(np.arange(6), 3 * n_labels), "label": label}
    return Embeddings(rows=rows, name="wells", columns=columns)


def test_every_training_moves_the_bar_and_the_bar_ends_at_its_end():
    watched = Watched()
    run = wells()
    # Half of the plates have one control of three: plates with equal shares are not asked.
    dropped = (run.columns["label"] == 0) & (run.columns["plate"] < 3) & (np.arange(108) % 18 > 0)
    columns = {name: values[~dropped] for name, values in run.columns.items()}
    fewer = Embeddings(rows=np.asarray(run.rows)[~dropped], name="wells", columns=columns)
    upto.batches(fewer, **ASKED, folds=3, progress=watched)
    # Two conditions, three folds, five labels: their own labels, shuffled ones, the top, the rest.
    for label, n_steps in (("evaluate conditions", 2 * 3 * 5 * 4), ("check for leaks", 3 * 5)):
        total, steps = watched.tasks[label]
        assert (total, sum(steps), len(steps)) == (n_steps, n_steps, n_steps)


def test_of_many_labels_some_are_probed_and_all_are_judged():
    few = upto.batches(wells(), **ASKED, folds=3, probe_labels=2)
    full = upto.batches(wells(), **ASKED, folds=3, probe_labels=None)
    shuffled = {score.task for score in few.fold_scores if score.shuffled is not None}
    assert len(shuffled) == 2
    assert {score.task for score in few.top_scores} == shuffled
    assert len(few.top_scores) == 2 * 3 * 2
    own = [(each.condition, each.task, each.fold, each.auroc, each.within) for each in
           few.fold_scores]  # fmt: skip
    assert own == [(each.condition, each.task, each.fold, each.auroc, each.within) for each in
                   full.fold_scores]  # fmt: skip
    every = {(each.condition, each.task, each.fold): each.shuffled for each in full.fold_scores}
    for score in few.fold_scores:
        if score.shuffled is not None:
            assert score.shuffled == every[score.condition, score.task, score.fold]


def test_fewer_than_one_label_cannot_be_probed():
    with pytest.raises(InputError, match="probe_labels is 0: choose 1 or more"):
        upto.batches(wells(), **ASKED, probe_labels=0)


def test_a_map_is_laid_out_by_one_thread(monkeypatch):
    threads = []

    class Search:
        def __init__(self, **_):
            pass

        def fit_transform(self, rows):
            threads.extend(each["num_threads"] for each in threadpool_info())
            return np.zeros((len(rows), 2))

    monkeypatch.setattr(sklearn.manifold, "TSNE", Search)
    run = wells()
    screen = read_screen(
        run, batch="plate", label="label", control=None, fold_by=None, well=None, tasks=()
    )
    labels = np.unique(screen.labels).tolist()
    map_rows("base", np.asarray(run.rows), screen, labels, np.arange(20), 0)
    assert threads
    assert set(threads) == {1}


def test_mixing_is_scored_by_one_thread(monkeypatch):
    threads = []

    def watched(*_, **__):
        threads.extend(each["num_threads"] for each in threadpool_info())
        return []

    monkeypatch.setattr("upto.questions.batches.in_sample.evaluate_mixing", watched)
    upto.batches(wells(), **(ASKED | {"mixing": True, "conditions": "base", "concentration": ()}))
    assert threads
    assert set(threads) == {1}


def test_a_mean_average_precision_can_do_without_chance():
    run = wells()
    rows, labels = np.asarray(run.rows), run.columns["label"].astype(str)
    without = mean_average_precision(rows, labels, null_size=0)
    assert without.value == mean_average_precision(rows, labels, null_size=100).value
    assert without.fraction_retrieved is None
    assert {(each.p_value, each.q_value) for each in without.labels} == {(None, None)}


def test_a_map_is_drawn_of_base_and_of_the_best_other_condition(monkeypatch, rng):
    def drawn(condition, *_):
        return BatchMap(condition=condition, x=(0.0,), y=(0.0,), batch=(0,), label=(0,))

    monkeypatch.setattr("upto.questions.batches.question.map_rows", drawn)
    # One column tells the label: trees that may split others lose by every rotation.
    rows = rng.standard_normal((240, 8))
    label = rows[:, 0] + 0.3 * rng.standard_normal(240) > 0
    columns = {"plate": np.repeat(np.arange(8), 30), "label": label.astype(int)}
    run = Embeddings(rows=rows, name="wells", columns=columns)
    asked = ASKED | {"classifier": "boosted-fast", "maps": True, "shuffled": False}
    asked |= {"conditions": ("batch-scaled", "random"), "concentration": ()}
    found = upto.batches(run, **asked)
    aurocs = {each.name: found.score(each.name).auroc.value for each in found.conditions}
    assert aurocs["base"] > aurocs["batch-scaled"] > aurocs["random"]
    assert [each.condition for each in found.maps] == ["base", "batch-scaled"]
