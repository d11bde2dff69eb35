"""A screen: rows with their batches, labels and wells, and the questions they can answer."""

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
    """What is known of the rows.

    `batch` and `held` are numbers of the values in `batches` and of what is held out together;
    `labels` are texts, empty where a row has none; `wells` is None where positions are not known.
    `references` are the controls that corrections may use; those are not judged where some are not.
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
        """The name of every row's batch."""
        return np.asarray(self.batches)[self.batch]

    def with_references(self, alike: Codes) -> Screen:
        """Keep every other control of each batch for corrections, and judge the others only.

        A control that its own batch was corrected by is given away by it: with fewer controls than
        columns, a covariance of controls is the identity on just those. Rows are `alike` if these
        numbers are equal, and stay on one side.
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
        """Return the same rows in another order."""
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
    """Find the columns of a run and the questions they can answer.

    Raises
    ------
    InputError
        If a column, the control or a task does not exist, a row has no batch, or there is nothing
        to tell apart.
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
            "train on and one to judge on."
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
    """Return the names of what several columns make together."""
    if not np.iterable(columns):
        message = (
            f"{argument} is {columns!r}: name a column, or several, or give a value for each row."
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
        # A column that is named twice, with and without its prefix, is one.
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
    """Return the column of labels, which must be none of those that make a batch."""
    words, found = find_column(run, label, argument="label")
    if words in batch_words.split(TIMES):
        message = (
            f"batch={words!r} and label={words!r} are one column: a batch never seen would have "
            "only labels never seen. Name two columns."
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
        remedy = "Let batch differ between values of fold_by."
        if label_words in hold_words.split(TIMES):
            remedy = f"Hold out other columns than {label_words}, which are the labels."
        elif all(each in columns_of_run for each in columns):
            given = {"batch": columns}
            remedy = f"Name every column that makes a batch, as batch={columns}."
        message = (
            f"{len(broken)} of {len(batches)} values of {batch_words} have rows in several values "
            f"of {hold_words}, such as {str(batches[broken[0]])!r}: what is held out must be whole "
            f"batches. {remedy}"
        )
        raise ArgumentError(message, **given)


def find_control(given: Any, labels: Names, words: str) -> str:
    """Return the label of controls, or say which labels there are.

    A number is named as labels are, which are texts: 0.0 is 0.
    """
    known = np.unique(labels[labels != ""]).tolist()
    value = _named(given, known)
    if value in known:
        return value
    near = difflib.get_close_matches(value.lower(), [each.lower() for each in known], n=1)
    folded = {each.lower(): each for each in known}
    guess = f"; did you mean {folded[near[0]]!r}?" if near else "."
    message = (
        f"control={value!r} is none of the {len(known)} values of {words}: choose one of "
        f"{listed(known)}{guess}"
    )
    raise ArgumentError(message, control=value)


def _named(given: Any, known: Container[str]) -> str:
    """Return the text that a value is known by; a number may be written in another way."""
    value = str(as_names(np.array([given], dtype=object))[0])
    if value in known:
        return value
    try:
        return str(as_names(np.array([float(value)]))[0])
    except ValueError:
        return value


def _wells(run: Embeddings, well: Any) -> Names | None:
    """Return the positions of wells, by the column that is named, or named like one."""
    if well is not None:
        return _named_wells(as_names(find_column(run, well, argument="well")[1]))
    for name, values in run.columns.items():
        if name.lower().removeprefix("metadata_") in WELLS:
            return _named_wells(as_names(values))
    return None


def _named_wells(wells: Names) -> Names | None:
    """Give every row without a position one of its own: two of them are not the same well."""
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
            "least two are needed to tell them apart."
        )
        raise InputError(message)
    could = [name for name in known if name != control]
    return ask(
        labels,
        controls=None if control is None else labels == control,
        names=_chosen(tasks, could, words) if len(tasks) else None,
    )


def each_of(tasks: Any) -> list[Any]:
    """Return what is asked for one by one; one name alone may stand for a list of it."""
    return list(tasks) if np.iterable(tasks) and not isinstance(tasks, str) else [tasks]


def _chosen(tasks: Sequence[Any], known: list[str], words: str) -> list[str]:
    """Return the values that names or patterns of a user choose."""
    chosen: dict[str, None] = {}
    for given in tasks:
        task = _named(given, known)
        found = [name for name in known if name == task] or [
            name for name in known if fnmatchcase(name, str(given))
        ]
        if not found:
            near = difflib.get_close_matches(task, known, n=1)
            guess = f"; did you mean {near[0]!r}?" if near else "."
            choice = f"choose of {listed(known)}{guess}"
            if len(known) == 1:
                choice = f"only {known[0]!r} can."
            asked = [str(given)]
            message = f"tasks={asked} chooses no value of {words} that could be judged: {choice}"
            raise ArgumentError(message, tasks=asked)
        chosen.update(dict.fromkeys(found))
    return list(chosen)
