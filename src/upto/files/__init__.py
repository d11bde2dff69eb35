"""Read and write runs in common formats, block by block, and match their rows."""

from upto.files.excerpts import BUNDLED, bundled_path
from upto.files.formats import read_columns, read_labels, read_run
from upto.files.match import match_rows
from upto.files.runs import read_manifest, read_runs
from upto.files.write import check_output, open_writer

__all__ = [
    "BUNDLED",
    "bundled_path",
    "check_output",
    "match_rows",
    "open_writer",
    "read_columns",
    "read_labels",
    "read_manifest",
    "read_run",
    "read_runs",
]
