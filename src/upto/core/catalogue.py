"""Catalogues of kinds requested by name: measures, scores, conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from upto.core.errors import ArgumentError, InputError


class Named(Protocol):
    """An entry of a catalogue."""

    @property
    def name(self) -> str:
        """Name used everywhere; a parameter follows a colon."""


Kind = TypeVar("Kind", bound=Named)
Chosen = TypeVar("Chosen", bound=Named)


class Catalogue(dict[str, Kind], Generic[Kind]):
    """Kinds by name, in the order they were added.

    Parameters
    ----------
    what
        Noun for a kind in messages, e.g. ``measure``.
    kinds
        Initial kinds.
    accepts
        Type of objects accepted in place of names.
    known_by, refusal
        Words before the list of names, and the message for requests that are not names.

    Examples
    --------
    >>> from upto.core.group import Group
    >>> groups = Catalogue("group", Group)
    >>> [group.name for group in groups.choose("RIGID, AFFINE")]
    ['RIGID', 'AFFINE']
    """

    def __init__(
        self,
        what: str,
        kinds: Iterable[Kind],
        *,
        accepts: type[Any] = str,
        known_by: str = "choose from",
        refusal: str = "{what}s={given!r} is not a list of {what}s: pass a list, e.g. {names}.",
    ) -> None:
        super().__init__()
        self.what, self.accepts = what, accepts
        self.known_by, self.refusal = known_by, refusal
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Add a kind; its name must be new."""
        if self.setdefault(kind.name.partition(":")[0], kind) is not kind:
            message = f"the {self.what} {kind.name!r} already exists: choose another name."
            raise InputError(message)

    def find(self, name: str) -> Kind:
        """Return the kind with this name."""
        if name in self:
            return self[name]
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), list(self), n=1)
        guess = f"; did you mean {near[0]}?" if near else "."
        message = f"there is no {self.what} {name!r}: {self.known_by} {', '.join(self)}{guess}"
        raise InputError(message)

    def asked(self, request: object) -> list[Any]:
        """Return the requested names and objects as a list; commas separate names in a string."""
        single = isinstance(request, str) or not isinstance(request, Iterable)
        listed = [request] if single else list(request)  # type: ignore[call-overload]
        if not all(isinstance(each, (str, self.accepts)) for each in listed):
            names = [*self][:2]
            message = self.refusal.format(what=self.what, given=request, names=names)
            raise ArgumentError(message, **{f"{self.what}s": request})
        parts = [
            part.strip() if isinstance(part, str) else part
            for each in listed
            for part in (each.split(",") if isinstance(each, str) else [each])
        ]
        return [part for part in parts if part != ""]

    def choose(
        self, request: object, read: Callable[[str], Iterable[Chosen]] | None = None
    ) -> tuple[Chosen, ...]:
        """Return the requested kinds, each once; ``all`` means every kind.

        Parameters
        ----------
        request
            One or more names or objects.
        read
            Function that resolves a name; by default a name is one kind, or ``all``.
        """
        read = read or self._read
        found: dict[str, Chosen] = {}
        for each in self.asked(request):
            for chosen in read(each) if isinstance(each, str) else (each,):
                found[chosen.name] = chosen
        if not found:
            message = (
                f"no {self.what} was requested, so there are no {self.what}s to compute: name at "
                "least one."
            )
            raise InputError(message)
        return tuple(found.values())

    def _read(self, name: str) -> Iterable[Any]:
        return self.values() if name == "all" else (self.find(name),)


def sources_of(catalogue: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the sources of named kinds; a name may have a parameter, and need not be known.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> sources_of({"svcca": SimpleNamespace(source="Raghu et al. 2017")}, ["svcca:20", "my own"])
    ['Raghu et al. 2017']
    """
    kinds = (catalogue.get(re.split("[:@]", name)[0]) for name in names)
    return [kind.source for kind in kinds if kind is not None and kind.source]
