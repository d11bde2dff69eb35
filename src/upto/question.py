"""Registry of questions, through which commands, pages, figures and findings are found.

It is not part of `core`, which imports NumPy: `upto --help` lists the questions and must be fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of upto and its parts, each as ``module:attribute``.

    Attributes
    ----------
    name
        Name of the question and of its command.
    asks
        One-line help of its command.
    function
        The function that answers it.
    result
        The class of its results, whose `kind` is the name of the question.
    findings
        The rules of the findings that only this question raises.
    command
        Its command, if any.
    page
        Function that turns a result into the `Section` of a page; the template is `page.html` in
        the same folder. Without one, pages show the verdict, tables and panels.
    figure
        Function that draws a result, with panels below each other if `narrow`. Without one, its
        panels are drawn.
    papers
        Function that names the papers behind what a result used, as texts with authors and year.
    """

    name: str
    asks: str
    function: str
    result: str
    findings: str | None = None
    command: str | None = None
    page: str | None = None
    figure: str | None = None
    papers: str | None = None


def resolve(reference: str) -> Any:
    """Import a ``module:attribute``."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


@cache
def questions() -> tuple[Question, ...]:
    """Return all questions, in the order people need them."""
    found: tuple[Question, ...] = resolve("upto.questions:QUESTIONS")
    return found


def question_of_kind(kind: str) -> Question | None:
    """Return the question whose results have this kind, if any."""
    return next((each for each in questions() if each.name == kind), None)
