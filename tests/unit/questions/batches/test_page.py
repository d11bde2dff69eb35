"""The view and the figure of batches and labels."""

from __future__ import annotations

import io
import itertools
import json
import re
from dataclasses import replace

import pytest
from browser import sample_batches as sample
from browser.sample_batches import BASE, ICA

from upto.core import Estimate, Finding
from upto.questions.batches.carried_chart import carried_map, share_place, share_ticks
from upto.questions.batches.condition_chart import condition_chart, fold_means
from upto.questions.batches.embedding_maps import CONTROL, map_places, maps_data, maps_view
from upto.questions.batches.figure import shown_maps
from upto.questions.batches.page import (
    batches_badge,
    batches_body,
    batches_facts,
    batches_tables,
    concentration_table,
    mixing_table,
    tasks_table,
)
from upto.questions.batches.parts import Leak
from upto.questions.batches.result import BatchesResult
from upto.report import Report, draw
from upto.report.summary import summarise

CIRCLE = re.compile(r'<circle class="([a-z -]+)" cx="([0-9.]+)%"')
EMPTY = sample.batches(
    ((BASE, "as given", "nothing", None, None),),
    maps=(), n_components=0, labels=("DMSO", "taxol"), mixing=False, findings=(),
)  # fmt: skip


@pytest.fixture(scope="module")
def result() -> BatchesResult:
    return sample.batches(n_rows=120)


@pytest.fixture(scope="module")
def page(result: BatchesResult) -> str:
    return Report([result]).html()


def decided(result: BatchesResult, *p_values: float | None) -> BatchesResult:
    """Give the first differences other p-values, and drop the others."""
    kept = zip(result.differences, p_values, strict=False)
    return replace(
        result, differences=tuple(replace(each, p_value=p_value) for each, p_value in kept)
    )


def test_every_condition_says_whether_it_is_a_gain(result) -> None:
    lines = condition_chart(result).lines
    assert [(line.title, line.word) for line in lines] == [
        ("as given", ""),
        ("PCA", "no gain"),
        ("PCA + ICA", "gain"),
        ("PCA + random", "no gain"),
        ("scaled by controls", "no gain"),
        ("ComBat", "loss"),
    ]
    assert [line.title for line in lines if line.is_best] == ["PCA + ICA"]
    assert (lines[2].difference, lines[2].difference_interval) == ("+0.041", "[+0.019, +0.063]")
    assert (lines[2].auroc, lines[2].interval) == ("0.902", "[0.884, 0.920]")
    assert (lines[2].within, lines[2].sparsity) == ("0.887", "0.420")
    assert lines[2].detail == "64 columns · not converged"
    assert lines[4].detail == "64 columns · needs controls in a new batch"


def test_a_mark_tells_gain_from_neither_without_its_colour(result) -> None:
    kinds = [
        CIRCLE.findall(line.against)[0][0] for line in condition_chart(result).lines if line.against
    ]
    assert kinds == [f"difference is-{tone}" for tone in ("none", "gain", "none", "none", "loss")]


def test_a_mean_stands_where_its_value_puts_it(result) -> None:
    line = condition_chart(result).lines[2]
    folds = [fold for own in fold_means(result).values() for fold in own]
    low, high = 0.49, max(folds)
    # The leak of batches reaches down to 0.49; an axis keeps 2 % free at both ends.
    found = CIRCLE.search(line.drawing or "")
    assert found is not None
    assert float(found[2]) == pytest.approx(2 + 96 * (0.902 - low) / (high - low), abs=0.01)


def test_folds_are_means_over_labels(result) -> None:
    own = [
        score.auroc
        for score in result.fold_scores
        if (score.condition, score.fold) == (ICA, 1) and score.auroc is not None
    ]
    assert fold_means(result)[ICA][1] == pytest.approx(sum(own) / len(own))
    drawing = condition_chart(result).lines[2].drawing or ""
    dots = re.search(r'<path class="fold" d="([^"]*)"', drawing)
    assert dots is not None
    assert dots[1].count("M") == 5


def test_hundreds_of_folds_keep_their_extremes() -> None:
    many = sample.batches(sample.CONDITIONS[:1], n_folds=700, maps=(), labels=("DMSO", "taxol"))
    (line,) = condition_chart(many).lines
    dots = re.findall(r"M(\d+) 28h0", line.drawing or "")
    assert len(dots) == 300
    assert (max(map(int, dots)), "700 folds" in (line.drawing or "")) == (980, True)


