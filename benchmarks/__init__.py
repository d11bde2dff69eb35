"""Benchmarks: ratios to peers measured side by side, next to the floor. Not tests."""
