"""What a question is made of; commands, pages, figures and findings are found through it.

It stands beside `core`, which brings NumPy: `upto --help` lists the questions and must not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of upto and where its parts are, each as ``module:attribute``.

    Attributes
    ----------
    name
        Name of the question and of its command.
    asks
        What it answers, in one line: the help of its command.
    function
        The function that answers it.
    result
        The class of its results; the kind that their JSON says is the question's name.
    findings
        The rules of the findings that only this question raises.
    command
        Its command, if it has one of its own.
    page
        Function from a result to the `Section` that a page shows; the template is `page.html` in
        the same folder. Results without one show their verdict, tables and panels.
    figure
        Function that draws a result. Results without one have their panels drawn.
    """

    name: str
    asks: str
    function: str
    result: str
    findings: str | None = None
    command: str | None = None
    page: str | None = None
    figure: str | None = None


def resolve(reference: str) -> Any:
    """Import what a ``module:attribute`` names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


@cache
def questions() -> tuple[Question, ...]:
    """Return every question, in the order people need them."""
    found: tuple[Question, ...] = resolve("upto.questions:QUESTIONS")
    return found


def question_of_kind(kind: str) -> Question | None:
    """Return the question whose results are of a kind."""
    return next((each for each in questions() if each.name == kind), None)