@pytest.mark.parametrize(
    ("p_values", "badge"),
    [
        ((0.4, 0.01), ("gain on held-out batches", "good")),
        ((0.4, 0.2, 0.3, 0.07, 0.01), ("no gain on held-out batches", "fair")),
        ((None, None), ("undecided", "fair")),
        ((), None),
    ],
)
def test_the_badge_says_whether_anything_was_gained(result, p_values, badge) -> None:
    assert batches_badge(decided(result, *p_values)) == badge


def test_all_losses_are_a_loss_and_few_batches_decide_nothing(result) -> None:
    worst = replace(result, differences=result.differences[-1:])
    assert batches_badge(worst) == ("loss on held-out batches", "poor")
    few = replace(decided(result, 0.4), findings=(Finding(code="UP081", message="3 batches."),))
    assert batches_badge(few) == ("undecided", "fair")


def test_facts_have_the_best_condition_beside_base(result) -> None:
    assert batches_facts(result) == (
        ("AUROC, as given", "0.861", "[0.843, 0.879]"),
        ("AUROC, PCA + ICA", "0.902", "[0.884, 0.920]"),
        ("PCA + ICA minus base", "+0.041", "[+0.019, +0.063], gain"),
        ("batches", "28", "5 folds; held out as a whole"),
        ("labels evaluated", "5", "versus DMSO"),
        ("rows", "1,680", "384 columns"),
    )


def test_each_label_has_its_score_under_each_condition(result) -> None:
    table = tasks_table(result)
    assert table is not None
    assert table.heads == ("compound", *(each.title for each in result.conditions))
    assert [row[0].text for row in table.rows] == list(result.judged)
    assert (table.rows[0][3].text, table.rows[0][3].detail) == ("0.902", "± 0.007")
    assert tasks_table(sample.batches(maps=(), labels=("DMSO", "taxol"))) is None


def test_scores_of_mixing_stand_beside_the_held_out_score(result, page) -> None:
    table = mixing_table(result)
    assert table is not None
    assert table.heads == ("score", "high if", *(each.title for each in result.conditions))
    assert [row[0].text for row in table.rows] == [
        "held-out AUROC",
        *(row[1] for row in sample.MIXING),
    ]
    assert [row[1].text for row in table.rows][1:] == [
        "batches mix", "batches mix", "labels separate", "both (weighted)",
    ]  # fmt: skip
    assert [row[5].text for row in table.rows] == ["0.842", "–", "0.550", "0.500", "0.450"]
    assert table.caption.endswith("held-out AUROC. Without a value: iLISI: too few rows.")
    assert "Mixing scores are in sample" in page
    concentrations = concentration_table(result)
    assert concentrations is not None
    assert concentrations.heads[1:3] == ("ratio, top 1 %", "difference, top 1 %")


def test_a_mean_of_one_side_says_which_and_zero_has_no_sign(result) -> None:
    mean = replace(result.mixing[0], name="batch", side="total", title="batch", value=-1e-5)
    table = mixing_table(replace(result, mixing=(mean,)))
    assert table is not None
    assert [cell.text for cell in table.rows[1]][:3] == ["batch", "batches mix", "0.000"]


def test_components_stand_at_the_roots_of_their_shares(result) -> None:
    drawn = carried_map(result)
    assert drawn is not None
    assert [(kind.name, kind.count) for kind in drawn.kinds] == [
        ("batch", 7),
        ("label", 3),
        ("both", 3),
        ("neither", 19),
    ]
    x, y, component, carries, batch, label, *_ = drawn.points[0]
    assert (component, carries, batch) == (0, "batch", 0.7)
    end = 1.15 * 0.7
    assert x == round(30 + 940 * (0.7 / end) ** 0.5)
    assert y == round(30 + 940 * (1 - (label / end) ** 0.5))
    assert drawn.drawing.count("<path") == 4
    assert drawn.note == ""


def test_components_without_shares_are_counted_and_not_drawn(result) -> None:
    first, *others = result.components
    bare = replace(first, batch_share=None, label_share=None, carries="neither")
    drawn = carried_map(replace(result, components=(bare, *others)))
    assert drawn is not None
    assert drawn.note == "Not drawn: 1 component without a share."
    assert len(drawn.points) == 31
    lone = carried_map(replace(result, components=(bare,)))
    assert lone is not None
    assert lone.points == ()


@pytest.mark.parametrize("high", [0.02, 0.1, 0.3, 1.0])
def test_numbers_of_an_axis_have_room(high: float) -> None:
    places = [share_place(tick, high) for tick in share_ticks(high)]
    assert places[0] == 0
    assert len(places) >= 3
    assert min(b - a for a, b in itertools.pairwise(places)) > 0.07


