"""Every question takes every kind of input, and its answer does not depend on the kind."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from input_kinds import (
    KINDS,
    LABELS,
    PLATES,
    QUESTIONS,
    assert_same_answer,
    rows_of_two_runs,
)

import upto

FAST = "pandas frame"


@cache
def expected(question):
    return QUESTIONS[question](*rows_of_two_runs())


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "kind", [FAST, *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != FAST)]
)
def test_the_kind_of_input_does_not_matter(question, kind, tmp_path):
    first, second = rows_of_two_runs()
    one = "head" if question == "diversity" else "run"
    if question in ("compare", "similarity", "consensus"):
        one = "first"
    if question == "lipschitz":
        one, other = "latents", "outputs"
    elif question == "align":
        one, other = "old", "new"
    else:
        other = "second"
    given = [
        KINDS[kind](rows, tmp_path / f"{name}.npy")
        for rows, name in ((first, one), (second, other))
    ]
    assert_same_answer(QUESTIONS[question](*given), expected(question))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_inspected_alike(kind, tmp_path):
    given = KINDS[kind](rows_of_two_runs()[0], tmp_path / "run.npy")
    assert_same_answer(QUESTIONS["inspect"](given), expected("inspect"))


def test_other_rows_give_another_answer():
    with pytest.raises(AssertionError):
        assert_same_answer(QUESTIONS["inspect"](2 * rows_of_two_runs()[1]), expected("inspect"))


def _series(library):
    return lambda values: pytest.importorskip(library).Series(values)


LABEL_KINDS = {
    "list": list,
    "tuple": tuple,
    "pandas series": _series("pandas"),
    "polars series": _series("polars"),
    "categorical": lambda values: pytest.importorskip("pandas").Categorical(values),
    "categorical series": lambda values: pytest.importorskip("pandas").Series(
        values, dtype="category"
    ),
    "arrow array": lambda values: pytest.importorskip("pyarrow").chunked_array([list(values)]),
    "objects": lambda values: values.astype(object),
}


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_labels_may_be_values_of_any_kind(kind):
    first, second = rows_of_two_runs()
    make = LABEL_KINDS[kind]
    found = upto.similarity(
        first, second, measures="linear-cka", within=make(LABELS), permutations=19, half_samples=0
    )
    assert_same_answer(found, expected("similarity"))
    columns = {"batch": make(PLATES), "label": make(LABELS)}
    found = upto.batches(
        first, **columns, classifier="linear", conditions="base", shuffled=False, mixing=False,
        maps=False, folds=2, concentration=(),
    )  # fmt: skip
    assert_same_answer(found, expected("batches"))


def test_classes_may_be_numbers_in_a_tensor():
    torch = pytest.importorskip("torch")
    first, second = rows_of_two_runs()
    codes = np.unique(LABELS, return_inverse=True)[1]
    pairs = np.repeat(np.arange(40), 2)
    options = {"permutations": 19, "refits": 1, "ica": False, "up_to": "rigid"}
    found, reference = (
        upto.compare(
            first, second, labels=make(codes), within=make(codes), groups=make(pairs), **options
        )
        for make in (torch.tensor, np.asarray)
    )
    assert_same_answer(found, reference)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (LABELS[:9], r"^{} has shape \(9,\) but \w+ has 80 rows: pass one value per row\.$"),
        (np.zeros((80, 2)), r"^{} has shape \(80, 2\) but"),
        ([None] * 80, r"^{} has 80 missing values in 80 rows: fill or drop"),
        ([1.0] * 79 + [np.nan], r"^{} has 1 missing value in 80 rows"),
        ({"a": 1}, r"^{} is a dict: pass one value per row, or the name of a column\.$"),
        (7, r"^{} is an int: pass one value per row, or the name of a column\.$"),
    ],
)
def test_what_cannot_be_labels_is_refused_in_one_sentence(given, message):
    first, second = rows_of_two_runs()
    for argument in ("labels", "groups", "within"):
        with pytest.raises(upto.InputError, match=message.format(argument)):
            upto.compare(first, second, **{argument: given})
    with pytest.raises(upto.InputError, match=message.format("within")):
        upto.similarity(first, second, within=given)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_factors_may_be_a_frame(library):
    first, _ = rows_of_two_runs()
    frame = pytest.importorskip(library).DataFrame({"shade": PLATES})
    found = upto.factors(
        first, frame, scores="linear-probe", forms="raw", refits=19, half_samples=0
    )
    assert_same_answer(found, expected("factors"))


def test_factors_are_matched_with_rows_by_ids():
    first, _ = rows_of_two_runs()
    order = np.random.default_rng(1).permutation(80)
    names = np.array([f"sample {number}" for number in range(80)])
    run = upto.as_embeddings(first, ids=names)
    found = upto.factors(
        run, {"shade": PLATES[order]}, ids=names[order], scores="linear-probe", forms="raw",
        refits=19, half_samples=0,
    )  # fmt: skip
    assert_same_answer(found, expected("factors"))


def test_frames_are_matched_by_their_index():
    pd = pytest.importorskip("pandas")
    first, second = rows_of_two_runs()
    names = [f"sample {number}" for number in range(80)]
    order = np.random.default_rng(1).permutation(80)
    frames = pd.DataFrame(first, index=names), pd.DataFrame(second, index=names).iloc[order]
    assert_same_answer(QUESTIONS["consensus"](*frames), expected("consensus"))


def test_columns_of_an_object_can_be_named():
    first, second = rows_of_two_runs()
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(first).assign(shade=LABELS, plate=PLATES)
    found = upto.compare(
        frame, second, labels="shade", permutations=19, refits=1, ica=False, up_to="rigid"
    )
    assert found.rigid.held_out.mean.value == pytest.approx(
        expected("compare").rigid.held_out.mean.value
    )


def blocks(rows):
    yield from np.array_split(rows, 7)


@pytest.mark.parametrize("question", ["unmix", "inspect"])
@pytest.mark.parametrize(
    "make",
    [
        blocks,
        lambda rows: map(_as_tensor, blocks(rows)),
        lambda rows: (block.tolist() for block in blocks(rows)),
    ],
    ids=["arrays", "tensors", "lists"],
)
def test_blocks_are_read_several_times(question, make):
    first, _ = rows_of_two_runs()
    assert_same_answer(QUESTIONS[question](make(first)), expected(question))


def _as_tensor(block):
    return pytest.importorskip("torch").tensor(block)


@pytest.mark.parametrize("question", sorted(set(QUESTIONS) - {"unmix", "inspect"}))
def test_other_questions_refuse_an_iterator(question):
    first, second = rows_of_two_runs()
    message = r"is a generator, which can be read only once, .* Only unmix and inspect take"
    with pytest.raises(upto.InputError, match=message):
        QUESTIONS[question](blocks(first), second)
