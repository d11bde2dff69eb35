"""Every option that a command offers changes what the command does."""

from __future__ import annotations

import click
import numpy as np
import pytest

import upto
from upto.cli.engine_choice import EngineChoice
from upto.cli.main import main
from upto.core import Embeddings
from upto.question import questions, resolve

AFTERWARDS = {
    *("output_format", "output_path", "output_quiet", "output_verbose"),
    *("report", "strict", "fail_above", "fail_below", "where", "listed", "output_figure"),
    "output_figure_columns",
}
"""Options that concern what is done with the result."""
ARGUMENTS = {
    "compare": "a.csv b.csv",
    "align": "a.csv b.csv",
    "similarity": "a.csv b.csv",
    "layers": "a.npy b.npy",
    "consensus": "a.csv b.csv",
    "unmix": "a.npy -o out.npy",
    "inspect": "a.npy",
    "factors": "a.csv --factors a.csv",
    "batches": "a.csv --batch key --label key",
    "lipschitz": "a.csv b.csv",
    "diversity": "a.npy",
    "mixture": "a.npz b.npz",
    "study": "run model-pairs",
}
ELSEWHERE = {
    "unmix": {"transform", "inverse", "resume"},
    "align": {"file", "save", "save_back", "saved", "inverse", "bad_rows", "verify", "resume"},
    "batches": {"keep", "space"},
    "lipschitz": {"decoder"},
}
"""Options that lead to another function; each has tests of its own."""
VALUES = {
    "ids": "key",
    "n_components": "2",
    "measures": "rv",
    "scores": "sap",
    "forms": "raw",
    "conditions": "base",
    "changes": "context=32",
    "device": "cuda",
    "batch": "f0",
    "label": "f0",
    "lipschitz": "0.5",
    "file": "new.npy",
    "save": "new.safetensors",
    "save_back": "back.safetensors",
    "folder": "new",
    "data": ".",
}


class ReachedError(Exception):
    """Carries what a question was called with."""


def reach(*args, **kwargs):
    raise ReachedError([*map(_described, args)], {k: _described(v) for k, v in kwargs.items()})


def _described(value):
    if isinstance(value, Embeddings):
        return value.name, value.ids is not None
    if isinstance(value, list | tuple):
        return [_described(each) for each in value]
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text


def _command(name):
    command = main.get_command(click.Context(main), name)
    return command.commands["run"] if name == "study" else command


def _given(option):
    """Return arguments that give an option something else than its default."""
    if option.is_flag:
        flags = option.secondary_opts if option.default and option.secondary_opts else option.opts
        return [flags[0]]
    kind = option.type
    if option.name in VALUES:
        value = VALUES[option.name]
    elif isinstance(kind, click.Choice):
        value = next(each for each in reversed(kind.choices) if each != option.default)
    elif isinstance(kind, click.types._NumberRangeBase):
        start = option.default if isinstance(option.default, int | float) else kind.min
        value = start + 1 if isinstance(kind, click.IntRange) else start / 2 + 0.11
    else:
        value = "a.csv"
    return [option.opts[0], *[str(value)] * option.nargs]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    rows = np.random.default_rng(0).normal(size=(12, 3))
    for name in "ab":
        np.save(f"{name}.npy", rows)
        lines = [f"{x},{y},{z},row{i}" for i, (x, y, z) in enumerate(rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["f0,f1,f2,key", *lines]))
    return tmp_path


@pytest.fixture
def called(folder, monkeypatch):
    """Call a command and return what reaches its question."""
    import upto_studies.run

    for question in questions():
        # The public name first: it is looked up in the module, and put back as found.
        monkeypatch.setattr(upto, question.name, reach)
        monkeypatch.setattr(question.function.replace(":", "."), reach)
    monkeypatch.setattr(upto_studies.run, "run_study", reach)
    monkeypatch.setattr(
        EngineChoice, "engine", lambda self, say: (self.name, self.cluster, self.workers)
    )

    def call(name, *options):
        arguments = ARGUMENTS[name].split()[1 if name == "study" else 0 :]
        # A command keeps the help option of the context that it is first called in.
        settings = {"standalone_mode": False, **main.context_settings}
        with pytest.raises(ReachedError) as reached:
            _command(name).main([*arguments, *options], **settings)
        return reached.value.args

    return call


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_option_reaches_the_function(called, name):
    plain = called(name)
    for option in _command(name).params:
        if option.name in AFTERWARDS | ELSEWHERE.get(name, set()):
            continue
        if isinstance(option, click.Option) and option.opts[0] not in ARGUMENTS[name].split():
            assert called(name, *_given(option)) != plain, f"upto {name} ignores {option.opts[0]}"


def test_every_question_is_asked():
    assert set(ARGUMENTS) == {each.name for each in questions() if each.command} | {"study"}


@pytest.mark.parametrize("name", ["report", "explain", "doctor", "demo", "completion"])
def test_other_commands_offer_no_engine_seed_or_progress(name):
    names = {each.name for each in resolve(f"upto.cli.{name}:command").params}
    assert not names & {"engine_name", "engine_cluster", "engine_workers", "output_seed"}
    assert "output_progress" not in names


def test_showing_a_study_runs_nothing():
    offered = {each.name for each in main.get_command(None, "study").commands["show"].params}
    assert offered == {"name", "output_format", "output_path", "output_quiet", "output_verbose"}
