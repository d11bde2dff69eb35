"""A fit and a promise show their numbers at a prompt and in a notebook."""

from __future__ import annotations

from dataclasses import fields, replace

from browser import sample_results as sample

from upto.core import Constant, Promise


def test_a_fit_is_one_line_and_a_table_of_errors():
    fit = sample.comparison().rigid
    assert repr(fit) == "Fit('rigid', error=0.0312 [0.02933, 0.03338], r2=0.981, p_value=0.001)"
    assert [row[0] for row in fit.table().rows][:2] == ["held-out", "in-sample"]
    assert fit.table().rows[0][1] is fit.held_out.mean
    assert "0.0312 [0.0293, 0.0334]" in fit._repr_html_()


def test_a_fit_without_held_out_rows_shows_the_others():
    fit = sample.comparison(held_out=False).rigid
    assert fit.table().rows[0][0] == "in-sample"
    assert "error=0.0289" in repr(fit)


def test_a_promise_is_one_line_and_its_constants():
    promise = Promise(
        statement="Theorem 1",
        claim="the error <ε>",
        value=None,
        constants=(Constant(symbol="L", value=None, meaning="of the decoder"),),
        condition="L < 2",
        holds=None,
    )
    assert repr(promise) == "Promise('Theorem 1', value=inf, vacuous)"
    assert "the error &lt;ε&gt;" in promise._repr_html_()
    assert "of the decoder" in promise._repr_html_()


def test_a_record_shows_its_fields_in_a_notebook_with_all_text_escaped():
    run = replace(sample.run("<b>a</b>"), layer="x\x1b[2J")
    shown = run._repr_html_()
    assert "RunSummary" in shown
    assert "&lt;b&gt;a&lt;/b&gt;" in shown
    assert "<b>" not in shown
    assert "\x1b" not in shown
    assert all(f">{field.name}</td>" in shown for field in fields(run))
    assert "exact" in run.diameter._repr_html_()
