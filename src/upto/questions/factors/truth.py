"""Known factors of the rows of a run, read from anything and told discrete from continuous."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Embeddings, InputError
from upto.disentanglement.mutual_information import entropy
from upto.files import match_rows, read_columns
from upto.files.tables import LABEL_NAMES
from upto.measures.kinds import LARGEST, SMALLEST
from upto.questions.factors.parts import FactorKind, FactorSummary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from upto.core import Finding
    from upto.core.arrays import Float

    FactorSource = str | Path | Mapping[str, ArrayLike] | ArrayLike | None


FEW_VALUES, ROWS_A_VALUE = 64, 5
"""Numbers are discrete where they take few values, each on some rows on average."""
WHO_NAMES = ("donor", "id", "identity", "participant", "patient", "person", "speaker", "subject",
             "user")  # fmt: skip
"""Words in the name of a column whose whole numbers say whose a row is, however many there are."""
CLASS_NAMES = (*LABEL_NAMES, *WHO_NAMES, "category", "condition", "digit", "genotype", "group",
               "kind", "letter", "shape", "species", "strain", "tissue", "treatment",
               "type")  # fmt: skip
"""Words in the name of a column whose numbers are numbers of classes."""
LINE_NAMES = (
    "age", "amount", "angle", "azimuth", "concentration", "count", "day", "degree", "depth", "dose",
    "elevation", "grade", "height", "hour", "intensity", "length", "level", "orientation",
    "position", "pos", "radius", "rank", "rating", "rotation", "scale", "score", "size", "speed",
    "time", "velocity", "weight", "width", "x", "y", "year", "z",
)  # fmt: skip
"""Words in the name of a column whose numbers are steps on a line, however they are counted."""
KINDS = ("continuous", "discrete", "unordered", "ordered")
"""What may be said of a factor; one of them, or discrete and ordered."""
MISSING = ("", "na", "n/a", "nan", "null")
"""What stands for a missing label in text."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factor:
    """One factor: numbers with NaN, or labels with None, where a label is missing.

    `in_truth` says whether its values are numbers on a line, and so a coordinate of the truth;
    `why_not`, why they were taken for names of categories, where nobody said so.
    """

    name: str
    kind: FactorKind
    values: NDArray[Any]
    in_truth: bool
    why_not: str = ""

    @property
    def known(self) -> NDArray[np.bool_]:
        """The rows that have a label."""
        if self.values.dtype == object:
            return np.array([value is not None for value in self.values], dtype=bool)
        known: NDArray[np.bool_] = ~np.isnan(self.values)
        return known

    @property
    def n_values(self) -> int:
        """How many different values it takes."""
        return len(set(self.values[self.known].tolist()))

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many rows each of its values has."""
        labels = self.values[self.known]
        texts = labels.astype(str) if labels.dtype == object else labels
        return np.unique(texts, return_counts=True)[1]

    def summary(self) -> FactorSummary:
        """Say what the factor is."""
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
    ids: str | None,
    names: Sequence[str] | None,
) -> tuple[Embeddings, dict[str, NDArray[Any]], tuple[Finding, ...]]:
    """Match rows of a run with those of factors; return both and what was found.

    Without a source, factors are columns of the run.
    """
    if source is None:
        if not run.columns:
            message = (
                f"{run.name} has no columns beside its rows: give the factors in a file or an "
                "array."
            )
            raise InputError(message)
        return run, _chosen({**run.columns}, names, run.name), ()
    row_ids, columns, name = _columns(source, ids)
    columns = _chosen(columns, names, name)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        message = f"factors of {name} have {min(lengths)} to {max(lengths)} rows: give one a row."
        raise InputError(message)
    # Only ids and columns matter; matching rows looks at nothing else.
    beside = Embeddings(rows=np.zeros((lengths.pop(), 1)), name=name, ids=row_ids, columns=columns)
    if row_ids is None or run.ids is None:
        _refuse_other_length(run, beside)
    (run, beside), found = match_rows([run, beside])
    return run, {name: np.asarray(values) for name, values in beside.columns.items()}, found


def clean_columns(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return numbers as float64 with NaN for missing ones, and labels with None."""
    return {name: _cleaned(name, values) for name, values in columns.items()}


