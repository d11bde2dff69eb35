"""Someone writes a paper: a table, a figure and the references of a comparison."""

import pytest

import upto


@pytest.mark.slow
def test_the_table_the_figure_and_the_references_come_from_one_result(rotated, tmp_path):
    pytest.importorskip("matplotlib")
    pandas = pytest.importorskip("pandas")
    result = upto.compare(*rotated)
    frame = result.to_frame(library="pandas")
    assert isinstance(frame, pandas.DataFrame)
    rigid = frame[frame["up to"].str.startswith("rigid")].iloc[0]
    assert rigid["held out"] == pytest.approx(result.rigid.error.value)
    assert rigid["held out low"] == pytest.approx(result.rigid.error.low)

    latex = result.to_latex(tmp_path / "table.tex", label="tab:runs")
    assert latex is None or "toprule" in latex
    text = (tmp_path / "table.tex").read_text()
    assert r"\toprule" in text
    assert r"\label{tab:runs}" in text
    assert f"{result.rigid.error.value:.4f}" in text
    assert text.isascii()

    for suffix in ("svg", "pdf", "png"):
        result.save_figure(tmp_path / f"figure.{suffix}", columns=1)
        assert (tmp_path / f"figure.{suffix}").stat().st_size > 1000
    assert b"/FontFile2" in (tmp_path / "figure.pdf").read_bytes()

    references = result.cite()
    assert references.count("@") >= 3
    assert upto.__version__ in references


def test_the_command_line_gives_the_same_table(rotated, tmp_path, upto_command):
    import numpy as np

    for name, rows in zip(("first", "second"), rotated, strict=True):
        np.save(tmp_path / f"{name}.npy", rows)
    upto_command("compare", "first.npy", "second.npy", "--no-ica", "-o", "table.tex")
    assert r"\bottomrule" in (tmp_path / "table.tex").read_text()
    printed = upto_command("compare", "first.npy", "second.npy", "--no-ica", "--format", "html")
    assert "<table" in printed
