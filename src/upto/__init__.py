"""upto."""
