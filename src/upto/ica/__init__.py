"""Coordinates in which runs agree without supervision: whitening and ICA."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from upto.ica.components import Unmixing, find_components
from upto.ica.contrasts import choose_contrast
from upto.ica.gaussianity import nongaussianity, pair_curvature
from upto.ica.hessian import smallest_curvature
from upto.ica.restarts import bootstrapped, stability_of

if TYPE_CHECKING:
    from upto.ica.annotating import ica_from_anndata, write_to_anndata
    from upto.ica.ica import ICA
    from upto.ica.saving import load_transform, save_transform
    from upto.ica.whitener import Whitener

# The estimators bring scikit-learn, which takes a second to import and passes do not need.
_LATER = {
    "ICA": "ica",
    "Whitener": "whitener",
    "ica_from_anndata": "annotating",
    "load_transform": "saving",
    "save_transform": "saving",
    "write_to_anndata": "annotating",
}

__all__ = [
    "ICA",
    "Unmixing",
    "Whitener",
    "bootstrapped",
    "choose_contrast",
    "find_components",
    "ica_from_anndata",
    "load_transform",
    "nongaussianity",
    "pair_curvature",
    "save_transform",
    "smallest_curvature",
    "stability_of",
    "write_to_anndata",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
