"""Errors and verdicts of every ordered pair of three or more runs."""

from __future__ import annotations

from dataclasses import dataclass

from upto.core.fits import Agreement, RunSummary
from upto.core.group import Group
from upto.core.result import pick
from upto.core.short_repr import Record
from upto.core.table import Cell, Table, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix(Record):
    """Errors of every ordered pair of runs up to one group, row mapped onto column."""

    up_to: Group
    unmixed: bool
    error: tuple[tuple[float | None, ...], ...]
    r2: tuple[tuple[float | None, ...], ...]
    p_value: tuple[tuple[float | None, ...], ...]

    @property
    def name(self) -> str:
        """The group, ``"ica"`` or ``"ica-scaled"``."""
        if self.unmixed:
            return "ica" if self.up_to is Group.SIGNED_PERMUTATION else "ica-scaled"
        return str(self.up_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs(Record):
    """Every ordered pair of three or more runs; entry [i][j] maps run i onto run j."""

    matrices: tuple[Matrix, ...]
    up_to: tuple[tuple[Group | None, ...], ...]
    agreement: tuple[tuple[Agreement | None, ...], ...]

    def check_size(self, n_runs: int) -> None:
        """Raise if a matrix does not have the size of the runs."""
        grids: list[tuple[tuple[object, ...], ...]] = [self.up_to, self.agreement]
        for matrix in self.matrices:
            grids += [matrix.error, matrix.r2, matrix.p_value]
        for grid in grids:
            if len(grid) != n_runs or any(len(row) != n_runs for row in grid):
                message = f"{n_runs} runs have a matrix that is not {n_runs} × {n_runs}"
                raise ValueError(message)

    def matrix(self, name: str) -> Matrix:
        """Return the matrix of a group, or of ``"ica"``."""
        return pick(self.matrices, name, "this comparison has no matrix {!r}: choose one of {}.")

    def tables(self, runs: tuple[RunSummary, ...]) -> tuple[Table, ...]:
        """Return the verdicts, and the mean held-out errors of each group."""
        names = [run.name for run in runs]
        verdicts = Table(
            title="Strictest group close to the best one, row mapped onto column",
            columns=columns("up to", *names),
            rows=tuple(
                (name, *(str(group) if group else None for group in row))
                for name, row in zip(names, self.up_to, strict=True)
            ),
        )
        errors = tuple(
            Table(
                title=f"{matrix.name}: mean error over the diameter",
                columns=columns("onto", *names),
                rows=tuple((name, *row) for name, row in zip(names, matrix.error, strict=True)),
            )
            for matrix in self.matrices
        )
        return (verdicts, *errors)

    def data_table(self, runs: tuple[RunSummary, ...]) -> Table:
        """Return one row per ordered pair and group."""
        names = [run.name for run in runs]
        rows: list[tuple[Cell, ...]] = [
            (
                source,
                target,
                matrix.name,
                matrix.error[i][j],
                matrix.r2[i][j],
                matrix.p_value[i][j],
                str(self.up_to[i][j] or ""),
            )
            for matrix in self.matrices
            for i, source in enumerate(names)
            for j, target in enumerate(names)
            if i != j
        ]
        heads = ("run", "onto", "up to", "error", "R²", "p", "verdict")
        return Table(
            title="All ordered pairs and groups", columns=columns(*heads), rows=tuple(rows)
        )
