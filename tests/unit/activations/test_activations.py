"""Layers recorded to disk are what a forward pass by hand gives."""

import re
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from upto.activations.record import record_activations
from upto.activations.recorded import GrowingArray, file_names
from upto.core import InputError
from upto.files import read_manifest
from upto.files.manifest import listed_runs

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


def rows_of(manifest):
    """Return the recorded rows by layer, in the manifest's order."""
    return {run.layer: np.asarray(run.rows[:]) for run in read_manifest(manifest)}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.fixture
def network():
    return nn.Sequential(
        OrderedDict(
            first=nn.Linear(5, 7),
            act=nn.ReLU(inplace=True),
            drop=nn.Dropout(0.5),
            second=nn.Linear(7, 3),
        )
    )


def batches_of(x, *sizes):
    return list(torch.split(x, sizes))


def test_recorded_rows_equal_a_forward_pass_by_hand(network, tmp_path):
    x = torch.randn(23, 5)
    manifest = record_activations(network, batches_of(x, 10, 10, 3), tmp_path / "run")
    network.eval()
    with torch.no_grad():
        hidden = [network.first(part) for part in batches_of(x, 10, 10, 3)]
        out = torch.cat([network.second(h.relu()) for h in hidden])
    found = rows_of(manifest)
    assert [*found] == ["first", "act", "drop", "second"]
    # Before the activation that works in place, and exactly.
    np.testing.assert_array_equal(found["first"], torch.cat(hidden).numpy())
    np.testing.assert_array_equal(found["act"], torch.cat(hidden).relu().numpy())
    np.testing.assert_array_equal(found["drop"], found["act"])
    np.testing.assert_array_equal(found["second"], out.numpy())
    assert {rows.dtype for rows in found.values()} == {np.dtype(np.float32)}


def test_the_manifest_names_the_run_and_its_layers(network, tmp_path):
    manifest = record_activations(
        network, [torch.randn(4, 5)], tmp_path / "seed 3", layers="first", seed=3
    )
    assert manifest == tmp_path / "seed 3" / "runs.toml"
    (run,) = listed_runs(manifest)
    assert (run.name, run.layer, run.seed, run.path.name) == ("seed 3", "first", 3, "first.npy")
    named = record_activations(network, [torch.randn(4, 5)], tmp_path / "b", name='a "b" \\ é\x7f')
    assert {each.name for each in listed_runs(named)} == {'a "b" \\ é\x7f'}


def test_float64_and_the_models_own_output(network, tmp_path):
    x = torch.randn(6, 5, dtype=torch.float64)
    network.double().eval()
    manifest = record_activations(network, [x], tmp_path / "r", layers=["", "fi*"], dtype="float64")
    found = rows_of(manifest)
    assert [*found] == ["first", "output"]
    np.testing.assert_array_equal(found["output"], network(x).detach().numpy())
    assert found["output"].dtype == np.float64


def test_training_mode_comes_back_module_by_module_and_hooks_go(network, tmp_path):
    network.train()
    network.drop.eval()
    record_activations(network, [torch.randn(4, 5)], tmp_path / "run")
    assert [m.training for m in network.modules()] == [True, True, True, False, True]
    assert not any(m._forward_hooks for m in network.modules())


