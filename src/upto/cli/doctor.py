"""`upto doctor`: show installed and missing packages."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib import metadata

import click

from upto.cli.exits import EPILOG
from upto.core.errors import how_to_install
from upto.core.extras import EXTRAS, INSTEAD

REQUIRED = (
    "array-api-compat",
    "click",
    "jinja2",
    "msgspec",
    "narwhals",
    "numpy",
    "rich",
    "scikit-learn",
    "scipy",
    "threadpoolctl",
)


@click.command("doctor", epilog=EPILOG)
def command() -> None:
    """Show versions and the state of each optional extra."""
    click.echo(f"upto {metadata.version('upto')}, Python {platform.python_version()}")
    click.echo(f"{platform.platform()}, {os.cpu_count()} cores{_memory()}\n")
    for name in REQUIRED:
        click.echo(f"  {name:<18} {metadata.version(name)}")
    click.echo("\nOptional:")
    for extra, (packages, purpose) in EXTRAS.items():
        click.echo(f"  {extra:<9} {purpose:<50} {_state(extra, packages)}")
    click.echo("\nBLAS:")
    for library in _blas():
        click.echo(f"  {library}")


def _state(extra: str, packages: tuple[str, ...]) -> str:
    """Return the versions of the packages of an extra, or how to install them."""
    instead = [(INSTEAD[extra],)] if extra in INSTEAD else []
    for choice in (packages, *instead):
        with suppress(metadata.PackageNotFoundError):
            return ", ".join(f"{package} {metadata.version(package)}" for package in choice)
    return f"{packages[0]} is missing: {how_to_install(extra)}"


def _memory() -> str:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return ""
    return f", {pages * size / 2**30:.0f} GiB of memory"


def _blas() -> list[str]:
    import numpy as np
    from threadpoolctl import threadpool_info

    np.dot(np.ones(2), np.ones(2))
    return [
        f"{each.get('internal_api')} {each.get('version')}, {each.get('num_threads')} threads"
        for each in threadpool_info()
        if each.get("user_api") == "blas"
    ] or ["none found"]
