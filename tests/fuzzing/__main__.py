"""Read ten thousand mutants: ``python -m fuzzing``, or one: ``--format npz --mutant 1234``."""

from __future__ import annotations

import argparse
import json
import queue
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from fuzzing.judging import MOST_SECONDS, Verdict, judge
from fuzzing.seeds import SEEDS, mutant

MUTANTS = 10_000
ADDRESSES = 6 * 2**30
EVERY_COMMAND = 25
COLUMNS = ("refused", "right", "read", "alone", "wrong", "traceback", "warned", "long")
BAD = ("wrong", "traceback", "warned", "long", "slow", "large", "crashed")


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzzing", description=__doc__)
    parser.add_argument("--format", choices=sorted(SEEDS), action="append")
    parser.add_argument("--mutant", type=int, help="read this one and say what became of it")
    parser.add_argument("--write", type=Path, help="write the files of that mutant to a folder")
    parser.add_argument("--command", action="store_true", help="by the command, not the reader")
    parser.add_argument("--mutants", type=int, default=MUTANTS, help="how many in all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--serve", nargs=3, metavar=("FORMAT", "START", "STOP"))
    options = parser.parse_args()
    if options.serve:
        return _serve(options.serve[0], int(options.serve[1]), int(options.serve[2]))
    if options.mutant is not None:
        return _show(options)
    return _run(options.format or sorted(SEEDS), options.mutants, options.workers)


def _show(options) -> int:
    (name,) = options.format
    if options.write:
        for path, content in mutant(name, options.mutant).items():
            (options.write / path).parent.mkdir(parents=True, exist_ok=True)
            (options.write / path).write_bytes(content)
    verdict = judge(name, options.mutant, command=options.command)
    print(f"{name} {options.mutant}: {verdict.outcome}, {verdict.seconds:.2f} s, ", end="")
    print(f"{verdict.peak / 2**20:.0f} MB\n{verdict.says}")
    return 0 if verdict.is_fine else 1


def _serve(name: str, start: int, stop: int) -> int:
    """Judge mutants in a process that may be killed, saying each before and after."""
    judge(name, 0)  # what is imported is not the mutant's memory
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    for number in range(start, stop):
        print(json.dumps({"number": number}), flush=True)
        verdict = judge(name, number, command=number % EVERY_COMMAND == 0)
        print(json.dumps(vars(verdict)), flush=True)
    return 0


class _Tally:
    def __init__(self, total: int) -> None:
        self.total, self.started, self.done = total, time.perf_counter(), 0
        self.counts: dict[str, Counter[str]] = {}
        self.peaks: dict[str, int] = {}
        self.slowest: dict[str, float] = {}
        self.failures: list[Verdict] = []
        self.lock = threading.Lock()

    def add(self, verdict: Verdict) -> None:
        with self.lock:
            name = verdict.format
            self.counts.setdefault(name, Counter())[verdict.outcome] += 1
            self.peaks[name] = max(self.peaks.get(name, 0), verdict.peak)
            self.slowest[name] = max(self.slowest.get(name, 0.0), verdict.seconds)
            if verdict.outcome in BAD:
                self.failures.append(verdict)
            self.done += 1
            if self.done % 200 == 0:
                seconds = time.perf_counter() - self.started
                line = f"\r{self.done} of {self.total} mutants, {len(self.failures)} failures, "
                print(f"{line}{seconds:.0f} s", end="", file=sys.stderr, flush=True)

    def show(self) -> None:
        other = ("slow", "large", "crashed")
        heads = ("format", "mutants", *COLUMNS, *other, "peak MB", "slowest s")
        print(f"\n{heads[0]:18}" + "".join(f"{head:>10}" for head in heads[1:]))
        total: Counter[str] = Counter()
        for name, counts in sorted(self.counts.items()):
            total += counts
            self._line(name, counts, self.peaks[name], self.slowest[name])
        peak, slowest = max(self.peaks.values()), max(self.slowest.values())
        self._line("all", total, peak, slowest)
        print(f"{time.perf_counter() - self.started:.0f} s")
        for verdict in self.failures[:60]:
            print(f"\n{verdict.format} {verdict.number}: {verdict.outcome}\n{verdict.says[-1500:]}")

    @staticmethod
    def _line(name: str, counts: Counter[str], peak: int, slowest: float) -> None:
        cells = [sum(counts.values()), *(counts[each] for each in COLUMNS)]
        cells += [counts[each] for each in ("slow", "large", "crashed")]
        print(f"{name:18}" + "".join(f"{cell:>10}" for cell in cells), end="")
        print(f"{peak / 2**20:>10.0f}{slowest:>10.2f}")


def _run(names: list[str], total: int, n_workers: int) -> int:
    each = -(-total // len(names))
    tally, tasks = _Tally(each * len(names)), queue.Queue()
    for name in names:
        tasks.put(name)

    def work() -> None:
        while True:
            try:
                name = tasks.get_nowait()
            except queue.Empty:
                return
            start = 0
            while start < each:
                start = _watch(name, start, each, tally)

    workers = [threading.Thread(target=work) for _ in range(n_workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    tally.show()
    return 1 if tally.failures else 0


def _watch(name: str, start: int, stop: int, tally: _Tally) -> int:
    """Follow one process until its work is done or it is not heard of; return where to go on."""
    command = [sys.executable, "-m", "fuzzing", "--serve", name, str(start), str(stop)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines: queue.Queue[str | None] = queue.Queue()

    def listen() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    errors = threading.Thread(target=lambda: setattr(process, "said", process.stderr.read()))
    errors.start()
    current, patience = start, 120.0  # imports take their time
    while True:
        try:
            line = lines.get(timeout=patience)
        except queue.Empty:
            process.kill()
            tally.add(Verdict(name, current, "slow", f"more than {patience:.0f} s"))
            return current + 1
        if line is None:
            process.wait()
            errors.join()
            if current >= stop - 1 and process.returncode == 0:
                return stop
            says = f"exit {process.returncode}: {process.said[-1500:]}"
            tally.add(Verdict(name, current, "crashed", says))
            return current + 1
        record = json.loads(line)
        current = record["number"]
        if "outcome" in record:
            tally.add(Verdict(**record))
        patience = MOST_SECONDS + 10


if __name__ == "__main__":
    sys.exit(main())
