"""The questions: one folder each, and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.question import Question

NAMES = (
    "compare",
    "align",
    "similarity",
    "layers",
    "consensus",
    "inspect",
    "lipschitz",
    "unmix",
    "factors",
    "batches",
    "diversity",
    "mixture",
)
"""Folders of this package, in the order people need them."""

QUESTIONS: tuple[Question, ...] = tuple(
    import_module(f"{__name__}.{name}").QUESTION for name in NAMES
)
