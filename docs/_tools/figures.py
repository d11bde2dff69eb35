"""Write the figures of the pages: ``python docs/_tools/figures.py``.

Each carries the numbers it was drawn from, so that a test can tell whether it is of today.
"""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

import upto
from upto.core import Result
from upto.files import bundled_path

FOLDER = Path(__file__).parents[1] / "_static"


def _comparison() -> Result:
    """Return the first result of ``upto demo``."""
    resnets = bundled_path("cifar_resnets")
    return upto.compare(f"{resnets}::resnet20", f"{resnets}::resnet32", labels="label", seed=0)


def _components() -> Result:
    return upto.unmix(f"{bundled_path('cifar_resnets')}::resnet20", restarts=10, seed=0)


FIGURES: dict[str, Callable[[], Result]] = {"resnets": _comparison, "ica": _components}
"""The result that each figure draws."""


def numbers(figure: Figure) -> list[Any]:
    """Return what a figure shows: its words, and where lines, markers and bars are."""
    shown: list[Any] = []
    for axes in figure.axes:
        words = [text.get_text() for text in axes.findobj(Text) if text.get_text()]
        lines = [line.get_xydata() for line in axes.lines]
        markers = [each.get_offsets() for each in axes.collections]
        paths = [path.vertices for each in axes.collections for path in each.get_paths()]
        bars = [patch.get_path().vertices for patch in axes.patches]
        places = [
            np.round(np.asarray(each, dtype=float), 4) for each in (*lines, *markers, *paths, *bars)
        ]
        shown.append({"words": words, "places": [each.tolist() for each in places]})
    return shown


def numbers_in(figure: Path) -> list[Any]:
    """Return what a written figure was drawn from."""
    text = figure.read_text(encoding="utf-8")
    found = re.search(r"<dc:description>(.*?)</dc:description>", text, re.DOTALL)
    if found is None:
        message = f"{figure} carries no numbers: run `python docs/_tools/figures.py`."
        raise ValueError(message)
    carried: list[Any] = json.loads(unescape(found[1]))
    return carried


if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "upto"
    for name, make in FIGURES.items():
        figure = make().plot()
        carried = json.dumps(numbers(figure), ensure_ascii=False)
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Description": carried})
