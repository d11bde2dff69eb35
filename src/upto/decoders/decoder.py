"""Decoders from latents to outputs, linearised at a batch of points.

The geometry needs only the outputs, J v and Jᵀ u of a decoder at many points at once. Every kind of
decoder is converted to an object that can be linearised.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from upto.core import InputError
from upto.core.extras import check_extra
from upto.core.read_file import expanded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto.decoders.chains import ChainLayer


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Linearisation:
    """A decoder at n points of d coordinates, where it has m outputs.

    Parameters
    ----------
    points
        The n×d points, in the array library and on the device of all that follows.
    outputs
        Outputs of the decoder, n×m; None if it provides only derivatives.
    push
        Function from one direction per point (n×d) to the change of the outputs: J v, n×m.
    pull
        Function from weights of the outputs (n×m) to the gradient of their weighted sum: Jᵀ u, n×d;
        None if the decoder does not provide it.
    """

    points: Any
    outputs: Any | None
    push: Callable[[Any], Any]
    pull: Callable[[Any], Any] | None


class Decoder(Protocol):
    """A decoder that can be linearised; `chain` has its layers if it is a chain of known ones."""

    @property
    def name(self) -> str:
        """Name in tables and pages."""
        ...

    @property
    def chain(self) -> tuple[ChainLayer, ...] | None:
        """Linear layers, with the leak of the activation after each."""
        ...

    def evaluate(self, points: Float) -> Any | None:
        """Return only the outputs at points; None if the decoder provides only derivatives."""
        ...

    def linearise(self, points: Float) -> Linearisation:
        """Evaluate the decoder at points and prepare its derivatives there."""
        ...


def find_decoder(given: Any, shape: tuple[int, ...] | None = None) -> Decoder:
    """Return a decoder that can be linearised.

    Parameters
    ----------
    given
        A torch module, a function of torch tensors, an object with ``jvp(points, directions)`` and
        optionally ``vjp(points, cotangents)`` on NumPy arrays, ``"package.module:attribute"`` for
        one of these or a function that returns one, or a TorchScript or `torch.export` file.
    shape
        Input shape of one latent, if it is not a flat row.

    Raises
    ------
    InputError
        If this is not a decoder, or one that must not be loaded.
    """
    name = None
    if isinstance(given, str | Path):
        given, name = _named(str(given))
    if hasattr(given, "jvp") and not inspect.isclass(given):
        return DerivativeDecoder(given, name or type(given).__name__, shape)
    if inspect.isclass(given) or not callable(given):
        what = f"the class {given.__name__}" if inspect.isclass(given) else type(given).__name__
        message = (
            f"{what} is not a decoder: give a torch module, a function of tensors, an object with "
            "jvp(points, directions), a name like package.module:attribute, or a file of "
            "TorchScript or torch.export."
        )
        raise InputError(message)
    from upto.decoders.torch_decoder import TorchDecoder

    return TorchDecoder(given, name or _called(given), shape)


def check_decoder(given: Any) -> None:
    """Check, before anything is read, that torch is installed for a decoder that needs it.

    Parameters
    ----------
    given
        As for `find_decoder`; what a name refers to is not imported.

    Raises
    ------
    MissingExtraError
        If torch is needed and not installed.
    """
    if isinstance(given, str | Path):
        if Path(given).is_file():
            check_extra("torch", "decoders in files")
    elif callable(given) and not hasattr(given, "jvp") and not inspect.isclass(given):
        check_extra("torch", "decoders that are torch modules or functions")


class DerivativeDecoder:
    """An object that provides its own derivatives on NumPy arrays.

    Parameters
    ----------
    given
        Object with ``jvp(points, directions)``, and optionally ``vjp(points, cotangents)`` and
        ``__call__``.
    name
        Name of the decoder.
    shape
        Input shape of one latent, if it is not a flat row.
    """

    chain = None

    def __init__(self, given: Any, name: str, shape: tuple[int, ...] | None = None) -> None:
        self.name = name
        self._given, self._shape = given, shape

    def evaluate(self, points: Float) -> Any | None:
        """Return the object's outputs."""
        if not callable(self._given):
            return None
        found = self._asked(self._given, "outputs", self._shaped(points))
        return self._flat(found, len(points), "outputs")

    def linearise(self, points: Float) -> Linearisation:
        """Return the object's outputs with its derivatives."""
        given, shaped, outputs = self._given, self._shaped(points), None
        shape: tuple[int, ...] = (len(points), -1)
        if callable(given):
            found = np.asarray(self._asked(given, "outputs", shaped))
            outputs, shape = self._flat(found, len(points), "outputs"), found.shape

        def push(directions: Float) -> Any:
            pushed = self._asked(given.jvp, "jvp", shaped, self._shaped(directions))
            return self._flat(pushed, len(points), "jvp")

        def pull(cotangents: Float) -> Any:
            pulled = self._asked(given.vjp, "vjp", shaped, cotangents.reshape(shape))
            return self._flat(pulled, len(points), "vjp")

        return Linearisation(
            points=points,
            outputs=outputs,
            push=push,
            pull=pull if hasattr(given, "vjp") else None,
        )

    def _asked(self, function: Callable[..., Any], what: str, *arguments: Float) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            message = (
                f"{self.name} fails to return its {what} at latents of shape "
                f"{arguments[0].shape} ({said(error)}): check its code and the latents."
            )
            raise InputError(message) from error

    def _shaped(self, rows: Float) -> Float:
        return rows if self._shape is None else rows.reshape(len(rows), *self._shape)

    def _flat(self, found: Any, n_points: int, what: str) -> NDArray[Any]:
        """Return rows in the precision found; half precision is converted to single."""
        array = np.asarray(found)
        refuse_type(self.name, what, str(array.dtype), is_real=array.dtype.kind == "f")
        refuse_rows(self.name, what, array.shape, n_points)
        kind = np.float64 if array.dtype.itemsize >= 8 else np.float32
        return array.reshape(n_points, -1).astype(kind, copy=False)


