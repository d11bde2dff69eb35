import dataclasses

import numpy as np
import pytest
from browser import sample_results as sample

from upto.core import Agreement, Column, Estimate, Finding, Group, Result, Table
from upto.questions.compare.facts import headline_fit
from upto.questions.compare.heat_maps import AGREEMENTS, freedom_level, heat_level
from upto.questions.compare.matrix import Pairs
from upto.questions.compare.result import CompareResult
from upto.report.summary import summarise
from upto.report.table_view import runs_table, table_view


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Novel(Result):
    kind = "novel"
    schema = 1
    verdict: str
    findings: tuple[Finding, ...] = ()
    provenance = sample.provenance()

    def tables(self) -> tuple[Table, ...]:
        return (Table(title="t", columns=(Column(name="a"),), rows=(("x",),)),)


def test_a_verdict_is_split_into_headline_and_lead() -> None:
    view = summarise(sample.comparison(verdict="The same: error 0.1: small."))
    assert (view.verdict, view.lead) == ("The same", "Error 0.1: small.")
    view = summarise(sample.comparison(verdict="Undecided."))
    assert (view.verdict, view.lead) == ("Undecided.", "")


def test_facts_name_the_group_its_error_and_chance() -> None:
    facts = {fact.label: fact for fact in summarise(sample.comparison()).facts}
    assert facts["up to"].value == "rigid"
    assert facts["up to"].detail == "a rigid motion"
    assert facts["mean error held out"].value == "0.0312"
    assert "0.0293 to 0.0334" in facts["mean error held out"].detail
    assert facts["chance"].value == "0.3012"
    assert facts["chance"].detail.startswith("9.65 times the error")
    assert facts["rows"].detail == "300 held out"


def test_without_held_out_rows_the_facts_say_so() -> None:
    view = summarise(sample.comparison(held_out=False, up_to=None))
    facts = {fact.label: fact for fact in view.facts}
    assert facts["up to"].value == "none"
    assert facts["up to"].detail == "smallest error: affine"
    assert facts["mean error in sample"].detail == "no interval"
    assert facts["chance"].detail == "not measured"
    assert view.body.spreads == ()


def test_the_headline_is_the_verdicts_group_and_never_the_ica_row() -> None:
    result = sample.comparison(up_to=Group.SIGNED_PERMUTATION)
    fit = headline_fit(result)
    assert fit is result.signed_permutation
    assert fit is not result.ica


def test_only_the_verdicts_row_is_marked() -> None:
    view = summarise(sample.comparison())
    table = view.tables[0]
    assert table.chosen is not None
    assert table.rows[table.chosen][0].text == "rigid ←"
    assert summarise(sample.comparison(up_to=None)).tables[0].chosen is None


def test_the_bracket_runs_from_the_larger_bound_to_what_was_reached() -> None:
    result = sample.comparison()
    bracket = summarise(result).body.worst.own
    assert bracket is not None
    assert (bracket.low, bracket.high) == (result.rigid.supremum.low, result.rigid.supremum.high)
    bare = tuple(dataclasses.replace(fit, supremum=None) for fit in result.fits)
    assert summarise(dataclasses.replace(result, fits=bare)).body.worst is None
    assert summarise(dataclasses.replace(result, fits=())).body.worst is None


def test_an_identical_pair_has_no_ratio_to_chance() -> None:
    row = (Group.IDENTITY, False, 0.0, 0.0, 0.001, 1.0)
    result = dataclasses.replace(
        sample.comparison(up_to=Group.IDENTITY), fits=(sample.fit(row),), agreement="identical"
    )
    facts = {fact.label: fact for fact in summarise(result).facts}
    assert facts["chance"].detail == "p\u00a0=\u00a00.001"
    assert facts["up to"].detail == "nothing"


def test_an_unknown_code_keeps_its_message() -> None:
    view = summarise(sample.comparison(findings=(Finding(code="UP999", message="new"),)))
    assert view.findings[0].rule is None
    assert view.findings[0].messages == ("new",)


