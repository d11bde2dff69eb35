"""Results survive JSON, refuse what is not theirs, and render."""

from __future__ import annotations

import json

import pytest
from browser import sample_results as sample

from upto.core import Finding, Group, InputError, library_versions, result_from_json
from upto.questions.compare.result import CompareResult

KINDS = {"compare": CompareResult}
RESULTS = {
    "comparison": sample.comparison(),
    "nothing held out": sample.comparison(held_out=False, up_to=None, findings=()),
    "hostile names": sample.comparison(first="<b>|\n\"'&", second="\u2028\x00 日本"),
    "matrix": sample.matrix(),
}
each_result = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)


@each_result
def test_json_gives_the_same_result_back(result):
    text = result.to_json()
    again = type(result).from_json(text)
    assert again == result
    assert again.to_json() == text
    assert type(result).from_json(text.encode()) == result


@each_result
def test_json_is_standard_and_says_its_kind_and_schema(result):
    record = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert record["kind"] == result.kind
    assert record["schema"] == result.schema
    assert list(record)[:2] == ["kind", "schema"]


@each_result
def test_any_kind_is_read_by_what_the_text_says(result):
    assert result_from_json(result.to_json(), KINDS) == result


def test_groups_and_estimates_come_back_as_themselves():
    again = CompareResult.from_json(sample.comparison().to_json())
    assert again.up_to is Group.RIGID
    assert again.rigid.up_to is Group.RIGID
    assert f"{again.rigid.error:.3f}" == "0.031 [0.029, 0.033]"
    assert isinstance(again.fits, tuple)


def test_another_kind_is_refused():
    text = json.dumps(json.loads(sample.matrix().to_json()) | {"kind": "similarity"})
    with pytest.raises(
        InputError,
        match=r"kind 'similarity', schema 2, not of kind 'compare', schema 2: "
        r"recompute it with this version of upto",
    ):
        CompareResult.from_json(text)


@pytest.mark.parametrize("schema", [0, 1, "2", None, []])
def test_another_schema_is_refused(schema):
    record = json.loads(sample.comparison().to_json()) | {"schema": schema}
    with pytest.raises(InputError, match="recompute it with this version of upto"):
        CompareResult.from_json(json.dumps(record))


NOT_RESULTS = {
    "no text": "",
    "not JSON": "{kind: comparison",
    "a number": "3",
    "a list": "[1, 2]",
    "a list of words": '["kind", "schema"]',
    "a string": '"comparison"',
    "null": "null",
    "an empty object": "{}",
    "no schema": '{"schema": 1}',
    "not UTF-8": b"\xff\xfe{}",
    "a lone surrogate": "\ud800",
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", NOT_RESULTS.values(), ids=NOT_RESULTS)
def test_text_that_is_no_result_is_refused(text):
    with pytest.raises(InputError, match="not a result of upto: kind and schema are missing"):
        CompareResult.from_json(text)
    with pytest.raises(InputError, match=r"not a result of upto: expected one of compare\."):
        result_from_json(text, KINDS)


@pytest.mark.parametrize("kind", ["factors", "", None, 1, [], {}])
def test_a_kind_nobody_knows_is_refused(kind):
    with pytest.raises(InputError, match="expected one of compare"):
        result_from_json(json.dumps({"kind": kind, "schema": 1}), KINDS)


DAMAGE = {
    "a missing field": (lambda r: r.pop("verdict"), "missing required field `verdict`"),
    "a number as text": (lambda r: r.update(n_samples="many"), "Expected `int`, got `str`"),
    "an unknown group": (lambda r: r.update(up_to="conformal"), "'conformal'"),
    "an unknown agreement": (lambda r: r.update(agreement="superb"), "'superb'"),
    "a missing number": (lambda r: r["defect"].update(value=None), "got `null`"),
    "a field of a list": (lambda r: r.update(fits={}), "Expected `array`, got `object`"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_result_is_refused_with_the_place(damage, message):
    record = json.loads(sample.comparison().to_json())
    damage(record)
    with pytest.raises(InputError, match="this compare result is damaged") as caught:
        CompareResult.from_json(json.dumps(record))
    assert message in str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_off_file_is_refused(share):
    text = sample.comparison().to_json()
    with pytest.raises(InputError, match="not a result of upto"):
        CompareResult.from_json(text[: int(len(text) * share)])


def test_a_number_that_is_not_one_cannot_be_read_back():
    text = sample.comparison().to_json().replace('"n_rows": 1000', '"n_rows": NaN')
    with pytest.raises(InputError, match="not a result of upto"):
        CompareResult.from_json(text)


def test_rows_of_a_comparison_are_found_by_name():
    result = sample.comparison()
    names = [fit.name for fit in result.fits]
    assert names == [*(group for group in Group if group.is_affine), "ica"]
    for name in names:
        assert getattr(result, name.replace("-", "_")) is result.fit(name)
    message = r"^this comparison has no row 'conformal': choose one of identity, signed"
    for kind in (KeyError, InputError):
        with pytest.raises(kind, match=message):
            result.fit("conformal")


def test_matrices_are_found_by_name():
    result = sample.matrix()
    assert result.pairs.matrix("ica").unmixed
    assert result.pairs.matrix("rigid").up_to is Group.RIGID
    for kind in (KeyError, InputError):
        with pytest.raises(kind, match=r"no matrix 'x': choose one of identity"):
            result.pairs.matrix("x")


def test_the_error_of_a_row_is_the_held_out_one_where_there_is_one():
    assert sample.comparison().rigid.error.value == 0.0312
    assert sample.comparison(held_out=False).rigid.error.value == 0.0289


@each_result
def test_every_rendering_carries_the_verdict_and_every_table(result):
    page, text = result._repr_html_(), str(result)
    assert result.verdict.split(":")[0] in " ".join(text.split())
    assert page.count("<table>") == len(result.tables())
    assert "Traceback" not in text
    assert "<b>|" not in page


def test_the_chosen_group_is_marked_once():
    marked = [row[0] for row in sample.comparison().tables()[0].rows if "←" in row[0]]
    assert marked == ["rigid ←"]


def test_a_finding_of_a_later_version_is_shown_with_its_code():
    result = sample.comparison(findings=(Finding(code="UP999", message="new"),))
    assert "<p>UP999: new</p>" in result._repr_html_()


def test_versions_name_what_decides_the_numbers():
    versions = library_versions()
    assert list(versions) == ["python", "upto", "numpy", "scipy", "scikit-learn"]
    assert all(version[0].isdigit() for version in versions.values())
