"""What a finding's code means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a finding's code means; the text of `upto explain`."""

    code: str
    title: str
    severity: Severity
    meaning: str
    matters: str
    remedy: str
