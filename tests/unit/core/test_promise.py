import math

import pytest

from upto.core import (
    Constant,
    Group,
    Promise,
    Promised,
    conditions_table,
    constants_table,
    finite_or_none,
    promise_table,
    promised_table,
)


def promise(**changes):
    record = {
        "statement": "Theorem 1",
        "claim": "every row is within this distance",
        "up_to": Group.RIGID,
        "value": 0.5,
        "ceiling": 1.4,
        "constants": (Constant(symbol="L", value=0.1, meaning="distortion"),),
        "condition": "the supports are convex",
        "holds": None,
    }
    return Promise(**record | changes)


def test_a_bound_is_vacuous_if_infinite_not_valid_or_no_better_than_none():
    assert not promise().is_vacuous
    assert promise(value=None).is_vacuous
    assert promise(holds=False).is_vacuous
    assert promise(value=1.4).is_vacuous
    assert not promise(value=5.0, ceiling=None).is_vacuous


def test_an_infinite_bound_is_infinite_as_a_number():
    assert float(promise(value=None)) == math.inf
    assert float(promise()) == 0.5
    assert finite_or_none(math.inf) is None


def test_a_constant_is_found_by_its_symbol():
    assert promise().constant("L") == 0.1
    infinite = promise(constants=(Constant(symbol="K", value=None, meaning="m"),))
    assert infinite.constant("K") == math.inf
    with pytest.raises(KeyError, match="no constant 'K': choose from L"):
        promise().constant("K")


def test_the_tables_say_what_is_promised_when_it_is_valid_and_every_constant():
    rows = promise_table([promise(), promise(value=None, holds=False)]).texts()
    assert [row[2:] for row in rows] == [["0.5", "1.4", "informative"], ["inf", "1.4", "vacuous"]]
    assert constants_table(promise()).texts() == [["L", "0.1", "distortion"]]
    conditions = conditions_table([promise(), promise(statement="Lemma A.4"), promise(holds=True)])
    assert conditions.texts() == [
        ["Theorem 1; Lemma A.4", "cannot be checked", "the supports are convex"],
        ["Theorem 1", "yes", "the supports are convex"],
    ]


def test_a_promise_is_kept_if_what_was_measured_is_within_it():
    def kept(measured, *, at_least=None, rounding=0.0, **changes):
        return Promised(
            promise=promise(**changes),
            measured=measured,
            at_least=at_least,
            measured_as="m",
            rounding=rounding,
        ).is_kept

    assert kept(0.5) is True
    assert kept(0.6) is False
    assert kept(0.6, at_least=0.55) is False
    assert kept(0.6, at_least=0.4) is None
    assert kept(0.5 + 1e-9, rounding=1e-8) is True
    assert [kept(None), kept(0.1, value=None), kept(0.1, holds=False)] == [None] * 3
    table = promised_table([Promised(promise=promise(), measured=0.6, measured_as="worst")])
    assert table.texts() == [["Theorem 1", "rigid", "0.5", "0.6", "worst", "no", "informative"]]
