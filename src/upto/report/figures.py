"""Figures of results for papers; matplotlib is imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import InputError
from upto.question import question_of_kind, resolve
from upto.report.panel_figures import draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from upto.core import Result


def draw(result: Result, *, narrow: bool = False) -> Figure:
    """Draw a result as a matplotlib figure.

    Parameters
    ----------
    result
        Result to draw, by the figure of its question or panel by panel.
    narrow
        Whether to put panels below each other, for one column of a journal.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that is not registered with pyplot: save it with `savefig`.

    Raises
    ------
    InputError
        If results of this kind have no figure.
    MissingExtraError
        If matplotlib is not installed.
    """
    question = question_of_kind(result.kind)
    if question is not None and question.figure is not None:
        figure: Figure = resolve(question.figure)(result, narrow=narrow)
        return figure
    if panels := result.panels():
        return draw_panels(panels, columns=1 if narrow else 2)
    message = f"a result of kind {result.kind!r} has no figure: use its tables() instead."
    raise InputError(message)
