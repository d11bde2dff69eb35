"""Lazy imports of the public names of packages.

A package lists its names once, in the stub ``__init__.pyi``: type checkers read the stub, and
`attach` provides the same names at run time.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # importing `typing` or `ast` takes longer than the package itself
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ONLY_AST = 0x400  # `ast.PyCF_ONLY_AST`


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package with a stub.

    Parameters
    ----------
    package
        The package's ``__name__``. Each line ``from module import name as name`` of its stub is
        a public name; one with the package itself as module is a subpackage.
    """
    module = sys.modules[package]
    # The loader also reads from zip files.
    stub: bytes = module.__loader__.get_data(f"{module.__path__[0]}/__init__.pyi")  # type: ignore[union-attr]
    homes: dict[str, str] = {
        alias.name: line.module
        for line in compile(stub, "__init__.pyi", "exec", _ONLY_AST).body
        if hasattr(line, "names")
        for alias in line.names
    }

    def find(name: str) -> Any:
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(module), *homes})

    public = {name for name, home in homes.items() if home != package and name[0] != "_"}
    return find, listed, sorted(public)
