"""`upto.align`: what retrieval loses if an index is carried to a new model."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import upto
from upto.core import Estimate
from upto.engines import choose_engine
from upto.measures.nearest import nearest_rows
from upto.questions.align import question
from upto.questions.align.pairs import find_pairs
from upto.questions.align.result import PairsPoint
from upto.questions.align.text import advise


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def documents(rng, n_rows=900, width=12):
    """Draw rows in topics, so that neighbours mean something."""
    topics = np.random.default_rng(5).normal(size=(12, width))
    return topics[rng.integers(12, size=n_rows)] + 0.6 * rng.normal(size=(n_rows, width))


def upgrade(rng, n_rows=900, *, bend=0.0, noise=0.03, width=16):
    """Draw rows of an old model and of a wider one; `bend` is the size of what is not affine."""
    old = documents(rng, n_rows)
    mixing = np.random.default_rng(6).normal(size=(12, width)) / np.sqrt(12)
    bent = np.sin(2 * old @ np.random.default_rng(7).normal(size=(12, width)) / np.sqrt(12))
    new = old @ mixing + bend * bent + noise * rng.normal(size=(n_rows, width))
    return old, new


@cache
def affine_result():
    old, new = upgrade(np.random.default_rng(0))
    return upto.align(old, new, up_to="ridge")


def test_a_rotation_is_carried_without_loss(rng):
    old = documents(rng, 400)
    turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    result = upto.align(old, old @ turn + 1, metric="euclidean")
    assert (result.chosen, result.advice) == ("rigid", "carry")
    assert result.recall().value == pytest.approx(1.0, abs=1e-3)
    assert result.map("rigid").r2 == pytest.approx(1.0)
    assert result.verdict.startswith(
        "Carry the index over: the index, carried by a rigid motion, finds "
    )


def test_unrelated_models_are_no_better_than_chance(rng):
    old, new = rng.normal(size=(400, 6)), rng.normal(size=(400, 6))
    result = upto.align(old, new, up_to="ridge")
    assert result.advice == "embed again"
    assert result.verdict.startswith("Embed everything again, or try other maps: ")
    chance = result.recall("chance").value
    assert chance == pytest.approx(10 / 119)
    assert result.recall().value < 2 * chance


def test_an_affine_map_is_chosen_where_only_it_helps(rng):
    old, new = upgrade(rng)
    result = upto.align(old, new)
    assert result.chosen in ("affine", "ridge")
    assert result.recall("rigid").high < result.recall().low
    assert result.recall("old model").high < result.recall().low
    assert {"UP103", "UP101"}.isdisjoint(finding.code for finding in result.findings)


@pytest.mark.slow
def test_what_no_affine_map_can_do_is_a_finding(rng):
    old, new = upgrade(rng, 3000, bend=1.0)
    result = upto.align(old, new)
    assert result.chosen == "kernel"
    assert "UP103" in {finding.code for finding in result.findings}


@pytest.mark.parametrize("metric", ["cosine", "inner-product", "euclidean"])
def test_recall_is_what_a_user_would_measure(metric, rng):
    """Carry an index by the map, search it, and compare with an index that is embedded again."""
    old, new = upgrade(rng, 1800, bend=0.3, noise=0.2)
    result = upto.align(old[:900], new[:900], up_to="ridge", metric=metric)
    fresh_old, fresh_new = upgrade(np.random.default_rng(11), 270, bend=0.3, noise=0.2)
    carried = result.aligner().transform(fresh_old)
    shares = []
    for query in range(270):
        others = np.delete(np.arange(270), query)
        near = [
            nearest_rows(fresh_new[[query]], rows[others], 10, metric=metric)[0].tolist()
            for rows in (fresh_new, carried)
        ]
        shares.append(len(set(near[0]) & set(near[1])) / 10)
    assert result.n_rows == 270
    found = result.recall()
    assert found.low - 0.03 < np.mean(shares) < found.high + 0.03


def test_mapped_rows_are_scaled_to_the_length_of_the_new_ones(rng):
    old, new = upgrade(rng)
    result = upto.align(old, 3 * unit(new), up_to="ridge", metric="inner-product")
    assert result.length == pytest.approx(3)
    lengths = np.linalg.norm(result.aligner().transform(old[:5]), axis=1)
    np.testing.assert_allclose(lengths, 3)
    cosine = upto.align(old, 3 * unit(new), up_to="ridge", metric="cosine")
    assert result.recall().value == pytest.approx(cosine.recall().value)


def test_queries_are_carried_back(rng):
    old, new = upgrade(rng)
    result = upto.align(old, new, up_to="ridge")
    back = result.aligner(back=True)
    assert back.transform(new[:3]).shape == (3, 12)
    assert (back.source_name_, back.target_name_) == ("new", "old")
    # The old rows are an image of the new ones, which therefore find what old queries would.
    place = result.at.index(10)
    staying = result.recall("old model").value
    assert result.map().back[place].value == pytest.approx(staying, abs=0.01)


def test_rows_are_matched_by_ids_and_the_old_index_may_be_whole(rng):
    old, new = upgrade(rng)
    names = np.array([f"row {number}" for number in range(900)])
    again = rng.permutation(900)[:600]
    part = upto.as_embeddings(new[again], ids=names[again], name="new")
    whole = upto.as_embeddings(old, ids=names, name="old")
    result = upto.align(whole, part, up_to="ridge")
    assert (result.n_pairs, result.index_size) == (600, 900)
    assert [finding.code for finding in result.findings if finding.code == "UP006"] == []
    apart = upto.align(old[again], new[again], up_to="ridge")
    assert result.maps == apart.maps
    unknown = upto.as_embeddings(
        new[again], ids=np.where(np.arange(600) < 9, "x", "")[:, None].astype("U9").ravel()
    )
    with pytest.raises(upto.InputError):
        upto.align(whole, unknown, up_to="ridge")


def test_the_order_of_the_pairs_does_not_matter(rng):
    old, new = upgrade(rng)
    order = rng.permutation(len(old))
    first, second = (
        upto.align(old[rows], new[rows], up_to="ridge") for rows in (slice(None), order)
    )
    assert first.recall().value == pytest.approx(second.recall().value, abs=1e-9)
    assert first.map().r2 == pytest.approx(second.map().r2)


def test_more_pairs_are_worth_something():
    old, new = upgrade(np.random.default_rng(2), 900, noise=0.3)
    curve = upto.align(old, new, up_to="affine").curve
    assert [point.n_pairs for point in curve] == [78, 157, 315, 630]
    assert curve[0].recall.value < curve[-1].recall.value


def test_an_index_unlike_the_pairs_is_a_finding(rng):
    old, new = upgrade(rng)
    alike = upto.align(old, new, up_to="ridge", apply=documents(rng, 3000))
    assert alike.unlike == pytest.approx(0.1, abs=0.06)
    assert "UP101" not in {finding.code for finding in alike.findings}
    other = np.vstack([documents(rng, 1500), documents(rng, 500) + 9])
    unlike = upto.align(old, new, up_to="ridge", apply=other)
    assert unlike.unlike == pytest.approx(0.75 * 0.1 + 0.25, abs=0.06)
    assert "UP101" in {finding.code for finding in unlike.findings}


def test_columns_of_the_index_in_another_order_are_matched_by_name(rng):
    old, new = upgrade(rng)
    rows, names = documents(rng, 3000) * np.arange(1, 13), [f"c{place}" for place in range(12)]
    turned = rng.permutation(12)
    pairs = pd.DataFrame(old * np.arange(1, 13), columns=names)
    found = [
        upto.align(
            pairs, new, up_to="affine",
            apply=pd.DataFrame(rows[:, order], columns=[names[each] for each in order]),
        )
        for order in (np.arange(12), turned)
    ]  # fmt: skip
    assert found[0].unlike == pytest.approx(0.1, abs=0.06)
    assert found[1].unlike == pytest.approx(found[0].unlike, abs=0.01)
    assert "UP101" not in {finding.code for finding in found[1].findings}
    others = pd.DataFrame(rows, columns=[*names[:-1], "other"])
    with pytest.raises(upto.InputError, match="has no c11 and has other"):
        upto.align(pairs, new, up_to="affine", apply=others)


def test_a_mixed_index_that_finds_less_is_a_finding():
    """Carried rows that shrink towards the mean are near everything."""
    rng = np.random.default_rng(4)
    old, new = upgrade(rng, 900, noise=1.5)
    result = upto.align(old, new, up_to="ridge", metric="inner-product")
    codes = {finding.code for finding in result.findings}
    assert ("UP109" in codes) == (result.recall("half new").high < result.recall().low)
    assert result.recall("half new").value != result.recall().value


def test_lengths_that_are_not_carried_are_a_finding(rng):
    old, new = upgrade(rng)
    stretched = unit(new) * rng.lognormal(0, 0.5, size=(900, 1))
    result = upto.align(unit(old), stretched, up_to="ridge", metric="inner-product")
    assert "UP102" in {finding.code for finding in result.findings}
    cosine = upto.align(unit(old), stretched, up_to="ridge")
    assert "UP102" not in {finding.code for finding in cosine.findings}


def test_few_rows_are_said():
    old, new = upgrade(np.random.default_rng(8), 100)
    result = upto.align(old, new, up_to="ridge")
    assert result.at == (1,)
    assert {"UP106", "UP108"} <= {finding.code for finding in result.findings}


def test_a_result_survives_json_without_its_maps():
    result = affine_result()
    again = upto.AlignResult.from_json(result.to_json())
    assert again == result
    with pytest.raises(
        upto.InputError, match="this result was read from a file, which has no maps"
    ):
        again.aligner()


def test_the_tables_have_every_map_and_baseline():
    result = affine_result()
    names = [row[0] for row in result.tables()[0].rows]
    assert names == ["embed again", "ridge ←", "half new", "old model", "chance"]
    assert len(result.data_table().rows) == 2 * 5
    assert [panel.x for panel in result.panels()] == ["pairs", "rows in the index"]


def test_maps_are_drawn_beside_each_other_only_if_there_are_several(rng):
    old, new = upgrade(rng, 400)
    panels = upto.align(old, new, at=(5,)).panels()
    assert next(panel.x for panel in panels) == "map"


def test_few_pairs_are_no_reason_to_embed_everything_again():
    old, new = upgrade(np.random.default_rng(8), 200, noise=3, width=200)
    result = upto.align(old, new, up_to="ridge")
    assert (result.advice, result.at_size.high < result.enough) == ("unclear", True)
    assert "The 140 pairs fitted are few: more may raise it." in result.verdict


def test_pairs_that_gain_too_little_are_no_reason_to_wait(rng):
    old = documents(rng, 400)
    result = upto.align(old, old[:, ::-1] + 0.1 * rng.normal(size=old.shape), up_to="rigid")

    def advice(before, after):
        recalls = (
            Estimate(value=each, low=each - 0.01, high=each + 0.01) for each in (before, after)
        )
        curve = tuple(
            PairsPoint(n_pairs=n, name="rigid", recall=each)
            for n, each in zip((140, 280), recalls, strict=True)
        )
        return advise(replace(result, curve=curve, at_size=curve[-1].recall), asked=10)

    assert advice(0.30, 0.34) == "embed again"
    assert advice(0.78, 0.82) == "unclear"


def test_another_number_of_rows_than_the_one_that_decides_licenses_nothing():
    rng = np.random.default_rng(0)
    old = documents(rng, 120)
    turned = old @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    result = upto.align(old, turned, enough=0.8)
    assert (result.decides, result.advice) == (1, "unclear")
    sure = replace(result, at_size=Estimate(value=0.99, low=0.98, high=1.0))
    assert (advise(sure, asked=10), advise(sure, asked=1)) == ("unclear", "carry")


def test_models_that_are_the_same_need_no_map(rng):
    old = documents(rng, 400)
    result = upto.align(old, old, metric="euclidean", index_size=400)
    assert (result.chosen, result.advice) == ("identity", "carry")
    assert result.verdict.startswith("Keep the index as it is: without a map, the index finds ")


def test_a_map_that_may_be_used_is_not_said_to_gain_nothing(rng):
    """Both find all of the nearest rows, but only the carried index takes new queries."""
    old = documents(rng, 400)
    turned = old @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    result = upto.align(old, turned, up_to="rigid")
    assert (result.advice, result.recall("old model").value) == ("carry", pytest.approx(1.0))
    assert "UP107" not in {finding.code for finding in result.findings}
    other = upto.align(old, rng.normal(size=old.shape), up_to="rigid")
    assert other.advice == "embed again"
    assert "UP107" in {finding.code for finding in other.findings}


def test_errors_are_those_of_the_map_that_is_written(rng):
    """Rows are scaled to the length of the new ones, before and after they are judged."""
    old, new = upgrade(rng, noise=0.3)
    runs = [upto.as_embeddings(rows) for rows in (old, 2 * unit(new))]
    result = upto.align(*runs, up_to="ridge")
    judged = [
        side.judged
        for pairs in [find_pairs(choose_engine(None), *runs, held_out=0.3, metric="cosine", seed=0)]
        for side in (pairs.old, pairs.new)
    ]
    assert result.map().r2 == pytest.approx(result.aligner().score(*judged), abs=1e-6)


def test_the_size_of_the_index_is_asked_for_where_it_is_not_known():
    asked = "The size of the index was not given"
    assert asked in affine_result().verdict
    old, new = upgrade(np.random.default_rng(0), 400)
    assert asked not in upto.align(old, new, up_to="ridge", index_size=400).verdict


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": (100,)}, "recall@100 needs 401 held-out rows, and there are 60"),
        ({"up_to": "monotone"}, "up_to is 'monotone': choose auto or one of"),
        ({"up_to": "identity"}, "up_to is 'identity', but the old rows have 12 coordinates"),
        ({"metric": "dot"}, "metric is 'dot': choose one of cosine"),
        ({"at": 10}, r"at is 10: give one or more numbers of rows to retrieve"),
        ({"at": (0,)}, "at is 0"),
        ({"enough": 2}, "enough is 2, but a recall is above 0 and at most 1"),
        ({"held_out": 0}, "held_out is 0, but recall is judged on held-out rows"),
        ({"output": "x.npy"}, "output is 'x.npy', but there is nothing to carry: pass apply"),
        ({"index_size": 150}, "index_size is 150, but the index has at least the 200 rows that"),
        ({"index_size": 0}, "index_size is 0"),
        ({"bad_rows": "skip"}, "bad_rows='skip' is none of"),
        ({"verify": -1}, "verify=-1 is no number of rows"),
        ({"save": "map.npz"}, r"map\.npz"),
        ({"apply": np.ones((9, 12)), "output": "x.xlsx"}, "does not write"),
        ({"apply": np.ones((9, 16))}, "has 16 coordinates, but old has 12: .* whose width this is"),
        ({"apply": np.ones((9, 5))}, "has 5 coordinates, but old has 12: give the index that"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_before_anything_is_fitted(
    change, message, monkeypatch
):
    old, new = upgrade(np.random.default_rng(0), 200)
    monkeypatch.setattr(question, "fit_carrier", lambda *args, **options: pytest.fail("fitted"))
    with pytest.raises(upto.InputError, match=message):
        upto.align(old, new, **change)


def test_rows_are_held_out_one_by_one_copies_too():
    """An index has copies, and a search finds them: they are held out as any other rows are."""
    old, new = upgrade(np.random.default_rng(4), 100)
    old, new = (np.repeat(rows, 4, axis=0) for rows in (old, new))
    result = upto.align(old, new, up_to="ridge")
    assert result.n_pairs == 400
    held_out = find_pairs(
        choose_engine(None), *(upto.as_embeddings(rows) for rows in (old, new)),
        held_out=0.3, metric="cosine", seed=0,
    )  # fmt: skip
    fitted, judged = (
        {row.tobytes() for row in rows} for rows in (held_out.old.fitted, held_out.old.judged)
    )
    assert fitted & judged


def test_rows_without_a_direction_are_refused_under_the_cosine(rng):
    old, new = upgrade(rng, 200)
    old[7] = 0
    with pytest.raises(upto.InputError, match=r"old has 1 row .*of length zero: row 7"):
        upto.align(old, new, up_to="ridge")
    assert upto.align(old, new, up_to="ridge", metric="euclidean").n_pairs == 200


def test_few_pairs_are_refused(rng):
    old, new = upgrade(rng, 30)
    with pytest.raises(
        upto.InputError, match="old and new share 30 rows, and at least 50 are needed"
    ):
        upto.align(old, new)