def test_an_error_leaves_no_file_no_hook_and_no_other_mode(network, tmp_path):
    def broken():
        yield torch.randn(4, 5)
        message = "the disk of the data has gone"
        raise RuntimeError(message)

    network.train()
    with pytest.raises(RuntimeError, match="has gone"):
        record_activations(network, broken(), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
    assert network.training
    assert not any(m._forward_hooks for m in network.modules())


def test_an_older_recording_stays_when_a_new_one_fails_and_goes_when_it_is_whole(network, tmp_path):
    x = torch.randn(8, 5)
    record_activations(network, [x], tmp_path / "run")
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    with pytest.raises(InputError, match="after 8 rows of 3"):
        record_activations(
            nn.Flatten(), [x[:, :3], x[:, :2]], tmp_path / "run", layers="", pool="flatten"
        )
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before
    record_activations(network, [x[:5]], tmp_path / "run", layers="second")
    assert [path.name for path in sorted((tmp_path / "run").iterdir())] == [
        "runs.toml",
        "second.npy",
    ]


def test_a_folder_with_other_files_is_not_replaced(network, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"contains 1 other files, such as thesis.txt"):
        record_activations(network, [torch.randn(4, 5)], tmp_path)
    with pytest.raises(InputError, match="is a file, not a folder"):
        record_activations(network, [torch.randn(4, 5)], tmp_path / "thesis.txt")
    with pytest.raises(InputError, match="does not exist: make it first"):
        record_activations(network, [torch.randn(4, 5)], tmp_path / "no" / "run")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("kind", ["tensor", "tuple", "list", "numpy", "dict"])
def test_batches_of_every_kind_give_the_same_rows(kind, tmp_path):
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(5, 2)

        def forward(self, pixels):
            return self.inner(pixels)

    model, x = Named(), torch.randn(6, 5)
    batch = {
        "tensor": x,
        "tuple": (x, torch.zeros(6)),
        "list": [x, ["a"] * 6],
        "numpy": x.numpy(),
        "dict": {"pixels": x, "label": ["a"] * 6},
    }[kind]
    found = rows_of(record_activations(model, [batch], tmp_path / "run"))
    np.testing.assert_array_equal(found["inner"], model(x).detach().numpy())


def test_a_function_may_call_the_model(tmp_path):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Bilinear(2, 3, 4)

        def forward(self, a, b):
            return self.inner(a, b)

    model, a, b = Two(), torch.randn(5, 2), torch.randn(5, 3)
    manifest = record_activations(
        model, [(a, b)], tmp_path / "run", forward=lambda model, batch: model(*batch)
    )
    np.testing.assert_array_equal(rows_of(manifest)["inner"], model(a, b).detach().numpy())


class Nested(nn.Module):
    """Blocks in a list, one that is called twice, one never, one of the wrong size."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3))
        self.again = nn.Linear(4, 4)
        self.unused = nn.Linear(4, 4)
        self.table = nn.Embedding(2, 4)
        self.words = Words()

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        self.words(x)
        return self.again(self.again(x)) + self.table(torch.zeros(1, dtype=torch.long))


class Words(nn.Module):
    def forward(self, x):
        return "no tensor"


@pytest.mark.parametrize(
    ("layers", "found"),
    [
        ("blocks.*", ["blocks.0", "blocks.1", "blocks.2"]),
        ("blocks.[02]", ["blocks.0", "blocks.2"]),
        ("blocks.[!02]", ["blocks.1"]),
        ("blocks.?.1", ["blocks.0.1", "blocks.1.1", "blocks.2.1"]),
        (["blocks.2", "blocks.0"], ["blocks.0", "blocks.2"]),
        ("blocks.0**", ["blocks.0.0", "blocks.0.1", "blocks.0"]),
    ],
)
def test_patterns_choose_layers_in_the_order_of_the_forward_pass(layers, found, tmp_path):
    manifest = record_activations(Nested(), [torch.randn(4, 4)], tmp_path / "run", layers=layers)
    assert [*rows_of(manifest)] == found


def test_what_a_pattern_finds_but_cannot_be_recorded_is_left_out_and_named(tmp_path):
    with pytest.warns(UserWarning, match="4 of 13 layers were skipped") as caught:
        manifest = record_activations(Nested(), [torch.randn(4, 4)], tmp_path / "run", layers="**")
    message = str(caught[0].message)
    for part in (
        "again (it is called 2 times in one forward pass",
        "unused (it is not called in a forward pass",
        "table (its output has shape (1, 4) for a batch of 4",
        "words (its output is str, which contains no tensor",
    ):
        assert part in message
    assert len(rows_of(manifest)) == 9
    assert "# again was left out: it is called 2 times" in manifest.read_text()


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        ("again", "called 2 times"),
        ("unused", "not called"),
        ("table", r"shape \(1, 4\) for a batch of 4"),
        ("words", "contains no tensor"),
    ],
)
def test_what_is_named_must_be_recorded(layer, why, tmp_path):
    with pytest.raises(InputError, match=f"the layer {layer} cannot be recorded: .*{why}"):
        record_activations(
            Nested(), [torch.randn(4, 4)], tmp_path / "run", layers=["blocks.0", layer]
        )
    assert list(tmp_path.iterdir()) == []


def test_a_pattern_that_finds_nothing_lists_near_names(tmp_path):
    with pytest.raises(InputError, match=r"none of 13 layers matches 'block.0'.*blocks\.0"):
        record_activations(Nested(), [torch.randn(4, 4)], tmp_path / "run", layers="block.0")
    with pytest.raises(InputError, match="no layer can be recorded: unused: it is not called"):
        record_activations(Nested(), [torch.randn(4, 4)], tmp_path / "run", layers="unuse?")


def test_a_layer_that_is_called_in_some_batches_only_is_refused(tmp_path):
    class Sometimes(nn.Module):
        def __init__(self):
            super().__init__()
            self.always, self.large = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return self.large(self.always(x)) if len(x) > 3 else self.always(x)

    with pytest.raises(InputError, match="the layer large cannot be recorded: it is not called"):
        record_activations(Sometimes(), [torch.randn(4, 2), torch.randn(2, 2)], tmp_path / "run")


@pytest.mark.parametrize(
    ("output", "first"),
    [
        (lambda x: (x, None), 1),
        (lambda x: {"logits": 2 * x, "loss": x}, 2),
        (lambda x: [None, (3 * x, x)], 3),
        (lambda x: Output(loss=None, hidden=4 * x), 4),
    ],
)
def test_the_first_tensor_of_an_output_is_recorded(output, first, tmp_path):
    class Model(nn.Module):
        def forward(self, x):
            return output(x)

    x = torch.randn(4, 2)
    found = rows_of(record_activations(Model(), [x], tmp_path / "run", layers=""))
    np.testing.assert_array_equal(found["output"], first * x.numpy())


@dataclass
class Output:
    loss: object
    hidden: object


def test_ids_travel_with_the_rows_whether_given_or_taken_from_batches(network, tmp_path):
    x, ids = torch.randn(5, 5), ["e", "d", "c", "b", "a"]
    plain = rows_of(record_activations(network, [x], tmp_path / "plain"))
    given = record_activations(network, [x[:3], x[3:]], tmp_path / "given", ids=ids)
    loader = [(x[:3], torch.zeros(3), torch.tensor([9, 8, 7])), (x[3:], torch.zeros(2), [6, 5])]
    taken = record_activations(network, loader, tmp_path / "taken", ids=2)
    for manifest, wanted in ((given, ids), (taken, [9, 8, 7, 6, 5])):
        for run in read_manifest(manifest):
            assert run.ids.tolist() == wanted
            np.testing.assert_array_equal(np.asarray(run.rows[:]), plain[run.layer])
    assert {path.suffix for path in given.parent.iterdir()} == {".npz", ".toml"}


def test_ids_that_do_not_fit_are_refused(network, tmp_path):
    x = torch.randn(5, 5)
    with pytest.raises(InputError, match=r"5 rows but ids of shape \(4,\)"):
        record_activations(network, [x], tmp_path / "run", ids=np.arange(4))
    with pytest.raises(InputError, match="has no entry 'index'"):
        record_activations(network, [x], tmp_path / "run", ids="index")
    with pytest.raises(InputError, match=r"batch of 5 rows has ids of shape \(3,\)"):
        record_activations(network, [(x, [1, 2, 3])], tmp_path / "run", ids=1)


def test_a_loader_that_shuffles_is_refused_without_ids(network, tmp_path):
    data = torch.utils.data.TensorDataset(torch.randn(6, 5), torch.arange(6))
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
    with pytest.raises(InputError, match=r"shuffles its rows.*shuffle=False"):
        record_activations(network, loader, tmp_path / "run")
    assert record_activations(network, loader, tmp_path / "run", ids=1).is_file()
    ordered = torch.utils.data.DataLoader(data, batch_size=4)
    assert record_activations(network, ordered, tmp_path / "run").is_file()


class OwnRandom(torch.utils.data.RandomSampler):
    """A sampler of somebody's own that shuffles as torch's does."""


class OwnBatches(torch.utils.data.BatchSampler):
    """Batches of somebody's own, in an order nobody knows."""


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(torch.zeros(6, 5))


def loaders():
    """Return data loaders by what they do, and whether they may shuffle."""
    data = torch.utils.data
    rows = data.TensorDataset(torch.randn(6, 5), torch.arange(6))
    ordered = data.SequentialSampler(rows)

    def distributed(*, shuffle):
        return data.DistributedSampler(rows, num_replicas=1, rank=0, shuffle=shuffle)

    return {
        "weighted": (data.DataLoader(rows, sampler=data.WeightedRandomSampler([1] * 6, 6)), True),
        "own": (data.DataLoader(rows, sampler=OwnRandom(rows)), True),
        "subset": (data.DataLoader(rows, sampler=data.SubsetRandomSampler(range(6))), True),
        "in batches": (
            data.DataLoader(
                rows, batch_sampler=data.BatchSampler(data.RandomSampler(rows), 2, drop_last=False)
            ),
            True,
        ),
        "unbatched": (data.DataLoader(rows, batch_size=None, sampler=OwnRandom(rows)), True),
        "own batches": (
            data.DataLoader(rows, batch_sampler=OwnBatches(ordered, 2, drop_last=False)),
            True,
        ),
        "distributed": (data.DataLoader(rows, sampler=distributed(shuffle=True)), True),
        "in order": (data.DataLoader(rows, batch_size=4), False),
        "each its rank": (data.DataLoader(rows, sampler=distributed(shuffle=False)), False),
        "batches in order": (
            data.DataLoader(rows, batch_sampler=data.BatchSampler(ordered, 2, drop_last=False)),
            False,
        ),
        "batches as listed": (data.DataLoader(rows, batch_sampler=[[3, 1], [2]]), False),
        "as listed": (data.DataLoader(rows, sampler=[3, 1, 2]), False),
        "a stream": (data.DataLoader(Stream(), batch_size=2), False),
        "a list": ([torch.randn(2, 5)], False),
    }


@pytest.mark.parametrize("kind", loaders())
def test_any_sampler_that_may_shuffle_needs_ids(kind, network, tmp_path):
    loader, may_shuffle = loaders()[kind]
    if not may_shuffle:
        assert record_activations(network, loader, tmp_path / "run").is_file()
        return
    with pytest.raises(InputError, match="shuffles its rows"):
        record_activations(network, loader, tmp_path / "run")
    assert not (tmp_path / "run").exists()


EVIL = 'x\n[[run]]\nname = "evil"\nlayer = "e"\npath = "/etc/passwd"\n#'


@pytest.mark.parametrize("layer", [EVIL, "b\x00ad", "a\rb", "\x7f", 'a "b" \\ é'])
def test_the_name_of_a_left_out_layer_adds_nothing_to_the_manifest(layer, network, tmp_path):
    network.unused = nn.ModuleDict({layer: nn.Linear(2, 2)})
    network.forward = lambda x: network.second(network.first(x).relu())
    with pytest.warns(UserWarning, match="3 of 5 layers were skipped"):
        manifest = record_activations(
            network, [torch.randn(4, 5)], tmp_path / "run", layers=["*", "unused.*"]
        )
    assert [run.layer for run in listed_runs(manifest)] == ["first", "second"]


@pytest.mark.parametrize("seed", ["1\n[[run]]", 1.5, True, float("nan")])
def test_a_seed_that_is_no_whole_number_is_refused(seed, network, tmp_path):
    with pytest.raises(InputError, match=r"the seed is .*: give an integer"):
        record_activations(network, [torch.randn(4, 5)], tmp_path / "run", seed=seed)
    assert not (tmp_path / "run").exists()


def test_a_seed_of_numpy_is_a_whole_number(network, tmp_path):
    manifest = record_activations(network, [torch.randn(4, 5)], tmp_path / "r", seed=np.int64(7))
    assert {run.seed for run in listed_runs(manifest)} == {7}


def test_names_that_are_no_unicode_are_refused_before_anything_is_recorded(network, tmp_path):
    def never():
        raise AssertionError
        yield

    with pytest.raises(
        InputError, match=r"run is named 'a\\ud800', which cannot be encoded as UTF-8"
    ):
        record_activations(network, never(), tmp_path / "run", name="a\ud800")
    with pytest.raises(InputError, match="name of the run is 5, not a string"):
        record_activations(network, never(), tmp_path / "run", name=5)
    network.add_module("b\udfff", nn.ReLU())
    with pytest.raises(InputError, match=r"layer is named 'b\\udfff', which cannot be encoded"):
        record_activations(network, never(), tmp_path / "run")


def test_nothing_to_record_is_refused(network, tmp_path):
    used_up = iter([torch.randn(4, 5)])
    next(used_up)
    with pytest.raises(InputError, match="there are no batches"):
        record_activations(network, used_up, tmp_path / "run")
    with pytest.raises(InputError, match="of type str has no tensor of samples"):
        record_activations(network, ["text"], tmp_path / "run")
    with pytest.raises(InputError, match="not in 'int8'"):
        record_activations(network, [torch.randn(4, 5)], tmp_path / "run", dtype="int8")


def test_progress_counts_batches(network, tmp_path):
    seen = []

    class Watch:
        def task(self, label, total):
            from contextlib import nullcontext

            seen.append((label, total))
            return nullcontext(seen.append)

    record_activations(
        network, batches_of(torch.randn(6, 5), 4, 2), tmp_path / "r", progress=Watch()
    )
    assert seen == [("record", 2), 1, 1]


def test_more_layers_than_a_process_may_open_files_are_recorded(tmp_path):
    resource = pytest.importorskip("resource", reason="only where files are limited")
    model = nn.Sequential(*(nn.Identity() for _ in range(80)))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # What other tests hold open in this process counts too.
    n_open = len(list(Path("/dev/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_open + 40, hard))
    try:
        manifest = record_activations(model, [torch.randn(2, 1)], tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(listed_runs(manifest)) == 80


def test_a_growing_array_is_a_plain_npy_file(tmp_path, rng):
    array = GrowingArray(tmp_path / "a.npy", 3, np.dtype(np.float32))
    blocks = [rng.normal(size=(count, 3)).astype(np.float32) for count in (1, 0, 200_000)]
    for block in blocks:
        array.append(block)
    array.finish()
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.concatenate(blocks))


def test_files_of_layers_have_names_that_every_system_takes():
    names = file_names(["a.b", "A.B", "a/b", "a:b", "x" * 500, "…"])
    assert len({name.lower() for name in names.values()}) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,130}", name) for name in names.values())
