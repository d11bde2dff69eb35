"""Data with known truth: sources, mixings of prescribed constants, sprites."""
