"""Tell whether trainings give the same representation, up to what, and with what error.

Public names are resolved on first use, so that importing the package costs nothing.
"""

from upto.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
