"""Rendered images with known factors: images per second with NumPy and torch."""

from __future__ import annotations

import gc
import time

import numpy as np

from benchmarks.measure import all_cores, interleaved, publish
from upto_studies.scenes import (
    dsprites_grid,
    render_dsprites,
    render_room,
    render_studio,
    room_grid,
    studio_grid,
)

SETS = {
    "dSprites, rendered again": (dsprites_grid, render_dsprites),
    "room": (room_grid, render_room),
    "studio": (studio_grid, render_studio),
}
STRETCH = {"quick": 2_000, "full": 20_000}
"""Images that the CPU renders, about: all those of some views."""


def stretch(grid, n_points):
    """Return factors of points that share their views as those of the whole grid do."""
    slow = "scale" if "floor hue" in grid.names else "camera x"
    if slow not in grid.names:
        return grid.factors(grid.draw(n_points, seed=0))
    # Views are few: keep all images of some.
    seen = grid.names.index(slow)
    levels = grid.levels()
    views = np.unique(levels[:, seen:], axis=0)
    n_views = max(1, round(len(views) * n_points / len(grid)))
    chosen = views[np.random.default_rng(0).choice(len(views), n_views, replace=False)]
    sizes = grid.sizes[seen:]
    own = np.isin(
        np.ravel_multi_index(tuple(levels[:, seen:].T), sizes),
        np.ravel_multi_index(tuple(chosen.T), sizes),
    )
    return grid.factors(np.flatnonzero(own))


def forget():
    """Clear the cached views."""
    from upto_studies.scenes import rooms as scenes

    for kept in (scenes._room_view, scenes._studio_view, scenes._rays):
        kept.cache_clear()
    gc.collect()


def on_cpu(grid, render, n_points, *, with_torch):
    """Return images, and the seconds of each way."""
    factors = stretch(grid, n_points)

    def work(device):
        forget()
        render(factors, device=device)

    ways = {"NumPy": lambda: work(None)}
    if with_torch:
        ways["torch, CPU"] = lambda: work("cpu")
        work("cpu")
    return len(factors), interleaved(ways)


def on_gpu(grid, render):
    """Return the seconds of a whole set on the GPU, twice: the first time it also warms up."""
    import torch

    seconds = []
    for _ in range(2):
        forget()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
        started = time.perf_counter()
        images = render(grid.factors(), device="cuda")
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
        extra = torch.cuda.max_memory_allocated() - images.nbytes
        some = grid.draw(200, seed=0)
        away = np.abs(
            images[torch.as_tensor(some, device="cuda")].cpu().numpy().astype(int)
            - render(grid.factors(some))
        )
        del images
    return seconds, extra, away


def run(size):
    try:
        import torch
    except ImportError:
        torch = None
    gpu = torch is not None and torch.cuda.is_available()
    rows = []
    with all_cores():
        for name, (make, render) in SETS.items():
            grid = make()
            n_images, seconds = on_cpu(grid, render, STRETCH[size], with_torch=torch is not None)
            for way, each in seconds.items():
                rows.append(
                    {
                        "images": name,
                        "how": way,
                        "rendered": n_images,
                        "seconds": each,
                        "images/s": n_images / each,
                        "of NumPy's": seconds["NumPy"] / each,
                    }
                )
            if gpu:
                (first, again), extra, away = on_gpu(grid, render)
                rows.append(
                    {
                        "images": name,
                        "how": "torch, GPU",
                        "rendered": len(grid),
                        "seconds": again,
                        "images/s": len(grid) / again,
                        "of NumPy's": len(grid) / again / (n_images / seconds["NumPy"]),
                        "first time s": first,
                        "extra GB": extra / 1e9,
                        "bytes that differ": float((away > 0).mean()),
                        "by at most": int(away.max()),
                    }
                )
    publish(
        "rendering",
        "images of 64×64 with known factors; the GPU renders whole sets",
        rows,
        seed=0,
        device=torch.cuda.get_device_name() if gpu else "none",
    )
