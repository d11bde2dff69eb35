"""Jacobians of a decoder, and how far it is from an isometry."""
