"""Whitening and ICA: coordinates in which runs agree without supervision."""

from upto.lazy import attach

# The estimators import scikit-learn, which takes a second and which passes do not need.
__getattr__, __dir__, __all__ = attach(__name__)
