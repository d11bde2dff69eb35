"""Run benchmarks: ``python -m benchmarks [--full] [NAME…]``."""

from __future__ import annotations

import argparse

from benchmarks import memory, p06_compare, p07_matrix, p08_signed_permutation, p17_startup

BENCHMARKS = {
    "p06": p06_compare,
    "p07": p07_matrix,
    "p08": p08_signed_permutation,
    "p17": p17_startup,
    "memory": memory,
}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="all by default")
    parser.add_argument("--full", action="store_true", help="the sizes of the published figures")
    arguments = parser.parse_args()
    for name in arguments.names or BENCHMARKS:
        BENCHMARKS[name].run("full" if arguments.full else "quick")


if __name__ == "__main__":
    main()
