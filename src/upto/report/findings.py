"""Findings for a page: the messages of each code with its rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import RULES, Rule

if TYPE_CHECKING:
    from upto.core import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """Findings of one code, with the rule that explains it, if known."""

    code: str
    rule: Rule | None
    messages: tuple[str, ...]


def finding_views(findings: tuple[Finding, ...]) -> tuple[FindingView, ...]:
    """Group findings by code."""
    messages: dict[str, list[str]] = {}
    for finding in findings:
        messages.setdefault(finding.code, []).append(finding.message)
    return tuple(
        FindingView(code=code, rule=RULES.get(code), messages=tuple(texts))
        for code, texts in messages.items()
    )
