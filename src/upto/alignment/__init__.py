"""Maps from one run onto another: closed forms, their refinement, and the estimator."""

from upto.lazy import attach

# The estimator brings scikit-learn, which takes a second to import and passes do not need.
__getattr__, __dir__, __all__ = attach(__name__)
