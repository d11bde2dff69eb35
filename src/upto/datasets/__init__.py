"""TODO datasets."""
