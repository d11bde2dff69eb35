"""P17: start-up."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import interleaved, publish

HEAVY = ("sklearn", "torch", "matplotlib", "scipy", "numpy")


def run(size):
    programs = {
        "python -c pass": "pass",
        "import upto": "import upto",
        "upto --help": "import sys; sys.argv=['upto','--help']; import upto.cli.main as m\n"
        "try: m.main()\nexcept SystemExit: pass",
    }
    seconds = interleaved(
        {
            name: lambda code=code: subprocess.run(
                [sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True
            )
            for name, code in programs.items()
        },
        repeats=9,
    )
    rows = []
    for name, code in programs.items():
        listing = f"{code}\nimport sys; print([m for m in {HEAVY} if m in sys.modules])"
        loaded = subprocess.run(
            [sys.executable, "-c", listing], capture_output=True, text=True, check=True
        )
        rows.append(
            {"what": name, "seconds": seconds[name], "loads": loaded.stdout.splitlines()[-1]}
        )
    publish("p17", "start-up", rows)