def test_the_ten_batches_with_most_rows_have_marks_of_their_own() -> None:
    made = sample.batches(
        n_rows=300, labels=tuple(f"label {n}" for n in range(15)), control="label 3"
    )
    view = maps_view(made)
    assert view is not None
    by_batch, by_label = view.legends
    assert [key.place for key in by_batch.keys] == [*range(10), 10]
    assert by_batch.keys[-1].name == "18 other batches"
    assert sum(key.count for key in by_batch.keys) == 300
    assert map_places(made, "label")[3] == CONTROL
    assert "label 3" in [key.name for key in by_label.keys if key.place == CONTROL]
    counts = {number: made.maps[0].batch.count(number) for number in range(28)}
    named = [key.number for key in by_batch.keys if key.number is not None]
    assert min(counts[number] for number in named) >= max(
        count for number, count in counts.items() if number not in named
    )


def test_the_script_gets_the_rows_that_are_drawn(result) -> None:
    data = maps_data(result)
    assert data is not None
    for each, told in zip(result.maps, data["maps"], strict=True):
        assert len(told["points"]) == 2 * len(each.x)
        assert told["batch"] == list(each.batch)
        right = max(range(len(each.x)), key=lambda row: each.x[row])
        assert told["points"][2 * right] == max(told["points"][::2])
        low = min(range(len(each.y)), key=lambda row: each.y[row])
        assert told["points"][2 * low + 1] == max(told["points"][1::2])
    assert data["names"]["label"] == list(sample.LABELS)


@pytest.mark.slow
def test_a_page_of_two_maps_is_small() -> None:
    made = sample.batches(n_rows=1000)
    assert len(Report([made]).html().encode()) < 500_000


def test_the_best_condition_that_has_a_map_is_shown_first(result) -> None:
    three = replace(result, maps=(*result.maps[:1], replace(result.maps[0], condition="pca"),
                                  result.maps[1]))  # fmt: skip
    view = maps_view(three)
    assert view is not None
    assert view.chosen == 2
    assert [each.condition for each in shown_maps(three)] == [BASE, ICA]
    lone = maps_view(replace(result, maps=result.maps[:1]))
    assert lone is not None
    assert (lone.chosen, len(shown_maps(replace(result, maps=result.maps[:1])))) == (0, 1)


def test_where_base_is_best_the_page_says_so_beside_the_best_of_the_others(result) -> None:
    view = maps_view(result)
    assert view is not None
    assert view.why == "Next to as given: the condition with the largest AUROC."
    made = sample.batches(
        (
            *sample.CONDITIONS[:1],
            ("pca", "PCA", "nothing", 0.70, 0.5),
            (ICA, "ICA", "nothing", 0.6, 0.5),
        ),
        maps=(BASE, ICA, "pca"),
    )
    view = maps_view(made)
    assert view is not None
    assert view.maps[view.chosen].title == "PCA"
    assert (
        view.why == "as given has the largest AUROC and is shown next to the best other condition."
    )
    assert view.why in Report([made]).html()


def test_a_gain_is_called_so_in_words_because_every_difference_has_a_sign(result) -> None:
    column = [row[2] for row in result.tables()[0].rows]
    assert column[2] == "+0.041 [+0.019, +0.063] gain"
    assert [str(text).split()[-1] for text in column if text is not None].count("gain") == 1
    assert not any(str(text).endswith((" +", " -")) for text in column)
    assert "called a gain or a loss" in result.tables()[0].caption


def test_what_is_predicted_without_an_embedding_is_on_the_same_axis(result, page) -> None:
    names = [(line.name, line.auroc) for line in condition_chart(result).leaks]
    assert names == [("well position", "0.610"), ("batches alone", "0.510")]
    assert "no duplicate wells; 12 rows with identical values in several batches" in page
    quiet = Leak(well=None, batch=None, n_repeated_wells=1, n_repeated_rows=0)
    assert batches_body(replace(result, leak=quiet, maps=())).repeats == (
        "1 well repeated within a batch",
        "no row repeated in another batch",
    )


def test_a_page_without_anything_still_says_so() -> None:
    told = Report([EMPTY]).html()
    assert "no value: no label could be evaluated in any fold" in told
    for absent in (
        "Before and after",
        "Batch and label information of each component",
        "AUROC of each label",
    ):
        assert f">{absent}<" not in told
    assert "A gain is" not in told
    assert batches_badge(EMPTY) is None
    assert batches_facts(EMPTY)[0] == ("AUROC, as given", "–", "no fold could be evaluated")


