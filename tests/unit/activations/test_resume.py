"""An interrupted recording continues, and ends as one that was never interrupted."""

import os
import shutil
import signal
import subprocess
import sys
import time
from textwrap import dedent

import numpy as np
import pytest

from upto.activations import record, unfinished
from upto.activations.record import record_activations
from upto.core import InputError
from upto.files import read_manifest

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
from upto.activations.fingerprint import batch_fingerprint, model_fingerprint  # noqa: E402


@pytest.fixture(autouse=True)
def _kept_from_the_first_batch(monkeypatch):
    monkeypatch.setattr(unfinished, "INTERVAL", 0.0)


@pytest.fixture
def batches():
    return [*torch.randn(23, 5, generator=torch.Generator().manual_seed(1)).split(5)]


class Counting(nn.Module):
    """A network that counts its calls, with a layer that cannot be recorded."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.second, self.unused = nn.Linear(5, 7), nn.Linear(7, 3), nn.Linear(2, 2)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.second(self.first(x).relu())


def until(batches, count):
    """Yield some batches, and are interrupted."""
    yield from batches[:count]
    raise KeyboardInterrupt


def interrupted(model, batches, output, count=3, **options):
    with pytest.raises(KeyboardInterrupt) as caught:
        record_activations(model, until(batches, count), output, **options)
    return caught.value


def rows_of(manifest):
    return {run.layer: np.asarray(run.rows[:]) for run in read_manifest(manifest)}


def check_equal(manifest, expected):
    found = rows_of(manifest)
    assert [*found] == [*expected]
    for layer, rows in expected.items():
        np.testing.assert_allclose(found[layer], rows, rtol=1e-6, atol=1e-7)


@pytest.fixture
def expected(batches, tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole") / "run"
    with pytest.warns(UserWarning, match="1 of 3 layers were skipped"):
        return rows_of(record_activations(Counting(), batches, whole))


def test_the_same_call_continues_after_the_last_batch(batches, tmp_path, expected):
    error = interrupted(Counting(), batches, tmp_path / "run")
    assert "15 rows are kept in" in error.__notes__[0]
    assert [each.name for each in tmp_path.iterdir()] == [".run.unfinished"]
    assert not (tmp_path / ".run.unfinished" / "runs.toml").exists()
    model = Counting()
    with pytest.warns(UserWarning, match="1 of 3 layers were skipped: unused"):
        manifest = record_activations(model, batches, tmp_path / "run")
    assert model.calls == 2
    check_equal(manifest, expected)
    assert [each.name for each in tmp_path.iterdir()] == ["run"]
    assert sorted(each.name for each in manifest.parent.iterdir()) == [
        "first.npy",
        "runs.toml",
        "second.npy",
    ]


def test_it_may_be_interrupted_again_and_again(batches, tmp_path, expected):
    for count in (1, 1, 2, 4, 5):
        interrupted(Counting(), batches, tmp_path / "run", count)
    model = Counting()
    with pytest.warns(UserWarning, match="were skipped"):
        check_equal(record_activations(model, batches, tmp_path / "run"), expected)
    assert model.calls == 0


def test_what_a_sudden_end_left_behind_continues(batches, tmp_path, expected):
    """As a kill or a power failure leaves it: files are longer than the state says, or torn."""

    class Copying(Counting):
        def forward(self, x):
            if self.calls == 3:
                shutil.copytree(tmp_path / ".run.unfinished", tmp_path / "copy")
            return super().forward(x)

    with pytest.warns(UserWarning, match="were skipped"):
        record_activations(Copying(), batches, tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    (tmp_path / "copy").rename(tmp_path / ".run.unfinished")
    with (tmp_path / ".run.unfinished" / "first.npy").open("ab") as file:
        file.write(bytes(50))
    with (tmp_path / ".run.unfinished" / "batches.npy").open("ab") as file:
        file.write(bytes(3))
    # The class is part of what a model is.
    model = Copying()
    model.calls = 4
    with pytest.warns(UserWarning, match="were skipped"):
        check_equal(record_activations(model, batches, tmp_path / "run"), expected)
    assert model.calls == 4 + 2


def test_an_interrupt_while_it_is_finished_loses_nothing(batches, tmp_path, expected, monkeypatch):
    def stop(*_args, **_options):
        raise KeyboardInterrupt

    ids = np.arange(23)
    with monkeypatch.context() as patched:
        patched.setattr(record, "write_listing", stop)
        with pytest.raises(KeyboardInterrupt):
            record_activations(Counting(), batches, tmp_path / "run", ids=ids)
    model = Counting()
    with pytest.warns(UserWarning, match="were skipped"):
        manifest = record_activations(model, batches, tmp_path / "run", ids=ids)
    assert model.calls == 0
    check_equal(manifest, expected)
    assert {each.suffix for each in manifest.parent.iterdir()} == {".npz", ".toml"}


def test_ids_of_batches_recorded_before_are_kept(batches, tmp_path, expected):
    with_ids = [(x, torch.arange(len(x)) + 5 * i) for i, x in enumerate(batches)]
    interrupted(Counting(), with_ids, tmp_path / "run", ids=1)
    with pytest.warns(UserWarning, match="were skipped"):
        manifest = record_activations(Counting(), with_ids, tmp_path / "run", ids=1)
    check_equal(manifest, expected)
    for run in read_manifest(manifest):
        assert run.ids.tolist() == [*range(23)]


def other_batch(batches):
    return [*batches[:2], batches[2] + 1, *batches[3:]]


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("model", lambda call: call | {"model": Counting(seed=1)}),
        ("choice of layers", lambda call: call | {"layers": ["first"]}),
        ("pooling", lambda call: call | {"pool": "none"}),
        ("dtype", lambda call: call | {"dtype": "float64"}),
        ("choice of ids", lambda call: call | {"ids": np.arange(23)}),
        ("function forward", lambda call: call | {"forward": lambda model, batch: model(batch)}),
        ("batch 2", lambda call: call | {"batches": other_batch(call["batches"])}),
        ("batch 0", lambda call: call | {"batches": call["batches"][::-1]}),
        ("number of batches, 3,", lambda call: call | {"batches": call["batches"][:2]}),
    ],
)
def test_anything_else_is_refused_and_starts_anew_when_told_to(batches, tmp_path, what, change):
    call = {"model": Counting(), "batches": batches, "output": tmp_path / "run"}
    call["layers"] = ["first", "second"]
    interrupted(Counting(), batches, tmp_path / "run", layers=call["layers"])
    before = {each.name: each.read_bytes() for each in (tmp_path / ".run.unfinished").iterdir()}
    for _ in range(2):
        with pytest.raises(
            InputError, match=rf"interrupted recording of 15 rows, and its {what} differs"
        ):
            record_activations(**change(call))
        after = {each.name: each.read_bytes() for each in (tmp_path / ".run.unfinished").iterdir()}
        assert after.keys() == before.keys()
        assert all(after[name] == before[name] for name in before if name != "state.json")
    manifest = record_activations(**change(call), resume=False)
    assert [each.name for each in tmp_path.iterdir()] == ["run"]
    assert len(rows_of(manifest)["first"]) == sum(map(len, change(call)["batches"]))


def test_an_older_recording_stays_until_the_new_one_is_whole(batches, tmp_path):
    old = rows_of(record_activations(Counting(), batches, tmp_path / "run", layers="first"))
    interrupted(Counting(seed=1), batches, tmp_path / "run", layers="first")
    check_equal(tmp_path / "run" / "runs.toml", old)
    manifest = record_activations(Counting(seed=1), batches, tmp_path / "run", layers="first")
    assert np.abs(rows_of(manifest)["first"] - old["first"]).max() > 0.1
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_two_processes_do_not_write_one_recording(batches, tmp_path):
    class Recording(Counting):
        def forward(self, x):
            with pytest.raises(InputError, match="another process is recording into"):
                record_activations(Counting(), batches, tmp_path / "run", layers="first")
            return super().forward(x)

    assert record_activations(Recording(), batches, tmp_path / "run", layers="first").is_file()


def test_a_loader_that_shuffles_leaves_nothing(tmp_path):
    data = torch.utils.data.TensorDataset(torch.randn(9, 5), torch.arange(9))
    loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)

    class Stopping(Counting):
        def forward(self, x):
            if self.calls == 3:
                raise KeyboardInterrupt
            return super().forward(x)

    with pytest.raises(KeyboardInterrupt):
        record_activations(Stopping(), loader, tmp_path / "run", ids=1, layers="first")
    assert [*tmp_path.iterdir()] == []


def test_files_that_lost_rows_are_refused(batches, tmp_path):
    interrupted(Counting(), batches, tmp_path / "run", layers="first")
    path = tmp_path / ".run.unfinished" / "first.npy"
    os.truncate(path, path.stat().st_size - 4)
    with pytest.raises(InputError, match=r"first\.npy has fewer than the 15 rows recorded: pass r"):
        record_activations(Counting(), batches, tmp_path / "run", layers="first")


@pytest.mark.parametrize(
    "state", [b"", b"{}", b"[" * 10_000, b'{"format": 1, "facts": 3}', b"\xff"]
)
def test_a_state_that_cannot_be_read_starts_anew(batches, tmp_path, state):
    interrupted(Counting(), batches, tmp_path / "run", layers="first")
    (tmp_path / ".run.unfinished" / "state.json").write_bytes(state)
    model = Counting()
    assert record_activations(model, batches, tmp_path / "run", layers="first").is_file()
    assert model.calls == 5


def test_fingerprints_tell_batches_and_models_apart():
    x = torch.arange(300_000.0)
    mixed = {"a": x, "b": [torch.zeros(2), "text", None, 3], "c": np.array(["u", "v"])}
    assert batch_fingerprint(mixed) == batch_fingerprint({**mixed, "a": x.clone()})
    for other in (
        {**mixed, "a": x.reshape(2, -1)},
        {**mixed, "a": x.flip(0)},
        {**mixed, "a": x.double()},
        {**mixed, "b": [torch.zeros(2), "other", None, 3]},
        {**mixed, "c": np.array(["u", "w"])},
        {**mixed, "d": 1},
    ):
        assert batch_fingerprint(other) != batch_fingerprint(mixed)
    model = Counting()
    assert model_fingerprint(model) == model_fingerprint(Counting())
    with torch.no_grad():
        model.second.bias[2] += 1e-6
    assert model_fingerprint(model) != model_fingerprint(Counting())
    half = nn.Linear(3, 2).to(torch.bfloat16)
    half.register_buffer("scalar", torch.tensor(1.0))
    half.register_buffer("cache", torch.zeros(3), persistent=False)
    before = model_fingerprint(half)
    half.cache += 1
    assert model_fingerprint(half) == before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_a_killed_process_continues(tmp_path):
    program = dedent(
        """
        import sys, time
        import torch
        import upto
        from upto.activations import unfinished

        unfinished.INTERVAL = 0.05
        torch.manual_seed(0)
        torch.set_num_threads(1)
        model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
        batches = torch.randn(200, 5).split(4)
        calls = 0

        def forward(model, batch):
            global calls
            calls += 1
            time.sleep(float(sys.argv[2]))
            return model(batch)

        upto.record_activations(model, batches, sys.argv[1], forward=forward)
        print(calls)
        """
    )

    def command(name, pause):
        return [sys.executable, "-c", program, str(tmp_path / name), str(pause)]

    process = subprocess.Popen(command("run", 0.05))
    state = tmp_path / ".run.unfinished" / "state.json"
    while process.poll() is None and not state.exists():
        time.sleep(0.02)
    time.sleep(0.3)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "run").exists()
    done = subprocess.run(command("run", 0), check=True, capture_output=True, text=True)
    assert 0 < int(done.stdout) < 50
    subprocess.run(command("whole", 0), check=True, capture_output=True)
    check_equal(tmp_path / "run" / "runs.toml", rows_of(tmp_path / "whole" / "runs.toml"))
