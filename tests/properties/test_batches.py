"""Nothing of batches held out reaches what judges them, and chance is rarely called a gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import upto
from upto import Embeddings
from upto.batch_metrics.classifiers import auroc
from upto.batch_metrics.fold_means import mean_over_folds, p_of_mean
from upto.batch_metrics.folds import split_batches
from upto.questions.batches.aggregate import SHARED, compare_conditions
from upto.questions.batches.conditions import CONDITIONS, Making, find_conditions
from upto.questions.batches.evaluate import Judged, Judging, _Fold, _Part, _top, _transformed
from upto.questions.batches.screen import read_screen

JOINED = ("control-scaled+ica", "tvn+biology", "combat+pca")
INDUCTIVE = [
    pytest.param(name, marks=() if name in ("combat", "tvn+biology") else pytest.mark.slow)
    for name in (*CONDITIONS, *JOINED)
    if name != "harmony"
]
N_PLATES = 6


def noise(seed=0, n_columns=5):
    """Make plates of unequal sizes, offsets and shares of labels that no column tells."""
    random = np.random.default_rng(seed)
    sizes = random.integers(16, 30, N_PLATES)
    plate = np.repeat(np.arange(N_PLATES), sizes)
    place = np.concatenate([np.arange(size) for size in sizes])
    share = random.uniform(0.2, 0.8, N_PLATES)[plate]
    label = np.where(place < 8, 0, 1 + (random.random(len(plate)) < share))
    rows = random.standard_normal((len(plate), n_columns))
    rows[:, :2] += 2 * random.standard_normal((N_PLATES, 2))[plate]
    columns = {"plate": plate, "label": np.array(["DMSO", "drug", "other"])[label]}
    return Embeddings(rows=rows, name="wells", columns=columns)


def read(run):
    asked = {"batch": "plate", "label": "label", "control": "DMSO"}
    screen = read_screen(run, fold_by=None, well=None, tasks=(), **asked)
    return np.asarray(run.rows), screen.with_references(np.arange(len(run)))


def transformed(name, rows, screen, split):
    """Return the rows that train and those that judge in one fold."""
    (kind,) = [each for each in find_conditions(name, has_controls=True) if each.name == name]
    making = Making(n_components=None, engine=None, seed=0)
    judging = Judging(
        classifier="linear", fit="training", percents=(), shuffled=False, making=making, threads=1
    )
    found = Judged(kind=kind, whole=rows)
    return _transformed(kind, rows, rows, screen, split, judging, found)


@pytest.mark.parametrize("name", INDUCTIVE)
def test_nothing_of_the_batches_held_out_reaches_the_rows_that_train(name):
    rows, screen = read(noise())
    split = split_batches(screen.held, screen.labels, scheme="folds", n_folds=3, seed=0)[1][0]
    train, held = transformed(name, rows, screen, split)
    other = rows.copy()
    other[split.judging] = 50 * other[split.judging][::-1] ** 2
    labels = screen.labels.copy()
    labels[split.judging] = "else"
    references = screen.references.copy()
    references[split.judging] |= np.random.default_rng(1).random(split.judging.sum()) < 0.3
    changed = replace(screen, labels=labels, references=references)
    assert np.array_equal(transformed(name, other, changed, split)[0], train)
    # Nor do labels reach the rows that judge, or rows of one batch held out those of another.
    unlabelled = replace(screen, labels=labels)
    assert np.array_equal(transformed(name, rows, unlabelled, split)[1], held)
    first = screen.batch == screen.batch[split.judging].min()
    alone = rows.copy()
    alone[split.judging & ~first] += 7.0
    same = transformed(name, alone, screen, split)[1][first[split.judging]]
    assert np.allclose(same, held[first[split.judging]], rtol=1e-12, atol=1e-12)


def test_folds_that_all_agree_are_no_surer_than_their_signs():
    # Areas of few rows take few values, so that three folds are equal by chance.
    gains = np.full((3, 1), 0.25)
    assert p_of_mean(gains, 0.0, shared=0.5) == 2 * 0.5**3
    base = np.array([[0.1], [0.9], [0.6]])
    rounded = (base + 0.1) - base
    assert rounded.std() > 0
    assert p_of_mean(rounded, 0.0, shared=0.5) == 2 * 0.5**3
    assert p_of_mean(gains, 0.25, shared=0.5) == 1.0
    tables = {"base": np.zeros((3, 1)), "other": gains}
    assert not compare_conditions(tables, "base", "auroc", shared=0.5)[0].is_gain


def test_columns_that_no_tree_split_are_drawn_for_the_top_and_not_the_first():
    # One column tells all, so that nine of ten at the top have no split at all.
    judging = Judging(
        classifier="boosted",
        fit="training",
        percents=(),
        shuffled=False,
        threads=1,
        making=Making(n_components=None, engine=None, seed=0),
    )
    rows, screen = read(noise())
    split = split_batches(screen.held, screen.labels, scheme="folds", n_folds=3, seed=0)[1][0]
    splits = np.zeros(40)
    splits[30] = 5.0
    places = []
    for number in range(40):
        fold = _Fold(number=number, prepared=None, held=rows, split=split)
        part = _Part.of(screen.questions[0], split)
        top = _top(splits, 25.0, part, fold, judging)
        assert len(top) == len(set(top)) == 10
        assert 30 in top
        places.append(top[top != 30].mean())
    # The mean of the other 39 places is 19.2, that of nine of them varies by 3.3 and of 40 by 0.6.
    assert abs(np.mean(places) - 19.2) < 2.0


def test_a_condition_that_saw_the_labels_it_is_judged_by_is_named():
    said = (
        "all conditions were fitted to rows of the held-out batches, and biology to their labels."
    )
    result = upto.batches(
        noise(n_columns=3),
        batch="plate",
        label="label",
        control="DMSO",
        conditions="biology",
        fit="all",
        folds=2,
        classifier="linear",
        concentration=(),
        shuffled=False,
        mixing=False,
        maps=False,
    )
    assert [found.message for found in result.findings if found.code == "UP079"] == [said]


def wells_of(random, n_plates, n_columns=4):
    """Make two embeddings of the same wells that tell a label equally well."""
    plate, label = np.divmod(np.arange(n_plates * 16), 16)
    label = label % 2 == 1
    both = random.standard_normal((2, len(plate), n_columns))
    both[:, :, 0] += 0.8 * label
    both += 0.5 * random.standard_normal((2, n_plates, n_columns))[:, plate]
    return both, plate, label


def areas(both, plate, label, splits):
    """Return the areas of a linear rule on the batches held out, of both embeddings."""
    found = np.empty((2, len(splits), 1))
    for place, rows in enumerate(both):
        for number, split in enumerate(splits):
            train, side = rows[split.training], label[split.training]
            spread = np.cov(train.T) + 0.05 * np.eye(rows.shape[1])
            rule = np.linalg.solve(spread, train[side].mean(axis=0) - train[~side].mean(axis=0))
            found[place, number] = auroc(label[split.judging], rows[split.judging] @ rule)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "n_plates"), [("folds", 10), ("one-trains", 6)])
def test_equal_conditions_differ_and_intervals_miss_as_often_as_they_say(scheme, n_plates):
    # With shared = 0 where one batch trains, one pair in five differs and one in five is missed.
    random = np.random.default_rng(0)
    false, found = [], []
    for seed in range(300):
        both, plate, label = wells_of(random, n_plates)
        _, splits = split_batches(plate, label.astype(str), scheme=scheme, n_folds=5, seed=seed)
        shared = SHARED[scheme](splits)
        tables = areas(both, plate, label, splits)
        false.append(p_of_mean(tables[0] - tables[1], 0.0, shared=shared) <= 0.05)
        found.extend(mean_over_folds(table, shared=shared) for table in tables)
    truth = np.mean([each.value for each in found])
    covered = np.mean([each.low <= truth <= each.high for each in found])
    assert np.mean(false) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert covered >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
@pytest.mark.parametrize("classifier", ["linear", "boosted"])
def test_labels_that_nothing_tells_are_at_chance_under_every_condition(classifier):
    names = ["pca", "ica", "biology", "combat", "tvn", "batch-scaled", "sphered", JOINED[0]]
    found = {}
    for seed in range(12):
        result = upto.batches(
            noise(seed=seed),
            batch="plate",
            label="label",
            control="DMSO",
            conditions=names,
            classifier=classifier,
            folds=3,
            concentration=(),
            shuffled=False,
            mixing=False,
            maps=False,
            seed=seed,
            threads=1,
        )
        for name in ["base", *names]:
            found.setdefault(name, []).append(result.score(name).auroc.value)
    for name, values in found.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert abs(np.mean(values) - 0.5) < 3 * error + 0.005, name
