"""Shared types: embeddings, groups, fits, tables, findings, errors, seeds, progress."""

from upto.lazy import attach

# Commands import errors; NumPy, which most other modules import, would slow `upto --help`.
__getattr__, __dir__, __all__ = attach(__name__)
