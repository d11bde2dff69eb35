"""Batches: which transform lets biology transfer to plates that were never seen."""
