"""The nouns of the package: embeddings, groups, results, findings, errors, seeds, progress."""

from upto.core.batch_scores import (
    BatchFold,
    BatchMap,
    BatchScore,
    BatchSummary,
    ComponentCarries,
    Concentration,
    Condition,
    ConditionDifference,
    ConditionScore,
    FoldScore,
    Leak,
    Task,
    TopScore,
)
from upto.core.batches import Batches
from upto.core.comparison import Comparison
from upto.core.comparison_matrix import ComparisonMatrix, Matrix
from upto.core.comparison_parts import (
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
from upto.core.embeddings import Embeddings, GatheringRows, Rows, SelectedRows
from upto.core.errors import InputError, MissingExtraError, UptoError
from upto.core.estimate import Estimate
from upto.core.factors import Factors
from upto.core.finding import RULES, Finding, unique_findings
from upto.core.grids import FactorGrid
from upto.core.group import Group
from upto.core.latents import (
    FactorMatch,
    FactorSummary,
    FormScore,
    LatentForm,
    Structure,
    StructureFit,
)
from upto.core.panel import Marks, Panel
from upto.core.progress import Progress, SilentProgress
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
from upto.core.result import Provenance, Result, library_versions, result_from_json
from upto.core.rule import Rule
from upto.core.scales import refuse_scale, scale_limits
from upto.core.seeds import random_stream
from upto.core.study import Quantity, SettingValue, Span, StudyResult
from upto.core.table import Cell, Column, Table
from upto.core.tensors import read_tensors, write_tensors
from upto.core.trace import Identifiability, TraceStep
from upto.question import Question, question_of_kind, questions

__all__ = [
    "RULES",
    "Agreement",
    "Along",
    "Baseline",
    "BatchFold",
    "BatchMap",
    "BatchScore",
    "BatchSummary",
    "Batches",
    "Cell",
    "Classes",
    "Column",
    "Comparison",
    "ComparisonMatrix",
    "ComponentCarries",
    "Concentration",
    "Condition",
    "ConditionDifference",
    "ConditionScore",
    "Constant",
    "Defect",
    "Diameter",
    "Embeddings",
    "Errors",
    "Estimate",
    "FactorGrid",
    "FactorMatch",
    "FactorSummary",
    "Factors",
    "Finding",
    "Fit",
    "FoldScore",
    "FormScore",
    "GatheringRows",
    "Group",
    "Histogram",
    "Identifiability",
    "InputError",
    "LatentForm",
    "Leak",
    "Marks",
    "Matrix",
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
    "Structure",
    "StructureFit",
    "StudyResult",
    "Supremum",
    "Table",
    "Task",
    "TopScore",
    "TraceStep",
    "UptoError",
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
    "write_tensors",
]