def said(error: BaseException | None) -> str:
    """Return the first line of an error message, or the error type if it is empty."""
    (line, *_) = str(error).strip().splitlines() or [type(error).__name__]
    return line.rstrip(".")


def refuse_type(name: str, what: str, dtype: str, *, is_real: bool) -> None:
    """Raise an error for outputs that are not real floating-point numbers."""
    if not is_real:
        message = (
            f"the {what} of {name} are {dtype}, not real floating-point numbers: return floats, "
            "e.g. the real part, or the values before rounding."
        )
        raise InputError(message)


def refuse_rows(name: str, what: str, shape: tuple[int, ...], n_points: int) -> None:
    """Raise an error for a result without one row per point."""
    if not shape or shape[0] != n_points:
        message = (
            f"the {what} of {name} have the shape {tuple(shape)} for {n_points} latents: a decoder "
            "takes a batch of latents and returns one row per latent."
        )
        raise InputError(message)


def _called(given: Any) -> str:
    name = getattr(given, "__name__", None) or type(given).__name__
    return str(name)


def _named(text: str) -> tuple[Any, str]:
    """Return the object of a file or a name, and its display name."""
    path = expanded(text)
    if path.is_file():
        from upto.decoders.programs import load_program

        return load_program(path), path.stem
    module, colon, attribute = text.partition(":")
    if not colon or not module or not attribute:
        message = (
            f"there is no file {text}, and it is not a name like package.module:attribute: "
            "check the path."
        )
        raise InputError(message)
    with importing_from_here(text):
        return _made(_attribute(_module(module), attribute, text), text), attribute


@contextmanager
def importing_from_here(given: Any) -> Iterator[None]:
    """Allow a decoder given by name, and its later imports, to be imported from this folder.

    A command does not search the current folder for modules, but users expect it.

    Parameters
    ----------
    given
        Argument of `find_decoder`. An object or a file needs no imports from here: modules next to
        a foreign file must not shadow others.
    """
    here = str(Path.cwd())
    is_name = isinstance(given, str) and not expanded(given).is_file()
    added = is_name and here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        yield
    finally:
        if added and here in sys.path:
            sys.path.remove(here)


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except Exception as error:
        kind = type(error).__name__
        message = (
            f"the module {name} cannot be imported ({kind}: {said(error)}): check its name and "
            "code."
        )
        raise InputError(message) from error


def _attribute(module: Any, dotted: str, text: str) -> Any:
    found = module
    for name in dotted.split("."):
        if not hasattr(found, name):
            close = difflib.get_close_matches(name, dir(found), 1)
            hint = f"did you mean {close[0]!r}?" if close else "check the name after the colon."
            message = f"{text}: {getattr(found, '__name__', name)} has no {name!r}; {hint}"
            raise InputError(message)
        found = getattr(found, name)
    return found


def _made(found: Any, text: str) -> Any:
    """Call a function without arguments that returns the decoder."""
    if not inspect.isroutine(found):
        return found
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return found
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(each.default is each.empty and each.kind not in optional for each in parameters):
        return found
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return found
    try:
        made = found()
    except Exception as error:
        kind = type(error).__name__
        message = f"{text} fails when called ({kind}: {said(error)}): check its code."
        raise InputError(message) from error
    if made is None:
        message = f"{text} returned nothing: return the decoder, or name one."
        raise InputError(message)
    return made
