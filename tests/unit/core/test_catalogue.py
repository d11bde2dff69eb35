"""Measures, scores and conditions are asked for by name in one way."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from upto.batch_metrics.mixing import MIXING
from upto.core import InputError
from upto.core.catalogue import Catalogue
from upto.disentanglement import SCORES
from upto.measures import MEASURES
from upto.questions.batches.conditions import CONDITIONS


@dataclass(frozen=True)
class Cheese:
    name: str


@pytest.fixture
def cheeses():
    return Catalogue("cheese", map(Cheese, ["brie", "gouda:18", "feta"]), accepts=Cheese)


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        ("feta", ["feta"]),
        ("feta, brie,", ["feta", "brie"]),
        (["gouda", "brie,gouda"], ["gouda:18", "brie"]),
        ("all", ["brie", "gouda:18", "feta"]),
        (["feta", "all"], ["feta", "brie", "gouda:18"]),
        (Cheese("edam"), ["edam"]),
        ([Cheese("edam"), "brie"], ["edam", "brie"]),
    ],
)
def test_names_lists_and_objects_are_chosen_once_each(cheeses, request_, names):
    assert [each.name for each in cheeses.choose(request_)] == names


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("Bri", "there is no cheese 'Bri': choose from brie, gouda, feta; did you mean brie?"),
        ("xyz", "there is no cheese 'xyz': choose from brie, gouda, feta."),
        (3, "cheeses=3 is not a list of cheeses: pass a list, e.g. ['brie', 'gouda']."),
        (["brie", None], "cheeses=['brie', None] is not a list of cheeses: pass a list"),
        ([], "no cheese was requested"),
        (" , ", "no cheese was requested"),
    ],
)
def test_what_cannot_be_chosen_is_refused_in_a_sentence(cheeses, request_, message):
    with pytest.raises(InputError) as refused:
        cheeses.choose(request_)
    assert str(refused.value).startswith(message)


def test_a_kind_is_added_under_a_name_of_its_own(cheeses):
    cheeses.add(Cheese("edam"))
    assert cheeses.find("edam") == Cheese("edam")
    assert [*cheeses] == ["brie", "gouda", "feta", "edam"]
    with pytest.raises(InputError, match="the cheese 'gouda:9' already exists"):
        cheeses.add(Cheese("gouda:9"))


@pytest.mark.parametrize("catalogue", [MEASURES, SCORES, MIXING, CONDITIONS])
def test_every_catalogue_suggests_the_nearest_name(catalogue):
    name = max(catalogue, key=len)
    with pytest.raises(InputError, match=rf"did you mean {name}\?$"):
        catalogue.find(f"{name}s")
