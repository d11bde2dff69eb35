"""Errors of ours are one line in IPython, and their traceback is there on demand."""

from __future__ import annotations

import pickle
import sys
import traceback
from types import SimpleNamespace

import pytest

from upto.core import InputError, MissingExtraError
from upto.core.errors import ArgumentError


@pytest.fixture
def shell(monkeypatch):
    def full(kind, error, frames):
        return ["the whole traceback", *traceback.format_exception(kind, error, frames)]

    found = SimpleNamespace(InteractiveTB=SimpleNamespace(structured_traceback=full))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: found))


def raised(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as caught:
        return caught


ERRORS = [
    (InputError("two\nlines"), "InputError: two lines"),
    (ArgumentError("batch='x' is unknown.", batch="x"), "ArgumentError: batch='x' is unknown."),
    (
        MissingExtraError("a figure", package="matplotlib", extra="plot"),
        "MissingExtraError: a figure needs the package matplotlib, which is not installed: "
        "run `pip install 'upto[plot]'`.",
    ),
]


@pytest.mark.parametrize(("error", "line"), ERRORS, ids=lambda value: type(value).__name__)
def test_ipython_shows_one_line_and_the_traceback_when_asked_again(error, line, shell):
    caught = raised(error)
    assert caught._render_traceback_() == [line]
    for _ in range(2):
        again = caught._render_traceback_()
        assert again[0] == "the whole traceback"
        assert "raise error" in "".join(again)


def test_notes_are_shown_below(shell):
    caught = raised(InputError("stopped"))
    caught.add_note("What was done is in part.npz.")
    assert caught._render_traceback_() == ["InputError: stopped", "What was done is in part.npz."]


def test_python_shows_its_own_traceback():
    lines = traceback.format_exception(raised(InputError("stopped")))
    assert lines[0] == "Traceback (most recent call last):\n"
    assert lines[-1] == "upto.core.errors.InputError: stopped\n"


def test_an_error_that_was_shown_can_be_sent_to_another_process(shell):
    caught = raised(InputError("stopped"))
    caught._render_traceback_()
    assert str(pickle.loads(pickle.dumps(caught))) == "stopped"
