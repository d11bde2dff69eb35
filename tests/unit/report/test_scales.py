import pytest

from upto.report.axis_scale import linear_scale, log_scale, tick_text, tick_texts


@pytest.mark.parametrize("high", [1e-9, 0.0031, 0.3, 1.0, 7.3, 4e6])
def test_a_linear_axis_starts_at_zero_and_has_a_handful_of_ticks(high: float) -> None:
    scale = linear_scale([high / 3, high])
    assert scale.ticks[0] == 0
    assert 3 <= len(scale.ticks) <= 7
    assert scale.ticks[-1] <= scale.high
    assert scale.position(0) == 2
    assert 90 < scale.position(high) < 98


@pytest.mark.parametrize("values", [[], [0.0], [float("inf")]])
def test_an_axis_without_values_still_draws(values: list[float]) -> None:
    assert linear_scale(values).high == pytest.approx(1.02)


def test_a_logarithmic_axis_spaces_ratios_evenly_and_keeps_zero_at_its_end() -> None:
    scale = log_scale([0.0, 0.001, 0.01, 0.1])
    first, second, third = (scale.position(value) for value in (0.001, 0.01, 0.1))
    assert second - first == pytest.approx(third - second)
    assert scale.position(0.0) == 2
    assert 0.01 in [pytest.approx(tick) for tick in scale.ticks]


def test_a_logarithmic_axis_of_zeros_falls_back() -> None:
    assert not log_scale([0.0, 0.0]).logarithmic


def test_rounding_errors_do_not_squeeze_the_axis() -> None:
    scale = log_scale([1e-17, 0.2, 0.3])
    assert scale.position(0.3) - scale.position(0.2) > 2


@pytest.mark.parametrize(
    "values",
    [[1.0, 1.02], [2.0, 2.9], [3.1, 4.9], [1.0, 1000.0], [5.0, 5.0], [1.1e-5, 1.2e-5], [8.0, 700]],
)
def test_a_logarithmic_axis_names_at_least_three_numbers(values: list[float]) -> None:
    scale = log_scale(values)
    assert 3 <= len(scale.ticks) <= 12
    assert all(scale.low * 0.999 <= tick <= scale.high * 1.001 for tick in scale.ticks)
    texts = tick_texts(scale.ticks, logarithmic=True)
    assert len(set(texts)) == len(texts)
    assert all(
        float(text) == pytest.approx(tick) for text, tick in zip(texts, scale.ticks, strict=True)
    )


def test_ticks_are_short() -> None:
    assert [tick_text(value) for value in (0.0, 0.25, 0.30000000004, 1e-7)] == [
        "0",
        "0.25",
        "0.3",
        "1e-07",
    ]
