"""The order of rows: own to each member and epoch, the same on every device."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.train.arguments import checked_subsets
from upto_studies.train.orders import Orders, _mixed, _signed

torch = pytest.importorskip("torch")


def test_the_mixing_is_that_of_splitmix64():
    # The first outputs of the reference implementation for seed 0.
    golden = 0x9E3779B97F4A7C15
    states = torch.tensor([_signed(golden), _signed(2 * golden)])
    outputs = [int(each) & (2**64 - 1) for each in _mixed(states)]
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_every_epoch_shows_each_member_all_rows_in_another_order():
    orders = Orders([0, 1], 100, None, "cpu")
    seen = torch.cat([orders.epoch(0), orders.epoch(1)]).numpy()
    assert (np.sort(seen, axis=1) == np.arange(100)).all()
    assert len(np.unique(seen, axis=0)) == 4


def test_the_order_of_a_member_does_not_depend_on_the_others():
    together, alone = Orders([3, 4, 5], 50, None, "cpu"), Orders([4], 50, None, "cpu")
    assert torch.equal(together.epoch(7)[1], alone.epoch(7)[0])


def test_first_places_are_uniform():
    orders = Orders(list(range(2000)), 10, None, "cpu")
    counts = np.bincount(orders.epoch(0)[:, 0].numpy(), minlength=10)
    assert ((counts - 200) ** 2 / 200).sum() < 27.9  # chi-squared with 9 degrees, p = 0.001


def test_a_member_with_a_subset_sees_that_subset_first_and_only():
    subsets = [np.array([2, 4, 6]), np.array([1, 3, 5, 7, 9])]
    orders = Orders([0, 1], 10, subsets, "cpu")
    order = orders.epoch(0).numpy()
    assert sorted(order[0, :3]) == [2, 4, 6]
    assert sorted(order[1]) == [1, 3, 5, 7, 9]
    assert np.array_equal(order[0, :3], Orders([0], 10, subsets[:1], "cpu").epoch(0)[0])


def test_members_go_on_as_before_when_others_have_left():
    subsets = [np.arange(4), np.arange(3, 9), np.arange(5)]
    orders = Orders([0, 1, 2], 10, subsets, "cpu")
    before = orders.epoch(2)
    orders.select(torch.tensor([1]))
    assert torch.equal(orders.epoch(2), before[[1]])
    assert orders.sizes.tolist() == [6]


@pytest.mark.parametrize(
    ("subsets", "words"),
    [
        ([np.arange(3)], "2 members need as many non-empty subsets"),
        ([], "2 members need as many non-empty subsets"),
        ([np.arange(3), []], "non-empty subsets"),
        ([np.arange(3), np.zeros(10, dtype=bool)], "non-empty subsets"),
        ([np.arange(3), np.array([10])], "0 to 9"),
        ([np.arange(3), [-1]], "0 to 9"),
        ([np.arange(3), [2**63]], "0 to 9"),
        ([np.arange(3), [1.9, 2.9]], "2 values of type float64: .* integers from 0 to 9"),
        ([np.arange(3), np.ones(9, dtype=bool)], "9 values of type bool: .* mask of 10"),
        ([np.arange(3), [[1], [2]]], "2 × 1 values of type int64"),
        ([np.arange(3), 4], "a subset has 1 values"),
    ],
)
def test_subsets_that_do_not_fit_are_refused(subsets, words):
    with pytest.raises(InputError, match=words):
        checked_subsets(subsets, 2, 10)


def test_subsets_are_numbers_of_rows_however_they_are_given():
    mask = np.zeros(10, dtype=bool)
    mask[[2, 7]] = True
    given = [mask, [2, 7], (2, 7), np.array([2, 7], dtype=np.uint8), range(2, 8, 5)]
    for subset in checked_subsets(given, 5, 10):
        assert subset.dtype == np.int64
        assert subset.tolist() == [2, 7]
