"""Docstrings name the parameters that exist."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

import upto

SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)


def parameters_in(docstring: str) -> list[str] | None:
    """Return the names under the heading Parameters, or nothing where there is no such heading."""
    parts = SECTION.split(docstring)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if "Parameters" not in sections:
        return None
    names: list[str] = []
    for line in sections["Parameters"].splitlines():
        if line and not line[0].isspace():
            names += [name.strip(" *") for name in line.split(" : ")[0].split(",")]
    return names


def parameters_of(thing: object) -> list[str]:
    return [
        name for name, parameter in inspect.signature(thing).parameters.items() if name != "self"
    ]


def complaints(thing: object) -> str | None:
    """Say what is wrong with the parameters a docstring names."""
    names = parameters_in(inspect.getdoc(thing) or "")
    if names is None:
        return None
    known = parameters_of(thing)
    unknown = [name for name in names if name not in known]
    if unknown:
        return f"documents {unknown}, which it does not take"
    if len(set(names)) != len(names):
        return f"documents a parameter twice: {names}"
    if names != [name for name in known if name in names]:
        return f"documents its parameters in another order: {names}"
    return None


def public_things() -> dict[str, object]:
    """Collect every public class and function, and the public methods of classes."""
    things: dict[str, object] = {}
    for info in pkgutil.walk_packages(upto.__path__, "upto."):
        if info.name.startswith(("upto.cli", "upto.__main__")):
            continue  # Commands are documented by their help.
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            continue  # Some modules are of no use without it.
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", "") != info.name:
                continue
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            things[f"{info.name}.{name}"] = thing
            if inspect.isclass(thing):
                for method, function in vars(thing).items():
                    if not method.startswith("_") and inspect.isfunction(function):
                        things[f"{info.name}.{name}.{method}"] = function
    return things


THINGS = public_things()
EXPORTED = [
    (name, getattr(upto, name))
    for name in upto.__all__
    if inspect.isroutine(getattr(upto, name))
    or name in ("ICA", "ThreadsEngine")
    or name.endswith("Aligner")
]


def test_everything_public_was_looked_at():
    assert len(THINGS) > 100
    assert (
        sum(parameters_in(inspect.getdoc(thing) or "") is not None for thing in THINGS.values())
        > 15
    )


def test_documented_parameters_are_those_of_the_signature():
    found = {name: complaints(thing) for name, thing in THINGS.items()}
    assert {name: words for name, words in found.items() if words is not None} == {}


def test_everything_public_has_a_docstring_of_its_own():
    assert [name for name, thing in THINGS.items() if not (thing.__doc__ or "").strip()] == []


@pytest.mark.parametrize(("name", "thing"), EXPORTED, ids=[name for name, _ in EXPORTED])
def test_what_users_call_documents_every_parameter(name, thing):
    missing = set(parameters_of(thing)) - set(parameters_in(inspect.getdoc(thing) or "") or ())
    # The name of an engine is what it is called on the command line, not a choice.
    assert missing <= ({"name"} if name == "ThreadsEngine" else set())


def renamed(rows, *, level):
    """Do something.

    Parameters
    ----------
    rows, quantile
        The rows.
    """


def reordered(rows, level):
    """Do something.

    Parameters
    ----------
    level : float
        The level.
    rows
        The rows, with - or without
        a second line.

    Returns
    -------
    nothing
    """


@pytest.mark.parametrize(
    ("thing", "message"), [(renamed, r"\['quantile'\], which it does not"), (reordered, "order")]
)
def test_a_wrong_docstring_is_noticed(thing, message):
    assert re.search(message, complaints(thing) or "")
