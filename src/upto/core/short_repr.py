"""Base class of results and their parts: frozen dataclasses whose repr is short."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from upto.core.errors import shortened
from upto.core.estimate import Estimate
from upto.core.html_view import record_html

_MOST_VALUES = 4


class Record:
    """Base class of dataclasses that hold many numbers: their repr is one line, or a small table.

    Long fields are counted, ``marks=<3 Marks>``, and numbers are rounded.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # The dataclass decorator replaces an inherited repr, but not one of the class itself.
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        named = (f"{each.name}={_brief(getattr(self, each.name))}" for each in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(named)})"

    def _repr_html_(self) -> str:
        values = {each.name: _brief(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]
        return record_html(type(self).__name__, values)


def _brief(value: Any) -> str:
    """Describe a field in a few words."""
    if isinstance(value, Estimate):
        return str(value)
    if is_dataclass(value):
        return f"<{type(value).__name__}>"
    if isinstance(value, Enum):
        return repr(value.value)
    if isinstance(value, str):
        return repr(shortened(value))
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple | list | dict):
        return _brief_values(value)
    return shortened(repr(value))


def _brief_values(values: tuple[Any, ...] | list[Any] | dict[Any, Any]) -> str:
    inner = list(values.values()) if isinstance(values, dict) else list(values)
    is_long = len(inner) > _MOST_VALUES or isinstance(values, dict)
    if is_long or any(is_dataclass(each) or isinstance(each, tuple | list) for each in inner):
        kinds = {type(each).__name__ for each in inner if is_dataclass(each)}
        return f"<{len(inner)} {kinds.pop() if len(kinds) == 1 else 'values'}>"
    return f"({', '.join(map(_brief, inner))})"
