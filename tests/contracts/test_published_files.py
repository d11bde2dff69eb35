"""What forges and archives read beside the code is valid, and agrees with the code."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))

# The parts of the Citation File Format 1.2.0 that upto uses; an unknown key makes a file invalid.
REQUIRED = {"cff-version", "message", "title", "authors"}
ROOT_KEYS = REQUIRED | {
    *("abstract", "commit", "contact", "date-released", "doi", "identifiers", "keywords"),
    *("license", "license-url", "preferred-citation", "references", "repository"),
    *("repository-artifact", "repository-code", "type", "url", "version"),
}
REFERENCE_KEYS = {
    *("type", "title", "authors", "year", "collection-title", "url", "doi", "identifiers"),
}
REFERENCE_TYPES = {"article", "conference-paper", "software", "book", "thesis", "report", "generic"}
PERSON_KEYS = {"family-names", "given-names", "name-particle", "name-suffix", "orcid", "email"}
ELEMENTS = {
    "markdown": {"value"},
    "input": {"label", "description", "placeholder", "value"},
    "textarea": {"label", "description", "placeholder", "value", "render"},
    "dropdown": {"label", "description", "options", "multiple", "default"},
    "checkboxes": {"label", "description", "options"},
}
"""What a form of a forge may consist of, and the attributes of each element."""


def faults_of(cited):
    """Return what makes a citation file invalid."""
    found = [f"{key} is missing" for key in sorted(REQUIRED - {*cited})]
    found += [f"{key} is unknown" for key in sorted({*cited} - ROOT_KEYS)]
    if cited.get("cff-version") != "1.2.0" or cited.get("type") not in (
        None,
        "software",
        "dataset",
    ):
        found.append("version or type")
    if not isinstance(cited.get("date-released"), dt.date):
        found.append("date-released is no date")
    if not isinstance(cited.get("version"), str):
        found.append("version is no text")
    people = list(cited.get("authors", []))
    for each in cited.get("references", []):
        found += [f"{key} is unknown" for key in sorted({*each} - REFERENCE_KEYS)]
        found += [f"{key} is missing" for key in ("type", "title", "authors") if key not in each]
        if each.get("type") not in REFERENCE_TYPES or not isinstance(each.get("year"), int):
            found.append("type or year of a reference")
        for one in each.get("identifiers", []):
            if one.get("type") not in {"doi", "url", "swh", "other"} or "value" not in one:
                found.append("an identifier")
        people += each.get("authors", [])
    for one in people:
        if not ({"name"} == {*one} or (one and {*one} <= PERSON_KEYS)):
            found.append(f"an author {one}")
    return found


def test_the_citation_is_valid():
    assert faults_of(CITED) == []


@pytest.mark.parametrize(
    "change",
    [
        {"title": None},
        {"colour": "red"},
        {"version": 0.2},
        {"date-released": "soon"},
        {"cff-version": "1.0"},
        {"authors": [{"name": "a", "family-names": "b"}]},
        {"references": [{"type": "paper", "title": "a", "authors": [], "year": 2026}]},
        {"references": [{"type": "article", "authors": [], "year": 2026}]},
    ],
    ids=str,
)
def test_an_invalid_citation_is_noticed(change):
    changed = {key: value for key, value in (CITED | change).items() if value is not None}
    assert len(faults_of(changed)) == 1


def test_the_citation_names_the_paper_as_the_command_does():
    bib = resources.files("upto.core").joinpath("references.bib").read_text(encoding="utf-8")
    entry = bib.partition("{nelson2026,")[2].partition("\n}")[0]
    (paper,) = CITED["references"]
    told = dict(re.findall(r"^\s*(\w+)\s*= \{(.*)\},?$", entry, re.MULTILINE))
    authors = [f"{each['family-names']}, {each['given-names']}" for each in paper["authors"]]
    assert " and ".join(authors) == told["author"]
    assert paper["title"] == told["title"]
    assert paper["collection-title"] == told["booktitle"]
    assert str(paper["year"]) == told["year"]
    assert paper["identifiers"][0]["value"] == f"{told['archivePrefix']}:{told['eprint']}"
    assert paper["url"] == PROJECT["urls"]["Paper"] == f"https://arxiv.org/abs/{told['eprint']}"


def faults_of_form(form):
    """Return what makes a form for issues invalid."""
    found = [key for key in ("name", "description", "body") if not form.get(key)]
    found += sorted({*form} - {"name", "description", "title", "labels", "assignees", "body"})
    names: list[str] = []
    for element in form.get("body", []):
        allowed = ELEMENTS.get(element.get("type"))
        attributes = element.get("attributes", {})
        if allowed is None or not attributes or not {*attributes} <= allowed:
            found.append(f"element {element}")
            continue
        if element["type"] != "markdown":
            names.append(element.get("id", ""))
            if "label" not in attributes:
                found.append(f"no label: {element}")
        if not {*element} <= {"type", "id", "attributes", "validations"}:
            found.append(f"keys {element}")
    if len({*names}) != len(names) or not all(re.fullmatch(r"[\w-]+", name) for name in names):
        found.append(f"ids {names}")
    if form.get("body") and not names:
        found.append("nothing to fill in")
    return found


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_is_valid(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.name == "config.yml":
        assert form == {"blank_issues_enabled": True}
    else:
        assert faults_of_form(form) == []


def test_there_is_a_form_for_each_kind_of_issue():
    assert [path.stem for path in FORMS] == [
        *("config", "crash", "feature", "file-not-read", "wrong-answer"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"colour": "red"},
        {"body": [{"type": "textbox", "id": "a", "attributes": {"label": "b"}}]},
        {"body": [{"type": "input", "id": "a", "attributes": {"placeholder": "b"}}]},
        {"body": [{"type": "input", "id": "a", "attributes": {"label": "b"}}] * 2},
        {"body": [{"type": "markdown", "attributes": {"value": "a"}}]},
    ],
    ids=str,
)
def test_an_invalid_form_is_noticed(change):
    form = yaml.safe_load((FORMS[0].parent / "crash.yml").read_text(encoding="utf-8"))
    assert faults_of_form(form | change) != []


def test_the_archive_s_record_says_what_the_citation_says():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    archived = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert archived["title"] == cited["title"]
    assert archived["description"] == cited["abstract"]
    assert archived["creators"] == [{"name": each["name"]} for each in cited["authors"]]
    assert archived["license"] == cited["license"] == PROJECT["license"]
    assert archived["keywords"] == cited["keywords"] == PROJECT["keywords"]
    assert archived["version"] == cited["version"] == VERSION
    assert archived["publication_date"] == str(cited["date-released"])
    papers = [each["identifiers"][0]["value"] for each in cited["references"]]
    assert [each["identifier"] for each in archived["related_identifiers"]] == papers
    assert archived["upload_type"] == "software"