def as_numbers(columns: Mapping[str, NDArray[Any]]) -> Float:
    """Return a row of numbers for every row of clean columns; equal labels have equal numbers."""
    return np.column_stack([_numbered(values) for values in columns.values()])


def as_factors(
    columns: Mapping[str, NDArray[Any]],
    *,
    continuous: Iterable[str] = (),
    discrete: Iterable[str] = (),
    unordered: Iterable[str] = (),
    ordered: Iterable[str] = (),
) -> tuple[Factor, ...]:
    """Tell discrete factors from continuous ones, and categories from numbers, of clean columns.

    Text is of categories. So are numbers of few values where a word of the name is one of
    `CLASS_NAMES`, or where three values or more are whole and follow each other without a gap, as
    numbers of classes do, and no word of the name is one of `LINE_NAMES`; nothing but the caller
    can tell those from steps on a line. Other numbers are on a line: fractions, numbers below zero,
    numbers with gaps, and those of two values, which have one order up to a sign.
    """
    wanted: dict[str, set[str]] = {}
    for kind, names in zip(KINDS, (continuous, discrete, unordered, ordered), strict=True):
        for name in _as_names(names, kind):
            if name not in columns:
                message = f"there is no factor {name!r}: there is {_listed(columns)}."
                raise InputError(message)
            said = wanted.setdefault(name, set())
            said.add(kind)
            if len(said) > 1 and said != {"discrete", "ordered"}:
                both = " and ".join(each for each in KINDS if each in said)
                message = f"factor {name!r} is said to be {both}: say one."
                raise InputError(message)
    return tuple(_factor(name, values, wanted.get(name, set())) for name, values in columns.items())


def _as_names(names: Any, kind: str) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) or not np.iterable(names) else tuple(names)
    if not all(isinstance(name, str) for name in found):
        message = f"{kind} is {names!r}, but it lists the names of factors."
        raise InputError(message)
    return found


