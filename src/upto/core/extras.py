"""Optional packages: what each extra is for, and the check that its package is installed."""

from __future__ import annotations

from importlib.util import find_spec

from upto.core.errors import MissingExtraError

EXTRAS = {
    "tables": (("pyarrow",), "parquet files"),
    "anndata": (("h5py",), "h5ad files"),
    "hdf5": (("h5py",), "HDF5 files"),
    "zarr": (("zarr",), "zarr folders"),
    "lance": (("pylance",), "Lance tables"),
    "index": (("faiss-cpu",), "search in FAISS indexes"),
    "plot": (("matplotlib",), "figures"),
    "images": (("pillow", "h5py"), "published image sets"),
    "boost": (("lightgbm",), "boosted trees of `upto batches`, DCI by LightGBM"),
    "torch": (("torch",), "the torch engine, decoders, recorded layers"),
    "dask": (("distributed", "dask"), "the dask engine"),
    "hub": (("transformers", "safetensors"), "models of transformers"),
    "timm": (("timm",), "models of timm"),
    "harmony": (("scanpy",), "the correction Harmony"),
    "testing": (("hypothesis",), "strategies of `upto.testing`"),
}
"""The packages that each extra brings, and their use."""

INSTEAD = {"harmony": "harmonypy"}
"""A package that does what an extra does, where that cannot be installed."""

_MODULES = {"pillow": "PIL", "pylance": "lance", "faiss-cpu": "faiss"}


def check_extra(extra: str, what: str) -> None:
    """Check that the packages of an extra are installed, without importing it.

    Parameters
    ----------
    extra
        Name of the extra.
    what
        What needs it, as the subject of the sentence.

    Raises
    ------
    MissingExtraError
        If one is not.
    """
    if extra in INSTEAD and _is_installed(INSTEAD[extra]):
        return
    for package in EXTRAS[extra][0]:
        if not _is_installed(_MODULES.get(package, package)):
            raise MissingExtraError(what, package=package, extra=extra)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:
        # A module that was replaced by hand has no specification.
        return True
