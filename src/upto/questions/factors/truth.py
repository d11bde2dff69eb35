"""Read known factors of the rows of a run, and classify them as discrete or continuous."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Embeddings, InputError
from upto.disentanglement.mutual_information import entropy
from upto.files import match_rows, read_columns
from upto.files.frames import frame_index
from upto.files.named_coordinates import take_out
from upto.files.tables import LABEL_NAMES
from upto.files.vectors import as_columns, as_values, as_vector, has_columns
from upto.measures.kinds import LARGEST, SMALLEST
from upto.questions.factors.parts import FactorKind, FactorSummary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from upto.core import Finding
    from upto.core.array_types import Float

    FactorSource = str | Path | Mapping[str, ArrayLike] | ArrayLike | None


FEW_VALUES, ROWS_A_VALUE = 64, 5
"""Numbers are discrete if they have few values, each on several rows on average."""
WHO_NAMES = ("donor", "id", "identity", "participant", "patient", "person", "speaker", "subject",
             "user")  # fmt: skip
"""Words in names of columns whose integers identify individuals, however many there are."""
CLASS_NAMES = (*LABEL_NAMES, *WHO_NAMES, "category", "condition", "digit", "genotype", "group",
               "kind", "letter", "shape", "species", "strain", "tissue", "treatment",
               "type")  # fmt: skip
"""Words in names of columns whose numbers are class numbers."""
LINE_NAMES = (
    "age", "amount", "angle", "azimuth", "concentration", "count", "day", "degree", "depth", "dose",
    "elevation", "grade", "height", "hour", "intensity", "length", "level", "orientation",
    "position", "pos", "radius", "rank", "rating", "rotation", "scale", "score", "size", "speed",
    "time", "velocity", "weight", "width", "x", "y", "year", "z",
)  # fmt: skip
"""Words in names of columns whose numbers are quantities, even if consecutive integers."""
KINDS = ("continuous", "discrete", "unordered", "ordered")
"""Declarable kinds of a factor: one of them, or discrete and ordered."""
MISSING = ("", "na", "n/a", "nan", "null")
"""Strings that denote a missing label."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factor:
    """One factor: numbers, or labels, with NaN or None where missing.

    `in_truth` marks ordered numbers, which are coordinates of the truth; `why_not` is the reason
    why undeclared values are treated as categories.
    """

    name: str
    kind: FactorKind
    values: NDArray[Any]
    in_truth: bool
    why_not: str = ""

    @property
    def known(self) -> NDArray[np.bool_]:
        """Mask of the rows with a label."""
        if self.values.dtype == object:
            return np.array([value is not None for value in self.values], dtype=bool)
        known: NDArray[np.bool_] = ~np.isnan(self.values)
        return known

    @property
    def n_values(self) -> int:
        """Number of distinct values."""
        return len(set(self.values[self.known].tolist()))

    @property
    def counts(self) -> NDArray[np.intp]:
        """Number of rows of each value."""
        labels = self.values[self.known]
        texts = labels.astype(str) if labels.dtype == object else labels
        return np.unique(texts, return_counts=True)[1]

    def summary(self) -> FactorSummary:
        """Return a summary of the factor."""
        labels = np.repeat(np.arange(len(self.counts)), self.counts)
        discrete = self.kind == "discrete" and len(labels) > 0
        return FactorSummary(
            name=self.name,
            kind=self.kind,
            n_values=self.n_values,
            entropy=max(entropy(labels), 0.0) if discrete else None,
            labelled=float(self.known.mean()),
            in_truth=self.in_truth,
        )


def with_factors(
    run: Embeddings,
    source: FactorSource,
    *,
    ids: str | ArrayLike | None,
    names: Sequence[str] | None,
) -> tuple[Embeddings, dict[str, NDArray[Any]], tuple[Finding, ...]]:
    """Match rows of a run with those of factors; return both and the findings.

    Without a source, the columns of the run are the factors.
    """
    if source is None:
        # Anything but names is refused below.
        asked = (names,) if isinstance(names, str) else tuple(names or ())
        run = take_out(run, [name for name in asked if isinstance(name, str)])
        if not run.columns:
            message = (
                f"{run.name} has no metadata columns: name the factors among its columns, or pass "
                "them as a file or an array."
            )
            raise InputError(message)
        return run, _chosen({**run.columns}, names, run.name), ()
    row_ids, columns, name = _columns(source, ids, run)
    columns = _chosen(columns, names, name)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        message = (
            f"factors of {name} have {min(lengths)} to {max(lengths)} rows: pass one value per row."
        )
        raise InputError(message)
    # Matching uses only ids and columns.
    beside = Embeddings(rows=np.zeros((lengths.pop(), 1)), name=name, ids=row_ids, columns=columns)
    if row_ids is None or run.ids is None:
        _refuse_other_length(run, beside)
    (run, beside), found = match_rows([run, beside])
    return run, {name: np.asarray(values) for name, values in beside.columns.items()}, found