def _factor(name: str, values: NDArray[Any], said: set[str]) -> Factor:
    is_number = values.dtype != object
    if said & {"continuous", "ordered"} and not is_number:
        label = next(value for value in values if value is not None)
        message = (
            f"factor {name!r} is said to be {' and '.join(sorted(said))} but has labels such as "
            f"{label!r}: leave that out, or give numbers."
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
    """Say why numbers are taken for those of classes; empty where they are not."""
    words = _words_of(name)
    called = [word for word in words if _singular(word) in map(_singular, CLASS_NAMES)]
    if called:
        return f"called {called[0]}"
    if any(_singular(word) in LINE_NAMES for word in words):
        return ""
    values = np.unique(numbers)
    if len(values) > 2 and values[0] >= 0.0 and _are_whole(values) and np.all(np.diff(values) == 1):
        return f"numbered from {values[0]:.0f} to {values[-1]:.0f}"
    return ""


def _words_of(name: str) -> list[str]:
    """Return the words of a name: cell_type, cellType and cell type 2 have two."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^a-z]+", parted.lower()) if word]


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "species")) else word


def _are_whole(numbers: Float) -> bool:
    return bool(np.all(numbers == np.round(numbers)))


def _cleaned(name: str, given: NDArray[Any]) -> NDArray[Any]:
    if given.ndim != 1:
        message = f"factor {name!r} has the shape {given.shape}: give one value a row."
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
    # One NaN for all, since rows are compared bit by bit.
    return np.where(np.isnan(values), np.nan, values)


class _Text(str):
    """Text that the caller typed as text, so that it is no number whatever it looks like."""

    __slots__ = ()


def _as_typed(values: Any) -> NDArray[Any]:
    """Return the values of a column in memory; those of files are text until they are read."""
    array = np.asarray(values)
    if array.dtype.kind not in "UO":
        return array
    typed = np.empty(array.shape, dtype=object)
    typed.ravel()[:] = [_Text(cell) if isinstance(cell, str) else cell for cell in array.ravel()]
    return typed


def _label(cell: Any) -> Any:
    # Missing values of pandas answer no comparison.
    is_missing = cell is None or type(cell).__name__ == "NAType" or cell != cell
    if isinstance(cell, str):
        is_missing = cell.strip().lower() in MISSING
    return None if is_missing else cell


def _number(cell: Any) -> float:
    if isinstance(cell, _Text):
        raise ValueError
    # Zeros in front, and underlines, are of names and not of numbers.
    text = cell.strip().lstrip("-") if isinstance(cell, str) else ""
    if "_" in text or (text[:1] == "0" and text[1:2].isdigit()):
        raise ValueError
    return float(cell)


def _refuse_extreme(name: str, numbers: Float) -> None:
    count = int(np.isinf(numbers).sum())
    if count:
        message = f"factor {name!r} has {count} infinite values: leave those labels out."
        raise InputError(message)
    largest = float(np.nanmax(np.abs(numbers), initial=0.0))
    if largest and not SMALLEST <= largest <= LARGEST:
        message = (
            f"factor {name!r} has values of size {largest:.2g}, whose powers leave the range of "
            "float64: multiply it by a constant."
        )
        raise InputError(message)


def _columns(
    source: FactorSource, ids: str | None
) -> tuple[NDArray[Any] | None, dict[str, NDArray[Any]], str]:
    if isinstance(source, str | Path):
        found = read_columns(source, ids=ids)
        return found.ids, found.columns, Path(str(source).partition("::")[0]).name
    frame: Any = source
    if hasattr(frame, "columns") and hasattr(frame, "loc"):
        columns = {str(name): _as_typed(frame[name]) for name in frame.columns}
    elif isinstance(source, Mapping):
        columns = {str(name): _as_typed(values) for name, values in source.items()}
    elif isinstance(source, np.ndarray) and source.dtype.names:
        columns = {name: _as_typed(source[name]) for name in source.dtype.names}
    else:
        table = np.asarray(source)
        if table.ndim not in (1, 2) or table.size == 0:
            message = (
                f"factors have the shape {table.shape}: give a row for each sample and a column "
                "for each factor."
            )
            raise InputError(message)
        table = table.reshape(len(table), -1)
        columns = {f"factor {number}": _as_typed(column) for number, column in enumerate(table.T)}
    row_ids = None
    if ids is not None:
        if ids not in columns:
            message = f"there is no column {ids!r} of ids: there is {_listed(columns)}."
            raise InputError(message)
        row_ids = columns.pop(ids)
    if not columns:
        message = "there are no factors: give at least one column."
        raise InputError(message)
    return row_ids, columns, "factors"


def _chosen(
    columns: dict[str, NDArray[Any]], names: Sequence[str] | None, where: str
) -> dict[str, NDArray[Any]]:
    if names is None or len(names) == 0:
        return columns
    if not isinstance(names, str) and not all(isinstance(name, str) for name in names):
        message = f"names is {names!r}, but it lists names of factors: {_listed(columns)}."
        raise InputError(message)
    for name in (names,) if isinstance(names, str) else names:
        if name not in columns:
            message = f"{where} has no factor {name!r}: it has {_listed(columns)}."
            raise InputError(message)
    return {name: columns[name] for name in ((names,) if isinstance(names, str) else names)}


def _refuse_other_length(run: Embeddings, factors: Embeddings) -> None:
    if len(run) != len(factors):
        message = (
            f"{run.name} has {len(run)} rows but {factors.name} has {len(factors)}: give a row of "
            "factors for each, or ids in both."
        )
        raise InputError(message)


def _listed(columns: Mapping[str, Any]) -> str:
    names = [*columns]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more
