"""Pooling rules, against closed forms."""

import numpy as np
import pytest

from upto.activations.pooling import POOLS, BatchFacts, NotPooled, checked_rule, pooled
from upto.core import InputError

torch = pytest.importorskip("torch", reason="torch is not installed")


def facts(output, **more):
    return BatchFacts(n_rows=len(output), dtype=torch.float32, **more)


TOKENS = torch.arange(24.0).reshape(2, 4, 3)
"""Token t of sample s begins with 12 s + 3 t."""
MAPS = torch.arange(2 * 3 * 2 * 2.0).reshape(2, 3, 2, 2)
MASK = torch.tensor([[1, 1, 1, 0], [0, 0, 1, 1]])


def first_column(rows):
    return rows[:, 0].tolist()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mean", [4.5, 16.5]),
        ("first", [0, 12]),
        ("cls", [0, 12]),
        ("last", [9, 21]),
        ("mean-patches", [6, 18]),
        ("mean-patches:2", [7.5, 19.5]),
        ("mean-channels-last", [4.5, 16.5]),
        ("mean-channels-first", [1, 13]),
    ],
)
def test_tokens(rule, expected):
    assert first_column(pooled(TOKENS, rule, facts(TOKENS))) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mean", [3, 19.5]),
        ("first", [0, 18]),
        ("last", [6, 21]),
        ("mean-patches", [4.5, 19.5]),
    ],
)
def test_tokens_that_the_mask_leaves_out_do_not_count(rule, expected):
    output = TOKENS.masked_fill(~MASK.bool()[:, :, None], torch.nan)
    assert first_column(pooled(output, rule, facts(output, mask=MASK))) == expected


def test_flatten_keeps_every_number_in_order():
    rows = pooled(TOKENS, "flatten", facts(TOKENS))
    np.testing.assert_array_equal(rows, TOKENS.reshape(2, 12))
    np.testing.assert_array_equal(
        pooled(MAPS, "flatten", facts(MAPS)), np.arange(24.0).reshape(2, 12)
    )


def test_channels_are_averaged_over_space():
    np.testing.assert_array_equal(
        pooled(MAPS, "mean", facts(MAPS)), [[1.5, 5.5, 9.5], [13.5, 17.5, 21.5]]
    )
    last = MAPS.permute(0, 2, 3, 1)
    np.testing.assert_array_equal(
        pooled(last, "mean-channels-last", facts(last)), pooled(MAPS, "mean", facts(MAPS))
    )
    volume = MAPS[..., None]
    np.testing.assert_array_equal(
        pooled(volume, "mean", facts(volume)), pooled(MAPS, "mean", facts(MAPS))
    )


@pytest.mark.parametrize("rule", ["mean", "first", "none", "flatten", "mean-patches:3"])
def test_rows_are_taken_as_they_are(rule):
    rows = torch.randn(5, 3)
    np.testing.assert_array_equal(pooled(rows, rule, facts(rows)), rows)
    np.testing.assert_array_equal(pooled(rows[:, 0], rule, facts(rows)), rows[:, :1])


def test_a_function_pools_as_it_likes():
    rows = pooled(TOKENS, lambda output: output.amax(dim=1), facts(TOKENS))
    np.testing.assert_array_equal(rows, [[9, 10, 11], [21, 22, 23]])
    with pytest.raises(NotPooled, match=r"pooled output has shape \(4, 3\) for a batch of 2"):
        pooled(TOKENS, lambda output: output.mean(dim=0), facts(TOKENS))


def test_half_precision_is_averaged_in_the_recorded_type():
    output = torch.full((1, 4096, 1), 1.001, dtype=torch.float16)
    assert pooled(output, "mean", facts(output)).item() == pytest.approx(1.00098, abs=1e-5)
    large = torch.full((1, 3000, 1), 60.0, dtype=torch.float16)
    mask = torch.ones(1, 3000)
    assert pooled(large, "mean", facts(large, mask=mask)).item() == 60.0


@pytest.mark.parametrize(
    ("output", "rule", "why"),
    [
        (TOKENS, "none", r"shape \(2, 4, 3\) and pool is none.*flatten"),
        (MAPS, "first", r"shape \(2, 3, 2, 2\), but first needs rows × tokens × features"),
        (MAPS, "last", "but last needs"),
        (MAPS, "mean-patches", "but mean-patches needs"),
        (TOKENS, "mean-patches:4", "has 4 tokens, none of them after the first 4"),
        (TOKENS.to(torch.complex64), "mean", "complex"),
    ],
)
def test_what_a_rule_is_not_made_for_is_refused(output, rule, why):
    with pytest.raises(NotPooled, match=why):
        pooled(output, rule, facts(output))


def test_a_batch_of_another_size_is_refused():
    with pytest.raises(NotPooled, match=r"shape \(2, 4, 3\) for a batch of 4.*batch_first"):
        pooled(TOKENS, "mean", BatchFacts(n_rows=4, dtype=torch.float32))


def test_a_mask_that_does_not_fit_is_refused():
    with pytest.raises(NotPooled, match=r"has 4 tokens but the attention mask has shape \(2, 9\)"):
        pooled(TOKENS, "mean", facts(TOKENS, mask=torch.ones(2, 9)))
    with pytest.raises(NotPooled, match="1 of 2 samples of a batch have no token that counts"):
        pooled(TOKENS, "last", facts(TOKENS, mask=torch.tensor([[1, 1, 1, 1], [0, 0, 0, 0]])))


@pytest.mark.parametrize("rule", ["max", "mean:3", "mean-patches:x", 7])
def test_an_unknown_rule_is_refused(rule):
    with pytest.raises(InputError, match=r"there is no pooling rule.*mean-patches"):
        checked_rule(rule)


def test_every_listed_rule_exists():
    for rule in POOLS:
        assert checked_rule(rule.replace("COUNT", "2"))
