"""Maps from one run onto another: closed forms, their refinement, and the estimator."""

from upto.lazy import attach

# The estimator imports scikit-learn, which takes a second and is not needed for passes.
__getattr__, __dir__, __all__ = attach(__name__)