def test_an_interval_beyond_one_is_drawn_to_the_end_of_the_axis(result) -> None:
    first, *others = result.scores
    wide = replace(first, auroc=Estimate(value=0.99, low=0.9, high=1.08))
    line = condition_chart(replace(result, scores=(wide, *others))).lines[0]
    ends = re.search(r'class="interval" x1="([0-9.]+)%" x2="([0-9.]+)%"', line.drawing or "")
    assert ends is not None
    assert float(ends[2]) == 98


@pytest.mark.slow
def test_a_large_result_keeps_its_page_within_bounds() -> None:
    labels = tuple(f"label {number}" for number in range(101))
    large = sample.batches(
        sample.many(30), n_batches=500, n_components=1000, labels=labels, control=labels[0],
        maps=(BASE, "other-1", "other-2"), n_rows=1000,
    )  # fmt: skip
    told = Report([large]).html()
    assert len(told.encode()) < 1_200_000
    assert "In the JSON only: 34 more labels." in told
    tables, omitted = batches_tables(large)
    assert max(len(table.rows) for table in tables) == 300
    assert omitted.startswith("Tables show at most 300 rows")


@pytest.mark.parametrize("hostile", ["</script><img src=x><script>alert(1)</script>"])
def test_words_of_users_are_only_words(hostile: str) -> None:
    conditions = tuple((name, hostile, *rest) for name, _, *rest in sample.CONDITIONS[:3])
    made = sample.batches(
        conditions, labels=(hostile, "b", "c"), control=hostile, name=hostile, verdict=hostile,
        n_rows=30, n_batches=3, n_components=3,
    )  # fmt: skip
    made = replace(
        made,
        batch=hostile,
        label=hostile,
        fold_by=hostile,
        classifier=hostile,
        batches=tuple(replace(each, name=hostile) for each in made.batches),
        mixing=tuple(replace(each, title=hostile) for each in made.mixing),
    )
    told = Report([made]).html()
    assert "<script>alert" not in told
    assert "<img" not in told
    assert told.count("</script>") == 2
    data = re.search(r'<script type="application/json" class="data">(.*?)</script>', told, re.S)
    assert data is not None
    assert json.loads(data[1])["batches"]["names"]["batch"] == [hostile] * 3


def test_a_result_that_was_written_makes_the_same_page(result, page) -> None:
    assert Report([BatchesResult.from_json(result.to_json())]).html() == page


def test_the_view_has_the_sections_of_batches_only(result) -> None:
    view = summarise(result)
    assert view.body is not None
    assert (view.verdict, view.lead[:12]) == ("PCA + ICA gains", "Compound is ")
    assert view.template == "batches/page.html"
    assert [table.title for table in view.tables[2:]] == [
        "Standard errors and sparsity, as reported in papers",
        "Batch and label information of each component, in sample",
        "Labels",
        "Batches",
        "Every fold",
    ]


def test_the_figure_has_conditions_components_and_maps(result) -> None:
    upper, lower = draw(result).subfigs
    conditions, components = upper.axes
    names = [label.get_text() for label in conditions.get_yticklabels()]
    assert names == [each.title for each in result.conditions]
    drawn = {float(line.get_xdata()[0]) for line in conditions.lines if len(line.get_xdata()) == 1}
    assert {0.861, 0.902, 0.815, 0.503} <= drawn
    beside = conditions.child_axes[0].get_yticklabels()
    assert [label.get_text() for label in beside][1:3] == ["+0.007 no gain", "+0.041 gain"]
    legend = components.get_legend()
    assert legend is not None
    assert legend.get_texts()[0].get_text() == "batch (7)"
    assert [axes.get_title(loc="left") for axes in lower.axes] == [
        "as given, by batch",
        "PCA + ICA, by batch",
        "as given, by label",
        "PCA + ICA, by label",
    ]
    for axes in lower.axes:
        assert sum(len(line.get_xdata()) for line in axes.lines) == 120


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        EMPTY,
        sample.batches(sample.many(40), n_rows=50),
        sample.batches(name="$\\frac$", n_rows=20),
    ],
    ids=["bare", "many", "mathematics"],
)
def test_any_figure_can_be_saved(made: BatchesResult) -> None:
    file = io.BytesIO()
    draw(made).savefig(file, format="svg")
    assert file.getvalue()
