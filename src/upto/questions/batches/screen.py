"""Screens: rows with batches, labels and wells, and their classification tasks."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.batch_metrics.folds import Codes, Mask, Names
from upto.batch_metrics.tasks import Question, ask
from upto.batch_metrics.value_names import as_names
from upto.core import InputError
from upto.core.errors import ArgumentError
from upto.files.request import listed
from upto.questions.batches.named_columns import find_column, is_values

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from numpy.typing import NDArray

    from upto.core import Embeddings

JOINED = " / "
TIMES = " × "
WELLS = ("well", "address", "well_position", "wellposition")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Screen:
    """Metadata of the rows.

    `batch` are indices into `batches`, and `held` numbers of the groups held out together;
    `labels` are strings, empty if missing; `wells` is None if positions are unknown. `references`
    are the controls available to corrections; if they are only some of the controls, they are not
    tested.
    """

    batch_words: str
    label_words: str
    fold_by_words: str
    control: str | None
    batches: tuple[str, ...]
    batch: Codes
    held: Codes
    labels: Names
    controls: Mask | None
    references: Mask | None
    wells: Names | None
    questions: tuple[Question, ...]

    @property
    def batch_names(self) -> Names:
        """Batch name of every row."""
        return np.asarray(self.batches)[self.batch]

    def with_references(self, alike: Codes) -> Screen:
        """Use every other control of each batch for corrections, and test only the others.

        A control that corrects its own batch would be recognisable: with fewer controls than
        columns, whitening makes the covariance of exactly those controls the identity. Rows with
        equal `alike` stay together.
        """
        if self.controls is None:
            return self
        own = np.flatnonzero(self.controls)
        own = own[np.lexsort((alike[own], self.batch[own]))]
        batch, key = self.batch[own], alike[own]
        is_first = np.diff(batch, prepend=-1) != 0
        is_new = is_first | (np.diff(key, prepend=key[:1]) != 0)
        place = np.cumsum(is_new)
        rank = place - np.maximum.accumulate(np.where(is_first, place, 0))
        references = np.zeros_like(self.controls)
        references[own[rank % 2 == 0]] = True
        return replace(
            self,
            references=references,
            questions=tuple(question.without(references) for question in self.questions),
        )

    def ordered(self, order: Codes) -> Screen:
        """Return the screen with reordered rows."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        questions = []
        for question in self.questions:
            rows = place[question.rows]
            ascending = np.argsort(rows)
            questions.append(
                replace(question, rows=rows[ascending], perturbed=question.perturbed[ascending])
            )
        return replace(
            self,
            batch=self.batch[order],
            held=self.held[order],
            labels=self.labels[order],
            controls=None if self.controls is None else self.controls[order],
            references=None if self.references is None else self.references[order],
            wells=None if self.wells is None else self.wells[order],
            questions=tuple(questions),
        )


def read_screen(
    run: Embeddings,
    *,
    batch: Any,
    label: Any,
    control: Any,
    fold_by: Any,
    well: Any,
    tasks: Sequence[Any],
) -> Screen:
    """Read the metadata columns of a run and build its classification tasks.

    Raises
    ------
    InputError
        If a column, the control or a task does not exist, a row has no batch, or there are fewer
        than two labels.
    """
    batch_words, batch_names = join_columns(run, batch, argument="batch")
    hold_words, hold_names = batch_words, batch_names
    if fold_by is not None:
        hold_words, hold_names = join_columns(run, fold_by, argument="fold_by")
    label_words, labels = find_label(run, label, batch_words)
    batches, batch_codes = np.unique(batch_names, return_inverse=True)
    held = np.unique(hold_names, return_inverse=True)[1]
    _check_nested(batch_codes, held, batches, batch_words, hold_words, label_words, run.columns)
    if held.max() == 0:
        message = (
            f"{hold_words} has 1 value in {len(labels)} rows: at least two are needed, one to "
            "train on and one to test on."
        )
        raise InputError(message)
    controls = None
    if control is not None:
        control = find_control(control, labels, label_words)
        controls = labels == control
    return Screen(
        batch_words=batch_words,
        label_words=label_words,
        fold_by_words=hold_words,
        control=control,
        batches=tuple(batches.tolist()),
        batch=batch_codes,
        held=held,
        labels=labels,
        controls=controls,
        references=controls,
        wells=_wells(run, well),
        questions=_questions(labels, label_words, control, tasks),
    )


def join_columns(run: Embeddings, columns: Any, *, argument: str) -> tuple[str, Names]:
    """Return the joined name and values of several columns."""
    if not np.iterable(columns):
        message = (
            f"{argument} is {columns!r}: name one or several columns, or pass one value per row."
        )
        raise InputError(message)
    is_one = isinstance(columns, str) or is_values(run, columns)
    asked = [columns] if is_one else list(columns)
    if not asked:
        message = f"{argument} names no column: name at least one."
        raise InputError(message)
    named: dict[str, NDArray[Any]] = {}
    for each in asked:
        words, values = find_column(run, each, argument=argument)
        if words in named and not isinstance(each, str):
            words = f"{words} {len(named) + 1}"
        # The same column with and without its prefix counts once.
        named[words] = values
    found = list(named.items())
    parts = [as_names(values) for _, values in found]
    for (name, _), part in zip(found, parts, strict=True):
        empty = int(np.sum(part == ""))
        if empty:
            message = (
                f"{empty} of {len(part)} rows have no {name}: every row needs a batch. Fill the "
                "column, or drop those rows."
            )
            raise InputError(message)
    names = parts[0]
    for part in parts[1:]:
        names = np.char.add(np.char.add(names, JOINED), part)
    return TIMES.join(name for name, _ in found), names


