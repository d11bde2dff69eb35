"""Kinds of things that are asked for by name: measures, scores, conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from upto.core.errors import ArgumentError, InputError


class Named(Protocol):
    """What a catalogue lists."""

    @property
    def name(self) -> str:
        """What it is called everywhere; a parameter follows a colon."""


Kind = TypeVar("Kind", bound=Named)
Chosen = TypeVar("Chosen", bound=Named)


class Catalogue(dict[str, Kind], Generic[Kind]):
    """Kinds by name, in the order they were added.

    Parameters
    ----------
    what
        What a kind is called in sentences, as ``measure``.
    kinds
        The kinds to begin with.
    accepts
        The type of objects that may be given in place of names, if any.
    known_by, refusal
        The words before the list of names, and the sentence for what is no list of names.

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
        refusal: str = "{what}s={given!r} names no {what}s: give a list, as {names}.",
    ) -> None:
        super().__init__()
        self.what, self.accepts = what, accepts
        self.known_by, self.refusal = known_by, refusal
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Add a kind, or refuse one whose name another has."""
        if self.setdefault(kind.name.partition(":")[0], kind) is not kind:
            message = f"there is a {self.what} {kind.name!r} already: choose another name."
            raise InputError(message)

    def find(self, name: str) -> Kind:
        """Return the kind of a name."""
        if name in self:
            return self[name]
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), list(self), n=1)
        guess = f"; did you mean {near[0]}?" if near else "."
        message = f"there is no {self.what} {name!r}: {self.known_by} {', '.join(self)}{guess}"
        raise InputError(message)

    def asked(self, request: object) -> list[Any]:
        """Return names and objects one by one; a text may have commas between names."""
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
        """Return what is asked for, each once; ``all`` means every kind.

        Parameters
        ----------
        request
            A name, an object, or several of them.
        read
            What a name stands for, where that is not one kind or all of them.
        """
        read = read or self._read
        found: dict[str, Chosen] = {}
        for each in self.asked(request):
            for chosen in read(each) if isinstance(each, str) else (each,):
                found[chosen.name] = chosen
        if not found:
            message = (
                f"no {self.what} is asked for, so there are no {self.what}s to compute: name at "
                "least one."
            )
            raise InputError(message)
        return tuple(found.values())

    def _read(self, name: str) -> Iterable[Any]:
        return self.values() if name == "all" else (self.find(name),)
