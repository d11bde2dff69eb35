"""Corrections of batch effects that can be used on batches never seen."""

from upto.lazy import attach

# The estimators bring scikit-learn, which takes a second to import.
__getattr__, __dir__, __all__ = attach(__name__)
