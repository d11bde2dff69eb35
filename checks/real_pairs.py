"""Compute the columns of Table 1 for real networks, in-sample and held-out.

``python -m checks.real_pairs FOLDER`` compares nine pairs of networks that were really trained and
writes ``checks/real_pairs.json``. FOLDER holds their embeddings as npz files; without one, the two
pairs that come with upto are compared, and nothing is written unless ``--output`` says where.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checks.rates import record_of, write_record
from rich.console import Console

import upto
from upto.files import bundled_path

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 0
ROWS = ("signed-permutation", "scaled-permutation", "similarity", "affine", "ica", "ica-scaled")
PAIRS = (
    ("ResNet-20 and 32, CIFAR-10", "resnet_cifar10_test", "resnet20", "resnet32"),
    ("ResNet-20 and 56, CIFAR-10", "resnet_cifar10_test", "resnet20", "resnet56"),
    ("VAE and β-VAE, MNIST", "vae_mnist_latents", "VAE", "betaH"),
    ("SpliceAI 1 and 2, middle layer", "spliceai_chr20", "mid1", "mid2"),
    ("SpliceAI 1 and 2, last layer", "spliceai_chr20", "final1", "final2"),
    ("Silero v5 and v6, speech", "silero_frames", "v5", "v6"),
    ("ADMET-AI 0 and 1, Tox21", "admet_tox21", "cls0", "cls1"),
    ("ADMET-AI 1 and 2, Tox21", "admet_tox21", "cls1", "cls2"),
    ("Magika 3.2 and 3.3, files", "magika_files", "v3_2", "v3_3"),
)
BUNDLED = (
    ("ResNet-20 and 32, bundled", "cifar_resnets", "resnet20", "resnet32"),
    ("ADMET-AI 0 and 1, bundled", "admet_members", "member0", "member1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """One pair as in Table 1, with additional columns."""

    pair: str
    n_samples: int
    widths: tuple[int, int]
    in_sample: dict[str, float]
    held_out: dict[str, float]
    mean: float
    efficiency_in_sample: float | None
    efficiency: float | None
    agreement: str
    findings: tuple[str, ...]


def compared(folder: Path | None) -> Iterator[PairRow]:
    """Compare every pair, its first network mapped onto the second."""
    for title, name, first, second in PAIRS if folder else BUNDLED:
        path = folder / f"{name}.npz" if folder else bundled_path(name)
        found = upto.compare(f"{path}::{first}", f"{path}::{second}", seed=SEED)
        fits = {fit.name: fit for fit in found.fits if fit.name in ROWS}
        yield PairRow(
            pair=title,
            n_samples=found.n_samples,
            widths=(found.first.n_features, found.second.n_features),
            in_sample={name: fits[name].in_sample.mean.value for name in ROWS},
            held_out={name: fits[name].error.value for name in ROWS},
            mean=found.mean.held_out.mean.value,
            efficiency_in_sample=found.efficiency_in_sample,
            efficiency=found.efficiency,
            agreement=found.agreement,
            findings=tuple(sorted({finding.code for finding in found.findings})),
        )


def main() -> None:
    """Compare all pairs, print each and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="folder of npz files")
    parser.add_argument("--output", type=Path, help="file of the record")
    options = parser.parse_args()
    output = options.output
    if options.folder and not output:
        output = Path(__file__).with_suffix(".json")
    console, started, rows = Console(width=120), time.perf_counter(), []
    for row in compared(options.folder):
        rows.append(row)
        console.log(row)
    if output:
        write_record(output, record_of(started, seed=SEED) | {"pairs": [asdict(r) for r in rows]})
        console.print(f"written to {output}")


if __name__ == "__main__":
    main()
