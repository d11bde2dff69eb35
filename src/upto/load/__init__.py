"""Runs from files: every common format, read block by block, and matched row by row."""

from upto.load.datasets import BUNDLED, bundled_path
from upto.load.files import read_labels, read_run
from upto.load.matching import match_rows
from upto.load.runs import read_manifest, read_runs

__all__ = [
    "BUNDLED",
    "bundled_path",
    "match_rows",
    "read_labels",
    "read_manifest",
    "read_run",
    "read_runs",
]
