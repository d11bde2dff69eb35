"""`--engine`, `--cluster` and `--workers`: what contradicts, what implies, what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from upto.cli.engine_choice import ENGINES, MOST_WORKERS, EngineChoice
from upto.core import InputError, UptoError
from upto.engines import ENGINE_NAMES, DaskEngine, cluster, schedulers

CONTRADICTIONS = {
    "--cluster tcp://host:8786 --workers 2": "--cluster names a cluster and --workers starts one",
    "--engine torch --cluster tcp://host:8786": "--cluster runs on dask, and --engine asks for tor",
    "--workers 2 --engine threads": "--workers runs on dask, and --engine asks for threads",
    "--workers 0": "0 is not in the range",
    "--workers 1000000": "is not in the range",
}


@pytest.mark.parametrize(("options", "says"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_contradictions_are_wrong_usage(upto, pair, options, says):
    found = upto("compare", *pair, *options.split())
    assert found.exit_code == 2
    assert says in found.stderr


CHOICES = {
    "": ("threads", None, None),
    "--engine torch": ("torch", None, None),
    "--engine dask": ("dask", None, None),
    "--workers 2": ("dask", None, 2),
    "--cluster tcp://host:1 --engine dask": ("dask", "tcp://host:1", None),
    "--cluster file.json": ("dask", "file.json", None),
    "ADDRESS": ("dask", "tcp://set:1", None),
    "ADDRESS --cluster tcp://host:1": ("dask", "tcp://host:1", None),
    "ADDRESS --workers 3": ("dask", None, 3),
    "ADDRESS --engine dask": ("dask", "tcp://set:1", None),
    "ADDRESS --engine threads": ("threads", None, None),
}


@pytest.mark.parametrize(("options", "wanted"), CHOICES.items(), ids=CHOICES)
def test_a_cluster_implies_dask_and_the_command_line_wins(upto, pair, monkeypatch, options, wanted):
    chosen = []

    def engine(self, say):
        chosen.append((self.name, self.cluster if self.name == "dask" else None, self.workers))
        return "threads"

    monkeypatch.setattr(EngineChoice, "engine", engine)
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    if options.startswith("ADDRESS"):
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://set:1")
    found = upto("inspect", pair[0], "--no-ica", *options.removeprefix("ADDRESS").split())
    assert found.exit_code == 0, found.output
    assert chosen == [wanted]


def test_the_names_and_limits_are_those_of_the_engines():
    assert ENGINES == ENGINE_NAMES
    assert MOST_WORKERS == cluster.MOST_WORKERS


@pytest.fixture
def dask():
    pytest.importorskip("distributed")
    return pytest.importorskip("dask")


UNREACHABLE = {
    "tcp://127.0.0.1:9": "no dask scheduler answered at tcp://127.0.0.1:9 within 0.2 s",
    "nonsense://": "nonsense:// is no address of a dask scheduler",
    "missing.json": "the scheduler file missing.json is not there",
    "empty.json": "the scheduler file empty.json has no address in it",
}


@pytest.mark.parametrize(("address", "says"), UNREACHABLE.items(), ids=UNREACHABLE)
def test_a_cluster_that_is_not_there_is_one_sentence(upto, pair, dask, address, says):
    (pair[0].parent / "empty.json").write_text("[]")
    with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
        found = upto("inspect", pair[0], "--cluster", address)
    assert found.exit_code == 3
    assert found.stderr.startswith(f"upto: {says}")
    assert len(found.stderr.splitlines()) == 1
    assert found.stdout == ""


def test_dask_without_a_cluster_says_how_to_get_one(upto, pair, dask, monkeypatch):
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    monkeypatch.setattr("distributed.get_client", _no_client)
    with dask.config.set({"scheduler-address": None}):
        found = upto("inspect", pair[0], "--engine", "dask")
    assert found.exit_code == 3
    assert "found no scheduler: give its address (--cluster" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def _no_client():
    raise ValueError


def test_a_cluster_is_named_once(dask):
    with pytest.raises(InputError, match="each name a cluster: give one of them"):
        DaskEngine(address="tcp://host:1", workers=2)
    for workers in (0, 257, "2"):
        with pytest.raises(InputError, match=f"workers is {workers!r}: give a number from 1 to 25"):
            DaskEngine(workers=workers)
    for address in ("tcp://host:1", Path("scheduler.json")):
        assert repr(DaskEngine(address=address)) == "DaskEngine(not connected)"


@pytest.mark.parametrize(
    ("there", "says"),
    [
        ({"upto": "9.9"}, r"worker tcp://w:1 has upto 9\.9 and this process .*: install the same"),
        ({"python": "3.1.0"}, r"has python 3\.1\.0 and this process"),
        ({"numpy": "1.0"}, r"has numpy 1\.0 and this process"),
    ],
)
def test_workers_of_other_versions_are_refused(there, says):
    here = schedulers.library_versions()
    with pytest.raises(InputError, match=says):
        schedulers._compare({"tcp://w:0": here, "tcp://w:1": here | there})


def test_workers_without_upto_are_refused_and_lost_ones_are_not():
    lacking = {"tcp://w:1": ModuleNotFoundError("No module named 'upto'")}
    with pytest.raises(InputError, match=r"tcp://w:1 cannot import upto \(No module .*: install"):
        schedulers._compare(lacking)
    patch = schedulers.library_versions() | {"scipy": "0.1"}
    schedulers._compare({"tcp://w:1": OSError("gone"), "tcp://w:2": patch})


class Empty:
    """A client of a scheduler that has no workers."""

    status = "running"
    scheduler = None

    def nthreads(self):
        return {}

    def __str__(self):
        return "tcp://host:1"


def test_a_scheduler_without_workers_is_given_up(dask, monkeypatch):
    monkeypatch.setattr(schedulers, "PATIENCE", 0.1)
    assert schedulers.patience() == 0.1
    with pytest.raises(UptoError, match=r"cluster tcp://host:1 has had no worker for 0\.1 s"):
        schedulers.check_workers(Empty())
    with dask.config.set({"distributed.comm.timeouts.connect": "2 minutes"}):
        assert schedulers.patience() == 120
