"""Coordinates in which runs agree without supervision: whitening and ICA."""

from upto.unmix.fastica import Unmixing, fast_ica, whitening_root
from upto.unmix.ica import ICA

__all__ = ["ICA", "Unmixing", "fast_ica", "whitening_root"]
