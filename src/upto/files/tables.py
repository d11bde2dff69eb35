"""Assign the columns of a table to features, ids and labels.

Features are, in this order of preference: the columns that begin with the key, if any; those that
begin with ``feature_``; the numbered ones that `upto unmix` writes, such as ``ica_0``; the only
column of lists; all numeric columns. Columns requested as ids or labels, those that begin with
``Metadata_`` and those named in `ID_NAMES` or `LABEL_NAMES` are never features unless the key
selects them. All other columns are labels.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from upto.core import InputError
from upto.core.errors import shortened
from upto.files.request import ID_NAMES, Request, listed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ColumnKind = Literal["number", "list", "text"]

LABEL_NAMES = ("label", "labels", "target", "class", "cluster", "batch", "plate", "split", "fold")
"""Names of numeric columns treated as labels unless a prefix selects the features."""

FEATURE_PREFIX = "feature_"
METADATA_PREFIX = "Metadata_"
_COMPONENT = re.compile(r"((un)?(ica|white)|aligned)_\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns of a table by role; `ids` is None if there are none."""

    features: tuple[str, ...]
    ids: str | None
    labels: tuple[str, ...]


def check_names(path: Path, names: list[str]) -> None:
    """Refuse a table with duplicate column names."""
    doubled = next((name for name, count in Counter(names).items() if count > 1), None)
    if doubled is not None:
        message = (
            f"{path} has two columns named {shortened(doubled)!r}: give each column its own name."
        )
        raise InputError(message)


def table_layout(request: Request, kinds: Mapping[str, ColumnKind]) -> Layout:
    """Assign the columns of a table by their names and kinds."""
    ids = request.ids
    asked = (*(request.columns or ()), *([ids] if ids is not None else []))
    for name in asked:
        if name not in kinds:
            message = f"{request.path} has no column {name!r}: its columns are {listed([*kinds])}."
            raise InputError(message)
    features = _features(request, kinds, asked)
    chosen = set(features)
    others = [name for name in kinds if name not in chosen]
    if ids is None:
        ids = next((name for name in ID_NAMES if name in others), None)
    labels = request.columns
    if labels is None:
        labels = tuple(name for name in others if name != ids and kinds[name] != "list")
    return Layout(features=features, ids=ids, labels=labels)


def column_layout(request: Request, kinds: Mapping[str, ColumnKind]) -> Layout:
    """Select all columns but ids and lists as labels, or those that begin with the key."""
    ids = request.ids
    names = [name for name, kind in kinds.items() if kind != "list"]
    if ids is not None and ids not in names:
        message = f"{request.path} has no column {ids!r}: its columns are {listed([*kinds])}."
        raise InputError(message)
    if ids is None:
        ids = next((name for name in ID_NAMES if name in names), None)
    labels = tuple(name for name in names if name != ids and name.startswith(request.key or ""))
    if not labels:
        begins = f" that begins with {request.key!r}" if request.key else " but ids and lists"
        message = f"{request.path} has no column{begins}: its columns are {listed([*kinds])}."
        raise InputError(message)
    return Layout(features=(), ids=ids, labels=labels)


def label_column(request: Request, kinds: Mapping[str, ColumnKind]) -> str:
    """Return the column of labels: the key, the only column, or the only non-feature."""
    names = [name for name, kind in kinds.items() if kind != "list"]
    if request.key is not None:
        if request.key in names:
            return request.key
        message = f"{request.path} has no column {request.key!r}: its columns are {listed(names)}."
        raise InputError(message)
    if len(names) == 1:
        return names[0]
    has_features = any(name.startswith(FEATURE_PREFIX) for name in names)
    candidates = [
        name
        for name in names
        if name not in ID_NAMES
        and not name.startswith(FEATURE_PREFIX)
        and (has_features or _is_label(name) or kinds[name] == "text")
    ]
    if len(candidates) == 1:
        return candidates[0]
    example = (candidates or names)[0]
    message = (
        f"{request.path} has the columns {listed(names)}: name the one with the labels, as in "
        f"{request.choice(example)}."
    )
    raise InputError(message)


def _features(
    request: Request, kinds: Mapping[str, ColumnKind], asked: tuple[str, ...]
) -> tuple[str, ...]:
    prefix = request.key or FEATURE_PREFIX
    chosen = [name for name in kinds if name.startswith(prefix) and name not in asked]
    if request.key is None and not chosen:
        numbers = [name for name, kind in kinds.items() if kind == "number" and name not in asked]
        chosen = [name for name in numbers if _COMPONENT.fullmatch(name)]
    if request.key is not None and request.key in kinds:
        chosen = [request.key]
    if request.key is not None and not chosen:
        message = (
            f"{request.path} has no column that begins with {request.key!r}: its columns are "
            f"{listed([*kinds])}."
        )
        raise InputError(message)
    if chosen:
        return _prefixed(request, kinds, chosen)
    free = [name for name in kinds if name not in asked and not _is_label(name)]
    lists = [name for name in free if kinds[name] == "list"]
    if len(lists) > 1:
        message = (
            f"{request.path} holds {len(lists)} columns that could be the embedding: "
            f"{listed(lists)}. Choose one, as in {request.choice(lists[0])}."
        )
        raise InputError(message)
    if not lists and not (lists := [name for name in free if kinds[name] == "number"]):
        message = (
            f"{request.path} has no numeric columns to use as features: its columns are "
            f"{listed([*kinds]) or 'none'}. Write the embedding as one column per coordinate."
        )
        raise InputError(message)
    return tuple(lists)


def _prefixed(
    request: Request, kinds: Mapping[str, ColumnKind], chosen: list[str]
) -> tuple[str, ...]:
    lists = [name for name in chosen if kinds[name] == "list"]
    text = [name for name in chosen if kinds[name] == "text"]
    if text:
        message = (
            f"{request.path} has text in the feature column {text[0]!r}: features are numbers. "
            f"Correct or rename the column, or choose others, as in {request.choice('prefix')}."
        )
        raise InputError(message)
    if lists and len(chosen) > 1:
        message = (
            f"{request.path} has {len(chosen)} columns that begin with "
            f"{request.key or FEATURE_PREFIX!r}, among them the lists {listed(lists)}: choose one "
            f"of those, as in {request.choice(lists[0])}."
        )
        raise InputError(message)
    return tuple(chosen)


def _is_label(name: str) -> bool:
    return name.startswith(METADATA_PREFIX) or name in ID_NAMES or name.lower() in LABEL_NAMES
