"""Tell whether trainings give the same representation, up to what, and with what error.

Public names are resolved on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which takes its time: an interrupt here is ours already
if TYPE_CHECKING:
    from typing import Any

    from upto.activations import load_model, record_activations
    from upto.alignment import Aligner
    from upto.assess import apply_transform, compare, score_batches, score_factors
    from upto.core import (
        Batches,
        Comparison,
        ComparisonMatrix,
        Embeddings,
        Estimate,
        Factors,
        Finding,
        Group,
        InputError,
        Promise,
        StudyResult,
        Table,
        UptoError,
    )
    from upto.datasets import ImageSet, read_image_set
    from upto.engines import DaskEngine, ThreadsEngine, TorchEngine
    from upto.files import read_manifest, read_run, read_runs
    from upto.ica import (
        ICA,
        Whitener,
        ica_from_anndata,
        load_transform,
        save_transform,
        write_to_anndata,
    )
    from upto.questions.consensus.question import consensus
    from upto.questions.consensus.result import ConsensusResult
    from upto.questions.diversity.question import check_diversity
    from upto.questions.diversity.result import DiversityResult
    from upto.questions.inspect.question import inspect_run
    from upto.questions.inspect.result import InspectResult
    from upto.questions.layers.question import compare_layers
    from upto.questions.layers.result import LayersResult
    from upto.questions.lipschitz.question import lipschitz
    from upto.questions.lipschitz.result import LipschitzResult
    from upto.questions.similarity.question import similarity
    from upto.questions.similarity.result import SimilarityResult
    from upto.questions.unmix.question import unmix_run
    from upto.questions.unmix.result import UnmixResult
    from upto.report import Report

_HOMES = {
    "Aligner": "upto.alignment",
    "Batches": "upto.core",
    "Comparison": "upto.core",
    "ComparisonMatrix": "upto.core",
    "ConsensusResult": "upto.questions.consensus.result",
    "DaskEngine": "upto.engines",
    "DiversityResult": "upto.questions.diversity.result",
    "Embeddings": "upto.core",
    "Estimate": "upto.core",
    "Factors": "upto.core",
    "Finding": "upto.core",
    "Group": "upto.core",
    "ICA": "upto.ica",
    "ImageSet": "upto.datasets",
    "InputError": "upto.core",
    "InspectResult": "upto.questions.inspect.result",
    "LayersResult": "upto.questions.layers.result",
    "LipschitzResult": "upto.questions.lipschitz.result",
    "Promise": "upto.core",
    "Report": "upto.report",
    "SimilarityResult": "upto.questions.similarity.result",
    "StudyResult": "upto.core",
    "Table": "upto.core",
    "ThreadsEngine": "upto.engines",
    "TorchEngine": "upto.engines",
    "UnmixResult": "upto.questions.unmix.result",
    "UptoError": "upto.core",
    "Whitener": "upto.ica",
    "apply_transform": "upto.assess",
    "check_diversity": "upto.questions.diversity.question",
    "compare": "upto.assess",
    "compare_layers": "upto.questions.layers.question",
    "consensus": "upto.questions.consensus.question",
    "ica_from_anndata": "upto.ica",
    "inspect_run": "upto.questions.inspect.question",
    "lipschitz": "upto.questions.lipschitz.question",
    "load_model": "upto.activations",
    "load_transform": "upto.ica",
    "read_image_set": "upto.datasets",
    "read_manifest": "upto.files",
    "read_run": "upto.files",
    "read_runs": "upto.files",
    "record_activations": "upto.activations",
    "save_transform": "upto.ica",
    "score_batches": "upto.assess",
    "score_factors": "upto.assess",
    "similarity": "upto.questions.similarity.question",
    "unmix_run": "upto.questions.unmix.question",
    "write_to_anndata": "upto.ica",
}

__all__ = [
    "ICA",
    "Aligner",
    "Batches",
    "Comparison",
    "ComparisonMatrix",
    "ConsensusResult",
    "DaskEngine",
    "DiversityResult",
    "Embeddings",
    "Estimate",
    "Factors",
    "Finding",
    "Group",
    "ImageSet",
    "InputError",
    "InspectResult",
    "LayersResult",
    "LipschitzResult",
    "Promise",
    "Report",
    "SimilarityResult",
    "StudyResult",
    "Table",
    "ThreadsEngine",
    "TorchEngine",
    "UnmixResult",
    "UptoError",
    "Whitener",
    "apply_transform",
    "check_diversity",
    "compare",
    "compare_layers",
    "consensus",
    "ica_from_anndata",
    "inspect_run",
    "lipschitz",
    "load_model",
    "load_transform",
    "read_image_set",
    "read_manifest",
    "read_run",
    "read_runs",
    "record_activations",
    "save_transform",
    "score_batches",
    "score_factors",
    "similarity",
    "unmix_run",
    "write_to_anndata",
]


_ROOMS = frozenset(
    {
        "activations",
        "alignment",
        "batch_metrics",
        "core",
        "corrections",
        "datasets",
        "decoders",
        "disentanglement",
        "engines",
        "files",
        "geometry",
        "ica",
        "measures",
        "questions",
        "report",
        "simulate",
        "testing",
        "theory",
    }
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("upto")
    if name in _ROOMS:
        return import_module(f"upto.{name}")
    if name not in _HOMES:
        message = f"module 'upto' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS, "__version__"})
