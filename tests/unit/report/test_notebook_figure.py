"""A figure is one image in a notebook, and still a figure of matplotlib."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
from browser import sample_results as sample

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure
from matplotlib.image import imread


@pytest.fixture(scope="module")
def figure():
    return sample.inspection().plot()


def test_a_notebook_is_given_one_sharp_image(figure):
    image, size = figure._repr_png_()
    pixels = imread(io.BytesIO(image)).shape
    width, height = figure.get_size_inches()
    assert size == {"width": round(96 * width), "height": round(96 * height)}
    assert pixels[1] > 1.4 * size["width"]
    assert pixels[0] > 1.4 * size["height"]
    assert figure._repr_html_() is None


def test_it_is_a_figure_that_pyplot_does_not_know(figure):
    from matplotlib import pyplot as plt

    assert isinstance(figure, Figure)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    "again", [lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy], ids=["pickled", "copied"]
)
def test_a_copy_is_drawn_like_it(figure, again):
    drawn = again(figure)
    assert isinstance(drawn, Figure)
    assert drawn._repr_png_()[1] == figure._repr_png_()[1]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_it_is_saved(figure, suffix, tmp_path):
    figure.savefig(tmp_path / f"figure.{suffix}")
    assert (tmp_path / f"figure.{suffix}").stat().st_size > 1000