def clean_columns(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return numbers as float64 and labels as objects, with NaN or None where missing."""
    return {name: _cleaned(name, values) for name, values in columns.items()}


def as_numbers(columns: Mapping[str, NDArray[Any]]) -> Float:
    """Encode cleaned columns as numbers; equal labels have equal numbers."""
    return np.column_stack([_numbered(values) for values in columns.values()])


def as_factors(
    columns: Mapping[str, NDArray[Any]],
    *,
    continuous: Iterable[str] = (),
    discrete: Iterable[str] = (),
    unordered: Iterable[str] = (),
    ordered: Iterable[str] = (),
) -> tuple[Factor, ...]:
    """Classify cleaned columns as discrete or continuous, and as categories or ordered numbers.

    Text is categorical. So are numbers with few values if a word of the name is in `CLASS_NAMES`,
    or if they are three or more consecutive non-negative integers and no word of the name is in
    `LINE_NAMES`; only the caller can distinguish those from ordered steps. Other numbers are
    ordered: fractions, negative numbers, numbers with gaps, and two values, whose order is unique
    up to a sign.
    """
    wanted: dict[str, set[str]] = {}
    for kind, names in zip(KINDS, (continuous, discrete, unordered, ordered), strict=True):
        for name in _as_names(names, kind):
            if name not in columns:
                message = f"unknown factor {name!r}: choose from {_listed(columns)}."
                raise InputError(message)
            said = wanted.setdefault(name, set())
            said.add(kind)
            if len(said) > 1 and said != {"discrete", "ordered"}:
                both = " and ".join(each for each in KINDS if each in said)
                message = f"factor {name!r} is declared as {both}: choose one."
                raise InputError(message)
    return tuple(_factor(name, values, wanted.get(name, set())) for name, values in columns.items())


def _as_names(names: Any, kind: str) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) or not np.iterable(names) else tuple(names)
    if not all(isinstance(name, str) for name in found):
        message = f"{kind} is {names!r}: pass a list of names of factors."
        raise InputError(message)
    return found


def _factor(name: str, values: NDArray[Any], said: set[str]) -> Factor:
    is_number = values.dtype != object
    if said & {"continuous", "ordered"} and not is_number:
        label = next(value for value in values if value is not None)
        message = (
            f"factor {name!r} is declared as {' and '.join(sorted(said))} but has labels such as "
            f"{label!r}: drop the declaration, or pass numbers."
        )
        raise InputError(message)
    factor = Factor(name=name, kind="discrete", values=values, in_truth=False)
    if not is_number:
        return replace(factor, why_not="text")
    count, n_values = int(factor.known.sum()), factor.n_values
    few = n_values <= FEW_VALUES and n_values * ROWS_A_VALUE <= max(count, ROWS_A_VALUE)
    says_who = any(_singular(word) in WHO_NAMES for word in _words_of(name))
    few |= says_who and _are_whole(values[factor.known])
    is_continuous = "continuous" in said or (not few and not said & {"discrete", "unordered"})
    why_not = ""
    if not is_continuous and not said & {"ordered", "unordered"}:
        why_not = _as_classes(name, values[factor.known])
    return replace(
        factor,
        kind="continuous" if is_continuous else "discrete",
        in_truth="unordered" not in said and not why_not and n_values > 1,
        why_not=why_not,
    )


def _as_classes(name: str, numbers: Float) -> str:
    """Return the reason to treat numbers as class numbers; empty if there is none."""
    words = _words_of(name)
    called = [word for word in words if _singular(word) in map(_singular, CLASS_NAMES)]
    if called:
        return f"name contains {called[0]}"
    if any(_singular(word) in LINE_NAMES for word in words):
        return ""
    values = np.unique(numbers)
    if len(values) > 2 and values[0] >= 0.0 and _are_whole(values) and np.all(np.diff(values) == 1):
        return f"numbered from {values[0]:.0f} to {values[-1]:.0f}"
    return ""


def _words_of(name: str) -> list[str]:
    """Split a name into words: cell_type, cellType and cell type 2 have two."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^a-z]+", parted.lower()) if word]


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "species")) else word


def _are_whole(numbers: Float) -> bool:
    return bool(np.all(numbers == np.round(numbers)))


def _cleaned(name: str, given: NDArray[Any]) -> NDArray[Any]:
    if given.ndim != 1:
        message = f"factor {name!r} has shape {given.shape}: pass one value per row."
        raise InputError(message)
    if given.dtype.kind in "fiub":
        numbers = given.astype(np.float64)
        _refuse_extreme(name, numbers)
        return numbers
    if given.dtype.kind == "S":
        given = np.char.decode(given, "utf-8")
    cells = [_label(cell) for cell in given.tolist()]
    try:
        numbers = np.array([np.nan if cell is None else _number(cell) for cell in cells])
    except (TypeError, ValueError):
        labels = np.empty(len(cells), dtype=object)
        labels[:] = [None if cell is None else str(cell) for cell in cells]
        return labels
    _refuse_extreme(name, numbers)
    return numbers


