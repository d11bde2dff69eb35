"""Logistic regression: its optimum, and what changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.linear_model import LogisticRegression

from upto.batch_metrics.classifiers import auroc, prepare


def planted(n_samples=400, width=6, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.laplace(size=(n_samples, width)) @ rng.normal(size=(width, width)) + 5.0
    labels = rows[:, 0] + 2 * rng.normal(size=n_samples) > np.quantile(rows[:, 0], 0.85)
    return rows, labels


def whitened(rows):
    centred = rows - rows.mean(axis=0)
    left, _, _ = np.linalg.svd(centred, full_matrices=False)
    return left * np.sqrt(len(rows))


@pytest.mark.parametrize("shape", [(400, 6), (30, 50)])
def test_coefficients_are_those_of_scikit_learn(shape):
    rows, labels = planted(*shape)
    fitted = prepare(rows, classifier="linear").fit(np.arange(len(rows)), labels)
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    share = labels.mean()
    peer = LogisticRegression(
        C=1 / rows.shape[1],
        class_weight={True: 2 * (1 - share), False: 2 * share},
        tol=1e-12,
        max_iter=10_000,
    ).fit(standard, labels)
    assert fitted.score(rows) == pytest.approx(peer.decision_function(standard), abs=1e-5)
    assert fitted.splits == pytest.approx(np.abs(peer.coef_[0]), abs=1e-5)


def test_a_rotation_of_whitened_rows_changes_no_area():
    rows, labels = planted(width=12)
    base = whitened(rows)
    train, held = np.arange(300), slice(300, None)
    turned = base @ ortho_group.rvs(12, random_state=1)
    scores = []
    for each in (base, turned):
        # Whitened by the rows that are prepared, of which a task takes some.
        fitted = prepare(each, classifier="linear").fit(train, labels[:300])
        scores.append(fitted.score(each[held]))
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    areas = [auroc(labels[held], each) for each in scores]
    # Two rows whose scores are as close as that may change places.
    assert areas[0] == pytest.approx(areas[1], abs=1e-3)
    assert areas[0] > 0.6


def test_units_of_columns_change_nothing():
    rows, labels = planted()
    other = rows * np.geomspace(1e-9, 1e9, 6) - 7.0
    scores = [
        prepare(each, classifier="linear").fit(np.arange(400), labels).score(each)
        for each in (rows, other)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_features_are_fitted_alone_but_for_the_strength_of_the_penalty():
    rows, labels = planted()
    some = prepare(rows, classifier="linear").fit(np.arange(400), labels, features=[5, 2])
    alone = prepare(rows[:, [2, 5]], classifier="linear").fit(np.arange(400), labels)
    assert some.score(rows) == pytest.approx(alone.score(rows[:, [2, 5]]), abs=1e-6)
    assert np.flatnonzero(some.splits).tolist() == [2, 5]


def test_classes_that_are_apart_have_finite_coefficients():
    rows = np.array([[-1.0, 3.0], [-2.0, 3.0], [1.0, 3.0], [2.0, 3.0]])
    fitted = prepare(rows, classifier="linear").fit([0, 1, 2, 3], [False, False, True, True])
    assert np.isfinite(fitted.splits).all()
    assert fitted.splits[1] == 0.0
    assert auroc([False, False, True, True], fitted.score(rows)) == 1.0


def test_the_number_of_threads_changes_no_bit():
    rows, labels = planted(n_samples=6000, width=30)
    scores = [
        prepare(rows, classifier="linear", threads=threads)
        .fit(np.arange(6000), labels)
        .score(rows)
        .tobytes()
        for threads in (1, 2, 3)
    ]
    assert len(set(scores)) == 1
