"""Docstrings of theory, scores, corrections and simulations: examples run, neighbours exist."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import re
from pydoc import locate

import pytest

NAMED = {
    "upto.theory": None,
    "upto.corrections": (
        "BatchScaler",
        "BatchScorer",
        "BiologyComponents",
        "ComBat",
        "ControlSphering",
        "Harmony",
        "RandomRotation",
        "TypicalVariation",
    ),
    "upto.corrections.cost_of_dropping": ("DroppingCost",),
    "upto.batch_metrics.classifiers": (
        "Fitted",
        "Prepared",
        "auroc",
        "auroc_within",
        "concentration_difference",
        "concentration_ratio",
        "hoyer_sparsity",
        "normalised_concentration",
        "prepare",
        "top_features",
    ),
    "upto.batch_metrics.effects": ("ComponentEffect", "batch_and_label_shares"),
    "upto.batch_metrics.mixing": None,
    "upto.batch_metrics.retrieval": (
        "AveragePrecision",
        "RetrievedLabel",
        "Retrieval",
        "average_precision",
        "mean_average_precision",
    ),
    "upto.disentanglement": None,
    "upto.simulate": None,
    "upto.testing": ("embeddings_strategy", "random_element"),
    "upto.questions.batches.remove_batch": ("KeptBiology", "keep_biology"),
}
"""Modules, with the names to read; None stands for all they export."""

_SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
_NEIGHBOUR = re.compile(r"^(\w[\w., ]*) : ", re.MULTILINE)


def described() -> dict[str, object]:
    """Collect the functions and classes, with the path under which users find them."""
    found = {}
    for path, names in NAMED.items():
        module = importlib.import_module(path)
        for name in names or module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                found[f"{path}.{name}"] = thing
    return found


THINGS = described()


def sections(thing: object) -> dict[str, str]:
    parts = _SECTION.split(inspect.getdoc(thing) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def is_called(thing: object) -> bool:
    """Whether users call it: a function or an estimator, not a record that is returned."""
    return not (dataclasses.is_dataclass(thing) or getattr(thing, "_is_protocol", False))


@pytest.mark.parametrize("path", THINGS)
def test_a_docstring_names_its_neighbours_and_they_exist(path):
    found = sections(THINGS[path])
    names = [
        name.strip()
        for names in _NEIGHBOUR.findall(found.get("See Also", ""))
        for name in names.split(",")
    ]
    assert names, "it has no See Also"
    home, _, own = path.rpartition(".")
    assert own not in names
    missing = [name for name in names if locate(name if "." in name else f"{home}.{name}") is None]
    assert missing == []


@pytest.mark.parametrize("path", THINGS)
def test_an_example_runs_as_a_reader_would_paste_it(path):
    thing = THINGS[path]
    example = sections(thing).get("Examples", "")
    if not example:
        assert not is_called(thing), "it has no example"
        return
    assert path.rpartition(".")[2] in example
    report: list[str] = []
    parsed = doctest.DocTestParser().get_doctest(example, {}, path, None, None)
    assert parsed.examples
    failed, _ = doctest.DocTestRunner(verbose=False).run(parsed, out=report.append)
    if "MissingExtraError" in "".join(report):
        pytest.skip(report[-1].strip().splitlines()[-1])
    assert failed == 0, "".join(report)
