"""Seeded mutants of every file upto reads, and what may become of them."""
