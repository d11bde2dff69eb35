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

API = [each for each in api_names() if callable(locate(each.name))]
CALLED = [each.name for each in API if not each.is_record]
ALONE = [each.name for each in API if not each.shares_a_page]
"""Records beneath what returns them need no link to it."""

SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
RELATED = re.compile(r"^((?:[A-Za-z_][\w.]*(?:, )?)+) : \S.*$")


def section(thing: object, title: str) -> str:
    """Return the text beneath a heading of a docstring; nothing if it has no such heading."""
    parts = SECTION.split(inspect.getdoc(thing) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(title, "").strip()


def complaints(thing: object, name: str) -> list[str]:
    """Say what is wrong with the names to which a docstring leads."""
    text = section(thing, "See Also")
    if not text:
        return ["leads nowhere: add a section See Also"]
    found = []
    for line in text.splitlines():
        match = RELATED.fullmatch(line)
        if match is not None:
            for other in match[1].split(", "):
                home = "" if other.startswith("upto") else f"{name.rpartition('.')[0]}."
                if locate(home + other) is None:
                    found.append(f"leads to {other}, which does not exist")
                elif home + other == name:
                    found.append("leads to itself")
        elif not line.startswith(" "):
            found.append(f"{line!r} is not `NAME : what it is`")
    return found


def test_the_api_was_read():
    assert len(CALLED) > 120
    assert len(ALONE) > 150


@pytest.mark.parametrize("name", ALONE)
def test_a_name_leads_to_related_names(name):
    assert complaints(locate(name), name) == []


@pytest.mark.parametrize("name", CALLED)
def test_what_is_called_has_an_example(name):
    example = section(locate(name), "Examples")
    assert ">>> " in example
    assert name.rpartition(".")[2] in example


def test_a_link_to_nothing_is_noticed():
    def lonely():
        """Do nothing."""

    def misled():
        """Do nothing.

        See Also
        --------
        upto.compare, Embeddings : These exist.
        upto.no_such_name : This does not.
        misled : This is no other.
        compare
        """

    assert "leads nowhere" in complaints(lonely, "upto.lonely")[0]
    assert len(complaints(misled, "upto.misled")) == 3


class TolerantChecker(doctest.OutputChecker):
    """Take what a docstring shows for what is printed if only spaces and last digits differ."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return differences(want, got) == []


def examples() -> list[doctest.DocTest]:
    """Collect the examples of all docstrings.

    Those of the API are run as a reader would paste them, with nothing imported.
    """
    parser, found = doctest.DocTestParser(), {}
    finder = doctest.DocTestFinder(exclude_empty=True)
    listed = {inspect.unwrap(locate(each.name)): each.name for each in API}
    for thing, name in listed.items():
        found[name] = parser.get_doctest(inspect.getdoc(thing) or "", {}, name, None, None)
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
            short = example.name.removeprefix(f"{info.name}.")
            thing = getattr(module, short, None)
            if not callable(thing) or inspect.unwrap(thing) not in listed:
                found[example.name] = example
    return [example for example in found.values() if example.examples]


LONG = (
    "upto.align",
    "upto.questions.align.result.AlignResult.aligner",
    "upto.measures.density_matching.affine_l2_distance",
    "upto.testing.embeddings_strategy",
    "upto.TorchEngine",
    "upto.record_activations",
    "upto.ica_from_anndata",
    "upto.factors",
    "upto.NetworkAligner",
    "upto.DaskEngine",
    "upto.write_to_anndata",
    "upto.load_model",
    "upto_studies.run_study",
)
"""Names whose examples take more than a second."""


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(each, id=each.name, marks=pytest.mark.slow if each.name in LONG else ())
        for each in examples()
    ],
)
def test_an_example_prints_what_it_says(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = io.StringIO()
    runner = doctest.DocTestRunner(TolerantChecker(), verbose=False)
    failed, _ = runner.run(example, out=report.write)
    if "MissingExtraError" in report.getvalue():
        pytest.skip(report.getvalue().strip().splitlines()[-1])
    assert failed == 0, report.getvalue()
