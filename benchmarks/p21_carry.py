"""P21: carry an index over, from file to file, beside reading, product and writing alone."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.measure import load, publish

WIDTHS = 384, 512
N_ROWS = {"quick": 300_000, "full": 2_000_000}
"""Ten million rows would take 36 GB of disk."""
CLUSTER_ROWS = {"quick": 200_000, "full": 1_000_000}
SAMPLE_ROWS = 500_000
_CHUNK, _BLOCK = 2**16, 512


def _random(n_rows, width, seed):
    return np.random.default_rng(seed).standard_normal((n_rows, width), dtype=np.float32)


def make_source(path, n_rows):
    """Write random rows as npy, or as one column of lists in a parquet file."""
    if path.suffix == ".npy":
        out = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, WIDTHS[0]))
        for start in range(0, n_rows, _CHUNK):
            out[start : start + _CHUNK] = _random(min(_CHUNK, n_rows - start), WIDTHS[0], start)
        out.flush()
        return
    _write_lists(path, n_rows, WIDTHS[0], fresh=True)


def _write_lists(path, n_rows, width, *, fresh=False):
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([pa.field("vector", pa.list_(pa.float32(), width))])
    rows = _random(8192, width, 0)
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        for start in range(0, n_rows, 8192):
            count = min(8192, n_rows - start)
            part = _random(count, width, start) if fresh else rows[:count]
            lists = pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), width)
            writer.write_table(pa.table([lists], schema=schema), row_group_size=count)


def read_alone(path, n_rows):
    """Return the seconds of reading rows by the format's own library."""
    started = time.perf_counter()
    if path.suffix == ".npy":
        with path.open("rb", buffering=0) as file:
            buffer, left = bytearray(2**23), n_rows * WIDTHS[0] * 4
            while left > 0:
                left -= file.readinto(buffer)
    else:
        import pyarrow.parquet as pq

        file = pq.ParquetFile(path, pre_buffer=False)
        left, group = n_rows, 0
        while left > 0:
            left -= file.read_row_group(group).num_rows
            group += 1
    return time.perf_counter() - started


