"""Ensembles trained at once: each member as if it were alone."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from upto.core import InputError, read_tensors, write_tensors
from upto_studies.train import Network, Training, train_ensemble
from upto_studies.train import checkpoints as checkpoints_module
from upto_studies.train.optimisers import Optimiser

torch = pytest.importorskip("torch")

ORTHOGONAL = Network.autoencoder((6, 4, 2), orthogonal=True, bias=False)
FREE = Network.autoencoder((6, 4, 2))
TRAINING = Training(epochs=12, batch_rows=16, learning_rate=0.02, decay_epochs=6)
networks = pytest.mark.parametrize("network", [ORTHOGONAL, FREE], ids=["orthogonal", "free"])


@pytest.fixture
def rows(rng):
    return rng.normal(size=(50, 6)) * [3, 2.5, 2, 1, 1, 1]


def assert_same(ensemble, other, *, exactly=True):
    close = np.array_equal if exactly else lambda a, b: np.allclose(a, b, atol=1e-10)
    for name, values in ensemble.parameters.items():
        assert close(values.numpy(), other.parameters[name].numpy()), name
    assert np.array_equal(ensemble.epochs, other.epochs)


@networks
def test_a_member_is_what_it_would_be_alone(network, rows):
    leaks, rates = [0.1, 0.5, 1.0], [0.02, 0.01, 0.03]
    given = {"training": TRAINING}
    together = train_ensemble(
        network, rows, seeds=[7, 8, 9], leaks=leaks, learning_rates=rates, **given
    )
    for member in range(3):
        alone = train_ensemble(
            network,
            rows,
            seeds=[7 + member],
            leaks=leaks[member],
            learning_rates=[rates[member]],
            **given,
        )
        assert_same(together.select([member]), alone, exactly=False)
        assert np.allclose(together.losses[:, member], alone.losses[:, 0], rtol=1e-9)


@networks
def test_a_member_with_fewer_rows_is_what_it_would_be_alone(network, rows):
    subsets = [np.arange(40), np.arange(30, 50), np.arange(0, 50, 7)]
    together = train_ensemble(
        network, rows, seeds=[1, 2, 3], leaks=0.3, subsets=subsets, training=TRAINING
    )
    for member, subset in enumerate(subsets):
        alone = train_ensemble(
            network, rows[subset], seeds=[member + 1], leaks=0.3, training=TRAINING
        )
        chosen = together.select([member])
        # The order of positions within a subset is the same, whatever rows are there.
        assert_same(chosen, alone, exactly=False)


def test_members_with_other_seeds_differ(rows):
    ensemble = train_ensemble(ORTHOGONAL, rows, seeds=[0, 1], training=TRAINING)
    first, second = ensemble.parameters["0.weight"]
    assert not torch.allclose(first, second, atol=1e-2)


def test_a_training_is_repeated_exactly(rows):
    first, second = (
        train_ensemble(ORTHOGONAL, rows, seeds=[0, 1], leaks=0.2, training=TRAINING)
        for _ in range(2)
    )
    assert_same(first, second)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@networks
def test_a_gpu_trains_what_the_cpu_trains(network, rows):
    subsets = [np.arange(40), np.arange(30, 50)]
    given = {"seeds": [0, 1], "leaks": 0.3, "subsets": subsets, "training": TRAINING}
    here = train_ensemble(network, rows, **given)
    there = train_ensemble(network, rows, device="cuda", **given)
    for name, values in here.parameters.items():
        assert torch.allclose(values, there.parameters[name].cpu(), atol=1e-9)
    assert np.allclose(here.encode(rows), there.encode(rows), atol=1e-9)


class Interrupting:
    """Progress of somebody who presses Ctrl-C after some epochs."""

    def __init__(self, epochs):
        self.left = epochs

    @contextmanager
    def task(self, label, total):
        yield self.advance

    def advance(self, steps):
        self.left -= steps
        if self.left < 0:
            raise KeyboardInterrupt


@networks
def test_an_interrupted_training_goes_on_to_the_same_result(network, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints_module, "INTERVAL", 0.0)
    path = tmp_path / "state.safetensors"
    given = {"seeds": [0, 1, 2], "leaks": [0.1, 0.5, 1.0]}
    given["training"] = Training(
        epochs=20,
        batch_rows=16,
        learning_rate=0.02,
        decay_epochs=4,
        patience=1,
        min_improvement=0.1,
    )
    whole = train_ensemble(network, rows, **given)
    assert len(set(whole.epochs.tolist())) > 1  # some had stopped when others went on
    with pytest.raises(KeyboardInterrupt):
        train_ensemble(network, rows, checkpoint=path, progress=Interrupting(8), **given)
    assert read_tensors(path)[1]["epoch"] == "9"
    resumed = train_ensemble(network, rows, checkpoint=path, resume=True, **given)
    assert_same(resumed, whole)
    assert np.array_equal(resumed.losses, whole.losses, equal_nan=True)
    assert np.array_equal(resumed.worst_defect, whole.worst_defect)


@networks
def test_the_last_whole_epoch_survives_an_interruption_within_the_next(
    network, rows, tmp_path, monkeypatch
):
    path = tmp_path / "state.safetensors"
    given = {"seeds": [0, 1], "leaks": 0.3, "training": TRAINING}
    whole = train_ensemble(network, rows, **given)
    step, left = Optimiser.step, [4 * 5 + 2]  # four steps are an epoch

    def interrupted(*arguments):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        step(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Optimiser, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_ensemble(network, rows, checkpoint=path, **given)
    assert read_tensors(path)[1]["epoch"] == "5"
    resumed = train_ensemble(network, rows, checkpoint=path, resume=True, **given)
    assert_same(resumed, whole)
    assert np.array_equal(resumed.losses, whole.losses)


def test_a_checkpoint_that_cannot_be_written_is_refused_at_once(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("upto_studies.train.training.TrainingRun.train_epoch", None)
    given = {"seeds": [0], "training": TRAINING}
    with pytest.raises(InputError, match="nowhere is not a folder"):
        train_ensemble(ORTHOGONAL, rows, checkpoint=tmp_path / "nowhere" / "state", **given)
    with pytest.raises(InputError, match="choose a file"):
        train_ensemble(ORTHOGONAL, rows, checkpoint=tmp_path, **given)
    monkeypatch.setattr(checkpoints_module.os, "access", lambda *_: False)
    with pytest.raises(InputError, match="choose a file in a writable folder"):
        train_ensemble(ORTHOGONAL, rows, checkpoint=tmp_path / "state", **given)


def test_resuming_needs_a_checkpoint(rows):
    with pytest.raises(InputError, match="no checkpoint to resume from: pass it too"):
        train_ensemble(ORTHOGONAL, rows, seeds=[0], training=TRAINING, resume=True)


def without(name):
    return lambda arrays, words: ({k: v for k, v in arrays.items() if k != name}, words)


def changed(name, change):
    return lambda arrays, words: (arrays | {name: change(arrays[name])}, words)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (without("all.0.weight"), r"all.0.weight is missing"),
        (without("state.steps"), r"state.steps is missing"),
        (without("members"), r"members is missing"),
        (changed("all.0.weight", lambda values: values[:1]), r"1 × 6 × 4 .* not 3 × 6 × 4"),
        (changed("all.0.weight", np.float32), r"float32, not 3 × 6 × 4 of float64"),
        (changed("state.steps", lambda values: values[:1]), r"1 × 1 × 1 .* not 3 × 1 × 1"),
        (changed("schedule.best", lambda values: values[:1]), r"schedule.best is 1 "),
        (changed("schedule.losses", lambda values: values[1:]), r"schedule.losses is 4 × 3"),
        (changed("defect", lambda values: values[:2]), r"defect is 2 "),
        (changed("members", lambda values: values + 1), r"its members .* still training"),
        (
            changed("members", lambda values: values[[0, 1, 1]]),
            r"not those that are still training",
        ),
        (changed("members", lambda values: values[:2]), r"still training"),
        (lambda arrays, words: (arrays, words | {"epoch": "99"}), r"99 of 12 epochs"),
    ],
)
def test_a_damaged_checkpoint_is_refused(rows, tmp_path, damage, reason):
    path = tmp_path / "state.safetensors"
    given = {"seeds": [0, 1, 2], "training": TRAINING, "checkpoint": path}
    with pytest.raises(KeyboardInterrupt):
        train_ensemble(ORTHOGONAL, rows, progress=Interrupting(4), **given)
    write_tensors(path, *damage(*read_tensors(path)))
    with pytest.raises(InputError, match=rf"is damaged \(.*{reason}.*\): remove it"):
        train_ensemble(ORTHOGONAL, rows, resume=True, **given)


def test_a_finished_training_is_not_repeated(rows, tmp_path, monkeypatch):
    path = tmp_path / "state.safetensors"
    given = {"seeds": [0], "training": TRAINING, "checkpoint": path}
    first = train_ensemble(ORTHOGONAL, rows, **given)
    monkeypatch.setattr("upto_studies.train.training.TrainingRun.train_epoch", None)
    assert_same(train_ensemble(ORTHOGONAL, rows, resume=True, **given), first)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seeds": [5]}, "seeds"),
        ({"training": Training(epochs=3)}, "training"),
        ({"leaks": 0.5}, "leaks"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(rows, tmp_path, change, words):
    path = tmp_path / "state.safetensors"
    given = {"seeds": [0], "training": TRAINING, "leaks": 0.1, "checkpoint": path}
    train_ensemble(ORTHOGONAL, rows, **given)
    with pytest.raises(InputError, match=f"another training .{words}"):
        train_ensemble(ORTHOGONAL, rows, resume=True, **(given | change))
    with pytest.raises(InputError, match=r"another training .data"):
        train_ensemble(ORTHOGONAL, rows + 1, resume=True, **given)


def test_each_member_stops_on_its_own_and_is_frozen_then(rows):
    # A member that does not move has no improvement; the others go on without it.
    training = Training(epochs=30, batch_rows=50, patience=3, min_improvement=1e-9)
    ensemble = train_ensemble(
        ORTHOGONAL, rows, seeds=[0, 1, 2], learning_rates=[1e-2, 0.0, 1e-2], training=training
    )
    assert ensemble.epochs.tolist() == [30, 4, 30]
    assert np.isnan(ensemble.losses[4:, 1]).all()
    assert np.isfinite(ensemble.losses[:, [0, 2]]).all()
    start = ORTHOGONAL.initial([1], "float64")
    for name, values in start.items():
        assert torch.allclose(ensemble.parameters[name][1], values[0], atol=1e-12)


def test_a_stopped_member_that_is_still_in_the_batch_does_not_move(rows):
    training = Training(epochs=12, batch_rows=50, patience=2, min_improvement=1e-9)
    rates = [1e-2] * 11 + [0.0]
    ensemble = train_ensemble(
        ORTHOGONAL, rows, seeds=range(12), learning_rates=rates, training=training
    )
    # One of twelve is too few to make the batch smaller.
    assert ensemble.epochs.tolist() == [12] * 11 + [3]


def test_a_member_that_runs_out_of_patience_slows_down_before_it_stops(rows):
    training = Training(epochs=40, batch_rows=50, patience=5, decay_epochs=8, min_improvement=1e9)
    ensemble = train_ensemble(ORTHOGONAL, rows, seeds=[0], training=training)
    # The first epoch is an improvement on nothing; five without one; then the decay.
    assert ensemble.epochs.tolist() == [1 + 5 + 8]


def test_layers_stay_orthogonal_throughout_in_single_precision(rows):
    training = Training(epochs=40, batch_rows=10, learning_rate=0.2, clip_norm=None)
    ensemble = train_ensemble(
        ORTHOGONAL, rows.astype(np.float32), seeds=range(4), leaks=0.2, training=training
    )
    assert 0 < ensemble.worst_defect.max() < 1e-5
    assert ensemble.orthogonality().max() < 1e-6


def test_a_network_with_targets_learns_the_least_squares_solution(rng):
    rows = rng.normal(size=(200, 3))
    targets = rows @ rng.normal(size=(3, 2)) + [1.0, -2.0] + 0.1 * rng.normal(size=(200, 2))
    training = Training(
        epochs=400, batch_rows=200, learning_rate=0.05, decay_epochs=300, clip_norm=None
    )
    ensemble = train_ensemble(
        Network(widths=(3, 2)), rows, targets, seeds=[0, 1], training=training
    )
    design = np.column_stack([rows, np.ones(200)])
    solution = np.linalg.lstsq(design, targets, rcond=None)[0]
    for member in range(2):
        assert np.allclose(ensemble.parameters["0.weight"][member], solution[:3], atol=1e-4)
        assert np.allclose(ensemble.parameters["0.bias"][member, 0], solution[3], atol=1e-4)
    left = ((targets - design @ solution) ** 2).mean()
    assert ensemble.errors(rows, targets) == pytest.approx([left, left], rel=1e-5)


def test_codes_and_outputs_fit_together(rows):
    ensemble = train_ensemble(FREE, rows, seeds=[0, 1], leaks=0.3, training=Training(epochs=2))
    codes = ensemble.encode(rows)
    assert codes.shape == (2, 50, 2)
    assert np.allclose(ensemble.decode(codes), ensemble.outputs(rows))
    own = np.stack([rows, rows[::-1]])
    assert np.allclose(ensemble.encode(own)[1], codes[1, ::-1])
    expected = ((ensemble.outputs(rows) - rows) ** 2).mean((1, 2))
    assert np.allclose(ensemble.errors(rows), expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seeds": []}, "0 seeds"),
        ({"leaks": [0.1, 0.2]}, "2 leaks for 3 members"),
        ({"leaks": -0.5}, "leaks is -0.5: none may be negative"),
        ({"learning_rates": [0.1, -1.0, 0.1]}, "none may be negative"),
        ({"learning_rates": [0.1]}, "1 learning rates for 3 members"),
        ({"learning_rates": [0.1, np.nan, 0.1]}, "not finite"),
        ({"device": "nowhere"}, "no device 'nowhere'"),
        ({"targets": np.zeros((50, 4))}, "needs rows of 6 values"),
        ({"targets": np.zeros((49, 6))}, "50 rows have 49 targets"),
        ({"seeds": [0, -1, 2]}, "the smallest seed is -1"),
        ({"seeds": [0, 0.5, 2]}, "a list of integers"),
        ({"seeds": 3}, "integers, one per member"),
        ({"seeds": [4, 5, 4]}, "2 members have seed 4 .* are the same model"),
        ({"seeds": [4, 5, 4], "subsets": [[0, 1], [2], [0, 1]]}, "the same model"),
    ],
)
def test_settings_that_do_not_fit_are_refused(rows, change, words):
    given = {"seeds": [0, 1, 2], "training": Training(epochs=1)} | change
    with pytest.raises(InputError, match=words):
        train_ensemble(ORTHOGONAL, rows, **given)


@pytest.mark.parametrize(
    "change",
    [
        {"leaks": [0.1, 0.2]},
        {"learning_rates": [0.1, 0.2]},
        {"subsets": [np.arange(40), np.arange(10, 50)]},
    ],
)
def test_two_members_may_share_a_seed_if_something_else_differs(rows, change):
    ensemble = train_ensemble(ORTHOGONAL, rows, seeds=[4, 4], training=TRAINING, **change)
    first, second = ensemble.parameters["0.weight"]
    assert not torch.allclose(first, second, atol=1e-4)


def test_rows_that_do_not_fit_are_refused(rows):
    given = {"seeds": [0], "training": Training(epochs=1)}
    with pytest.raises(InputError, match="50 × 5, but the network needs rows of 6"):
        train_ensemble(ORTHOGONAL, rows[:, :5], **given)
    rows[3, 2] = np.nan
    with pytest.raises(InputError, match="1 of 300 values of the rows are not finite"):
        train_ensemble(ORTHOGONAL, rows, **given)


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[:, ::-1][:, ::-1],
        lambda rows: np.asfortranarray(rows),
        lambda rows: rows.astype(">f8"),
        lambda rows: np.broadcast_to(rows, rows.shape),
    ],
    ids=["backwards", "Fortran", "big-endian", "read-only"],
)
def test_how_rows_lie_in_memory_does_not_matter(rows, change):
    given = {"seeds": [0], "training": Training(epochs=2)}
    expected = train_ensemble(ORTHOGONAL, rows, **given)
    ensemble = train_ensemble(ORTHOGONAL, change(rows), **given)
    assert_same(ensemble, expected)
    assert np.array_equal(ensemble.encode(change(rows)), expected.encode(rows))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "bool"])
def test_other_numbers_are_computed_in_float32(rows, dtype):
    ensemble = train_ensemble(
        ORTHOGONAL, rows.astype(dtype), seeds=[0], training=Training(epochs=1)
    )
    assert ensemble.parameters["0.weight"].dtype == torch.float32


@pytest.mark.parametrize("dtype", ["complex128", "object", "U5"])
def test_what_is_no_real_number_is_refused(rows, dtype):
    with pytest.raises(InputError, match="real numbers"):
        train_ensemble(ORTHOGONAL, rows.astype(dtype), seeds=[0], training=Training(epochs=1))


def test_a_member_that_diverges_is_stopped_and_the_others_go_on_as_if_alone(rows, tmp_path):
    training = Training(epochs=50, batch_rows=16, clip_norm=None, decay_epochs=20)
    given = {"leaks": 1.0, "training": training}
    rows = rows.astype(np.float32)
    path = tmp_path / "state.safetensors"
    ensemble = train_ensemble(
        FREE, rows, seeds=[3, 4, 5], learning_rates=[1e-3, 1e15, 1e-2], checkpoint=path, **given
    )
    assert ensemble.diverged.tolist() == [False, True, False]
    assert ensemble.stopped_by == ("limit", "divergence", "limit")
    last = ensemble.epochs[1] - 1
    assert last < 5
    assert np.isnan(ensemble.losses[last:, 1]).all()
    assert np.isfinite(ensemble.losses[:, [0, 2]]).all()
    alone = train_ensemble(FREE, rows, seeds=[3, 5], learning_rates=[1e-3, 1e-2], **given)
    for name, values in alone.parameters.items():
        assert torch.allclose(ensemble.parameters[name][[0, 2]], values, atol=1e-5)
    again = train_ensemble(
        FREE, rows, seeds=[3, 4, 5], learning_rates=[1e-3, 1e15, 1e-2], checkpoint=path,
        resume=True, **given,
    )  # fmt: skip
    assert again.stopped_by == ensemble.stopped_by


def test_a_diverging_orthogonal_member_leaves_the_record_finite(rows):
    subsets = [np.arange(25), np.arange(25, 50)]
    rows[25:] = 1e200
    ensemble = train_ensemble(ORTHOGONAL, rows, seeds=[0, 1], subsets=subsets, training=TRAINING)
    assert ensemble.diverged.tolist() == [False, True]
    assert np.isfinite(ensemble.worst_defect).all()


def test_divergence_in_the_last_step_is_seen(rng):
    rows, targets = rng.normal(size=(2, 30, 4)).astype(np.float32)
    given = {"training": Training(epochs=1), "learning_rates": [1e-3, 1e38]}
    network = Network(widths=(4, 8, 4))
    ensemble = train_ensemble(network, rows, targets, seeds=[0, 1], **given)
    assert np.isfinite(ensemble.losses).all()
    assert ensemble.stopped_by == ("limit", "divergence")
    assert not np.isfinite(ensemble.outputs(rows)[1]).all()


def test_the_first_member_is_named_if_all_diverge(rows):
    training = Training(epochs=50, clip_norm=None)
    with pytest.raises(
        InputError, match=r"2 of 2 members diverged, the first in epoch \d+.*seed 4"
    ):
        train_ensemble(
            FREE, rows.astype(np.float32), seeds=[4, 3], learning_rates=[1e15, 1e14],
            leaks=1.0, training=training,
        )  # fmt: skip


def test_each_member_says_why_it_stopped(rows):
    training = Training(epochs=30, batch_rows=50, patience=3, min_improvement=1e-9, decay_epochs=5)
    ensemble = train_ensemble(
        ORTHOGONAL, rows, seeds=[0, 1], learning_rates=[1e-2, 0.0], training=training
    )
    assert ensemble.stopped_by == ("limit", "patience")
    assert ensemble.select([1]).stopped_by == ("patience",)
    assert not ensemble.diverged.any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epochs": 0}, "0 epochs"),
        ({"batch_rows": 0}, "batches of 0 rows"),
        ({"decay_epochs": 9}, "9 decay epochs do not fit into 5 epochs"),
        ({"clip_norm": 0.0}, "norm of 0"),
    ],
)
def test_trainings_that_cannot_be_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        Training(**({"epochs": 5} | change))


def test_codes_are_refused_where_a_network_has_none(rows):
    ensemble = train_ensemble(
        Network(widths=(6, 2)), rows, rows[:, :2], seeds=[0], training=Training(epochs=1)
    )
    with pytest.raises(InputError, match="no code"):
        ensemble.encode(rows)
    with pytest.raises(InputError, match="rows have 5 values, but the layer takes 6"):
        ensemble.outputs(rows[:, :5])
    with pytest.raises(InputError, match="not 2 × 50 × 6"):
        ensemble.outputs(np.stack([rows, rows]))
