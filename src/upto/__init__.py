"""Test whether trained models learned the same representation, up to what, and with what error.

Public names are imported on first use, so importing the package is cheap.
"""

from upto.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
