"""P19: the main job on a GPU, from rows in host memory to a result."""

from __future__ import annotations

import gc
import statistics
import time
from functools import partial

import upto
from benchmarks.data import wide_pair
from benchmarks.measure import all_cores, available_memory, load, publish
from benchmarks.p03_gpu import rates
from benchmarks.watching import WatchedEngine
from upto.engines import ThreadsEngine, TorchEngine

SIZES = {
    "quick": [(2_000, 48), (6_000, 24)],
    "full": [(5_000, 512), (20_000, 1_024), (222_000, 384), (1_000_000, 768)],
}
ICA_SIZES = {"quick": [(6_000, 24)], "full": [(222_000, 384), (1_000_000, 768)]}
AIMS = {
    ("compare", "5000×512"): 1.5,
    ("compare", "20000×1024"): 4.0,
    ("compare", "222000×384"): 3.0,
    ("compare", "1000000×768"): 10.0,
    ("ICA", "222000×384"): 0.35,
    ("ICA", "1000000×768"): 2.0,
}
ON_THREADS = 10**8
"""Values of a run up to which the threads engine is timed as well, once."""
BUDGET = 270.0
"""Seconds for everything; what would begin later is not run."""
ENOUGH = 8.0
"""Seconds after which nothing is repeated."""
TOLERANCE = 1e-4


class Clock:
    """Time of works on a device, while there is any."""

    def __init__(self, device):
        self.device, self.started = device, time.perf_counter()

    @property
    def left(self):
        """Seconds of the budget."""
        return BUDGET - (time.perf_counter() - self.started)

    def once(self, work):
        """Return a result, its seconds and the memory it took on the device."""
        import torch

        gc.collect()
        cuda = self.device != "cpu"
        if cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
        started = time.perf_counter()
        result = work()
        if cuda:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - started
        return result, seconds, torch.cuda.max_memory_allocated() if cuda else None

    def median(self, work, first):
        """Return the median seconds of warm runs and their number, or the first one's and 0."""
        seconds, spent = [], first
        while len(seconds) < 3 and (spent < ENOUGH or not seconds) and self.left > first:
            seconds.append(self.once(work)[1])
            spent += seconds[-1]
        return (statistics.median(seconds), len(seconds)) if seconds else (first, 0)


def works(size, pair):
    """Return what is timed at a size: its name, and a function of an engine."""
    found = {
        "compare": lambda engine: upto.compare(*pair, engine=engine),
        "compare, no ICA": lambda engine: upto.compare(*pair, ica=False, engine=engine),
    }
    if pair[0].shape in ICA_SIZES[size]:
        fit = upto.ICA(tolerance=TOLERANCE, random_state=0)
        found["ICA"] = lambda engine: fit.set_params(engine=engine).fit(pair[0])
    return found


def measure_work(name, work, words, n_bytes, clock, speeds):
    """Return the row of a work on the device: the first run is warm-up, and counts the passes."""
    engine = TorchEngine(device=clock.device)
    row = {"work": name, "size": words, "who": "upto, torch"}
    watched = WatchedEngine(engine)
    try:
        _, first, held = clock.once(partial(work, watched))
        row["seconds"], row["warm runs"] = clock.median(partial(work, engine), first)
    except Exception as error:  # noqa: BLE001 - a failure is a result
        return {**row, "outcome": f"failed: {type(error).__name__}: {str(error)[:100]}"}
    rate, bandwidth, to_device = speeds
    placed = sum(each.n_bytes for each in watched.log if each.what == "place")
    floor = watched.floor(rate, bandwidth) + max(placed, n_bytes) / to_device
    row |= {"floor s": floor, "over floor": row["seconds"] / floor}
    if held is not None:
        row["GPU memory GB"] = held / 1e9
    aim = AIMS.get((name, words))
    return row if aim is None else {**row, "aim s": aim}


def measure_size(size, n_samples, width, clock):
    """Return the rows of a size."""
    words, n_bytes = f"{n_samples}×{width}", 4 * n_samples * width
    if available_memory() < 5 * n_bytes:
        why = f"not run: needs {5 * n_bytes / 1e9:.0f} GB of {available_memory() / 1e9:.0f}"
        return [{"work": "compare", "size": words, "who": "nobody", "outcome": why}]
    pair = wide_pair(n_samples, width)
    print(f"{words}: drawn, {clock.left:.0f} s left", flush=True)
    speeds = rates(width, clock.device)
    rows = []
    for name, work in works(size, pair).items():
        row = {"work": name, "size": words, "who": "upto, torch"}
        if clock.left > 0:
            n_read = n_bytes * (1 if name == "ICA" else 2)
            row = measure_work(name, work, words, n_read, clock, speeds)
        else:
            row["outcome"] = "not run: no time was left"
        print("  " + ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        rows.append(row)
    return rows


def measure_threads(size, n_samples, width, clock):
    """Return the row of `compare` with the threads engine, if time is left for it."""
    row = {"work": "compare", "size": f"{n_samples}×{width}", "who": "upto, threads"}
    if clock.left <= 0:
        return {**row, "outcome": "not run: no time was left"}
    pair = wide_pair(n_samples, width)
    _, row["seconds"], _ = clock.once(partial(works(size, pair)["compare"], ThreadsEngine()))
    print("  " + ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return row


def run(size, *, device="cuda"):
    try:
        import torch
    except ImportError:
        print("p19: torch is not installed, so there is nothing to measure")
        return
    if device == "cuda" and not torch.cuda.is_available():
        print("p19: torch finds no CUDA device here, so there is nothing to measure")
        return
    clock, rows = Clock(device), []
    name = torch.cuda.get_device_name() if device == "cuda" else device
    with all_cores():
        small = wide_pair(2_000, 256 if device == "cuda" else 16)
        upto.compare(*small, engine=TorchEngine(device=device))
        upto.compare(*wide_pair(500, 8), engine=ThreadsEngine())
        print(f"warm, {clock.left:.0f} s left", flush=True)
        facts = {"seed": 0, "device": name, "torch": torch.__version__}
        title = "`compare` and ICA of float32 rows in host memory, on one GPU"
        for n_samples, width in SIZES[size]:
            rows += measure_size(size, n_samples, width, clock)
            publish("p19", title, rows, load=load(), **facts)
        for n_samples, width in SIZES[size]:
            if n_samples * width <= ON_THREADS:
                rows.append(measure_threads(size, n_samples, width, clock))
                publish("p19", title, rows, load=load(), **facts)
