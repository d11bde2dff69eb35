"""Read the named arrays of a file, e.g. the parameters of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.files.damage import PICKLED, sentences
from upto.files.npy import npz_arrays
from upto.files.request import listed, split_key
from upto.files.safetensors_file import safetensors_arrays
from upto.files.signatures import check_exists, check_signature, check_suffix

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.files.containers import ArrayContainer

SUFFIXES = (".npz", ".safetensors")
"""Suffixes of files with named arrays of any shape."""
_MARKS = "._/"


class NamedArrays:
    """Numeric arrays of a file by name, each read when it is asked for.

    Parameters
    ----------
    given
        An `.npz` archive or a safetensors file. ``path::prefix`` keeps the arrays whose names begin
        with the prefix and a dot, slash or underscore, and drops both from the names.

    Raises
    ------
    InputError
        If the file cannot be read, has no such arrays, or contains Python objects.
    """

    def __init__(self, given: str | Path) -> None:
        self.path, self.prefix = split_key(given)
        check_exists(self.path)
        check_suffix(self.path, SUFFIXES)
        is_archive = self.path.suffix.lower() == ".npz"
        check_signature(self.path, ".npz" if is_archive else None)
        with sentences():
            self._container: ArrayContainer = (npz_arrays if is_archive else safetensors_arrays)(
                self.path
            )
        stored = list(self._container.arrays)
        self._stored = {self._short(name): name for name in stored if self._is_chosen(name)}
        if not self._stored:
            held = listed(stored) or "nothing"
            begin = "" if self.prefix is None else f" whose name begins with {self.prefix!r}"
            message = f"{self.path} has no array{begin}: it holds {held}."
            raise InputError(message)

    @property
    def names(self) -> tuple[str, ...]:
        """Names without the prefix, in the order of the file."""
        return tuple(self._stored)

    def item(self, name: str) -> str:
        """Return the place of an array, for a message."""
        return f"{self.path}::{self._stored[name]}"

    def text(self, name: str) -> str | None:
        """Return an array of one text, None if there is none of this name or it is another kind."""
        stored = self._stored.get(name)
        if stored is None or self._container.arrays[stored].kind == "object":
            return None
        with sentences():
            found = self._container.whole(stored)
        return str(found.item()) if found.dtype.kind == "U" and found.size == 1 else None

    def __getitem__(self, name: str) -> NDArray[Any]:
        stored = self._stored[name]
        kind = self._container.arrays[stored].kind
        if kind == "object":
            message = f"{self.item(name)} {PICKLED}"
            raise InputError(message)
        with sentences():
            found = self._container.whole(stored)
        if found.dtype.kind not in "fiub":
            message = f"{self.item(name)} holds {kind} values, not real numbers: convert it first."
            raise InputError(message)
        return found

    def _is_chosen(self, name: str) -> bool:
        return self.prefix is None or (
            name.startswith(self.prefix) and name[len(self.prefix) :][:1] in tuple(_MARKS)
        )

    def _short(self, name: str) -> str:
        return name if self.prefix is None else name[len(self.prefix) + 1 :]
