"""Corrections keep scikit-learn's contract, and pipelines hand them batches and controls."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn_checks import each_check

from upto import ICA, Whitener
from upto.corrections import (
    BatchScaler,
    BatchScorer,
    ComBat,
    ControlSphering,
    RandomRotation,
    TypicalVariation,
)

CHECKED = [
    BatchScaler(),
    BatchScaler(reference="controls", statistic="median"),
    ControlSphering(),
    ControlSphering(method="pca", shrinkage=None),
    TypicalVariation(),
    TypicalVariation(coral=False, scale_batches=False),
    ComBat(),
    RandomRotation(random_state=0),
]


# Harmony is not among them: it cannot transform rows it was not fitted on, as the checks ask.
@pytest.mark.slow
@each_check(CHECKED)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    asked = repr(estimator)
    check(estimator)
    assert repr(estimator) == asked


@pytest.fixture
def screen(rng):
    """Plates of large shifts in which an effect of one deviation is to be found."""
    groups = np.repeat(np.arange(8), 30)
    controls = np.tile(np.arange(30) < 15, 8)
    rows = rng.laplace(size=(240, 4)) + 20 * rng.normal(size=(8, 4))[groups]
    rows[~controls, 0] += 1.5
    return rows, ~controls, groups, controls


@pytest.mark.parametrize(
    "steps",
    [
        (BatchScaler(reference="controls"), Whitener(), ICA(random_state=0)),
        (Whitener(), TypicalVariation()),
        (ComBat(), ControlSphering()),
        (BatchScaler(), RandomRotation(random_state=0)),
    ],
    ids=lambda steps: "-".join(type(step).__name__ for step in steps),
)
def test_a_pipeline_hands_batches_to_each_step_in_fit_and_in_prediction(steps, screen):
    rows, treated, groups, controls = screen
    known = groups < 5
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(*steps, LogisticRegression()).fit(
            rows[known], treated[known], groups=groups[known], controls=controls[known]
        )
        found = pipeline.predict_proba(
            rows[~known], groups=groups[~known], controls=controls[~known]
        )[:, 1]
    kept, new = rows[known], rows[~known]
    for step in steps:
        about = {"groups": groups[known], "controls": controls[known]}
        new_about = {"groups": groups[~known], "controls": controls[~known]}
        if isinstance(step, ICA | Whitener):
            about = new_about = {}
        step.fit(kept, **about)
        kept, new = step.transform(kept, **about), step.transform(new, **new_about)
    by_hand = LogisticRegression().fit(kept, treated[known]).predict_proba(new)[:, 1]
    np.testing.assert_allclose(found, by_hand, atol=1e-10)
    assert roc_auc_score(treated[~known], found) > 0.7


def test_cross_validation_over_plates_corrects_held_out_plates_by_themselves(screen):
    rows, treated, groups, controls = screen
    folds = StratifiedGroupKFold(4)
    pipeline = make_pipeline(BatchScaler(reference="controls"), LogisticRegression())
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_val_score(
            pipeline,
            rows,
            treated,
            cv=folds,
            scoring=BatchScorer("roc_auc"),
            params={"groups": groups, "controls": controls},
        )
    by_hand = []
    for train, test in folds.split(rows, treated, groups):
        assert not set(groups[train]) & set(groups[test])
        scaler = BatchScaler(reference="controls").fit(
            rows[train], groups=groups[train], controls=controls[train]
        )
        head = LogisticRegression().fit(
            scaler.transform(rows[train], groups=groups[train], controls=controls[train]),
            treated[train],
        )
        scaled = scaler.transform(rows[test], groups=groups[test], controls=controls[test])
        by_hand.append(roc_auc_score(treated[test], head.decision_function(scaled)))
    np.testing.assert_allclose(found, by_hand)
    assert found.min() > 0.7
    uncorrected = cross_val_score(
        LogisticRegression(), rows, treated, cv=folds.split(rows, treated, groups)
    )
    assert uncorrected.mean() < found.mean()
