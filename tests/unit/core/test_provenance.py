"""A question's result says which call made it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from upto.core import UNRECORDED, Embeddings, Provenance, with_provenance
from upto.engines import ThreadsEngine


@dataclass(frozen=True)
class Answer:
    provenance: Provenance = UNRECORDED


@with_provenance
def ask(*runs, share=0.25, measures=("a", "b"), labels=None, seed=0, engine=None, progress=None):
    """Answer."""
    return Answer()


def test_the_call_has_names_shapes_and_every_option():
    run = Embeddings(rows=np.zeros((3, 2)), name="first")
    found = ask(run, np.zeros((3, 2)), "c.npy", labels=np.arange(3), seed=7).provenance
    assert found.call == (
        "upto.ask(first, array 3×2, c.npy, share=0.25, measures=['a', 'b'], labels=array 3, seed=7)"
    )
    assert (found.seed, found.engine) == (7, "threads")
    assert found.seconds >= 0
    assert "numpy" in found.versions


def test_an_engine_is_named_whether_object_or_text():
    assert ask(engine=ThreadsEngine()).provenance.engine == "threads"
    assert ask(engine="dask").provenance.engine == "dask"


def test_long_arguments_are_named_by_their_kind():
    call = ask(measures=tuple(range(100)), labels=dict.fromkeys(range(99))).provenance.call
    assert "measures=tuple, labels=dict" in call


def test_the_question_keeps_its_name_and_signature():
    assert (ask.__name__, ask.__doc__) == ("ask", "Answer.")
