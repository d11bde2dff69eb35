"""A matplotlib figure that a notebook shows without `%matplotlib inline`."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

_SCREEN_DPI = 96


class NotebookFigure(Figure):
    """Figure that is not registered with pyplot and shows itself as the value of a cell."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """Return the image and its size on the page, smaller than its pixels to be sharp."""
        image = BytesIO()
        self.savefig(image, format="png")
        width, height = self.get_size_inches() * _SCREEN_DPI
        return image.getvalue(), {"width": round(width), "height": round(height)}