def test_findings_of_one_code_share_one_explanation() -> None:
    codes = [
        Finding(code=code, message=f"m{i}") for i, code in enumerate(("UP003", "UP003", "UP013"))
    ]
    view = summarise(sample.comparison(findings=tuple(codes)))
    assert [(item.code, item.messages) for item in view.findings] == [
        ("UP003", ("m0", "m1")),
        ("UP013", ("m2",)),
    ]


def test_a_column_with_words_is_not_set_as_numbers() -> None:
    view = summarise(sample.comparison())
    assert view.tables[0].wordy == (True, *([False] * 7))
    assert view.tables[1].wordy == (True, True, *([False] * 7))


def test_a_new_kind_of_result_shows_its_tables() -> None:
    view = summarise(Novel(verdict="ok"), 3)
    assert view.anchor == "result-3"
    assert view.tables[0].rows[0][0].text == "x"


def test_every_agreement_has_words() -> None:
    assert set(AGREEMENTS) == set(Agreement.__args__)


def test_a_matrix_opens_on_its_most_common_group() -> None:
    view = summarise(sample.matrix())
    assert view.body.heat is not None
    assert view.body.heat.groups[view.body.heat.chosen] == "rigid"
    facts = {fact.label: fact for fact in view.facts}
    assert facts["most often up to"].detail == "12 of 20 pairs"
    assert view.body.heat.labels == tuple(f"seed-{i}" for i in range(1, 6))
    assert len(view.tables) == 1 + len(sample.ROWS)


def test_a_large_matrix_is_dense_and_without_tables() -> None:
    view = summarise(sample.matrix(n_runs=25))
    assert view.body.heat is not None
    assert view.body.heat.dense
    assert view.tables == ()
    assert "25" not in view.omitted
    assert "24 runs" in view.omitted


def test_a_matrix_without_verdicts_or_errors_is_shown() -> None:
    result = sample.matrix(n_runs=3)
    empty = ((None,) * 3,) * 3
    bare = dataclasses.replace(
        result,
        pairs=Pairs(
            up_to=empty,
            agreement=empty,
            matrices=tuple(
                dataclasses.replace(m, error=empty, r2=empty, p_value=empty)
                for m in result.pairs.matrices
            ),
        ),
    )
    view = summarise(bare)
    facts = {fact.label: fact.value for fact in view.facts}
    assert facts["most often up to"] == "none"
    assert facts["median error · rigid"] == "–"


def test_colour_steps_cover_the_scale() -> None:
    assert [heat_level(value, 1.0) for value in (0.0, 0.0101, 0.25, 1.0)] == [0, 1, 5, 9]
    assert heat_level(None, 1.0) is None
    assert heat_level(0.0, 0.0) == 0
    levels = [freedom_level(group) for group in Group]
    assert levels[0] == 0
    assert levels[-1] == 9
    assert levels == sorted(set(levels))  # type: ignore[type-var]
    assert freedom_level(None) is None


def test_runs_show_a_bracket_where_the_diameter_is_not_exact() -> None:
    table = runs_table((sample.run("a"), sample.run("b", exact=False)))
    diameter = table.heads.index("diameter")
    assert [row[diameter].detail for row in table.rows] == ["", "[14.32, 14.95]"]
    assert "bounds" in table.caption
    assert "layer" not in table.heads
    assert "seed" in table.heads


@pytest.mark.parametrize(
    ("cell", "text", "detail", "sort"),
    [
        (None, "–", "", ""),
        (3, "3", "", "3.0"),
        (np.float64(0.25), "0.2500", "", "0.25"),
        (0.12346, "0.1235", "", "0.12346"),
        (Estimate(value=0.5), "0.5000", "", "0.5"),
        (Estimate(value=0.5, low=0.4, high=0.6), "0.5000", "[0.4000, 0.6000]", "0.5"),
        ("x", "x", "", None),
    ],
)
def test_cells_carry_text_detail_and_sort_key(
    cell: object, text: str, detail: str, sort: str | None
) -> None:
    table = Table(title="", columns=(Column(name="c"),), rows=((cell,),))  # type: ignore[arg-type]
    ((view,),) = table_view(table).rows
    assert (view.text, view.detail, view.sort) == (text, detail, sort)


def test_a_comparison_read_back_from_json_gives_the_same_view() -> None:
    result = sample.comparison()
    assert summarise(CompareResult.from_json(result.to_json())) == summarise(result)