def _numbered(values: NDArray[Any]) -> Float:
    if values.dtype == object:
        known = np.array([value is not None for value in values], dtype=bool)
        numbers = np.full(len(values), -1.0)
        numbers[known] = np.unique(values[known].astype(str), return_inverse=True)[1]
        return numbers
    # A single bit pattern for NaN, since rows are compared bitwise.
    return np.where(np.isnan(values), np.nan, values)


class _Text(str):
    """String that the caller passed as such, never parsed as a number."""

    __slots__ = ()


def _as_typed(values: Any) -> NDArray[Any]:
    """Mark strings of an in-memory column as text; those of files may be numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "UO":
        return array
    typed = np.empty(array.shape, dtype=object)
    typed.ravel()[:] = [_Text(cell) if isinstance(cell, str) else cell for cell in array.ravel()]
    return typed


def _label(cell: Any) -> Any:
    # Comparisons with pandas.NA are not boolean.
    is_missing = cell is None or type(cell).__name__ == "NAType" or cell != cell
    if isinstance(cell, str):
        is_missing = cell.strip().lower() in MISSING
    return None if is_missing else cell


def _number(cell: Any) -> float:
    if isinstance(cell, _Text):
        raise ValueError
    # Leading zeros and underscores occur in names, not in numbers.
    text = cell.strip().lstrip("-") if isinstance(cell, str) else ""
    if "_" in text or (text[:1] == "0" and text[1:2].isdigit()):
        raise ValueError
    return float(cell)


def _refuse_extreme(name: str, numbers: Float) -> None:
    count = int(np.isinf(numbers).sum())
    if count:
        message = f"factor {name!r} has {count} infinite values: remove those labels."
        raise InputError(message)
    largest = float(np.nanmax(np.abs(numbers), initial=0.0))
    if largest and not SMALLEST <= largest <= LARGEST:
        message = (
            f"factor {name!r} has values of size {largest:.2g}, whose powers exceed the range of "
            "float64: rescale it."
        )
        raise InputError(message)


def _columns(
    source: FactorSource, ids: str | ArrayLike | None, run: Embeddings
) -> tuple[NDArray[Any] | None, dict[str, NDArray[Any]], str]:
    if isinstance(source, str | Path):
        found = read_columns(source, ids=ids if isinstance(ids, str) else None)
        own = found.ids if ids is None or isinstance(ids, str) else as_vector(ids, None, "ids")
        return own, found.columns, Path(str(source).partition("::")[0]).name
    row_ids = frame_index(source)
    if has_columns(source):
        # The series of a mapping have an index each; that of a frame is matched as ids.
        own = run.ids if isinstance(source, Mapping) and ids is None else None
        found_columns = as_columns(source, None, "factors", of=run.name, ids=own)
        columns = {name: _as_typed(values) for name, values in found_columns.items()}
    else:
        table = as_values(source, "factors", "a data frame, a mapping or an array of values")
        if table.ndim not in (1, 2) or table.size == 0:
            message = (
                f"factors have shape {table.shape}: pass one row per sample and one column per "
                "factor."
            )
            raise InputError(message)
        table = table.reshape(len(table), -1)
        columns = {f"factor {number}": _as_typed(column) for number, column in enumerate(table.T)}
    if ids is not None and not isinstance(ids, str):
        row_ids = as_vector(ids, None, "ids", of="factors", ids=row_ids, missing=False)
    elif ids is not None:
        if ids not in columns:
            message = f"there is no id column {ids!r}: choose from {_listed(columns)}."
            raise InputError(message)
        row_ids = columns.pop(ids)
    if not columns:
        message = "there are no factors: pass at least one column."
        raise InputError(message)
    return row_ids, columns, "factors"


def _chosen(
    columns: dict[str, NDArray[Any]], names: Sequence[str] | None, where: str
) -> dict[str, NDArray[Any]]:
    if names is None or len(names) == 0:
        return columns
    if not isinstance(names, str) and not all(isinstance(name, str) for name in names):
        message = f"names is {names!r}, not a list of names: choose from {_listed(columns)}."
        raise InputError(message)
    for name in (names,) if isinstance(names, str) else names:
        if name not in columns:
            message = f"{where} has no factor {name!r}: it has {_listed(columns)}."
            raise InputError(message)
    return {name: columns[name] for name in ((names,) if isinstance(names, str) else names)}


def _refuse_other_length(run: Embeddings, factors: Embeddings) -> None:
    if len(run) != len(factors):
        message = (
            f"{run.name} has {len(run)} rows but {factors.name} has {len(factors)}: pass as many "
            "rows of factors, or ids in both."
        )
        raise InputError(message)


def _listed(columns: Mapping[str, Any]) -> str:
    names = [*columns]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more
