"""Pure functions from arrays to numbers, and the catalogue of similarity measures."""

from upto.lazy import attach

# Lazy: importing one function must not load every measure.
__getattr__, __dir__, __all__ = attach(__name__)
