"""Jacobians of a decoder, and its distance from an isometry."""
