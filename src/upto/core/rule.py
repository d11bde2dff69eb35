"""The rule behind a finding's code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Meaning, importance and remedy of a finding's code, as shown by `upto explain`."""

    code: str
    title: str
    severity: Severity
    meaning: str
    matters: str
    remedy: str
