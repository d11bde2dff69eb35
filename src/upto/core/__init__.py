"""Shared types: embeddings, groups, fits, tables, findings, errors, seeds, progress."""

from upto.core.embeddings import Embeddings, GatheringRows, Rows, SelectedRows
from upto.core.errors import InputError, MissingExtraError, UptoError
from upto.core.estimate import Estimate
from upto.core.finding import RULES, Finding, unique_findings
from upto.core.fits import (
    Agreement,
    Along,
    Baseline,
    Classes,
    Defect,
    Diameter,
    Errors,
    Fit,
    Histogram,
    RunSummary,
    Scatter,
    Shared,
    Supremum,
)
from upto.core.float_range import refuse_scale, scale_limits
from upto.core.grids import FactorGrid
from upto.core.group import Group
from upto.core.panel import Marks, Panel
from upto.core.progress import Progress, SilentProgress, choose_progress
from upto.core.promise import (
    Constant,
    Promise,
    Promised,
    conditions_table,
    constants_table,
    finite_or_none,
    promise_table,
    promised_table,
)
from upto.core.provenance import UNRECORDED, Provenance, library_versions, with_provenance
from upto.core.result import Result, result_from_json
from upto.core.rule import Rule
from upto.core.seeds import random_stream
from upto.core.study import Quantity, SettingValue, Span, StudyResult
from upto.core.table import Cell, Column, Table
from upto.core.tensors import read_tensors, write_tensors
from upto.core.trace import Identifiability, TraceStep
from upto.question import Question, question_of_kind, questions

__all__ = [
    "RULES",
    "UNRECORDED",
    "Agreement",
    "Along",
    "Baseline",
    "Cell",
    "Classes",
    "Column",
    "Constant",
    "Defect",
    "Diameter",
    "Embeddings",
    "Errors",
    "Estimate",
    "FactorGrid",
    "Finding",
    "Fit",
    "GatheringRows",
    "Group",
    "Histogram",
    "Identifiability",
    "InputError",
    "Marks",
    "MissingExtraError",
    "Panel",
    "Progress",
    "Promise",
    "Promised",
    "Provenance",
    "Quantity",
    "Question",
    "Result",
    "Rows",
    "Rule",
    "RunSummary",
    "Scatter",
    "SelectedRows",
    "SettingValue",
    "Shared",
    "SilentProgress",
    "Span",
    "StudyResult",
    "Supremum",
    "Table",
    "TraceStep",
    "UptoError",
    "choose_progress",
    "conditions_table",
    "constants_table",
    "finite_or_none",
    "library_versions",
    "promise_table",
    "promised_table",
    "question_of_kind",
    "questions",
    "random_stream",
    "read_tensors",
    "refuse_scale",
    "result_from_json",
    "scale_limits",
    "unique_findings",
    "with_provenance",
    "write_tensors",
]
