"""Boosted trees over shared bins are those of LightGBM itself."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from upto.batch_metrics.classifiers import TABLE_6, auroc, prepare
from upto.batch_metrics.classifiers.boosting import ROUNDS
from upto.core import InputError, MissingExtraError

lightgbm = pytest.importorskip("lightgbm")

PLAIN = {
    **TABLE_6,
    "seed": 0,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "feature_pre_filter": False,
    "enable_bundle": False,
    "verbose": -1,
}


def planted(n_samples=600, width=8, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_samples, width))
    labels = rows[:, 1] - rows[:, 4] + rng.normal(size=n_samples) > 1.0
    return rows, labels


def test_shared_bins_give_the_bits_of_a_data_set_with_the_same_bins():
    rows, labels = planted()
    index = np.arange(0, 600, 2)
    whole = lightgbm.Dataset(rows, label=np.zeros(600), params=PLAIN).construct()
    alone = lightgbm.Dataset(rows[index], label=labels[index], reference=whole, params=PLAIN)
    plain = lightgbm.train(PLAIN, alone, ROUNDS)
    fitted = prepare(rows, threads=1).fit(index, labels[index])
    assert fitted.score(rows).tobytes() == plain.predict(rows, raw_score=True).tobytes()
    assert np.array_equal(fitted.splits, plain.feature_importance("split"))
    assert fitted.splits.sum() > 0


def test_all_rows_give_the_bits_of_a_fresh_data_set():
    rows, labels = planted()
    plain = lightgbm.train(PLAIN, lightgbm.Dataset(rows, label=labels, params=PLAIN), ROUNDS)
    fitted = prepare(rows, threads=1).fit(np.arange(600), labels)
    assert fitted.score(rows).tobytes() == plain.predict(rows, raw_score=True).tobytes()


def test_some_features_are_fitted_as_if_there_were_no_others():
    rows, labels = planted()
    some, index = [1, 2, 6], np.arange(600)
    plain = lightgbm.train(
        PLAIN, lightgbm.Dataset(rows[:, some], label=labels, params=PLAIN), ROUNDS
    )
    fitted = prepare(rows, threads=1).fit(index, labels, features=[6, 1, 2])
    expected = plain.predict(rows[:, some], raw_score=True)
    assert fitted.score(rows).tobytes() == expected.tobytes()
    assert np.flatnonzero(fitted.splits).tolist() == some
    assert np.array_equal(fitted.splits[some], plain.feature_importance("split"))


def test_one_task_leaves_nothing_behind_for_the_next():
    rows, labels = planted()
    index = np.arange(600)
    shared = prepare(rows, threads=1)
    first = shared.fit(index, labels).score(rows)
    shared.fit(index[:300], rows[:300, 0] > 0, features=[0, 1])
    assert shared.fit(index, labels).score(rows).tobytes() == first.tobytes()


def test_the_order_of_rows_changes_nothing():
    rows, labels = planted()
    order = np.random.default_rng(1).permutation(600)
    shared = prepare(rows, threads=1)
    turned = shared.fit(order, labels[order]).score(rows)
    assert turned.tobytes() == shared.fit(np.arange(600), labels).score(rows).tobytes()


def test_a_column_that_never_varies_is_no_feature():
    rows, labels = planted()
    held = np.column_stack([rows, np.full(600, 3.0)])
    fitted = prepare(held, threads=1).fit(np.arange(600), labels)
    plain = prepare(rows, threads=1).fit(np.arange(600), labels)
    assert fitted.score(held).tobytes() == plain.score(rows).tobytes()
    assert fitted.splits[-1] == 0
    nothing = prepare(held, threads=1).fit(np.arange(600), labels, features=[8])
    assert auroc(labels, nothing.score(held)) == 0.5


@pytest.mark.parametrize("classifier", ["boosted", "boosted-fast"])
def test_the_number_of_threads_changes_no_bit(classifier):
    rows, labels = planted()
    index = np.arange(0, 600, 2)
    alone = prepare(rows, classifier=classifier, threads=1).fit(index, labels[index]).score(rows)
    shared = prepare(rows, classifier=classifier, threads=3)
    with ThreadPoolExecutor(3) as pool:
        works = [pool.submit(shared.fit, index, labels[index]) for _ in range(4)]
        together = {work.result().score(rows).tobytes() for work in works}
    assert together == {alone.tobytes()}


def test_fast_trees_rank_nearly_as_well():
    rows, labels = planted(n_samples=3000)
    areas = {}
    for classifier in ("boosted", "boosted-fast"):
        fitted = prepare(rows, classifier=classifier, threads=1).fit(np.arange(2000), labels[:2000])
        areas[classifier] = auroc(labels[2000:], fitted.score(rows[2000:]))
    assert areas["boosted"] > 0.8
    assert areas["boosted-fast"] == pytest.approx(areas["boosted"], abs=0.02)


def test_without_lightgbm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtraError, match=r"upto\[boost\]"):
        prepare(np.eye(4))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": np.zeros(600, dtype=bool)}, "600 rows are of one class"),
        ({"labels": np.zeros(5, dtype=bool)}, "true or false per row"),
        ({"index": np.arange(1, 601)}, "row 600 does not exist"),
        ({"features": [-1]}, "feature -1 does not exist"),
        ({"features": []}, "give their positions"),
    ],
)
def test_a_task_that_cannot_be_fitted_is_refused(change, words):
    rows, labels = planted()
    asked = {"index": np.arange(600), "labels": labels, **change}
    with pytest.raises(InputError, match=words):
        prepare(rows, threads=1).fit(**asked)


def test_what_cannot_be_prepared_or_scored_is_refused():
    rows, labels = planted()
    with pytest.raises(InputError, match="there is no classifier 'trees'"):
        prepare(rows, classifier="trees")
    with pytest.raises(InputError, match="threads is 0"):
        prepare(rows, threads=0)
    with pytest.raises(InputError, match="non-finite"):
        prepare([[np.nan, 1.0]])
    fitted = prepare(rows, threads=1).fit(np.arange(600), labels)
    with pytest.raises(InputError, match="3 columns, but training rows have 8"):
        fitted.score(rows[:, :3])


@pytest.mark.parametrize("features", [None, [0, 3], [3], [3, 8]])
def test_a_column_that_varies_in_one_row_only_is_never_split(features):
    rows, labels = planted()
    rows[:, 3] = 0.0
    rows[17, 3] = 1.0
    held = np.column_stack([rows, rows[:, 3]])
    fitted = prepare(held, threads=1).fit(np.arange(600), labels, features=features)
    assert fitted.splits[3] == 0
    assert np.isfinite(fitted.score(held)).all()
