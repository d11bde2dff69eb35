"""The site: Markdown pages, the docstrings of the public names, warnings are errors."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "upto"
author = "The upto developers"
copyright = "2026, The upto developers"
version = release = metadata.version("upto")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "api_pages",
    "docstrings",
    "mathml",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_ext", "_tools"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

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
html_css_files = ["wide.css"]
html_show_sphinx = False
