"""Every result shows itself at a prompt in a few lines, and in a notebook as HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
import pytest
from browser.consensus_results import consensus
from browser.sample_batches import batches
from browser.sample_factors import factors
from browser.sample_layers import layers
from browser.sample_results import comparison, inspection, matrix, unmixed
from browser.sample_similarities import similarities

import upto
from upto.core import UNRECORDED, Column, Result, StudyResult, Table
from upto.core.short_repr import Record
from upto.question import questions, resolve

STUDIES = Path(__file__).parents[2] / "src" / "upto_studies"
SAMPLES = {
    "compare": comparison,
    "compare, 60 runs": lambda: matrix(n_runs=60),
    "align": lambda: upto.align(_rows(200, 4), _rows(200, 4)[:, ::-1], up_to="rigid"),
    "similarity": similarities,
    "layers": lambda: layers(40, 50),
    "consensus": consensus,
    "consensus of 60 runs": lambda: consensus(n_runs=60, n_components=90),
    "unmix": unmixed,
    "unmix, 300 components": lambda: unmixed(n_components=300),
    "inspect": inspection,
    "factors": factors,
    "factors, 80 of them": lambda: factors(tuple(f"factor {i}" for i in range(80)), 200),
    "batches": batches,
    "lipschitz": lambda: upto.lipschitz(_rows(60, 3), outputs=_rows(60, 3) * 2, n_points=50),
    "diversity": lambda: upto.diversity(_rows(50, 4)),
    "mixture": lambda: upto.mixture(_prior(), _prior(), draws=0),
    "mixture, 60 components": lambda: upto.mixture(_prior(60)),
    "study": lambda: StudyResult.from_json((STUDIES / "speakers" / "result.json").read_text()),
}


def _rows(count: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, width))


def _prior(count: int = 3) -> tuple[np.ndarray, ...]:
    return np.full(count, 1 / count), 9 * _rows(count, 2), np.exp(_rows(count, 2))


@cache
def result_of(name: str) -> Result:
    return SAMPLES[name]()


each_result = pytest.mark.parametrize("name", SAMPLES)


def test_there_is_a_result_of_every_kind():
    kinds = {result_of(name).kind for name in SAMPLES}
    assert kinds == {each.name for each in questions()} | {"study"}


@each_result
@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_a_prompt_shows_the_verdict_and_the_main_table_in_few_lines(name, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    result = result_of(name)
    lines = repr(result).splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= min(max(width, 70), 120)
    text = " ".join(" ".join(lines).split())
    assert " ".join(result.verdict.split())[:200] in text
    table = result.tables()[0]
    assert " ".join(table.title.split())[:40] in text
    (more,) = re.findall(r"… (\d+) more rows?\b", text) or ["0"]
    shown = len(table.rows) - int(more)
    first = [row[0] for row in table.texts()]
    assert first[0].split()[0] in text
    assert shown >= min(len(table.rows), 3)
    for finding in result.findings:
        assert finding.code in text


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResult(Result):
    """A result that someone may add, without a word about its repr."""

    kind: ClassVar[str] = "new"
    schema: ClassVar[int] = 1
    verdict: str = "All is new."
    findings: tuple = ()
    provenance: object = UNRECORDED
    rows: tuple = tuple((f"row {i}", i / 7) for i in range(45))

    def tables(self):
        columns = (Column(name="name"), Column(name="value"))
        return (Table(title="New rows", columns=columns, rows=self.rows),)


def test_a_new_result_is_short_without_asking(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = repr(NewResult()).splitlines()
    assert lines[:2] == ["All is new.", "New rows"]
    assert lines[-1] == "… 11 more rows: print(result.tables()[0])"
    assert lines[-2].split() == ["row", "33", "4.7143"]
    assert len(lines) == 39


def parts_of(value, found):
    """Collect the dataclasses within a value."""
    if is_dataclass(value):
        found.append(value)
        for field in fields(value):
            parts_of(getattr(value, field.name), found)
    elif isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            parts_of(each, found)
    return found


@each_result
def test_every_part_of_a_result_is_one_short_line(name):
    result = result_of(name)
    parts = parts_of((result.tables(), result.panels()), [])
    parts += [part for part in parts_of(result, []) if not isinstance(part, Result)]
    for part in parts:
        assert len(repr(part)) <= 400
        assert "\n" not in repr(part)
        assert repr(part).startswith(type(part).__name__)


def _kinds(kind, found):
    """Collect the record types within a type, and whether each holds more than single values."""
    if isinstance(kind, msgspec.inspect.DataclassType) and kind.cls not in found:
        found[kind.cls] = any(not _is_single(field.type) for field in kind.fields)
        for field in kind.fields:
            _kinds(field.type, found)
    for inner in ("item_type", "value_type"):
        if hasattr(kind, inner):
            _kinds(getattr(kind, inner), found)
    for inner in ("types", "item_types"):
        for each in getattr(kind, inner, ()):
            _kinds(each, found)
    return found


def _is_single(kind) -> bool:
    many = ("CollectionType", "VarTupleType", "TupleType", "ListType", "DictType", "DataclassType")
    return type(kind).__name__ not in many and all(map(_is_single, getattr(kind, "types", ())))


@pytest.mark.parametrize(
    "kind", [pytest.param(resolve(each.result), id=each.name) for each in questions()]
)
def test_every_type_that_holds_many_values_is_a_record(kind):
    found = _kinds(msgspec.inspect.type_info(kind), {})
    assert len(found) > 1
    long = [each for each, many in found.items() if many]
    assert [each.__name__ for each in long if not issubclass(each, Record)] == []


class Page(HTMLParser):
    """Check that tags are closed, and collect them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.styles = [], [], set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        self.styles |= {(name, value) for name, value in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@each_result
def test_a_notebook_shows_every_table_in_the_colours_of_its_theme(name):
    result = result_of(name)
    page = Page(result._repr_html_())
    assert page.tags.count("table") == len(result.tables())
    styles = {style.partition(";")[0] for _, style in page.styles}
    assert styles <= {"text-align:left", "text-align:right"}
    assert page.tags.count("tr") <= 61 * len(result.tables())
    folded = page.tags.count("details")
    assert folded == len(result.tables()) - len(result.brief_tables()) + len(result.findings)


def test_a_notebook_stays_small_however_many_tables_there_are():
    names = tuple(f"seed-{number}" for number in range(12))
    result = layers(*[30] * 12, names=names)
    shown = result._repr_html_()
    assert len(result.tables()) == 68
    assert Page(shown).tags.count("table") == 13
    assert "55 more tables: <code>result.tables()</code>" in shown
    assert len(shown) < 1_000_000
