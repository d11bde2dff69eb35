"""The tests of engines may ask for a cluster."""

from clusters import client

__all__ = ["client"]
