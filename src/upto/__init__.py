"""Tell whether trainings give the same representation, up to what, and with what error.

Public names are resolved on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from upto.align import Aligner
    from upto.assess import compare, inspect_run
    from upto.core import (
        Comparison,
        ComparisonMatrix,
        Embeddings,
        Estimate,
        Finding,
        Group,
        InputError,
        Inspection,
        Table,
        UptoError,
    )
    from upto.engines import ThreadsEngine
    from upto.load import read_manifest, read_run, read_runs
    from upto.report import Report
    from upto.unmix import ICA

_HOMES = {
    "Aligner": "upto.align",
    "Comparison": "upto.core",
    "ComparisonMatrix": "upto.core",
    "Embeddings": "upto.core",
    "Estimate": "upto.core",
    "Finding": "upto.core",
    "Group": "upto.core",
    "ICA": "upto.unmix",
    "InputError": "upto.core",
    "Inspection": "upto.core",
    "Report": "upto.report",
    "Table": "upto.core",
    "ThreadsEngine": "upto.engines",
    "UptoError": "upto.core",
    "compare": "upto.assess",
    "inspect_run": "upto.assess",
    "read_manifest": "upto.load",
    "read_run": "upto.load",
    "read_runs": "upto.load",
}

__all__ = [
    "ICA",
    "Aligner",
    "Comparison",
    "ComparisonMatrix",
    "Embeddings",
    "Estimate",
    "Finding",
    "Group",
    "InputError",
    "Inspection",
    "Report",
    "Table",
    "ThreadsEngine",
    "UptoError",
    "compare",
    "inspect_run",
    "read_manifest",
    "read_run",
    "read_runs",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return metadata.version("upto")
    if name not in _HOMES:
        message = f"module 'upto' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
