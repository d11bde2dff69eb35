"""The view and the figure of similarities."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from browser import sample_similarities as sample

from upto.questions.similarity.measure_lines import grouped_lines, measure_chart, measure_lines
from upto.questions.similarity.page import (
    pairs_in_order,
    similarity_body,
    similarity_data,
    similarity_facts,
    similarity_tables,
)
from upto.questions.similarity.result import SimilarityResult
from upto.report import Report, draw
from upto.report.heat import closeness_level, colour_ends
from upto.report.summary import summarise

CIRCLE = re.compile(r'<circle class="([a-z-]+)" cx="([0-9.]+)%"')
BAND = re.compile(r'<rect class="chance-area" x="([0-9.]+)%" y="7" width="([0-9.]+)%"')


def drawings(result: SimilarityResult) -> dict[str, str]:
    chart = measure_chart(measure_lines(result))
    return {row.label: row.drawing for group in chart for row in group.rows}


def test_values_stand_where_their_range_puts_them_and_closer_is_to_the_right() -> None:
    result = sample.similarities(2)
    drawn = drawings(result)
    share = sample.closeness(0, 1)
    # An axis keeps 2 % free at both ends.
    for label, place in {
        "linear CKA": (share + 1) / 2,
        "mutual nearest neighbours (10)": share,
        "Procrustes distance": share,
    }.items():
        found = CIRCLE.search(drawn[label])
        assert found is not None
        assert found[1] == "held-out"
        assert float(found[2]) == pytest.approx(2 + 96 * place, abs=0.01)


def test_the_band_of_chance_goes_from_its_mean_to_its_limit_in_either_direction() -> None:
    drawn = drawings(sample.similarities(2))
    for label in ("Procrustes distance", "mutual nearest neighbours (10)"):
        found = BAND.search(drawn[label])
        assert found is not None
        assert (float(found[1]), float(found[2])) == pytest.approx(
            (2 + 96 * 0.02, 96 * (0.1 - 0.02)), abs=0.011
        )


def test_a_value_within_chance_is_hollow() -> None:
    view = similarity_body(sample.similarities(2))
    hollow = {
        row.label for group in view.groups for row in group.rows if "within-chance" in row.drawing
    }
    assert hollow == {"strong MCC"}
    assert view.any_within
    assert not similarity_body(sample.similarities(2, measures=(sample.CKA,))).any_within


def test_measures_are_grouped_by_what_they_ignore() -> None:
    groups = {
        title: [line.label for line in lines]
        for title, lines in grouped_lines(measure_lines(sample.similarities(2)))
    }
    assert groups == {
        "Invariant to every invertible linear map": ["mean canonical correlation"],
        "Invariant to rotations, not to other linear maps": [
            "linear CKA",
            "Procrustes distance",
            "mutual nearest neighbours (10)",
        ],
        "Not invariant to rotations": ["strong MCC", "PWCCA, 1 → 2", "PWCCA, 2 → 1"],
    }


def test_a_direction_is_written_with_its_own_value() -> None:
    result = sample.similarities(2)
    there, back = result.of("pwcca")
    chart = measure_chart(measure_lines(result))
    values = {row.label: row.value for group in chart for row in group.rows}
    assert there.value.value != back.value.value
    assert values["PWCCA, 1 → 2"] == f"{there.value.value:.3f}"
    assert values["PWCCA, 2 → 1"] == f"{back.value.value:.3f}"
    assert similarity_body(result).numbered == ("seed-0", "seed-1")
    assert similarity_body(sample.similarities(2, measures=(sample.CKA,))).numbered == ()


@pytest.mark.parametrize(
    ("low", "high", "closer", "ends"),
    [
        (0.0, 2.0, "lower", ("2", "0")),
        (0.0, None, "lower", ("…", "0")),
        (None, 1.0, "higher", ("…", "1")),
        (None, None, "lower", ("…", "…")),
    ],
)
def test_an_axis_without_an_end_says_so(low, high, closer, ends) -> None:
    measure = replace(sample.CKA, low=low, high=high, closer=closer)
    ((group,),) = [similarity_body(sample.similarities(2, measures=(measure,))).groups]
    assert group.rows[0].ends == ends
    assert "nan" not in group.rows[0].drawing


def test_similarities_without_chance_or_intervals_are_drawn() -> None:
    result = sample.similarities(2, bare=True)
    drawn = drawings(result)["linear CKA"]
    assert "chance-area" not in drawn
    assert "interval" not in drawn
    assert CIRCLE.search(drawn)
    facts = {label: (value, detail) for label, value, detail in similarity_facts(result)}
    assert facts["median calibrated value"] == ("–", "not measured")
    unending = replace(sample.CKA, low=None, high=None)
    assert drawings(sample.similarities(2, bare=True, measures=(unending,)))


def test_a_heat_map_has_the_runs_in_the_order_of_its_measure() -> None:
    result = sample.similarities(5)
    view = similarity_body(result)
    assert len(view.maps) == len(result.measures)
    for each, measure in zip(view.maps, result.measures, strict=True):
        assert each.names == ("seed-1", "seed-3", "seed-0", "seed-2", "seed-4")
        numbers = result.matrix(measure.name)
        for i, row in zip(measure.order, each.rows, strict=True):
            texts = [
                "–" if numbers[i][j] is None else f"{numbers[i][j]:.2f}" for j in measure.order
            ]
            assert [cell.text for cell in row] == texts
    assert view.maps[5].rows[0][2].text != view.maps[5].rows[2][0].text


def test_marks_are_where_a_pair_is_beyond_chance_after_adjustment() -> None:
    result = sample.similarities(8)
    for measure, each in zip(result.measures, similarity_body(result).maps, strict=True):
        for row, cells in zip(pairs_in_order(result, measure), each.rows, strict=True):
            for pair, cell in zip(row, cells, strict=True):
                assert cell.beyond == (pair is not None and pair.adjusted <= 0.05)
    counts = [each.n_beyond for each in similarity_body(result).maps]
    assert counts[0] == counts[2]
    assert counts[4] == "0 of 28 pairs"


def test_the_closest_pair_is_the_darkest_whichever_way_a_measure_goes() -> None:
    maps = {each.label: each for each in similarity_body(sample.similarities(5)).maps}
    assert maps["linear CKA"].ends == ("0", "1")
    assert maps["Procrustes distance"].ends == ("2", "0")
    levels = [
        [[cell.level for cell in row] for row in maps[label].rows]
        for label in ("mutual nearest neighbours (10)", "Procrustes distance")
    ]
    assert levels[0] == levels[1]
    assert colour_ends((), low=None, high=None, closer="higher") == (0.0, 0.0)
    assert closeness_level(0.3, 0.3, 0.3) == 0


def test_the_mean_and_its_interval_are_told() -> None:
    result = sample.similarities(5)
    mean = result.measures[0].mean
    assert similarity_body(result).maps[0].mean == f"{mean:.3f}"
    facts = {label: (value, detail) for label, value, detail in similarity_facts(result)}
    assert facts["mean linear CKA"] == (
        f"{mean.value:.3f}",
        f"{mean.low:.3f} to {mean.high:.3f} at\u00a095\u00a0%",
    )
    assert facts["runs"] == ("5", "10 pairs")
    few = {label: detail for label, _, detail in similarity_facts(sample.similarities(3))}
    assert few["mean linear CKA"] == "no interval; it needs four runs"
    assert not similarity_body(sample.similarities(3)).maps[0].has_interval


def test_facts_of_a_pair_count_its_measures() -> None:
    result = sample.similarities(2, within="batch")
    facts = {label: (value, detail) for label, value, detail in similarity_facts(result)}
    assert facts["closer than chance"] == ("5 of 6", "measures")
    assert facts["median calibrated value"][0] == "0.74"
    assert facts["rows"] == ("2,000", "of 5,000; 600 held out")
    assert facts["chance"] == ("199", "random pairings of rows within batch")


def test_many_runs_leave_maps_and_tables_to_json() -> None:
    many = tuple(replace(sample.CKA, name=f"cka-{i}") for i in range(20))
    result = sample.similarities(24, measures=many)
    tables, words = similarity_tables(result)
    assert len(similarity_body(result).maps) == 10
    assert len(similarity_data(result)["similarities"]) == 10
    assert len(tables) == 1 + 3
    assert words == (
        "In the JSON only: the heat maps after the first 10 and the tables of pairs after the "
        "first 3."
    )
    page = Report([result]).html()
    assert words in page
    assert len(page) < 1_000_000
    assert len(similarity_tables(sample.similarities(25))[0]) == 1
    huge = sample.similarities(80, measures=many[:2])
    assert len(similarity_body(huge).maps) == 1
    assert "the heat maps after the first and the tables of pairs." in similarity_tables(huge)[1]


def test_a_pair_by_every_measure_is_small() -> None:
    many = tuple(replace(sample.ONTO, name=f"onto-{i}") for i in range(41))
    page = Report([sample.similarities(2, measures=many)]).html()
    assert len(page) < 300_000
    assert similarity_tables(sample.similarities(2))[1] == ""


def test_the_view_survives_json() -> None:
    for count in (2, 5):
        result = sample.similarities(count)
        again = SimilarityResult.from_json(result.to_json())
        assert again == result
        assert summarise(again) == summarise(result)


def test_a_figure_of_two_runs_has_a_line_for_every_row() -> None:
    result = sample.similarities(2)
    (axes,) = draw(result).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [
        "mean canonical correlation", "linear CKA", "Procrustes distance",
        "mutual nearest neighbours (10)", "strong MCC", "PWCCA, 1 → 2", "PWCCA, 2 → 1",
    ]  # fmt: skip
    values = {
        float(line.get_ydata()[0]): float(line.get_xdata()[0])
        for line in axes.lines
        if line.get_label() == "value"
    }
    share = sample.closeness(0, 1)
    assert values[1] == pytest.approx((share + 1) / 2)
    assert values[2] == values[3] == pytest.approx(share)


@pytest.mark.parametrize("count", [3, 9, 35])
def test_a_figure_of_many_runs_has_a_map_for_every_measure(count: int) -> None:
    result = sample.similarities(count, measures=sample.MEASURES[:3])
    maps = [axes for axes in draw(result).axes if axes.images]
    assert len(maps) == 3
    for axes, measure in zip(maps, result.measures, strict=True):
        shown = axes.images[0].get_array()
        numbers = result.matrix(measure.name)
        i, j = measure.order[0], measure.order[-1]
        assert shown[0, -1] == numbers[i][j]
        assert axes.get_title(loc="left") == f"{measure.title}\nmean {measure.mean:.3f}"
        marked = axes.collections[0].get_offsets()
        assert len(marked) == 2 * sum(row.is_beyond_chance for row in result.of(measure.name))


def test_a_figure_of_many_measures_says_how_many_it_leaves_out() -> None:
    many = tuple(replace(sample.CKA, name=f"cka-{i}") for i in range(14))
    figure = draw(sample.similarities(3, measures=many))
    assert len([axes for axes in figure.axes if axes.images]) == 12
    assert figure.get_suptitle().endswith("; the first 12 of 14 measures")


@pytest.mark.parametrize("name", ["$\\frac$", "x" * 10_000])
def test_any_name_can_be_saved(name: str, tmp_path) -> None:
    for names in ((name, "other"), (name, "other", "third")):
        result = sample.similarities(
            len(names), names=names, measures=(replace(sample.ONTO, title=name),)
        )
        draw(result).savefig(tmp_path / "figure.svg")
        assert "<svg" in (tmp_path / "figure.svg").read_text()