def find_label(run: Embeddings, label: Any, batch_words: str) -> tuple[str, Names]:
    """Return the label column, which must not be a batch column."""
    words, found = find_column(run, label, argument="label")
    if words in batch_words.split(TIMES):
        message = (
            f"batch={words!r} and label={words!r} are the same column: held-out batches would "
            "contain only unseen labels. Name two columns."
        )
        raise ArgumentError(message, batch=words, label=words)
    return words, as_names(found)


def _check_nested(
    batch: Codes,
    held: Codes,
    batches: Names,
    batch_words: str,
    hold_words: str,
    label_words: str,
    columns_of_run: Container[str],
) -> None:
    pairs = np.unique(np.stack([batch, held]), axis=1)[0]
    repeated, counts = np.unique(pairs, return_counts=True)
    broken = repeated[counts > 1]
    if len(broken):
        columns = [*hold_words.split(TIMES), *batch_words.split(TIMES)]
        given: dict[str, Any] = {}
        remedy = "Use batches that do not span several values of fold_by."
        if label_words in hold_words.split(TIMES):
            remedy = f"Hold out columns other than {label_words}, the label."
        elif all(each in columns_of_run for each in columns):
            given = {"batch": columns}
            remedy = f"Name every column that identifies a batch: batch={columns}."
        message = (
            f"{len(broken)} of {len(batches)} values of {batch_words} have rows in several values "
            f"of {hold_words}, e.g. {str(batches[broken[0]])!r}: batches must be held out as a "
            f"whole. {remedy}"
        )
        raise ArgumentError(message, **given)


def find_control(given: Any, labels: Names, words: str) -> str:
    """Return the label of the controls as a string; numbers are normalised (0.0 is ``"0"``)."""
    known = np.unique(labels[labels != ""]).tolist()
    value = _named(given, known)
    if value in known:
        return value
    near = difflib.get_close_matches(value.lower(), [each.lower() for each in known], n=1)
    folded = {each.lower(): each for each in known}
    guess = f"; did you mean {folded[near[0]]!r}?" if near else "."
    message = (
        f"control={value!r} is not among the {len(known)} values of {words}: choose one of "
        f"{listed(known)}{guess}"
    )
    raise ArgumentError(message, control=value)


def _named(given: Any, known: Container[str]) -> str:
    """Return the name of a value; numbers may be formatted differently."""
    value = str(as_names(np.array([given], dtype=object))[0])
    if value in known:
        return value
    try:
        return str(as_names(np.array([float(value)]))[0])
    except ValueError:
        return value


def _wells(run: Embeddings, well: Any) -> Names | None:
    """Return well positions from the named column, or from one with a typical name."""
    if well is not None:
        return _named_wells(as_names(find_column(run, well, argument="well")[1]))
    for name, values in run.columns.items():
        if name.lower().removeprefix("metadata_") in WELLS:
            return _named_wells(as_names(values))
    return None


def _named_wells(wells: Names) -> Names | None:
    """Assign a unique position to rows without one, so that they do not share a well."""
    empty = wells == ""
    if empty.all():
        return None
    own = np.char.add("row ", np.arange(len(wells)).astype(str))
    return np.where(empty, own, wells)


def _questions(labels: Names, words: str, control: str | None, tasks: Any) -> tuple[Question, ...]:
    known = np.unique(labels[labels != ""]).tolist()
    if len(known) < 2:
        message = (
            f"{words} has {len(known)} value{'s' * (len(known) != 1)} in {len(labels)} rows: at "
            "least two are needed."
        )
        raise InputError(message)
    could = [name for name in known if name != control]
    return ask(
        labels,
        controls=None if control is None else labels == control,
        names=_chosen(tasks, could, words) if len(tasks) else None,
    )


def each_of(tasks: Any) -> list[Any]:
    """Return tasks as a list; a single name is accepted."""
    return list(tasks) if np.iterable(tasks) and not isinstance(tasks, str) else [tasks]


def _chosen(tasks: Sequence[Any], known: list[str], words: str) -> list[str]:
    """Return the values that match names or patterns."""
    chosen: dict[str, None] = {}
    for given in tasks:
        task = _named(given, known)
        found = [name for name in known if name == task] or [
            name for name in known if fnmatchcase(name, str(given))
        ]
        if not found:
            near = difflib.get_close_matches(task, known, n=1)
            guess = f"; did you mean {near[0]!r}?" if near else "."
            choice = f"choose from {listed(known)}{guess}"
            if len(known) == 1:
                choice = f"only {known[0]!r} is available."
            asked = [str(given)]
            message = f"tasks={asked} matches no value of {words} that can be evaluated: {choice}"
            raise ArgumentError(message, tasks=asked)
        chosen.update(dict.fromkeys(found))
    return list(chosen)
