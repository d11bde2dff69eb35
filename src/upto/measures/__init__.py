"""Pure functions from arrays to numbers, and the catalogue of similarity measures."""

from upto.lazy import attach

# Whoever wants a diameter need not wait for every measure.
__getattr__, __dir__, __all__ = attach(__name__)
