"""The site: Markdown pages, the docstrings of the public names, warnings are errors."""

import os
import sys
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

from sources import SOURCES, fingerprint

project = "upto"
author = "The upto developers"
copyright = "2026, The upto developers"
version = release = metadata.version("upto")

extensions = [
    "myst_nb",
    "executed",
    "gallery",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "api_pages",
    "docstrings",
    "mathml",
]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["_build", "_ext", "_tools", "notebooks", "tutorials/data"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS / "_build" / "cells" / fingerprint())
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "warn"
# Kernels import what this build imports, and find its commands.
os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
os.environ["TUTORIAL_DATA"] = str(DOCS / "tutorials" / "data")
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
tutorial_seconds = 60

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
default_role = "name"  # of _ext/docstrings.py
napoleon_google_docstring = False
napoleon_custom_sections = [("Fields", "params_style")]
napoleon_use_rtype = False

nitpicky = True
nitpick_ignore_regex = [
    # Nothing outside this site is looked up: it builds without a network.
    (r"py:.*", r"(numpy|np|matplotlib|pathlib|os|collections)\..*"),
    (r"py:class", r"ArrayLike|NDArray|ndarray|Path|Sequence|Figure"),
    # Short names that only type checkers import; the pages describe them in words.
    (r"py:class", r"Run|Engine|Progress|Arrays|Statistic|Combine|AffineMap|MonotoneMap|Float"),
    (r"py:class", r"Transform|Solver|Whiten|Method|Shrinkage|Check|FactorSource|Columns"),
    (r"py:class", r"Measure|LayersOfRun|ConsensusUpTo|Pool|Stretch|Contrast|Estimator|Sap|Irs"),
    (
        r"py:class",
        r"Scheme|Space|Alignment|Priors|Prepared|Fitted|CodesLike|FactorsLike|DroppingCost"
        r"|Names|Metric|Between|LengthMap|KernelMap|NetworkMap|Positives|Negatives",
    ),
    (r"py:class", r"upto\.disentanglement\.(views|shared_information)\.\w+"),
    (r"py:class", r"upto\.questions\.(similarity|layers|consensus)\.result\.\w+"),
    (r"py:class", r"upto\.questions\.align\.(result|carriers|question)\.\w+|BadRows"),
    (r"py:class", r"upto\.simulate\.(warps|twists)\.\w+"),
    (r"py:class", r"upto\.theory\.hierarchy\.Guarantee"),
    (r"py:class", r"upto\.batch_metrics\.mixing\.view\.MixingView"),
    (r"py:exc", r"MissingExtraError"),
]

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_math_renderer = "mathml"  # of _ext/mathml.py: no script from a network
html_title = f"upto {version}"
html_static_path = ["_static"]
html_extra_path = ["_build/gallery/site"]  # made by _ext/gallery.py
html_css_files = ["wide.css", "cells.css", "pictures.css"]
html_show_sphinx = False
