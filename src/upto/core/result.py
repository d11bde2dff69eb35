"""Base class of results: frozen records that render themselves and round-trip through JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import msgspec

from upto.core.errors import InputError, MissingPartError, one_sentence, reason, shortened
from upto.core.export import Export
from upto.core.html_view import result_html
from upto.core.short_repr import Record
from upto.core.short_text import plain_text, short_text
from upto.printable import printable
from upto.question import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure
    from rich.console import Group as RichGroup

    from upto.core.finding import Finding
    from upto.core.panel import Panel
    from upto.core.provenance import Provenance
    from upto.core.table import Table


Part = TypeVar("Part")


def pick(parts: Sequence[Part], name: str, missing: str, *, by: str = "name") -> Part:
    """Return the part of a result with this name; `missing` is the message if there is none."""
    names = [getattr(part, by) for part in parts]
    if name in names:
        return parts[names.index(name)]
    raise MissingPartError(missing.format(name, ", ".join(names)))


class Result(Record, Export, ABC):
    """Base class of results: subclasses are frozen dataclasses with a `kind` and a `schema`.

    Subclasses have `verdict`, `findings`, `provenance` and `tables()`.

    See Also
    --------
    upto.compare : Returns one, as every question does.
    upto.Report : Write one or several as a page.
    """

    __slots__ = ()
    kind: ClassVar[str]
    schema: ClassVar[int]
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """Return the tables of this result, the most important first."""

    def brief_tables(self) -> tuple[Table, ...]:
        """Return the tables that the terminal shows by default."""
        return self.tables()[:1]

    def data_table(self) -> Table:
        """Return the table exported as data, by default the first."""
        return self.tables()[0]

    def panels(self) -> tuple[Panel, ...]:
        """Return the plots of this result as data; empty for results with a figure of their own."""
        return ()

    def plot(self) -> Figure:
        """Draw the result as a matplotlib figure."""
        figure: Figure = resolve("upto.report.figures:draw")(self)
        return figure

    def to_json(self) -> str:
        """Write the result as JSON; `from_json` reads it back."""
        record = {"kind": self.kind, "schema": self.schema}
        record |= {name: getattr(self, name) for name in _recorded(type(self))}
        return msgspec.json.format(
            msgspec.json.encode(record, enc_hook=_plain_number), indent=1
        ).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a result that `to_json` wrote.

        Raises
        ------
        InputError
            If the text is not JSON, or is a result of another kind or schema.
        """
        try:
            record = msgspec.json.decode(text)
            kind, schema = record.pop("kind"), record.pop("schema")
        except (
            msgspec.DecodeError,
            AttributeError,
            KeyError,
            RecursionError,
            TypeError,
            UnicodeError,
        ):
            message = "this is not a result of upto: kind and schema are missing."
            raise InputError(message) from None
        if (kind, schema) != (cls.kind, cls.schema):
            message = (
                f"this is a result of kind {shortened(repr(kind))}, schema {shortened(schema)}, "
                "not of kind "
                f"{cls.kind!r}, schema {cls.schema}: recompute it with this version of upto."
            )
            raise InputError(message)
        try:
            known = {name: record[name] for name in _recorded(cls) if name in record}
            return msgspec.convert(known, cls)
        except (msgspec.ValidationError, RecursionError, OverflowError) as error:
            message = one_sentence(f"this {kind} result is damaged: {reason(error)}.")
            raise InputError(message) from None

    def _repr_html_(self) -> str:
        return result_html(self)

    def __repr__(self) -> str:
        return short_text(self)

    def __rich__(self) -> RichGroup:
        from rich.console import Group as RichGroup
        from rich.text import Text

        verdict = Text(printable(self.verdict, lines=True), style="bold")
        return RichGroup(verdict, *self.tables())

    def __str__(self) -> str:
        return plain_text(self)


def _recorded(cls: type) -> list[str]:
    """Return the names of the fields in JSON: fields that are not compared are in memory only."""
    return [field.name for field in fields(cls) if field.compare]


def _plain_number(value: Any) -> Any:
    """Return a NumPy scalar as a Python number."""
    if not hasattr(value, "item"):
        message = f"a result cannot contain {type(value).__name__}."
        raise TypeError(message)
    return value.item()


def result_from_json(text: str | bytes, kinds: Mapping[str, type[Result]]) -> Any:
    """Read a result of any of the given kinds."""
    try:
        record = msgspec.json.decode(text)
        kind = record.get("kind") if isinstance(record, dict) else None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        kind = None
    if isinstance(kind, str) and kind and kind not in kinds:
        message = (
            f"this version of upto has no results of kind {shortened(repr(kind))}: expected one of "
            f"{', '.join(sorted(kinds))}. If an older version wrote it, compute it again."
        )
        raise InputError(message)
    if not isinstance(kind, str) or kind not in kinds:
        message = f"this is not a result of upto: expected one of {', '.join(sorted(kinds))}."
        raise InputError(message)
    return kinds[kind].from_json(text)
