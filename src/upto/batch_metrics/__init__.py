"""Metrics of batches and labels: mixing, retrieval, effects, held-out classifiers."""
