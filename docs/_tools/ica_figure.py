"""Write the figure of the page on ICA: ``python docs/_tools/ica_figure.py``."""

from pathlib import Path

import matplotlib as mpl

import upto
from upto.load import bundled_path

FIGURE = Path(__file__).parents[1] / "_static" / "ica.svg"

if __name__ == "__main__":
    mpl.rcParams["svg.hashsalt"] = "upto"
    run = f"{bundled_path('cifar_resnets')}::resnet20"
    result = upto.unmix_run(run, restarts=10, seed=0)
    result.plot().savefig(FIGURE, metadata={"Date": None})
