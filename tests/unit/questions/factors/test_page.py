"""The view and the figure of latents and factors."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from browser import sample_factors as sample
from browser.sample_factors import GIVEN, ICA

from upto.core import Estimate, Group
from upto.questions.factors.figure import shown_forms
from upto.questions.factors.latent_map import latent_maps, maps_data
from upto.questions.factors.page import (
    factor_table,
    factors_badge,
    factors_body,
    factors_facts,
    factors_tables,
    factors_verdict,
)
from upto.questions.factors.result import FactorsResult
from upto.questions.factors.score_chart import score_ends, score_label, score_lines, truth_ladder
from upto.report import Report, draw
from upto.report.summary import summarise

CIRCLE = re.compile(r'<circle class="([a-z-]+)" cx="([0-9.]+)%"')
BAND = re.compile(r'<rect class="chance-area" x="([0-9.]+)%" y="7" width="([0-9.]+)%"')
FOUR = (GIVEN, ICA, "ICA, literal", "ICA, active")


def many(count: int) -> tuple[str, ...]:
    return tuple(f"factor {number}" for number in range(count))


def test_matched_latents_lie_on_the_diagonal_with_the_shares_of_their_factors() -> None:
    result = sample.factors()
    for form, drawn in zip(result.forms, latent_maps(result), strict=True):
        assert drawn.factors == sample.NAMES
        assert [row.latent for row in drawn.rows] == [1, 2, 3, 4, 5, 6, 0, 7, 8, 9, 10, 11]
        for place, row in enumerate(drawn.rows):
            marked = [column for column, cell in enumerate(row.cells) if cell.matched]
            assert marked == ([place] if place < 6 else [])
            for column, cell in enumerate(row.cells):
                share = form.shares[row.latent][column]
                assert share is not None
                assert cell.text == (f"{share:.2f}" if share else "0")
                assert cell.level == min(int(10 * share), 9)


def test_latents_that_are_not_active_say_so() -> None:
    drawn = latent_maps(sample.factors())[1]
    states = {row.latent: row.state for row in drawn.rows if row.state != "active"}
    assert states == {9: "little spread", 10: "little spread", 11: "dead"}
    assert drawn.any_quiet
    assert drawn.rows[-1].title == "latent 11, dead, spread 0"
    page = Report([sample.factors()]).html()
    assert page.count('<tr class="quiet-row">') == 6
    assert page.count("<small>little spread</small>") == 4


def test_a_factor_with_nothing_to_tell_has_cells_of_no_colour() -> None:
    drawn = latent_maps(sample.factors(constant=(2,)))[0]
    assert {(row.cells[2].text, row.cells[2].level) for row in drawn.rows} == {("–", None)}
    table = factor_table(sample.factors(constant=(2,)))
    assert [cell.text for cell in table.rows[2][2:]] == ["–"] * 4


def test_the_script_gets_the_rows_of_the_map_it_answers_for() -> None:
    result = sample.factors(constant=(2,))
    for form, drawn, data in zip(result.forms, latent_maps(result), maps_data(result), strict=True):
        assert data["form"] == form.name
        assert data["rows"] == [row.title for row in drawn.rows]
        assert data["share"] == [list(form.shares[row.latent]) for row in drawn.rows]


@pytest.mark.parametrize(
    ("n_factors", "n_latents", "size", "tall", "beside"),
    [
        (1, 2, "level", False, True),
        (4, 17, "level flat", False, True),
        (7, 16, "upright", False, True),
        (8, 29, "upright flat", True, False),
        (40, 128, "upright small", True, False),
    ],
)
def test_maps_are_set_by_their_size(n_factors, n_latents, size, tall, beside) -> None:
    result = sample.factors(many(n_factors), n_latents)
    view = factors_body(result)
    assert [(each.size, each.tall) for each in view.maps] == [(size, tall)] * 2
    assert view.beside == beside
    assert [len(each.rows) for each in view.maps] == [n_latents] * 2
    assert [each.left_out for each in view.maps] == ["", ""]


def test_small_cells_are_written_in_per_cent() -> None:
    drawn = latent_maps(sample.factors(many(17), 20))[1]
    assert drawn.per_cent
    assert drawn.rows[0].cells[0].text == "95"
    assert [cell.text for cell in drawn.rows[0].cells[1:4]] == ["6", "3", "2"]


def test_what_a_map_has_no_room_for_is_counted() -> None:
    result = sample.factors(many(40), 128, forms=FOUR)
    drawn = latent_maps(result)[2]
    assert len(drawn.rows) == 12_000 // (4 * 40)
    assert drawn.left_out == "In the JSON only: 53 more latents."
    assert [each.matched for row in drawn.rows for each in row.cells].count(True) == 40
    wide = latent_maps(sample.factors(many(121), 3))[0]
    assert wide.left_out == "In the JSON only: 1 more factor."
    assert {len(row.cells) for row in wide.rows} == {120}
    assert len(Report([result]).html().encode()) < 1_000_000


def test_the_form_whose_details_count_is_shown_first() -> None:
    result = sample.factors(forms=(GIVEN, "ICA, literal", ICA))
    assert factors_body(result).chosen == 2
    assert [form.name for form in shown_forms(result)] == [GIVEN, ICA]
    assert factors_body(sample.factors(forms=(GIVEN,))).chosen == 0
    lone = sample.factors(forms=(GIVEN, "ICA, literal"))
    assert [form.name for form in shown_forms(lone)] == [GIVEN, "ICA, literal"]


def test_scores_stand_where_their_range_puts_them_and_better_is_to_the_right() -> None:
    lines = {line.name: line for line in score_lines(sample.factors())}
    (given, after) = lines["infomec/modularity"].rows
    # An axis keeps 2 % free at both ends.
    for row, value in ((given, 0.39), (after, 0.93)):
        found = CIRCLE.search(row.drawing or "")
        assert found is not None
        assert (found[1], float(found[2])) == ("held-out", pytest.approx(2 + 96 * value))
        band = BAND.search(row.drawing or "")
        assert band is not None
        assert float(band[1]) == pytest.approx(2 + 96 * 0.05)
        assert float(band[2]) == pytest.approx(96 * 0.03)
    total = lines["gaussian-tc"]
    assert total.ends == ("4.6", "0")
    assert [CIRCLE.search(row.drawing or "")[2] for row in total.rows] == [  # type: ignore[index]
        f"{2 + 96 * (1 - value / 4.6):.2f}" for value in (3.21, 0.08)
    ]


def test_a_score_within_chance_is_hollow_and_calibrated_to_zero() -> None:
    result = sample.factors()
    (given, after) = {line.name: line for line in score_lines(result)}["mig@locatello"].rows
    assert "within-chance" in (given.drawing or "")
    assert "within-chance" not in (after.drawing or "")
    assert given.calibrated == "0.00"
    assert factors_body(result).any_within
    better = replace(result, scores=tuple(score for score in result.scores if score.form == ICA))
    assert not factors_body(better).any_within


def test_the_variant_of_a_score_is_named() -> None:
    labels = [line.label for line in score_lines(sample.factors())]
    assert labels[0] == "InfoM"
    assert 'title="InfoM: How far the best latent outdoes' in Report([sample.factors()]).html()
    assert labels[3] == "mutual information gap (locatello)"
    probe = replace(sample.factors().scores[0], name="linear-probe@held-out", title="held-out R²")
    assert score_label(probe) == "held-out R²"


def test_an_axis_goes_as_far_as_values_do() -> None:
    score = sample.factors().scores[0]
    assert score_ends([score]) == (0.0, 1.0)
    assert score_ends([replace(score, chance=-0.01)]) == (0.0, 1.0)
    assert score_ends([replace(score, value=Estimate(value=-2.0))]) == (-2.0, 1.0)
    assert score_ends([replace(score, limit=3.0)]) == (0.0, 3.0)
    assert score_ends([replace(score, better="lower", limit=3.0)]) == (3.0, 0.0)
    assert score_ends([replace(score, value=None, chance=None, limit=None)]) == (0.0, 1.0)


def test_a_score_without_a_value_says_why() -> None:
    result = sample.factors()
    first = replace(result.scores[0], value=None, says="there is one factor")
    result = replace(result, scores=(first, *result.scores[1:]))
    row = score_lines(result)[0].rows[0]
    assert (row.drawing, row.value) == (None, "–")
    assert "no value: <bdi>there is one factor</bdi>" in Report([result]).html()
    assert len(draw(result).subfigs[1].axes[0].get_yticks()) == len(sample.SCORES)


def test_scores_without_chance_are_drawn_as_they_are() -> None:
    result = sample.factors()
    bare = [
        replace(
            score, value=Estimate(value=0.5), chance=None, limit=None, calibrated=None, p_value=None
        )
        for score in result.scores
    ]
    row = score_lines(replace(result, scores=tuple(bare)))[0].rows[0]
    assert "chance" not in (row.drawing or "")
    assert 'class="held-out"' in (row.drawing or "")
    assert (row.interval, row.calibrated) == ("", "–")


def test_the_ladder_has_a_step_for_each_group_and_marks_the_one_that_identifies() -> None:
    ladder = truth_ladder(sample.factors())
    assert ladder is not None
    assert [step.group for step in ladder.steps] == [
        str(group) for group in Group if group.is_affine
    ]
    chosen = [(step.group, row.form) for step in ladder.steps for row in step.rows if row.is_chosen]
    assert chosen == [("scaled-permutation", ICA), ("affine", GIVEN)]
    assert [row.error for row in ladder.steps[0].rows] == ["0.412 ≈", "0.391 ≈"]
    assert ladder.steps[3].rows[1].worst == "0.086 to 0.107"
    first = ladder.steps[0].rows[0].linear
    # From zero to just above the largest number, which is the upper bound on ε.
    chance = re.search(r'<line class="chance" x1="([0-9.]+)%"', first)
    assert chance is not None
    assert float(chance[1]) == pytest.approx(2 + 96 * 0.318 / (1.02 * 2.6 * 0.412), abs=0.01)


def test_errors_in_sample_only_are_drawn_as_such() -> None:
    result = replace(sample.factors(), n_held_out=0)
    ladder = truth_ladder(result)
    assert ladder is not None
    drawing = ladder.steps[0].rows[0].linear
    assert CIRCLE.findall(drawing)[0][0] == "in-sample"
    assert "held out" not in drawing
    assert not ladder.any_held_out
    assert "held out, with interval" not in Report([result]).html()


def test_an_upper_bound_alone_is_written_as_one() -> None:
    result = sample.factors()
    (given, after) = result.structure
    fits = tuple(
        replace(fit, supremum=replace(fit.supremum, low=None))  # type: ignore[type-var]
        for fit in given.fits
    )
    ladder = truth_ladder(replace(result, structure=(replace(given, fits=fits), after)))
    assert ladder is not None
    assert ladder.steps[6].rows[0].worst == "≤ 0.086"
    assert ladder.steps[6].rows[0].linear.count("bracket-end") == 1
    bare = tuple(replace(fit, supremum=None, chance=None, p_value=None) for fit in given.fits)
    ladder = truth_ladder(replace(result, structure=(replace(given, fits=bare),)))
    assert ladder is not None
    assert not ladder.any_worst
    assert "chance not measured" in ladder.steps[0].rows[0].linear


def test_without_numbers_there_is_no_ladder_and_no_badge() -> None:
    result = sample.factors(truth=False)
    assert truth_ladder(result) is None
    assert factors_badge(result) is None
    assert "Error to the truth" not in Report([result]).html()
    assert "error to the truth, ICA" not in {label for label, _, _ in factors_facts(result)}


def test_a_form_that_was_not_measured_is_left_out_of_the_ladder() -> None:
    result = sample.factors()
    result = replace(result, structure=result.structure[:1])
    ladder = truth_ladder(result)
    assert ladder is not None
    assert [[row.form for row in step.rows] for step in ladder.steps] == [[GIVEN]] * len(
        [group for group in Group if group.is_affine]
    )
    assert factors_badge(result) is None
    assert "error to the truth, ICA" not in {label for label, _, _ in factors_facts(result)}


@pytest.mark.parametrize(
    ("agreement", "group", "badge"),
    [
        ("same", Group.SIGNED_SIMILARITY, ("factors identified", "good")),
        ("close", Group.RIGID, ("factors identified, but mixed", "fair")),
        ("partial", Group.AFFINE, ("factors partly identified", "fair")),
        ("undecided", None, ("undecided", "fair")),
        ("chance", Group.AFFINE, ("no better than chance", "poor")),
    ],
)
def test_the_badge_is_of_the_form_that_is_shown_first(agreement, group, badge) -> None:
    result = sample.factors()
    given, after = result.structure
    after = replace(after, agreement=agreement, up_to=group)
    assert factors_badge(replace(result, structure=(given, after))) == badge


def test_facts_have_scores_and_errors_before_and_after() -> None:
    facts = {label: (value, detail) for label, value, detail in factors_facts(sample.factors())}
    assert facts == {
        "InfoM": ("0.93", "after ICA; 0.39 without ICA; chance 0.05"),
        "error to the truth, without ICA": ("0.033", "up to affine; chance 0.318"),
        "error to the truth, ICA": ("0.041", "up to scaled-permutation; chance 0.318"),
        "active latents": ("9 of 12", "1 never changes"),
        "factors": ("6", "4 ordered values, 1 continuous, 1 categories"),
        "rows": ("8,000", "of 10,000; 2,250 held out"),
    }
    lone = {label: detail for label, _, detail in factors_facts(sample.factors(forms=(GIVEN,)))}
    assert lone["InfoM"] == "chance 0.05"


def test_the_headline_leaves_numbers_to_the_facts() -> None:
    verdict = (
        "As given, the latents identify the 5 factors up to an affine map (held-out error 0.033 of "
        "the diameter, chance 0.318); after ICA, they identify them up to a rigid motion (held-out "
        "error 0.041 of the diameter, chance 0.3). InfoM: 0.39 without ICA (chance 0.05)."
    )
    assert factors_verdict(sample.factors(verdict=verdict)) == (
        "As given, the latents identify the 5 factors up to an affine map; after ICA, they "
        "identify them up to a rigid motion",
        "InfoM: 0.39 without ICA (chance 0.05).",
    )
    plain = "Nothing can be said of ae: no factor can be scored."
    assert factors_verdict(sample.factors(verdict=plain)) == (plain.removesuffix("."), "")


def test_each_factor_has_its_latent_in_every_form() -> None:
    table = factor_table(sample.factors())
    assert table.heads[2:4] == ("share, without ICA", "share, ICA")
    rows = {row[0].text: row[1:] for row in table.rows}
    kind, given, after, correlation, r2 = rows["wall hue"]
    assert kind.text == "9 values, ordered"
    assert (given.text, given.detail) == ("0.55", "latent 2")
    assert (after.text, after.detail) == ("0.88", "latent 2")
    assert (correlation.text, r2.text) == ("0.890", "0.960")
    kind, *_, correlation, r2 = rows["shape"]
    assert kind.text == "12 values, categories, 90% labelled"
    assert (correlation.text, r2.text) == ("–", "–")
    assert rows["scale"][0].text == "continuous"


def test_a_factor_that_no_latent_tells_of_has_none() -> None:
    result = sample.factors(forms=(GIVEN,))
    (form,) = result.forms
    silent = replace(form.matches[0], latent=None, share=0.0, assigned=None, next_latent=None)
    form = replace(form, matches=(silent, *form.matches[1:]))
    table = factor_table(replace(result, forms=(form,)))
    assert (table.rows[0][2].text, table.rows[0][2].detail) == ("0", "no latent")


def test_long_tables_are_cut_and_the_page_says_so() -> None:
    tables, omitted = factors_tables(sample.factors(("x",), 301))
    assert max(len(table.rows) for table in tables) == 300
    assert omitted.startswith("Tables show the first 300 rows")
    assert factors_tables(sample.factors())[1] == ""


def test_a_search_that_did_not_converge_is_named_on_page_and_figure() -> None:
    result = sample.factors(converged=False)
    assert "Not converged after 34 steps." in latent_maps(result)[1].says
    titles = [axes.get_title(loc="left") for part in draw(result).subfigs for axes in part.axes]
    assert "ICA, not converged" in titles


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "</script><img src=x>"])
def test_words_of_users_are_only_words(hostile: str) -> None:
    result = sample.factors((hostile, "b"), 3, name=hostile, verdict=hostile)
    result = sample.renamed(result, ICA, hostile * 2, hostile)
    result = replace(
        result,
        scores=tuple(replace(score, title=hostile, says=hostile) for score in result.scores),
        structure=tuple(replace(each, verdict=hostile) for each in result.structure),
    )
    page = Report([result]).html()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("</script>") == 2
    data = re.search(r'<script type="application/json" class="data">(.*?)</script>', page, re.S)
    assert data is not None
    assert json.loads(data[1])["latents"][0]["columns"] == [hostile, "b"]


def test_a_result_that_was_written_makes_the_same_page(upto_report) -> None:
    result = sample.factors()
    assert upto_report(result) == Report([FactorsResult.from_json(result.to_json())]).html()


@pytest.fixture
def upto_report(tmp_path):
    from click.testing import CliRunner

    from upto.cli.main import main

    def make(result: FactorsResult) -> str:
        (tmp_path / "result.json").write_text(result.to_json(), encoding="utf-8")
        arguments = ["report", str(tmp_path / "result.json"), "-o", str(tmp_path / "page.html")]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return make


def test_the_view_has_the_sections_of_factors_only() -> None:
    view = summarise(sample.factors())
    assert view.body is not None
    assert view.template == "factors/page.html"
    assert view.names == ("ae-seed-0",)


def test_the_figure_has_both_maps_scores_and_errors() -> None:
    result = sample.factors()
    upper, lower = draw(result).subfigs
    maps = [axes for axes in upper.axes if axes.images]
    assert [axes.get_title(loc="left") for axes in maps] == [GIVEN, ICA]
    for axes, form in zip(maps, result.forms, strict=True):
        assert axes.images[0].get_clim() == (0, 1)
        shown = axes.images[0].get_array().tolist()
        assert shown == [list(form.shares[latent]) for latent in form.order]
        places = [patch.get_center().tolist() for patch in axes.patches]
        assert places == [pytest.approx([place, place]) for place in range(6)]
        latents = [label.get_text() for label in axes.get_yticklabels()]
        assert latents[-2:] == ["little spread 10", "dead 11"]
    scores, errors = lower.axes
    assert [label.get_text() for label in scores.get_yticklabels()][:3] == [
        "InfoM",
        "InfoC",
        "InfoE",
    ]
    assert [label.get_text() for label in errors.get_yticklabels()] == [
        str(g) for g in Group if g.is_affine
    ]
    drawn = {float(line.get_xdata()[0]) for line in errors.lines if len(line.get_xdata()) == 1}
    assert {0.033, 0.041, sample.CHANCE} <= drawn


@pytest.mark.parametrize(
    "result",
    [
        sample.factors(("$\\frac$",), 2, name="$$"),
        pytest.param(sample.factors(truth=False, forms=(GIVEN,)), marks=pytest.mark.slow),
        pytest.param(replace(sample.factors(truth=False), scores=()), marks=pytest.mark.slow),
        pytest.param(sample.factors(many(40), 130, constant=(3,)), marks=pytest.mark.slow),
    ],
    ids=["mathematics", "one form", "maps only", "wide"],
)
def test_any_figure_can_be_saved(result: FactorsResult) -> None:
    file = io.BytesIO()
    draw(result).savefig(file, format="svg")
    assert file.getvalue()
