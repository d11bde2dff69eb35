import pytest

from upto.core import Marks, Panel
from upto.report.panel_figures import draw_panels
from upto.report.panels import panel_views, panels_data

LINE = Marks(name="fit", kind="line", x=(0.0, 1.0), y=(0.0, 2.0), low=(0.0, 1.0), high=(0.5, 3.0))
POINTS = Marks(name="means", x=(0.5, 0.25), y=(1.0, 3.0))


def panel(*marks, **options):
    return Panel(title="t", x="L", y="error", marks=marks, **options)


def test_every_point_is_drawn_and_answers_the_pointer():
    (view,) = panel_views([panel(POINTS)])
    assert view.plot.planes[0].drawing.count("h0") == 2
    assert view.plot.tips == ("means\nL 0.25\nerror 3", "means\nL 0.5\nerror 1")
    assert panels_data([view]) == [{"at": view.plot.at, "tips": view.plot.tips}]
    assert list(view.plot.at) == sorted(view.plot.at)


def test_a_line_with_an_interval_has_a_band_and_its_tip_says_the_ends():
    (view,) = panel_views([panel(LINE)])
    drawing = view.plot.planes[0].drawing
    assert 'class="band p0 pale"' in drawing
    assert 'class="curve p0"' in drawing
    assert view.plot.tips[1] == "fit\nL 1\nerror 2 [1, 3]"


def test_marks_have_colours_of_their_own_in_drawing_and_key():
    (view,) = panel_views([panel(POINTS, LINE)])
    assert [(key.name, key.colour, key.kind) for key in view.keys] == [
        ("means", 0, "points"),
        ("fit", 1, "line"),
    ]


def test_an_empty_panel_is_left_out():
    assert panel_views([panel(Marks(name="none", x=(), y=()))]) == ()


def test_a_logarithmic_axis_places_equal_ratios_at_equal_distances():
    marks = Marks(name="m", x=(0.01, 0.1, 1.0), y=(1.0, 1.0, 1.0))
    (view,) = panel_views([panel(marks, x_log=True)])
    first, second, third = view.plot.at
    assert second - first == pytest.approx(third - second, abs=0.01)


def test_names_are_text_and_not_markup():
    (view,) = panel_views([Panel(title="t", x="x", y="<b>&", marks=(POINTS,))])
    assert "<b>" not in view.plot.planes[0].drawing


def test_the_figure_draws_every_panel_and_hides_what_is_left_over():

    figure = draw_panels((panel(POINTS), panel(LINE, y_log=True), panel(POINTS, LINE)), columns=2)
    axes = figure.axes
    assert [each.axison for each in axes] == [True, True, True, False]
    assert axes[1].get_yscale() == "log"
    assert [text.get_text() for text in axes[2].get_legend().get_texts()] == ["means", "fit"]


def test_a_list_of_things_has_its_names_in_caption_tips_and_figure():

    marks = Marks(name="m", x=(0.9, 2.1), y=(1.0, 3.0))
    named = panel(marks, x_names=("first", "$second"), caption="Both.")
    (view,) = panel_views([named])
    assert view.caption == "1 first; 2 $second. Both."
    assert view.plot.tips == ("m\nfirst\nerror 1", "m\n$second\nerror 3")
    assert view.plot.axis_name == "L"
    (axes,) = draw_panels((named,), columns=2).axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["first", "$second"]
    assert list(axes.get_xticks()) == [1, 2]


def test_a_short_logarithmic_axis_has_round_numbers_that_do_not_overlap():
    short = Marks(name="pieces", x=(2.0, 8.0, 64.0), y=(0.4, 0.05, 0.001), kind="line")
    long = Marks(name="steps", x=(1.0, 1e5), y=(0.4, 0.05), kind="line")
    near, far = draw_panels((panel(short, x_log=True), panel(long, x_log=True)), columns=2).axes
    assert [text.get_text() for text in near.get_xticklabels()] == ["2", "5", "10", "20", "50"]
    assert len(near.get_xticks(minor=True)) == 0
    assert len(far.get_xticks(minor=True)) > 0


def test_points_of_one_height_are_not_drawn_on_the_edge():
    level = Marks(name="level", x=(0.0, 1.0, 2.0), y=(0.999, 0.999, 0.998), kind="points")
    (axes,) = draw_panels((panel(level, y_zero=True),), columns=2).axes
    bottom, top = axes.get_ylim()
    assert bottom == 0
    assert top > 1.03 * 0.999


def test_a_short_logarithmic_height_is_marked_by_round_numbers():
    narrow = Marks(name="narrow", x=(0.0, 1.0), y=(0.993, 1.01), kind="points")
    (axes,) = draw_panels((panel(narrow, y_log=True),), columns=2).axes
    axes.figure.canvas.draw()
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0.8", "0.9", "1", "1.1"]
    assert axes.get_yticks(minor=True).size == 0
