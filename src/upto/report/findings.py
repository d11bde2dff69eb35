"""Findings as a page shows them: the messages of each code with what the catalogue says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import RULES, Rule

if TYPE_CHECKING:
    from upto.core import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """Findings of one code, with the entry of the catalogue that explains it, if there is one."""

    code: str
    rule: Rule | None
    messages: tuple[str, ...]


def finding_views(findings: tuple[Finding, ...]) -> tuple[FindingView, ...]:
    """Put the findings of one code together."""
    messages: dict[str, list[str]] = {}
    for finding in findings:
        messages.setdefault(finding.code, []).append(finding.message)
    return tuple(
        FindingView(code=code, rule=RULES.get(code), messages=tuple(texts))
        for code, texts in messages.items()
    )
