"""P15: many orthogonal autoencoders, trained all at once or one after another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from benchmarks.measure import all_cores, interleaved, publish
from upto_studies.train import Network, Training
from upto_studies.train.training import TrainingRun

SMALL, PUBLISHED = (64, 48, 32, 8), (784, 256, 64, 16)
SIZES = {
    ("quick", "cpu"): [(12, SMALL, 2048, 256)],
    ("quick", "cuda"): [(12, SMALL, 2048, 256)],
    ("full", "cpu"): [(60, SMALL, 1437, 64), (60, SMALL, 1437, 512), (6, PUBLISHED, 2048, 1024)],
    ("full", "cuda"): [(120, SMALL, 1437, 512), (120, PUBLISHED, 8192, 1024)],
}
"""Members, widths of the encoder, rows and rows of a step: scikit-learn's digits and MNIST's."""

TOGETHER, ALONE = "upto, all at once", "upto, one after another"
PARAMETRISED = "torch parametrizations.orthogonal and Adam, one after another"


def prepared(widths, rows, seeds, batch_rows, device):
    """Return a training of these seeds without a limit of epochs."""
    return TrainingRun(
        Network.autoencoder(widths, orthogonal=True, bias=False),
        rows,
        None,
        seeds,
        Training(epochs=10**9, patience=10**9, batch_rows=batch_rows),
        0.2,
        None,
        None,
        device,
    )


def parametrised(widths, rows, batch_rows, device):
    """Return the epoch of one autoencoder as the paper's authors describe theirs."""
    import torch
    from torch.nn.utils.parametrizations import orthogonal

    chain = [*widths, *widths[-2::-1]]
    layers = []
    for layer, (n_in, n_out) in enumerate(pairwise(chain)):
        layers.append(orthogonal(torch.nn.Linear(n_in, n_out, bias=False, device=device)))
        if layer + 1 not in (len(widths) - 1, len(chain) - 1):
            layers.append(torch.nn.LeakyReLU(0.2))
    model = torch.nn.Sequential(*layers)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    placed = torch.as_tensor(rows, device=device)

    def epoch():
        order = torch.randperm(len(placed), device=device)
        total = torch.zeros((), device=device)
        for start in range(0, len(placed), batch_rows):
            batch = placed[order[start : start + batch_rows]]
            loss = (model(batch) - batch).square().sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            total += loss.detach()
        return float(total)

    return epoch


def measured_rows(n_members, widths, n_rows, batch_rows, device, rounds):
    """Time one epoch of all members in each way."""
    rows = np.random.default_rng(0).random((n_rows, widths[0]), dtype=np.float32)
    together = prepared(widths, rows, range(n_members), batch_rows, device)
    alone = [prepared(widths, rows, [k], batch_rows, device) for k in range(n_members)]
    # Members of the paper's way take the same time each: a few stand for all.
    epoch = parametrised(widths, rows, batch_rows, device)
    n_timed = -(-n_members // 20)
    contestants = {
        TOGETHER: together.train_epoch,
        ALONE: lambda: [each.train_epoch() for each in alone],
        PARAMETRISED: lambda: [epoch() for _ in range(n_timed)],
    }
    for work in (together.train_epoch, alone[0].train_epoch, epoch):
        work()
    seconds = interleaved(contestants, repeats=rounds)
    seconds[PARAMETRISED] *= n_members / n_timed
    n_steps = n_members * -(-n_rows // batch_rows)
    return [
        {
            "members": n_members,
            "encoder": "-".join(map(str, widths)),
            "rows a step": batch_rows,
            "who": who,
            "seconds": value,
            "ms a member's step": 1e3 * value / n_steps,
            "this / upto": value / seconds[TOGETHER],
        }
        for who, value in seconds.items()
    ]


def run(size, *, device=None, rounds=None):
    try:
        import torch
    except ImportError:
        print("p15: torch is not installed, so there is nothing to measure")
        return
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.device(device).type
    table = []
    with all_cores():
        for sizes in SIZES[size, kind]:
            table += measured_rows(*sizes, device, rounds or 3)
    name = "the CPU" if kind == "cpu" else torch.cuda.get_device_name(device)
    publish(
        "p15" if kind == "cpu" else "p15_gpu",
        f"one epoch of orthogonal autoencoders in float32, on {name}",
        table,
        seed=0,
        device=name,
        torch=torch.__version__,
    )
