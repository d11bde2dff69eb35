"""P22: reading text tables, and parquet tables of one row group."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.measure import load, measured, publish
from benchmarks.p04_disk import read_all

TEXT_ROWS = {"quick": 3_000, "full": 28_000}
GROUP_ROWS = {"quick": 150_000, "full": 2_000_000}
WIDTH, ROUNDS, PASSES = 384, 3, 3


def write_text(path, n_rows, *, labels):
    """Write a table of doubles in full precision, with or without ids and labels."""
    rng = np.random.default_rng(0)
    names = [f"feature_{column}" for column in range(WIDTH)]
    with path.open("w") as file:
        file.write(",".join([*(["id", "plate"] if labels else []), *names]) + "\n")
        for row in range(n_rows):
            kept = [f"w{row}", f'"plate {row % 20}"'] if labels else []
            file.write(",".join([*kept, *map(repr, rng.normal(size=WIDTH).tolist())]) + "\n")


def write_group(path, n_rows):
    """Write float32 columns of one row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = np.random.default_rng(0).standard_normal((WIDTH, n_rows), dtype=np.float32)
    table = pa.table({f"feature_{number}": column for number, column in enumerate(columns)})
    pq.write_table(table, path, row_group_size=n_rows, use_dictionary=False)


def read_text(path, how):
    """Read a table in one way; return the seconds, its CPU seconds, and memory over the array."""
    import upto
    from upto.files import delimited  # noqa: F401 - importing it is not reading
    from upto.files.plain_tables import PlainTable

    if how == "pandas":
        import pandas as pd

        def read():
            return pd.read_csv(path).select_dtypes("number").to_numpy()

    else:
        import pyarrow.csv  # noqa: F401 - importing it is not reading

        def read():
            return np.asarray(upto.read_run(path).rows[:])

    ways = {
        "upto, without pyarrow": mock.patch.dict(sys.modules, {"pyarrow": None}),
        "Python's csv module": mock.patch.object(PlainTable, "read", return_value=None),
    }
    with ways.get(how, mock.MagicMock()):
        cpu = time.process_time()
        rows, seconds, extra_bytes = measured(read)
    return seconds, time.process_time() - cpu, extra_bytes / rows.nbytes


def read_group(path):
    """Pass over a table several times; return the seconds of each pass, and the memory taken."""
    import upto
    from upto.engines import ThreadsEngine

    def passes():
        rows, seconds = upto.read_run(path).rows, []
        for _ in range(PASSES):
            started = time.perf_counter()
            ThreadsEngine().reduce_blocks(total, rows)
            seconds.append(time.perf_counter() - started)
        return seconds

    seconds, _, extra_bytes = measured(passes)
    return seconds, extra_bytes


def total(xp, x):
    return (xp.sum(x, axis=0),)


def alone(function, *arguments):
    """Call a function in a process of its own, so that its memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def text_rows(folder, size, *, labels):
    path = Path(folder) / "table.csv"
    write_text(path, TEXT_ROWS[size], labels=labels)
    megabytes = path.stat().st_size / 1e6
    ways = ["upto", "upto, without pyarrow", "Python's csv module"]
    try:
        import pandas as pd  # noqa: F401 - is it installed?
    except ImportError:
        print("p22: pandas is not installed")
    else:
        ways.append("pandas")
    found = {how: [] for how in ways}
    bandwidths = []
    for _ in range(ROUNDS):
        bandwidths.append(read_all(path)[0])
        for how in ways:
            found[how].append(alone(read_text, path, how))
    bandwidth = statistics.median(bandwidths)
    path.unlink()
    for how in ways:
        seconds, cpu, memory = map(statistics.median, zip(*found[how], strict=True))
        yield {
            "file": f"csv{' with ids and labels' if labels else ''}, {TEXT_ROWS[size]}×{WIDTH}, "
            f"{megabytes:.0f} MB",
            "who": how,
            "seconds": seconds,
            "MB/s": megabytes / seconds,
            "MB per CPU second": megabytes / cpu,
            "over floor": seconds * bandwidth / (megabytes * 1e6),
            "memory taken / array": memory,
        }


def group_rows(folder, size):
    path, n_rows = Path(folder) / "group.parquet", GROUP_ROWS[size]
    alone(write_group, path, n_rows)
    n_bytes = path.stat().st_size
    bandwidth = read_all(path)[0]
    seconds, extra_bytes = alone(read_group, path)
    for number, each in enumerate(seconds, start=1):
        yield {
            "file": f"parquet of one row group, {n_rows}×{WIDTH} float32, {n_bytes / 1e6:.0f} MB",
            "who": f"upto, pass {number}",
            "seconds": each,
            "MB/s": n_bytes / each / 1e6,
            "over floor": each * bandwidth / n_bytes,
            "memory taken / array": extra_bytes / (4 * n_rows * WIDTH),
        }


def run(size):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for labels in (False, True):
            rows += text_rows(folder, size, labels=labels)
        rows += group_rows(folder, size)
    publish("p22", "reading tables", rows, seed=0, cores=os.cpu_count(), load=load())
