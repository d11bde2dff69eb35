"""References: valid BibTeX in ASCII, and a paper for every source that a catalogue names."""

from __future__ import annotations

import re
from importlib import metadata, resources
from pathlib import Path

import pytest

from upto.batch_metrics.mixing.catalogue import MIXING
from upto.core.references import bibtex, entries
from upto.disentanglement.catalogue import SCORES
from upto.measures.catalogue import MEASURES
from upto.questions.batches.conditions import CONDITIONS

NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "book": {"author", "title", "publisher", "year"},
    "phdthesis": {"author", "title", "school", "year"},
    "misc": {"author", "title", "year"},
    "software": {"author", "title", "version", "year"},
}
NO_PAPER = {"least squares", "rsatoolbox", "netrep"}
SOURCES = sorted(
    {
        part.strip()
        for catalogue in (MIXING, SCORES, MEASURES, CONDITIONS)
        for kind in catalogue.values()
        for part in kind.source.split(";")
        if part.strip() not in NO_PAPER | {""}
    }
)


def read_bibtex(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Read entries by counting braces; raise AssertionError for what BibTeX would refuse."""
    assert text.isascii()
    found: dict[str, tuple[str, dict[str, str]]] = {}
    rest = text.strip()
    while rest:
        start = re.match(r"@(\w+)\{(\w+),\n", rest)
        assert start, rest[:60]
        rest, fields = rest[start.end() :], {}
        while not rest.startswith("}"):
            name = re.match(r"\s*(\w+)\s*= \{", rest)
            assert name, rest[:60]
            rest, depth, end = rest[name.end() :], 1, 0
            while depth:
                depth += {"{": 1, "}": -1}.get(rest[end], 0) if rest[end - 1] != "\\" else 0
                end += 1
            assert name[1] not in fields
            fields[name[1]] = rest[: end - 1]
            rest = rest[end:].lstrip(",").lstrip("\n")
        assert start[2] not in found, start[2]
        found[start[2]] = (start[1], fields)
        rest = rest[1:].strip()
    return found


def bib() -> dict[str, tuple[str, dict[str, str]]]:
    return read_bibtex((resources.files("upto.core") / "references.bib").read_text("ascii"))


def test_every_entry_is_whole():
    assert len(bib()) == len(entries()) > 50
    for key, (kind, fields) in bib().items():
        assert set(fields) >= NEEDED[kind], key
        assert re.fullmatch(r"\d{4}", fields["year"]), key
        assert key.endswith(fields["year"]), key
        # A paper that is in no journal, book or proceedings is found by its number or institution.
        assert kind != "misc" or {"eprint", "note"} & set(fields), key
        assert not re.search(r"(?<!\\)[&%$#_]", "".join(fields.values())), key


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_of_a_catalogue_names_a_paper(source):
    assert len(read_bibtex(bibtex([source]))) > 2 or "Nelson et al. 2026" in source


def test_the_papers_of_the_docs_are_the_same():
    page = Path(__file__).parents[3] / "docs" / "references.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    titles = {re.sub(r"[{}\\]", "", fields["title"]).lower() for _, fields in bib().values()}
    listed = {title.lower().rstrip(".") for title in re.findall(r" \*([^*]+)\*", text)}
    assert len(listed) > 15
    assert listed <= titles


def test_upto_itself_comes_first_with_the_version_that_was_used():
    found = read_bibtex(bibtex(["Székely and Rizzo 2014; Bădoiu and Clarkson 2003"], "9.8.7"))
    assert list(found) == ["upto", "nelson2026", "szekely2014", "badoiu2003"]
    assert found["upto"][1]["version"] == "9.8.7"
    assert read_bibtex(bibtex())["upto"][1]["version"] == metadata.version("upto")


def test_unknown_sources_are_skipped_and_repeated_ones_are_named_once():
    found = read_bibtex(
        bibtex(["", "my own", "Vinod 1976", "Vinod 1976, again", "Nelson et al. 2026"])
    )
    assert list(found) == ["upto", "nelson2026", "vinod1976"]


def test_the_address_of_the_project_is_given_where_there_is_one(monkeypatch):
    class Known:
        @staticmethod
        def get_all(_):
            return ["Changelog, https://example.org/log", "Homepage, https://example.org/Up"]

    monkeypatch.setattr(metadata, "metadata", lambda _: Known)
    assert read_bibtex(bibtex())["upto"][1]["url"] == "https://example.org/Up"
