"""Run benchmarks: ``python -m benchmarks [--full] [NAME…]``."""

from __future__ import annotations

import argparse
import inspect
from importlib import import_module
from pathlib import Path

from benchmarks.measure import session

BENCHMARKS = {
    "p01": "p01_ica",
    "p03": "p03_gpu",
    "p04": "p04_disk",
    "p05": "p05_cluster",
    "p06": "p06_compare",
    "p07": "p07_matrix",
    "p08": "p08_signed_permutation",
    "p09": "p09_measures",
    "p10": "p10_null",
    "p11": "p11_restarts",
    "p12": "p12_infomec",
    "p13": "p13_dci",
    "p14": "p14_batches",
    "p16": "p16_lipschitz",
    "p15": "p15_ensembles",
    "p17": "p17_startup",
    "p18": "p18_wide",
    "p19": "p19_wide_gpu",
    "p20": "p20_growth",
    "p21": "p21_carry",
    "p22": "p22_reading",
    "memory": "memory",
    "remaining": "remaining",
    "rendering": "rendering",
}
PUBLISHED, QUICK = Path(__file__).parent / "results", Path("build/benchmarks")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="all by default")
    parser.add_argument("--full", action="store_true", help="the sizes of the published figures")
    parser.add_argument("--rounds", type=int, help="rounds of each contestant, where there is one")
    parser.add_argument("--data", type=Path, help="a folder of npz files with real embeddings")
    parser.add_argument(
        "--peers",
        type=Path,
        help="a folder of peers' sources: svcca/, thingsvision/, latent_quantization/",
    )
    parser.add_argument(
        "--results",
        type=Path,
        help=f"folder of the JSON files; by default {PUBLISHED.name} here, or {QUICK} for quick "
        "sizes, which shall not replace published figures",
    )
    arguments = parser.parse_args()
    session.size = "full" if arguments.full else "quick"
    session.results = arguments.results or (PUBLISHED if arguments.full else QUICK)
    for name in arguments.names or BENCHMARKS:
        # Imported one by one: a machine may have the packages of one benchmark only.
        run = import_module(f"benchmarks.{BENCHMARKS[name]}").run
        options = {
            "rounds": arguments.rounds,
            "data": arguments.data,
            "peers": arguments.peers,
        }
        taken = inspect.signature(run).parameters
        run(session.size, **{key: value for key, value in options.items() if key in taken})


if __name__ == "__main__":
    main()
