"""Runs from and to files: every common format, block by block, and matched row by row."""

from upto.load.activations import record_activations
from upto.load.datasets import IMAGE_SETS, read_image_set
from upto.load.excerpts import BUNDLED, bundled_path
from upto.load.files import read_columns, read_labels, read_run
from upto.load.hub import load_model
from upto.load.image_sets.record import ImageSet, Pictures
from upto.load.matching import match_rows
from upto.load.runs import read_manifest, read_runs
from upto.load.writing import check_output, open_writer

__all__ = [
    "BUNDLED",
    "IMAGE_SETS",
    "ImageSet",
    "Pictures",
    "bundled_path",
    "check_output",
    "load_model",
    "match_rows",
    "open_writer",
    "read_columns",
    "read_image_set",
    "read_labels",
    "read_manifest",
    "read_run",
    "read_runs",
    "record_activations",
]