def write_alone(folder, suffix, n_rows):
    """Return the seconds of writing rows by the format's own library, until they are on disk."""
    path = folder / f"alone{suffix}"
    block = _random(_BLOCK, WIDTHS[1], 0)
    started = time.perf_counter()
    if suffix == ".npy":
        with path.open("wb", buffering=0) as file:
            for _ in range(n_rows // _BLOCK):
                file.write(block.data)
    else:
        _write_lists(path, n_rows, WIDTHS[1])
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    seconds = time.perf_counter() - started
    path.unlink()
    return seconds


def multiply_alone(n_rows, seconds=3.0):
    """Return the seconds of the product of all rows, in double precision on all cores."""
    from threadpoolctl import threadpool_limits

    n_threads = os.cpu_count() or 1
    matrix = _random(*WIDTHS, 0).astype(np.float64)

    def work(seed):
        rows, count = _random(_BLOCK, WIDTHS[0], seed).astype(np.float64), 0
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            rows @ matrix
            count += _BLOCK
        return count / (time.perf_counter() - started)

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
        return n_rows / sum(pool.map(work, range(n_threads)))


def floors(folder, source, n_rows):
    """Return the seconds, and processor seconds, of reading, product and writing alone."""
    sample = min(n_rows, SAMPLE_ROWS)
    scale = n_rows / sample
    works = (
        lambda: scale * read_alone(source, sample),
        lambda: multiply_alone(n_rows),
        lambda: scale * write_alone(folder, source.suffix, sample),
    )
    found = []
    for work, factor in zip(works, (scale, None, scale), strict=True):
        began, started = time.process_time(), time.perf_counter()
        seconds = work()
        cpu, wall = time.process_time() - began, time.perf_counter() - started
        # The product is repeated for some seconds, whatever the number of rows.
        found += [seconds, cpu * (seconds / wall if factor is None else factor)]
    return found


def carry(source, transform, output, engine):
    """Carry a file over; return the seconds, those of processors, and the memory of processes."""
    import upto
    from upto.engines import DaskEngine, ThreadsEngine, TorchEngine

    upto.load_transform(transform)
    made = {
        "threads": ThreadsEngine,
        "torch": lambda: TorchEngine(device="cpu"),
        "dask": lambda: DaskEngine(workers=2),
    }
    if engine != "dask":
        chosen, cpu, started = made[engine](), time.process_time(), time.perf_counter()
        upto.apply_transform(transform, source, output=output, engine=chosen)
        return time.perf_counter() - started, time.process_time() - cpu, [peak()]
    with made["dask"]() as cluster:
        from upto.engines.schedulers import Wanted

        client = Wanted(address=None, workers=2).current()

        def cpu_seconds():
            return time.process_time() + sum(client.run(time.process_time).values())

        cpu, started = cpu_seconds(), time.perf_counter()
        upto.apply_transform(transform, source, output=output, engine=cluster)
        seconds = time.perf_counter() - started
        return seconds, cpu_seconds() - cpu, [peak(), *client.run(peak).values()]


def peak():
    """Return the most resident memory of this process so far, with its libraries."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def alone(function, *arguments):
    """Call a function in a process of its own, so that its memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def measure(folder, transform, kind, engine, n_rows):
    source = folder / f"source{kind}"
    if not source.exists():
        alone(make_source, source, n_rows)
    output = folder / f"carried{kind}"
    before = floors(folder, source, n_rows)
    started = os.getloadavg()[0]
    given = f"{output}/" if kind == ".parquet" else str(output)
    seconds, cpu, peaks = alone(carry, str(source), str(transform), given, engine)
    shutil.rmtree(output) if output.is_dir() else output.unlink()
    after = floors(folder, source, n_rows)
    means = [statistics.mean(pair) for pair in zip(before, after, strict=True)]
    read, product, written = means[::2]
    row = {
        "from, to": f"{kind[1:]} → {'folder of ' if kind == '.parquet' else ''}{kind[1:]}",
        "engine": "dask, 2 workers" if engine == "dask" else engine,
        "size": f"{n_rows}×{WIDTHS[0]} → {WIDTHS[1]}",
        "seconds": seconds,
        "read s": read,
        "product s": product,
        "write s": written,
        "over floor": seconds / sum(means[::2]),
        "processor s": cpu,
        "over floor in processor s": cpu / sum(means[1::2]),
        "largest process MB": max(peaks) / 1e6,
        "load before": round(started, 1),
    }
    print(f"  {row}", flush=True)
    return row


def run(size):
    import upto

    rng = np.random.default_rng(0)
    pairs = [rng.standard_normal((2_000, width)) for width in WIDTHS]
    rows = []
    # Not the folder of temporary files, which may be in memory.
    base = os.environ.get("UPTO_BENCHMARKS")
    with tempfile.TemporaryDirectory(dir=base) as made:
        folder = Path(made)
        transform = folder / "map.safetensors"
        upto.save_transform(transform, upto.Aligner("affine").fit(*pairs))
        plans = [("threads", N_ROWS[size]), ("torch", CLUSTER_ROWS[size])]
        plans.append(("dask", CLUSTER_ROWS[size]))
        for kind in (".npy", ".parquet"):
            made_for = None
            for engine, n_rows in plans:
                if engine == "torch" and kind == ".parquet":
                    continue
                if made_for not in (None, n_rows):
                    (folder / f"source{kind}").unlink()
                made_for = n_rows
                rows.append(measure(folder, transform, kind, engine, n_rows))
                title = "an affine map of random rows, float32, checked on 1000 rows"
                publish("p21", title, rows, seed=0, cores=os.cpu_count(), load=load())
            (folder / f"source{kind}").unlink()
