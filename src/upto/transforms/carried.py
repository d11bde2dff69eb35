"""Write the image of a run to a file: continue what is there, check it, and say what was odd."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError
from upto.core.errors import ArgumentError
from upto.files.request import listed
from upto.files.rows import BlockRows
from upto.files.unfinished_output import UnfinishedOutput, changed, file_facts
from upto.files.write import Writer, plan_output
from upto.transforms.bad_rows import BadRows, describe_bad_rows
from upto.transforms.carry import Sink, carry_rows, without_rows
from upto.transforms.kinds import Map
from upto.transforms.save import pack_transform
from upto.transforms.spot_check import check_written

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from upto.engines.base import Engine
    from upto.files.output_formats import OutputFormat
    from upto.files.plan import Plan

_HASHED_ROWS = 65_536


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Carried:
    """What is to be written.

    Parameters
    ----------
    run, mapping
        The run and the map of its rows.
    output, options
        The output, and the options of its writer.
    transform
        The estimator that the map is of.
    bad_rows, verify, resume
        See `apply_transform`.
    """

    run: Embeddings
    mapping: Map
    output: str | Path
    options: dict[str, Any]
    transform: Any
    bad_rows: BadRows
    verify: int
    resume: bool

    @property
    def width(self) -> int:
        """Number of coordinates of an image."""
        return len(self.mapping.target_mean)


def is_carried(carried: Carried, source: Path) -> bool:
    """Return whether the output is there, newer than its source, and has the image of every row.

    Parameters
    ----------
    carried
        What would be written.
    source
        The file that the run was read from.
    """
    target = Path(carried.output).expanduser()
    if not (carried.resume and carried.verify and target.exists()):
        return False
    if changed(target) <= changed(source):
        return False
    plan, _ = plan_output(target, carried.run, carried.width, **carried.options)
    try:
        return check_written(
            plan, target, carried.run, carried.mapping, left_out=[], n_checked=carried.verify
        )
    except (InputError, LookupError):
        return False  # the image of other rows, or by another map


def carry_to_file(
    engine: Engine, carried: Carried, advance: Callable[[int], object]
) -> tuple[str, ...]:
    """Map all rows in one pass and write them; return notes.

    Formats that announce their size first are read twice if rows are to be left out.
    """
    plan, entry = plan_output(carried.output, carried.run, carried.width, **carried.options)
    is_unchecked = []

    def checked(plan: Plan, path: Path, left_out: list[int]) -> None:
        done = check_written(
            plan,
            path,
            carried.run,
            carried.mapping,
            left_out=left_out,
            n_checked=carried.verify,
        )
        is_unchecked.append(not done)

    sink = Sink(
        run=carried.run,
        policy=carried.bad_rows,
        dtype=str(plan.dtype),
        advance=advance,
    )
    if entry.grows is not None and _is_known(carried.run):
        _grow(engine, carried, sink, plan, entry, checked)
    else:
        _write_whole(engine, carried, sink, plan, entry, checked)
    notes = [*_not_kept(plan, entry)]
    if sink.bad:
        notes.append(
            describe_bad_rows(carried.run, sink.bad, carried.bad_rows, directed=sink.directed)
        )
    if any(is_unchecked):
        notes.append(f"{plan.path} is a large table of text, of which no row was read back")
    return tuple(notes)


def _grow(
    engine: Engine,
    carried: Carried,
    sink: Sink,
    plan: Plan,
    entry: OutputFormat,
    checked: Callable[[Plan, Path, list[int]], None],
) -> None:
    def check(path: Path) -> None:
        checked(plan, path, sink.bad if sink.policy == "drop" else [])

    output = UnfinishedOutput(
        plan, entry, lambda: _facts(carried, plan), resume=carried.resume, check=check
    )
    with output:
        sink.put, sink.first, sink.bad = output.put, output.first, output.bad
        if sink.advance is not None:
            sink.advance(output.first)
        try:
            carry_rows(engine, carried.mapping, sink)
            output.publish()
        except ArgumentError:
            # The rows are to be refused.
            output.discard()
            raise


def _write_whole(
    engine: Engine,
    carried: Carried,
    sink: Sink,
    plan: Plan,
    entry: OutputFormat,
    checked: Callable[[Plan, Path, list[int]], None],
) -> None:
    left_out: list[int] = []
    if sink.policy == "drop":
        finder = replace(sink, advance=None, bad=[])
        carry_rows(engine, carried.mapping, finder)
        left_out = finder.bad
        if left_out:
            kept = without_rows(carried.run, left_out)
            plan, entry = plan_output(carried.output, kept, carried.width, **carried.options)

    def check(path: Path) -> None:
        checked(plan, path, left_out)

    with Writer(plan, entry, check) as writer:

        def put(rows: NDArray[Any], _positions: NDArray[np.intp]) -> None:
            writer[writer.n_written : writer.n_written + len(rows)] = rows

        sink.put = put
        carry_rows(engine, carried.mapping, sink)


def _not_kept(plan: Plan, entry: OutputFormat) -> list[str]:
    """Return a note on the ids and columns that a format has no room for."""
    lost = ["the ids"] if plan.like.ids is not None and entry.keeps == "nothing" else []
    names = [] if entry.keeps == "ids and columns" else [*plan.like.columns]
    if names:
        lost.append(f"the column{'s' * (len(names) > 1)} {listed(names, 6)}")
    kind = f"{plan.path.name} has no room for"
    return [f"{kind} {' and '.join(lost)} of {plan.like.name}, which it leaves out"] if lost else []


def _is_known(run: Embeddings) -> bool:
    """Return whether another process can tell that it was given the same rows."""
    return isinstance(run.rows, BlockRows | np.ndarray)


def _facts(carried: Carried, plan: Plan) -> dict[str, str]:
    run = carried.run
    rows = run.rows
    source = file_facts(rows.path) if isinstance(rows, BlockRows) else _digest_of_rows(rows)
    labels = {"ids": run.ids, **run.columns}
    written = {
        "prefix": plan.prefix,
        "dtype": str(plan.dtype),
        "columns": plan.n_columns,
        "names": plan.names,
        "bad rows": carried.bad_rows,
        "inverse": plan.prefix == "feature",
    }
    return {
        "transform": _digest(pack_transform(carried.transform)),
        "source": f"{source}, {rows!r}" if isinstance(rows, BlockRows) else source,
        "labels": _digest({name: each for name, each in labels.items() if each is not None}),
        "output": json.dumps(written),
    }


def _digest(arrays: dict[str, Any]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for name, values in arrays.items():
        array = np.asarray(values)
        found.update(f"{name} {array.dtype} {array.shape}\n".encode())
        plain = array.astype(str) if array.dtype.hasobject else array
        found.update(np.ascontiguousarray(plain).tobytes())
    return found.hexdigest()


def _digest_of_rows(rows: Any) -> str:
    found = hashlib.blake2b(digest_size=16)
    for start in range(0, len(rows), _HASHED_ROWS):
        found.update(np.ascontiguousarray(rows[start : start + _HASHED_ROWS]).tobytes())
    return f"{rows.shape} {rows.dtype} {found.hexdigest()}"
