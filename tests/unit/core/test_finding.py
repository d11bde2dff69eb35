"""The catalogue of findings."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import fields
from importlib import import_module

import pytest

from upto.core import RULES, Finding, Rule, finding, unique_findings
from upto.question import questions


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_says_everything(rule):
    for field in fields(Rule):
        assert getattr(rule, field.name).strip(), field.name
    assert re.fullmatch(r"UP\d{3}", rule.code)
    assert rule.severity in ("note", "warning")
    assert rule.title[0].islower() or rule.title.startswith(("ICA", "R²"))
    assert not rule.title.endswith(".")
    for sentence in (rule.meaning, rule.matters, rule.remedy):
        assert sentence[0].isupper()
        assert sentence.endswith(".")


def test_codes_are_unique_in_the_source():
    # The dictionary would hide a code that is used twice.
    homes = (each.findings for each in questions() if each.findings is not None)
    own = [import_module(home.partition(":")[0]) for home in homes]
    codes = [
        keyword.value.value
        for module in (finding, *own)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Rule"
        for keyword in node.keywords
        if keyword.arg == "code"
    ]
    assert sorted(codes) == sorted(RULES)
    assert len(codes) == len(set(codes))


def test_titles_are_unique():
    titles = [rule.title for rule in RULES.values()]
    assert len(set(titles)) == len(titles)


def test_a_finding_reads_as_code_title_and_message():
    found = Finding(code="UP003", message="3 of 64 components.")
    assert found.rule is RULES["UP003"]
    assert str(found) == "UP003 near-Gaussian components: 3 of 64 components."


def test_a_code_from_a_later_version_still_reads():
    assert str(Finding(code="UP999", message="something.")) == "UP999: something."


def test_findings_are_kept_once_and_sorted_by_code():
    later, first, second = (
        Finding(code="UP013", message="a"),
        Finding(code="UP002", message="b"),
        Finding(code="UP002", message="a"),
    )
    assert unique_findings([later, first, later, second, first]) == (first, second, later)


def test_a_notebook_unfolds_the_meaning_of_a_finding():
    shown = Finding(code="UP003", message="3 of 9 <components>.")._repr_html_()
    assert "UP003 near-Gaussian components: 3 of 9 &lt;components&gt;.</summary>" in shown
    assert RULES["UP003"].remedy in shown
    assert Finding(code="UP999", message="new")._repr_html_() == "<p>UP999: new</p>"
