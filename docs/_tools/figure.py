"""Write the figure of the first page: ``python docs/_tools/figure.py``."""

from pathlib import Path

import matplotlib as mpl

import upto
from upto.load import bundled_path

FIGURE = Path(__file__).parents[1] / "_static" / "resnets.svg"

if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "upto"
    resnets = bundled_path("cifar_resnets")
    result = upto.compare(f"{resnets}::resnet20", f"{resnets}::resnet32", seed=0)
    result.plot().savefig(FIGURE, metadata={"Date": None})
