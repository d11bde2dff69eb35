"""Coordinates in which runs agree without supervision: whitening and ICA."""

from upto.lazy import attach

# The estimators bring scikit-learn, which takes a second to import and passes do not need.
__getattr__, __dir__, __all__ = attach(__name__)
