"""How far chance moves an AUROC among rows of the same batch."""

from __future__ import annotations

import numpy as np
import pytest

from upto.batch_metrics.classifiers import auroc_within
from upto.batch_metrics.folds import split_batches
from upto.batch_metrics.tasks import ask
from upto.batch_metrics.within_batches import chance_error, p_above_chance


def plates(n_plates, n_wells, label):
    batch = np.repeat(np.arange(n_plates), n_wells)
    splits = split_batches(batch, label, scheme="folds", n_folds=5, seed=0)[1]
    return batch, ask(label, controls=label == "DMSO"), splits


def test_the_error_is_not_smaller_than_that_of_scores_that_know_nothing():
    random = np.random.default_rng(0)
    label = np.tile(["DMSO", "DMSO", "a", "b", "b"], 24)
    batch, questions, splits = plates(10, 12, label)
    drawn = []
    for _ in range(400):
        scores = random.normal(size=len(label))
        areas = [
            auroc_within(each.perturbed[own], scores[each.rows][own], batch[each.rows][own])
            for split in splits
            for each in questions
            for own in (split.judging[each.rows],)
        ]
        drawn.append(np.mean(areas))
    error = chance_error(questions, batch, splits)
    # Twice the variance is for batches that train for each other, which these scores do not.
    assert np.std(drawn) <= 1.1 * error / np.sqrt(2)
    assert error < 2.5 * np.std(drawn)
    assert p_above_chance(0.5 + 3 * error, error) == pytest.approx(0.00135, rel=0.01)


def test_there_is_none_where_no_batch_has_both_sides():
    label = np.repeat(np.tile(["DMSO", "drug"], 5), 12)
    batch, questions, splits = plates(10, 12, label)
    assert chance_error(questions, batch, splits) is None
