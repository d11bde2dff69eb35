"""Held-out rows, dependence between rows, permutation tests of pairings, and intervals."""
