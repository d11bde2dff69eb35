from dataclasses import replace

import numpy as np
import pytest

import upto
from upto.core import Group, InputError
from upto.questions.compare.result import CompareResult
from upto.simulate import draw_ball, draw_sources, rigid_mixing, spiral
from upto.theory import rigid_mean_promise, rigid_promise

FAST = {"refits": 0, "permutations": 19}


@pytest.fixture(scope="module")
def spiralled():
    latents = draw_ball(800, 3, radius=1.0, seed=0)
    return latents, spiral(3, lipschitz=0.02, seed=1)(latents)


def statements(result):
    return {each.promise.statement: each for each in result.promised}


def test_nothing_is_promised_unless_something_is_known_of_the_decoders(spiralled):
    result = upto.compare(*spiralled, **FAST)
    assert result.promised == ()
    assert len(result.tables()) == 2


def test_theorem_one_stands_beside_the_worst_and_the_mean_square_error(spiralled):
    result = upto.compare(*spiralled, lipschitz=[0.02, 0.0], **FAST)
    found = statements(result)
    width = result.first.diameter.upper / result.second.diameter.value
    given = {"n_dimensions": 3, "diameter": width, "second_lipschitz": 0.0}
    worst, mean = found["Theorem 1"], found["Theorem 1, mean square"]
    assert float(worst.promise) == pytest.approx(float(rigid_promise(0.02, **given)))
    assert float(mean.promise) == pytest.approx(float(rigid_mean_promise(0.02, **given)))
    assert worst.measured == result.rigid.supremum.high
    assert mean.measured == result.rigid.in_sample.rms
    assert worst.is_kept
    assert mean.is_kept
    assert worst.promise.condition.startswith("L is user-specified; both decoders")


def test_one_number_is_of_both_decoders(spiralled):
    one = statements(upto.compare(*spiralled, lipschitz=0.02, **FAST))["Theorem 1"]
    both = statements(upto.compare(*spiralled, lipschitz=(0.02, 0.02), **FAST))["Theorem 1"]
    assert one == both
    assert one.promise.constant("e") == pytest.approx(1.02**2 - 1)


def test_changed_distances_promise_without_a_decoder(spiralled):
    result = upto.compare(*spiralled, lipschitz=0.02, **FAST)
    promised = statements(result)["Lemma A.4 with our constant"]
    assert promised.promise.constant("δ") == pytest.approx(result.defect.value)
    assert promised.promise.holds is True
    assert promised.is_kept


def test_decoders_of_another_scale_promise_up_to_that_scale():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    latents = draw_ball(500, 3, radius=1.0, seed=2)
    first = torch.nn.Linear(3, 3, bias=False, dtype=torch.float64)
    second = torch.nn.Linear(3, 3, bias=False, dtype=torch.float64)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    with torch.no_grad():
        first.weight.copy_(torch.eye(3))
        second.weight.copy_(torch.as_tensor(turn / 3.0))
    # Equal outputs: what the first makes of its latents, the second makes of these.
    result = upto.compare(latents, 3.0 * latents @ turn, decoders=[first, second], **FAST)
    found = statements(result)
    assert found["Theorem 1"].promise.constant("L₂") == pytest.approx(2.0)
    rescaled = found["Theorem 1, rescaled"]
    assert rescaled.promise.up_to is Group.SIMILARITY
    assert rescaled.promise.constant("s") == pytest.approx(3.0)
    assert float(rescaled.promise) == pytest.approx(0.0, abs=1e-5)
    assert rescaled.measured == pytest.approx(0.0, abs=1e-6)
    assert "the largest at 500 points and over their pairs" in found["Theorem 1"].promise.condition


@pytest.mark.slow
def test_theorem_two_is_kept_and_uses_the_measured_curvature():
    sources = draw_sources("uniform", 4000, 2, seed=0).rows
    moved = rigid_mixing(2, seed=3)(sources) + 1e-7
    result = upto.compare(sources, moved, lipschitz=1e-9, **FAST)
    promised = statements(result)["Theorem 2, from the measured ε"]
    assert promised.promise.constant("μ") > 0.01
    assert promised.promise.up_to is Group.SIGNED_PERMUTATION
    assert promised.is_kept


def test_a_promise_that_says_nothing_is_a_finding(spiralled):
    result = upto.compare(*spiralled, lipschitz=5.0, **FAST)
    assert statements(result)["Theorem 1"].promise.is_vacuous
    (finding,) = (each for each in result.findings if each.code == "UP012")
    assert "Theorem 1; Theorem 1, mean square" in finding.message


