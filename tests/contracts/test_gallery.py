"""The gallery has a picture and a report of every question, made by the code that it shows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from doc_tools import DOCS

from upto.question import questions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

LINK = re.compile(r"\{report\}`[^`<]+ <([\w-]+)>`")
SMALL = (
    "import numpy as np\nimport upto\n"
    "result = upto.inspect(np.random.default_rng(0).normal(size=(60, 3)), ica=False)\n"
)


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import gallery

    return gallery


@pytest.fixture
def of_one_example(gallery, monkeypatch, tmp_path):
    """Build a gallery of one small example in a folder of its own."""
    example = gallery.Example(name="small", title="How many?", alt="A line.", code=SMALL)
    monkeypatch.setattr(gallery, "MADE", tmp_path)
    monkeypatch.setattr(gallery, "SITE", tmp_path / "site")
    monkeypatch.setattr(gallery, "examples", lambda: (example,))
    return example


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.name)
def test_every_question_has_an_example_that_its_page_links(gallery, question):
    call = f"result = upto.{question.function.rpartition(':')[2]}("
    names = {each.name for each in gallery.examples() if call in each.code}
    assert names
    page = (DOCS / f"{question.name}.md").read_text(encoding="utf-8")
    assert set(LINK.findall(page)) == names


def test_every_example_is_linked_beside_its_picture(gallery):
    wanted = [each.name for each in gallery.examples()]
    assert LINK.findall(gallery.PAGE.read_text(encoding="utf-8")) == wanted
    assert len({*wanted}) == len(wanted)


def test_titles_are_questions_and_pictures_are_described(gallery):
    titles = [each.title for each in gallery.examples()]
    assert all(title.endswith("?") for title in titles)
    assert len({*titles}) == len(titles)
    assert all(20 < len(each.alt) < 140 for each in gallery.examples())


def test_a_section_without_a_picture_or_code_is_noticed(gallery, monkeypatch, tmp_path):
    page = tmp_path / "gallery.md"
    text = gallery.PAGE.read_text(encoding="utf-8")
    page.write_text(text + "\n### And this?\n\nNothing.\n", encoding="utf-8")
    monkeypatch.setattr(gallery, "PAGE", page)
    with pytest.raises(ValueError, match="with a picture and its code"):
        gallery.examples()


def test_an_example_is_made_from_its_code(gallery, of_one_example):
    gallery.make(of_one_example)
    assert of_one_example.picture.read_bytes().startswith(b"\x89PNG")
    assert "60 rows of 3 coordinates" in of_one_example.report.read_text(encoding="utf-8")


def test_a_report_names_files_without_the_folders_of_the_builder(gallery, of_one_example):
    code = (
        "import upto\nfrom upto.files import bundled_path\n"
        "path = bundled_path('cifar_resnets')\n"
        "result = upto.inspect(f'{path}::resnet20', ica=False)\n"
    )
    gallery.make(replace(of_one_example, code=code))
    page = of_one_example.report.read_text(encoding="utf-8")
    assert "upto.inspect(cifar_resnets.npz::resnet20" in page
    assert str(gallery.DOCS.parent) not in page


def test_only_code_that_changed_is_run_again(gallery, of_one_example, monkeypatch):
    ((_, stamp, key),) = gallery.stale()
    gallery.make(of_one_example)
    stamp.write_text(key)
    assert gallery.stale() == []
    changed = replace(of_one_example, code=SMALL.replace("60", "61"))
    monkeypatch.setattr(gallery, "examples", lambda: (changed,))
    assert [each for each, *_ in gallery.stale()] == [changed]


def test_a_change_of_the_library_makes_all_again(gallery, of_one_example, monkeypatch):
    ((_, stamp, key),) = gallery.stale()
    gallery.make(of_one_example)
    stamp.write_text(key)
    monkeypatch.setattr(gallery, "fingerprint", lambda: "another")
    assert [each for each, *_ in gallery.stale()] == [of_one_example]
