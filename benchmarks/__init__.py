"""Benchmarks against peers and against the hardware limit; not tests."""
