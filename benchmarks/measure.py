"""Measurement: interleaved runs, medians, and hardware limits."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import platform
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np


@dataclass(slots=True)
class Session:
    """Command-line options of a run of benchmarks."""

    results: Path = Path("build/benchmarks")
    size: str = "quick"


session = Session()


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
    """Return the floating-point operations per second of a matrix product of this width."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(n_rows, width)).astype(dtype)
    second = rng.normal(size=(n_rows, width)).astype(dtype)
    first.T @ second
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        first.T @ second
        count += 1
    return count * 2.0 * n_rows * width**2 / (time.perf_counter() - started)


def pass_rate(width, dtype=np.float32, n_rows=4096, seconds=0.5):
    """Return the operations per second of the two products of a pass, by the faster of two ways.

    BLAS may spread each product over all cores, or each core may do products of its own.
    """
    from threadpoolctl import threadpool_limits

    n_threads = os.cpu_count() or 1
    rates = []
    for in_pool, in_blas in ((1, n_threads), (n_threads, 1)):
        with threadpool_limits(in_blas, "blas"), ThreadPoolExecutor(in_pool) as pool:
            works = [pool.submit(_products, width, dtype, n_rows, seconds) for _ in range(in_pool)]
            rates.append(sum(work.result() for work in works))
    return max(rates)


def _products(width, dtype, n_rows, seconds):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, width)).astype(dtype)
    unmixing = rng.normal(size=(width, width)).astype(dtype)
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        (rows @ unmixing).T @ rows
        count += 1
    return count * 4.0 * n_rows * width**2 / (time.perf_counter() - started)


def memory_rate(n_bytes=2**28, repeats=5):
    """Return the bytes per second that all cores read from memory."""
    n_threads = os.cpu_count() or 1
    parts = np.array_split(np.ones(n_bytes // 4, dtype=np.float32), n_threads)
    best = np.inf
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(repeats):
            started = time.perf_counter()
            list(pool.map(np.max, parts))
            best = min(best, time.perf_counter() - started)
    return n_bytes / best


def load():
    """Return the load average of the last minute, including ours."""
    return round(os.getloadavg()[0], 1)


def available_memory():
    """Return the bytes of memory available without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


@contextmanager
def all_cores():
    """Let BLAS and torch use every core, regardless of the environment."""
    from threadpoolctl import threadpool_limits

    n_threads = os.cpu_count() or 1
    try:
        import torch
    except ImportError:
        pass
    else:
        torch.set_num_threads(n_threads)
    with threadpool_limits(n_threads, "blas"):
        yield


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


def measured(work):
    """Run a function once; return its result, seconds and additional memory."""
    gc.collect()
    _return_freed_memory()
    record = {}
    with peak_memory(record):
        started = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - started
    return result, seconds, record["extra_bytes"]


def _return_freed_memory():
    """Return freed memory to the system, so that the next measurement is correct."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


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
        "command": f"python -m benchmarks {name}{' --full' if session.size == 'full' else ''}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {
            package: _version(package) for package in ("upto", "numpy", "scipy", "scikit-learn")
        },
        **facts,
        "rows": rows,
    }
    session.results.mkdir(parents=True, exist_ok=True)
    (session.results / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def _version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        # Run from a copy of the repository, as on a machine nothing can be installed on.
        return "source"


def _text(value):
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
