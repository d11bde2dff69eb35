"""Every name of the API has an example that runs, and leads to related names."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import pkgutil
import re
from pydoc import locate

import pytest
from doc_tools import api_names, differences

import upto

API = api_names()
CALLED = [
    each.name
    for each in API
    if not each.is_record and callable(locate(each.name)) and not each.shares_a_page
]
RECORDS = [each.name for each in API if each.is_record and not each.shares_a_page]
"""Those on the page of what returns them need no link to it."""

SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
RELATED = re.compile(r"^(upto[\w.]*)(?: : .+)?$", re.MULTILINE)


def section(docstring: str, title: str) -> str:
    """Return the text beneath a heading; nothing where there is no such heading."""
    parts = SECTION.split(docstring)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(title, "").strip()


def complaints(thing: object) -> list[str]:
    """Say what is wrong with the names to which a docstring leads."""
    text = section(inspect.getdoc(thing) or "", "See Also")
    names = RELATED.findall(text)
    unread = [line for line in text.splitlines() if not line.startswith((" ", *names))]
    return [
        *([] if names else ["leads nowhere: add a section See Also"]),
        *(f"{line!r} is not `upto.NAME : what it is`" for line in unread),
        *(f"leads to {name}, which does not exist" for name in names if locate(name) is None),
    ]


def test_the_api_was_read():
    assert len(CALLED) > 140
    assert len(RECORDS) > 15


@pytest.mark.parametrize("name", [*CALLED, *RECORDS])
def test_a_name_leads_to_related_names(name):
    assert complaints(locate(name)) == []


@pytest.mark.parametrize("name", CALLED)
def test_what_is_called_has_an_example(name):
    assert ">>> " in section(inspect.getdoc(locate(name)) or "", "Examples")


def test_a_link_to_nothing_is_noticed():
    def lonely():
        """Do nothing."""

    def misled():
        """Do nothing.

        See Also
        --------
        upto.compare : This one exists.
        upto.no_such_name
        compare
        """

    assert "leads nowhere" in complaints(lonely)[0]
    assert len(complaints(misled)) == 2


class TolerantChecker(doctest.OutputChecker):
    """Take what a docstring shows for what is printed if only spaces and last digits differ."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return differences(want, got) == []


def examples() -> list[doctest.DocTest]:
    """Collect the examples of all docstrings.

    Each knows the name it explains and nothing else: a reader who pastes it needs no more.
    """
    found: list[doctest.DocTest] = []
    finder = doctest.DocTestFinder(exclude_empty=True)
    for info in pkgutil.walk_packages(upto.__path__, "upto."):
        if info.name.startswith(("upto.cli", "upto.__main__")):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            continue
        for example in finder.find(module):
            short = example.name.removeprefix(f"{info.name}.").partition(".")[0]
            example.globs = {short: getattr(module, short)} if hasattr(module, short) else {}
            found += [example] if example.examples else []
    return found


LONG = (
    "align",
    "AlignResult.aligner",
    "factors",
    "evaluate_mixing",
    "affine_l2_distance",
)
"""Names whose examples take more than half a second."""


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            each,
            id=each.name,
            marks=pytest.mark.slow if each.name.endswith(tuple(f".{one}" for one in LONG)) else (),
        )
        for each in examples()
    ],
)
def test_an_example_prints_what_it_says(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = io.StringIO()
    failed, _ = doctest.DocTestRunner(TolerantChecker(), verbose=False).run(
        example, out=report.write
    )
    assert failed == 0, report.getvalue()
