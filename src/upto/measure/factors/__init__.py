"""How well codes match known factors: every score by its source's name, from plain arrays."""
