"""`upto doctor`: show installed and missing packages."""

from __future__ import annotations

import os
import platform
from importlib import metadata

import click

from upto.cli.exits import EPILOG
from upto.core.errors import how_to_install

REQUIRED = (
    "array-api-compat",
    "click",
    "msgspec",
    "narwhals",
    "numpy",
    "rich",
    "scikit-learn",
    "scipy",
    "threadpoolctl",
)
EXTRAS = {
    "tables": ("pyarrow", "parquet files"),
    "anndata": ("h5py", "h5ad files"),
    "hdf5": ("h5py", "HDF5 files"),
    "zarr": ("zarr", "zarr folders"),
    "report": ("jinja2", "HTML reports"),
    "plot": ("matplotlib", "figures"),
    "images": ("pillow", "image sets"),
    "boost": ("lightgbm", "DCI by LightGBM"),
    "torch": ("torch", "the torch engine"),
    "dask": ("distributed", "the dask engine"),
    "hub": ("transformers", "Hub models"),
    "timm": ("timm", "timm models"),
    "harmony": ("scanpy", "Harmony"),
    "testing": ("hypothesis", "upto.testing"),
}


@click.command("doctor", epilog=EPILOG)
def command() -> None:
    """Show versions and the state of each optional extra."""
    click.echo(f"upto {metadata.version('upto')}, Python {platform.python_version()}")
    click.echo(f"{platform.platform()}, {os.cpu_count()} cores{_memory()}\n")
    for name in REQUIRED:
        click.echo(f"  {name:<18} {metadata.version(name)}")
    click.echo("\nOptional:")
    for extra, (package, purpose) in EXTRAS.items():
        try:
            state = metadata.version(package)
        except metadata.PackageNotFoundError:
            state = f"missing: {how_to_install(extra)}"
        click.echo(f"  {purpose:<18} {package} {state}")
    click.echo("\nBLAS:")
    for library in _blas():
        click.echo(f"  {library}")


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
