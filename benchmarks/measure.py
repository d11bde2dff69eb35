"""How everything here is measured: interleaved, median of several, beside the floor."""

from __future__ import annotations

import json
import os
import platform
import statistics
import threading
import time
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"


def interleaved(contestants, repeats=3):
    """Run every contestant in turn, several times; return the median seconds of each."""
    seconds = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, work in contestants.items():
            started = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(each) for name, each in seconds.items()}


def product_rate(width, n_rows=4096, dtype=np.float64, seconds=1.0):
    """Return the floating-point operations a second of a matrix product of this width."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(n_rows, width)).astype(dtype)
    second = rng.normal(size=(n_rows, width)).astype(dtype)
    first.T @ second
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        first.T @ second
        count += 1
    return count * 2.0 * n_rows * width**2 / (time.perf_counter() - started)


def _anonymous_bytes():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


@contextmanager
def peak_memory(record):
    """Watch the memory this process owns; mapped file pages are not counted, they are evictable."""
    before, stop = _anonymous_bytes(), threading.Event()
    record["extra_bytes"] = 0

    def watch():
        while not stop.is_set():
            record["extra_bytes"] = max(record["extra_bytes"], _anonymous_bytes() - before)
            time.sleep(0.005)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()


def publish(name, title, rows, **facts):
    """Print one table and write one JSON."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    texts = [[_text(row.get(column)) for column in columns] for row in rows]
    widths = [
        max(len(column), *(len(text[i]) for text in texts)) for i, column in enumerate(columns)
    ]
    print(f"\n{name}: {title}")
    print("  ".join(column.ljust(width) for column, width in zip(columns, widths, strict=True)))
    for text in texts:
        print("  ".join(cell.ljust(width) for cell, width in zip(text, widths, strict=True)))
    record = {
        "benchmark": name,
        "title": title,
        "command": f"python -m benchmarks {name}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {
            package: metadata.version(package)
            for package in ("upto", "numpy", "scipy", "scikit-learn")
        },
        **facts,
        "rows": rows,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def _text(value):
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
