"""Runs from and to files: every common format, block by block, and matched row by row."""

from upto.activations.record import record_activations
from upto.datasets.read import IMAGE_SETS, read_image_set
from upto.files.excerpts import BUNDLED, bundled_path
from upto.files.formats import read_columns, read_labels, read_run
from upto.activations.hub import load_model
from upto.datasets.record import ImageSet, Pictures
from upto.files.match import match_rows
from upto.files.runs import read_manifest, read_runs
from upto.files.write import check_output, open_writer

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
