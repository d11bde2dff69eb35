"""Batch-effect corrections that apply to unseen batches."""

from upto.lazy import attach

# The estimators import scikit-learn, which takes a second.
__getattr__, __dir__, __all__ = attach(__name__)
