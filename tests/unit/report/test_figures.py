import io
import sys

import pytest
from browser import sample_results as sample

from upto.core import InputError, MissingExtraError, Result, Table
from upto.report import draw


def test_a_comparison_is_drawn_with_every_group_and_mark() -> None:
    figure = draw(sample.comparison())
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[4] == "rigid"
    assert len(names) == len(sample.ROWS)
    by_row = [line for line in axes.lines if set(line.get_ydata()) == {4}]
    assert sorted(float(line.get_xdata()[0]) for line in by_row) == pytest.approx(
        sorted([0.3012, 0.0312 * 0.94, 0.0312, 0.0289])
    )
    assert axes.get_xlim()[0] == 0


def test_without_held_out_rows_only_in_sample_is_drawn() -> None:
    (axes,) = draw(sample.comparison(held_out=False)).axes
    assert len(axes.lines) == len(sample.ROWS)


def test_a_matrix_is_drawn_with_one_scale() -> None:
    figure = draw(sample.matrix())
    shown = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title(loc="left") for axes in shown] == [
        m.name for m in sample.matrix().pairs.matrices
    ]
    assert len({axes.images[0].get_clim() for axes in shown}) == 1
    assert shown[0].get_yticklabels()[1].get_text() == "seed-2  2"


@pytest.mark.parametrize(
    "name",
    [
        "$\\frac$",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("$$", "x" * 10_000, "a_{b}^c")),
    ],
)
def test_any_name_can_be_saved(name: str) -> None:
    for result in (
        sample.comparison(first=name),
        sample.matrix(n_runs=3, names=(name, "b", "c")),
    ):
        file = io.BytesIO()
        draw(result).savefig(file, format="svg")
        assert file.getvalue()


def test_drawing_leaves_pyplot_alone() -> None:
    pyplot = sys.modules.get("matplotlib.pyplot")
    before = pyplot.get_fignums() if pyplot else []
    sample.comparison().plot()
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert (pyplot.get_fignums() if pyplot else []) == before


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "upto.report.notebook_figure", raising=False)
    with pytest.raises(MissingExtraError, match=r"upto\[plot\]"):
        draw(sample.comparison())


def test_a_kind_without_a_figure_says_so() -> None:
    class Other(Result):
        kind = "other"
        schema = 1

        def tables(self) -> tuple[Table, ...]:
            return ()

    with pytest.raises(InputError, match="'other' has no figure"):
        draw(Other())
