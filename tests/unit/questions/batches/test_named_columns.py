"""Columns are found by the names users give them."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import Embeddings, InputError
from upto.questions.batches.named_columns import find_column
from upto.questions.batches.screen import join_columns


def run(*names):
    columns = {name: np.full(3, number) for number, name in enumerate(names)}
    return Embeddings(rows=np.zeros((3, 2)), name="wells", columns=columns)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Plate", "Plate"),
        ("Metadata_Plate", "Metadata_Plate"),
        ("gene", "Metadata_gene"),
        ("Metadata_dose", "dose"),
    ],
)
def test_a_column_is_found_by_its_name_before_the_prefix_is_tried(asked, found):
    name, values = find_column(
        run("Metadata_Plate", "Plate", "Metadata_gene", "dose"), asked, argument="batch"
    )
    assert name == found
    order = ["Metadata_Plate", "Plate", "Metadata_gene", "dose"]
    np.testing.assert_array_equal(values, order.index(found))


@pytest.mark.parametrize(
    ("columns", "asked", "message"),
    [
        (
            ("Metadata_Plate", "gene"),
            "plat",
            "batch='plat' is not among the 2 columns of wells: choose one of "
            "Metadata_Plate, gene; did you mean Metadata_Plate?",
        ),
        (
            ("gene",),
            "xylophone",
            "batch='xylophone' is not among the 1 column of wells: choose one of gene.",
        ),
        (("Gene",), "gene", "did you mean Gene?"),
        ((), "plate", "but wells has 0 metadata columns: use a table"),
    ],
)
def test_a_name_that_no_column_has_is_refused_with_the_closest(columns, asked, message):
    with pytest.raises(InputError) as caught:
        find_column(run(*columns), asked, argument="batch")
    assert message in str(caught.value)


class Series(np.ndarray):
    """An array with a name, as a column of pandas is."""

    name = "Plate"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (np.array([1, 2, 3]), ("batch", ["1", "2", "3"])),
        (np.array(["p", "q", "q"]), ("batch", ["p", "q", "q"])),
        ([1, 1, 2], ("batch", ["1", "1", "2"])),
        (np.array(["a", "b", "b"]).view(Series), ("Plate", ["a", "b", "b"])),
        ([np.array([1, 1, 2]), np.array([3, 4, 4])],
         ("batch × batch 2", ["1 / 3", "1 / 4", "2 / 4"])),
        (["gene", np.array([3, 4, 4])], ("gene × batch", ["0 / 3", "0 / 4", "0 / 4"])),
        (np.array(["gene", "dose"]), ("gene × dose", ["0 / 1", "0 / 1", "0 / 1"])),
    ],
)  # fmt: skip
def test_an_array_with_a_value_for_each_row_stands_for_a_column(given, found):
    words, names = join_columns(run("gene", "dose"), given, argument="batch")
    assert (words, names.tolist()) == found


@pytest.mark.parametrize("given", [np.arange(4), np.zeros((3, 2)), [1, 2]])
def test_an_array_without_a_value_for_each_row_is_refused(given):
    with pytest.raises(InputError, match=r"batch has shape \(.*\) but .* has 3 rows: pass one"):
        join_columns(run("gene"), given, argument="batch")
