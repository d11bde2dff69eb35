"""Every question is one record whose parts are where it says."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import upto.questions
from upto.core import RULES, Result
from upto.question import question_of_kind, questions, resolve

QUESTIONS = [pytest.param(each, id=each.name) for each in questions()]


def test_every_folder_is_a_question_of_the_list():
    folder = Path(upto.questions.__file__).parent
    found = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert found == {each.name for each in questions()}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_part_is_where_the_record_says(question):
    parts = (question.function, question.command, question.page, question.figure)
    for part in parts:
        assert part is None or callable(resolve(part))
    assert getattr(upto, question.name) is resolve(question.function)
    assert resolve(question.command).name == question.name


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_result_is_named_after_its_question(question):
    result = resolve(question.result)
    assert issubclass(result, Result)
    assert result.kind == question.name
    assert result.__name__ == f"{question.name.capitalize()}Result"
    assert getattr(upto, result.__name__) is result
    assert question_of_kind(question.name) is question


@pytest.mark.parametrize("question", QUESTIONS)
def test_rules_of_a_question_are_in_the_catalogue(question):
    for rule in resolve(question.findings) if question.findings else ():
        assert RULES[rule.code] is rule


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_page_has_its_template_beside_it(question):
    if question.page is not None:
        module = import_module(question.page.partition(":")[0])
        assert (Path(module.__file__).parent / "page.html").is_file()


def test_results_of_no_question_are_told_apart():
    assert question_of_kind("nothing") is None


PUBLISHED = {"pair_options", "pair", "detail", "chance_level", "verdict", "charts", "result"}
"""Modules of `compare` that other questions may use."""


def test_other_questions_use_only_what_compare_publishes():
    folder = Path(upto.questions.__file__).parent
    used = {
        name
        for path in folder.glob("*/*.py")
        if path.parent.name != "compare"
        for name in re.findall(r"from upto\.questions\.compare\.(\w+) import", path.read_text())
    }
    assert used <= PUBLISHED
