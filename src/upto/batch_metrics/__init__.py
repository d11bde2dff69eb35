"""Metrics of batches and labels: mixing, retrieval, effects, held-out classifiers."""

from upto.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
