"""P3: ICA on one GPU, from host memory to components."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.data import PlantedRows
from benchmarks.measure import all_cores, available_memory, publish
from benchmarks.peers import (
    TARGET,
    Judge,
    compete,
    differs,
    fastica_torch,
    installed,
    ours,
)
from upto.engines import ThreadsEngine, TorchEngine

SIZES = {
    "quick": [(50_000, 64), (100_000, 128)],
    "full": [(222_000, 384), (1_000_000, 768), (10_000_000, 768)],
}
LARGE = 10**9
"""Size above which there is one round, and rows are also streamed."""
TIGHT = 1e-6
ROUNDS = 3


def contestants(n_numbers, *, first, size, device):
    """Return the contestants at a size; the first also runs on the CPU, to compare components."""
    everybody = [ours(name="upto, rows kept on the GPU", engine=TorchEngine(device=device))]
    if first:
        everybody += [
            ours(name="upto, to 1e-6", engine=TorchEngine(device=device), tolerances=(TIGHT,)),
            ours(name="upto, to 1e-6, on the CPU", engine=ThreadsEngine(), tolerances=(TIGHT,)),
        ]
    else:
        tf32 = TorchEngine(device=device, allow_tf32=True)
        everybody.append(ours(name="upto, kept, TF32 products", engine=tf32))
    if n_numbers > LARGE or (size == "quick" and not first):
        streamed = TorchEngine(device=device, resident=False)
        everybody.append(ours(name="upto, rows streamed in every pass", engine=streamed))
    if installed("fastica_torch"):
        everybody.append(fastica_torch(device))
    return everybody


def rates(width, device):
    """Return operations per second, and bytes per second on the device and to it."""
    import torch

    rows = torch.randn(65_536, width, device=device)
    unmixing = torch.randn(width, width, device=device)
    seconds = _timed(lambda: (rows @ unmixing).T @ rows, device)
    rate = 4.0 * rows.shape[0] * width**2 / seconds
    large = torch.empty(2**28, dtype=torch.float32, device=device)
    # A copy reads and writes.
    bandwidth = 2.0 * large.nbytes / _timed(lambda: large.clone(), device)
    here = torch.empty(2**26, dtype=torch.float32, pin_memory=device != "cpu")
    there = torch.empty_like(here, device=device)
    to_device = here.nbytes / _timed(lambda: there.copy_(here, non_blocking=True), device)
    return rate, bandwidth, to_device


def _timed(work, device, repeats=10):
    """Return the median seconds of some work on the device."""
    import torch

    wait = torch.cuda.synchronize if device != "cpu" else (lambda: None)
    seconds = []
    for _ in range(repeats + 2):
        wait()
        started = time.perf_counter()
        work()
        wait()
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds[2:]))


def _row(outcome, size, n_bytes, speeds, reference):
    each, found = outcome.contestant, outcome.found
    row = {"size": size, "who": each.name}
    if found is None:
        return {**row, "outcome": outcome.words}
    row |= {"seconds": outcome.median, "outcome": outcome.words}
    row |= {"gradient": outcome.quality.gradient, "contrast": round(outcome.quality.contrast, 6)}
    engine = found.engine
    if engine is None:
        return {**row, "passes": found.iterations}
    n_samples = int(size.partition("×")[0])
    whitening, placing = engine.seconds_in("_row_moments"), engine.seconds_in("place")
    passes = sum(part.seconds for part in engine.log) - whitening - placing
    row |= {
        "passes": round(engine.n_passes(n_samples), 1),
        "placing s": placing,
        "whitening s": whitening,
        "search s": passes,
        # What validates the input and the d×d algebra between passes.
        "host s": max(outcome.seconds[-1] - whitening - placing - passes, 0.0),
    }
    if engine.name == "torch" and not engine.engine.allow_tf32:
        rate, bandwidth, to_device = speeds
        streamed = engine.engine.resident is False
        # Streamed rows cross to the device in every pass, others once.
        reading = min(bandwidth, to_device) if streamed else bandwidth
        floor = engine.floor(rate, reading) + (0.0 if streamed else n_bytes / to_device)
        row["over floor"] = outcome.median / floor
    if reference is not None and found.components.shape == reference.shape:
        row["differs from the CPU's by"] = differs(found.components, reference)
    return row


def measure_size(n_samples, width, *, first, size, device):
    """Run all contestants at one size; return table rows, or the reason why not."""
    n_bytes = 4 * n_samples * width
    words = f"{n_samples}×{width}"
    if available_memory() < 1.5 * n_bytes:
        why = (
            f"skipped: {n_bytes / 1e9:.0f} GB of rows, {available_memory() / 1e9:.0f} GB of memory"
        )
        return [{"size": words, "who": "nobody", "outcome": why}]
    print(f"{words}: drawing {n_bytes / 1e9:.1f} GB", flush=True)
    source = PlantedRows("Laplace", n_samples, width)
    rows = source.write(np.empty(source.shape, dtype=source.dtype))
    judge = Judge(rows, source.n_gaussian, TorchEngine(device=device))
    outcomes = compete(
        contestants(rows.size, first=first, size=size, device=device),
        {"float32": rows},
        judge,
        ROUNDS if rows.size <= LARGE else 1,
    )
    on_cpu = [each for each in outcomes if each.contestant.name.endswith("on the CPU")]
    reference = on_cpu[0].found.components if on_cpu else None
    speeds = rates(width, device)
    print(
        f"  {speeds[0] / 1e12:.1f} TFLOP/s in float32, {speeds[1] / 1e9:.0f} GB/s on the device, "
        f"{speeds[2] / 1e9:.1f} GB/s to it",
        flush=True,
    )
    return [_row(each, words, n_bytes, speeds, reference) for each in outcomes]


def run(size, *, device="cuda"):
    try:
        import torch
    except ImportError:
        print("p03: torch is not installed, so there is nothing to measure")
        return
    if device == "cuda" and not torch.cuda.is_available():
        print("p03: torch finds no CUDA device here, so there is nothing to measure")
        return
    rows = []
    name = torch.cuda.get_device_name() if device == "cuda" else device
    with all_cores():
        warm = PlantedRows("Laplace", 20_000, 32)[:]
        ours(engine=TorchEngine(device=device)).fit(warm, 32, TARGET)
        for number, (n_samples, width) in enumerate(SIZES[size]):
            rows += measure_size(n_samples, width, first=number == 0, size=size, device=device)
            publish(
                "p03",
                f"ICA of float32 rows from host memory, until no entry of the relative gradient "
                f"is above {TARGET:g}",
                rows,
                seed=0,
                target=TARGET,
                device=name,
                torch=torch.__version__,
            )
