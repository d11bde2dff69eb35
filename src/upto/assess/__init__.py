"""What questions share (reading, splitting, preparing runs), and compare, factors and batches."""

from upto.lazy import attach

# Some bring scikit-learn's estimators, or every measure, which the others do not need.
__getattr__, __dir__, __all__ = attach(__name__)
