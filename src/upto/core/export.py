"""Exports of results for papers: data frames, CSV, LaTeX, figures and references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from upto.core.errors import ArgumentError
from upto.question import question_of_kind, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from upto.core.provenance import Provenance
    from upto.core.table import Table


class Export:
    """Base class of results: exports of their tables, figures and references.

    Tables are chosen by number, from 0, or by title; by default `to_frame` and `to_csv` export the
    whole data, and `to_latex` the main table.
    """

    __slots__ = ()
    kind: ClassVar[str]
    provenance: Provenance

    if TYPE_CHECKING:

        def tables(self) -> tuple[Table, ...]:
            """Return the tables of this result."""

        def data_table(self) -> Table:
            """Return the table exported as data."""

    def to_frame(self, library: str | None = None, *, table: int | str | None = None) -> Any:
        """Return a table as a data frame of pandas or polars.

        Parameters
        ----------
        library
            ``"pandas"`` or ``"polars"``; by default the first of them that is installed.
        table
            Number or title of a table; by default the whole data.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Numbers in full precision. An estimate becomes the columns ``x``, ``x low`` and
            ``x high``, and a missing number a missing value.

        Raises
        ------
        InputError
            If there is no such table or library, or the library is not installed.
        """
        return self._table(table, self.data_table).to_frame(library)

    def to_csv(
        self, path: str | Path | None = None, *, table: int | str | None = None
    ) -> str | None:
        """Return a table as CSV with full precision, or write it to `path`.

        Parameters
        ----------
        path
            File to write, whose name ends in .csv.
        table
            Number or title of a table; by default the whole data.

        Raises
        ------
        InputError
            If there is no such table, or the file has another suffix or cannot be written.
        """
        return self._table(table, self.data_table).to_csv(path)

    def to_latex(
        self,
        path: str | Path | None = None,
        *,
        caption: str | None = None,
        label: str | None = None,
        table: int | str | None = None,
    ) -> str | None:
        r"""Return a table as LaTeX for the package booktabs, in ASCII, or write it to `path`.

        A comment in the first line gives the version and call that made it. A table that is too
        wide or too long for a page is continued in others.

        Parameters
        ----------
        path
            File to write, whose name ends in .tex.
        caption
            Caption in LaTeX; by default the title and caption of the table.
        label
            Label for ``\ref``.
        table
            Number or title of a table; by default the main one.

        Raises
        ------
        InputError
            If there is no such table, the label is not one, or the file has another suffix or
            cannot be written.
        """
        chosen = self._table(table, lambda: self.tables()[0])
        return chosen.to_latex(path, caption=caption, label=label, note=made_by(self.provenance))

    def save_figure(
        self,
        path: str | Path,
        *,
        columns: int = 1,
        width: float | None = None,
        height: float | None = None,
        dpi: int = 300,
    ) -> None:
        """Save the figure at the width of one or two columns of a journal.

        Fonts are embedded in PDF (as TrueType) and drawn as outlines in SVG, so that they look the
        same everywhere. The same result gives the same file.

        Parameters
        ----------
        path
            File to write; its suffix, .pdf, .svg or .png, sets the format.
        columns
            1 for 3.5 inches (89 mm), 2 for 7.2 inches (183 mm).
        width, height
            Size in inches, where the journal's is another one.
        dpi
            Dots per inch of a PNG.

        Raises
        ------
        InputError
            If the suffix or a number is unusable, the file cannot be written, the labels do not fit
            in this size or have characters that the font lacks, or results of this kind have no
            figure.
        MissingExtraError
            If matplotlib is not installed.
        """
        save = resolve("upto.report.figure_file:save_figure")
        save(self, path, columns=columns, width=width, height=height, dpi=dpi)

    def cite(self) -> str:
        """Return BibTeX of this version of upto and of the papers behind what was used."""
        from upto.core.references import bibtex

        return bibtex(self.papers(), self.provenance.versions.get("upto"))

    def papers(self) -> tuple[str, ...]:
        """Return texts that name the papers behind what was used, by authors and year."""
        question = question_of_kind(self.kind)
        if question is None or question.papers is None:
            return ()
        papers: tuple[str, ...] = resolve(question.papers)(self)
        return papers

    def _table(self, asked: int | str | None, default: Any) -> Table:
        if asked is None:
            chosen: Table = default()
            return chosen
        tables = self.tables()
        if isinstance(asked, int) and not isinstance(asked, bool) and 0 <= asked < len(tables):
            return tables[asked]
        for table in tables:
            if table.title == asked:
                return table
        titles = ", ".join(f"{number} {table.title!r}" for number, table in enumerate(tables))
        message = f"table={asked!r} is none of the tables of this result, which are {titles}."
        raise ArgumentError(message, table=asked)


def made_by(provenance: Provenance) -> str:
    """Return the version, call and seed that made a result."""
    version = provenance.versions.get("upto", "")
    seed = "" if "seed" in provenance.call else f", seed {provenance.seed}"
    return f"upto {version}: {provenance.call}{seed}"
