"""Columns are found by the names users give them."""

from __future__ import annotations

import numpy as np
import pytest

from upto.assess.batches.columns import find_column
from upto.core import Embeddings, InputError


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
        run("Metadata_Plate", "Plate", "Metadata_gene", "dose"), asked, option="--batch"
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
            "--batch names 'plat', which is none of the 2 columns of wells: choose one of "
            "Metadata_Plate, gene; did you mean Metadata_Plate?",
        ),
        (
            ("gene",),
            "xylophone",
            "--batch names 'xylophone', which is none of the 1 column of wells: choose one of "
            "gene.",
        ),
        (("Gene",), "gene", "did you mean Gene?"),
        ((), "plate", "but wells has 0 columns beside its numbers: give a table"),
    ],
)
def test_a_name_that_no_column_has_is_refused_with_the_closest(columns, asked, message):
    with pytest.raises(InputError) as caught:
        find_column(run(*columns), asked, option="--batch")
    assert message in str(caught.value)