def test_a_result_with_promises_survives_json_and_says_where_l_is_from(spiralled):
    result = upto.compare(*spiralled, lipschitz=[0.02, np.inf], **FAST)
    assert CompareResult.from_json(result.to_json()) == result
    assert "lipschitz=[0.02, inf]" in result.provenance.call


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lipschitz": -0.1}, "L is -0.1, but it is the excess"),
        ({"lipschitz": "0.1"}, "L is '0.1', but it is the excess"),
        ({"lipschitz": True}, "L is True, but it is the excess"),
        ({"lipschitz": float("nan")}, "L is nan, but it is the excess"),
        ({"lipschitz": [0.1, 0.1, 0.1]}, "lipschitz has 3 entries for 2 runs"),
        ({"decoders": [lambda z: z]}, "decoders has 1 entry for 2 runs"),
        ({"lipschitz": 0.1, "decoders": [None, None]}, "lipschitz and decoders were both given"),
    ],
)
def test_what_cannot_be_used_is_refused(spiralled, options, message):
    with pytest.raises(InputError, match=message):
        upto.compare(*spiralled, **FAST, **options)


def test_three_runs_have_no_promises(spiralled):
    with pytest.raises(InputError, match="bounds are for two runs, but there are 3"):
        upto.compare(*spiralled, spiralled[0], lipschitz=0.1, **FAST)


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float64, 1.0), (np.float64, 1e-100), (np.float64, 1e100), (np.float32, 1.0)],
)
def test_an_isometry_keeps_its_promise_at_any_scale_and_precision(dtype, scale):
    rows = scale * draw_ball(300, 3, radius=1.0, seed=4)
    turned = scale * rigid_mixing(3, seed=5)(rows / scale)
    result = upto.compare(rows.astype(dtype), turned.astype(dtype), lipschitz=0.0, **FAST)
    kept = [each.is_kept for each in result.promised]
    assert kept[:3] == [True, True, True]
    assert not any(each.code == "UP057" for each in result.findings)


def test_a_promise_that_is_not_kept_is_a_finding():
    rows = np.random.default_rng(0).uniform(size=(300, 2))
    result = upto.compare(rows, np.exp(rows), lipschitz=0.0, **FAST)
    assert statements(result)["Theorem 1"].is_kept is False
    assert any(
        each.code == "UP057" and each.message.startswith("Theorem 1 bounds the error by 0, but 0.2")
        for each in result.findings
    )


def test_a_chain_is_no_more_certain_than_its_first_link():
    column = draw_sources("laplace", 400, 1, seed=0).rows
    result = upto.compare(column, np.exp(column), lipschitz=0.0, **FAST)
    chain = statements(result)["Theorems 1 and 2"].promise
    assert chain.holds is None
    assert "equal outputs" in chain.condition


def test_a_bound_within_the_bracket_of_the_worst_error_is_neither_kept_nor_broken(spiralled):
    result = upto.compare(*spiralled, lipschitz=0.02, **FAST)
    promised = statements(result)["Theorem 1"]
    low, high = result.rigid.supremum.low, result.rigid.supremum.high
    assert low < high
    between = replace(promised, promise=replace(promised.promise, value=(low + high) / 2))
    below = replace(promised, promise=replace(promised.promise, value=low / 2))
    assert [between.is_kept, below.is_kept] == [None, False]


def test_every_length_of_a_condition_is_in_diameters_of_the_target(spiralled):
    first, second = spiralled
    unit = upto.compare(first, second, lipschitz=0.02, **FAST)
    large = upto.compare(1e3 * first, 1e3 * second, lipschitz=0.02, **FAST)
    for one, other in zip(unit.promised[:3], large.promised[:3], strict=True):
        assert float(one.promise) == pytest.approx(float(other.promise), rel=1e-6)
    assert statements(unit)["Theorem 1"].promise.condition == (
        statements(large)["Theorem 1"].promise.condition
    )


@pytest.mark.slow
def test_an_l_that_is_only_known_from_below_is_refused(spiralled):
    measured = upto.lipschitz(*spiralled)
    with pytest.raises(InputError, match="only a lower bound, but"):
        upto.compare(*spiralled, lipschitz=measured, **FAST)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    decoded = upto.lipschitz(
        spiralled[0],
        decoder=lambda z: z @ torch.diag(torch.arange(1.0, 4.0).to(z)),
        method="lanczos",
        steps=1,
    )
    with pytest.raises(InputError, match="only a lower bound at 800 of 800 points"):
        upto.compare(*spiralled, lipschitz=decoded, **FAST)
