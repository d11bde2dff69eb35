"""Phrases that no native scientist would write stay out of what users read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BANNED = {
    r"\btold by\b": "predicted by, identified by",
    r"\btold apart\b": "distinguished",
    r"\btell(s|ing)? (nothing|something|much|little|more) (of|about)\b": "is informative about",
    r"\b(un)?(?<!was )(?<!were )(?<!is )as given\b": "unchanged, raw, the embedding itself",
    r"\bless what\b": "minus, residualised on",
    r"\bless base\b": "minus base",
    r"\bgiven again\b": "repeat to",
    r"\bshall\b": "must, should",
    r"\bcould not be had\b": "could not be downloaded",
    r"\bbatches never seen\b": "unseen batches, held-out batches",
    r"\bbrought to\b": "scaled to, mapped to",
    r"\bas of `": "as in",
    r"\bwhich ever\b|\bin whichever\b": "either",
    r"^\s*(seed|rng|random_state)\n\s+Of ": "Seed of the random number generator.",
}
RECORDED = {"studies.md", "calibration.md", "changelog.md", "when-ica-helps.md"}
"""Pages that quote recorded results as they were."""


def texts() -> list[Path]:
    """Return the files whose words users read: sources, templates and written pages."""
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name not in RECORDED]
    sources = [
        path for suffix in ("*.py", "*.html") for path in (ROOT / "src" / "upto").rglob(suffix)
    ]
    return [
        *sources,
        *pages,
        *(ROOT / "docs" / "tutorials").glob("*.md"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "ARCHITECTURE.md",
    ]


@pytest.mark.parametrize("phrase", BANNED)
def test_a_phrase_has_not_come_back(phrase):
    pattern = re.compile(phrase, re.MULTILINE | re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{text[: match.start()].count(chr(10)) + 1}: {match.group()}"
        for path in texts()
        for text in [path.read_text(encoding="utf-8")]
        for match in pattern.finditer(text)
    ]
    assert found == [], f"say instead: {BANNED[phrase]}"


def test_module_docstrings_do_not_open_with_a_question_word():
    opening = re.compile(r'"""(What|Which|Whether|How|Who|Whose|Where|When|Does|Is|Are)\b')
    found = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src" / "upto").rglob("*.py")
        if opening.match(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_phrase_would_be_noticed():
    assert re.search(next(iter(BANNED)), "the label is told by the well")
    assert not re.search(next(iter(BANNED)), "the label is predicted by the well")
