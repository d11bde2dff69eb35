"""Fitted estimators: saved, loaded, and applied to files of any size."""

from upto.lazy import attach

# The estimators import scikit-learn, which takes a second.
__getattr__, __dir__, __all__ = attach(__name__)
