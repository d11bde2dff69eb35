"""Coordinates in which runs agree without supervision: whitening and ICA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.unmix.fastica import Unmixing, fast_ica, nongaussianity, whitening_root

if TYPE_CHECKING:
    from upto.unmix.ica import ICA

__all__ = ["ICA", "Unmixing", "fast_ica", "nongaussianity", "whitening_root"]


def __getattr__(name: str) -> Any:
    # The estimator brings scikit-learn, which takes a second to import and passes do not need.
    if name == "ICA":
        from upto.unmix.ica import ICA

        return ICA
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
