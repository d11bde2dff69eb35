"""P16: the bi-Lipschitz constant of a decoder at many points."""

from __future__ import annotations

import math
import time
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from benchmarks.measure import all_cores, interleaved, measured, publish
from upto import lipschitz
from upto.decoders.decoder import find_decoder
from upto.geometry.distortion import bi_lipschitz, direction_estimate
from upto.geometry.jacobians import (
    batch_of_points,
    dense_extremes,
    form_jacobians,
    lanczos_extremes,
)

WIDTHS = (64, 256, 512, 784)
SIZES = {"quick": 50, "full": 1000}
LARGE = {"quick": ((256, 512, 1024), 2, 64), "full": ((4096, 4096, 12288), 8, 128)}
"""Widths, points and steps of Lanczos of a Jacobian that is not formed."""
ONE_BY_ONE = 5
"""Points that are differentiated one by one; all would take as many times as long."""


def decoder_of(widths, seed=0):
    torch.manual_seed(seed)
    layers = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1]).double().eval()


def ours(decoder, points):
    """Form Jacobians by products and take all their singular values: what `lipschitz` does."""
    block = batch_of_points(points.shape[1], WIDTHS[-1])
    found = find_decoder(decoder)
    parts = [
        dense_extremes(form_jacobians(found.linearise(points[start : start + block])))
        for start in range(0, len(points), block)
    ]
    largest, smallest = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("largest", "smallest")
    )
    return bi_lipschitz(largest, smallest)


def constant_of(jacobians):
    values = torch.linalg.svdvals(jacobians)
    return torch.maximum(values[:, 0], 1 / values[:, -1]).detach().numpy()


def by_rows_of_a_batch(decoder, points):
    """One backward pass for each output, over all points."""
    leaf = torch.tensor(points, requires_grad=True)
    outputs = decoder(leaf)
    rows = [
        torch.autograd.grad(outputs[:, place].sum(), leaf, retain_graph=True)[0]
        for place in range(outputs.shape[1])
    ]
    return constant_of(torch.stack(rows, dim=1))


def by_rows_of_each(decoder, points):
    """One backward pass for each output of each point, as `torch.autograd.functional` does."""
    each = [torch.autograd.functional.jacobian(decoder, point) for point in torch.tensor(points)]
    return constant_of(torch.stack(each))


def by_forward_mode(decoder, points):
    """Form whole Jacobians by `torch.func`, in chunks that suit the cache."""
    jacobian = torch.func.jacfwd(decoder)
    return constant_of(torch.func.vmap(jacobian, chunk_size=50)(torch.tensor(points)))


PEERS = {
    "autograd rows, all points at once, and SVD": by_rows_of_a_batch,
    "vmap(jacfwd) and SVD": by_forward_mode,
}


def torch_rate(n_rows, repeats=20):
    """Return the best rate of torch's own products of the widest layer, operations a second."""
    rows = torch.randn(n_rows, WIDTHS[-2], dtype=torch.float64)
    weights = torch.randn(WIDTHS[-2], WIDTHS[-1], dtype=torch.float64)
    best = math.inf
    for _ in range(repeats):
        started = time.perf_counter()
        rows @ weights
        best = min(best, time.perf_counter() - started)
    return 2.0 * n_rows * WIDTHS[-2] * WIDTHS[-1] / best


def small(size):
    decoder = decoder_of(WIDTHS)
    points = np.random.default_rng(0).normal(size=(SIZES[size], WIDTHS[0]))
    exact = ours(decoder, points)
    few = points[:ONE_BY_ONE]
    peers = {name: (lambda work=work: work(decoder, points)) for name, work in PEERS.items()}
    worst = {name: np.abs(work() / exact - 1).max() for name, work in peers.items()}
    alone = f"autograd rows, {ONE_BY_ONE} points one by one, and SVD"
    rate = torch_rate(len(points))
    seconds = interleaved(
        {
            "upto": lambda: ours(decoder, points),
            "upto.lipschitz, all it tells": lambda: lipschitz(points, decoder=decoder),
            **peers,
            alone: lambda: by_rows_of_each(decoder, few),
        }
    )
    operations = 2.0 * len(points) * WIDTHS[0] * sum(a * b for a, b in pairwise(WIDTHS))
    # Others may use the machine at times: the best rate seen is the limit.
    floor = operations / max(rate, torch_rate(len(points)))
    per_point = {
        name: value / (len(few) if name == alone else len(points))
        for name, value in seconds.items()
    }
    return [
        {
            "who": name,
            "Jacobians": f"{WIDTHS[-1]}×{WIDTHS[0]}",
            "points": len(few) if name == alone else len(points),
            "seconds": seconds[name],
            "this / ours, a point": value / per_point["upto"],
            "over floor": seconds[name] / floor if name.startswith("upto") else None,
            "largest difference": worst.get(name),
        }
        for name, value in per_point.items()
    ]


def large(size):
    """Compare Lanczos with ten random directions for Jacobians too large to form."""
    widths, n_points, steps = LARGE[size]
    decoder = decoder_of(widths)
    rng = np.random.default_rng(0)
    linear = find_decoder(decoder).linearise(rng.normal(size=(n_points, widths[0])))

    def ten_directions():
        lengths = []
        for _ in range(10):
            drawn = torch.tensor(rng.normal(size=(n_points, widths[0])))
            unit = drawn / drawn.norm(dim=1, keepdim=True)
            lengths.append(linear.push(unit).norm(dim=1).numpy())
        return direction_estimate(np.stack(lengths))

    work = {
        f"upto, Lanczos, at most {steps} steps": lambda: lanczos_extremes(
            linear, steps=steps, rng=rng
        ),
        "ten random directions": ten_directions,
    }
    rows = []
    for name, each in work.items():
        found, seconds, extra = measured(each)
        is_ours = name.startswith("upto")
        constants = bi_lipschitz(found.largest, found.smallest) if is_ours else found
        rows.append(
            {
                "who": name,
                "Jacobians": f"{widths[-1]}×{widths[0]}",
                "points": n_points,
                "seconds": seconds,
                "extra memory over all Jacobians": extra / (8 * widths[0] * widths[-1] * n_points),
                "median Λ is at least": float(np.median(constants)),
                "points settled": int(found.settled.sum()) if is_ours else 0,
            }
        )
    return rows


def run(size):
    with all_cores():
        rows = small(size) + large(size)
    publish("p16", "bi-Lipschitz constant of a decoder, float64", rows, seed=0)
