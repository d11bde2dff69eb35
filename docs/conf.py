"""The site: Markdown pages, the docstrings of the public names, warnings are errors."""

from importlib import metadata

project = "upto"
author = "The upto developers"
copyright = "2026, The upto developers"
version = release = metadata.version("upto")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_tools"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_google_docstring = False
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
        r"|Names|Metric|Between|Positives|Negatives",
    ),
    (r"py:class", r"upto\.disentanglement\.(views|shared_information)\.\w+"),
    (r"py:class", r"upto\.questions\.(similarity|layers|consensus)\.result\.\w+"),
    (r"py:class", r"upto\.questions\.align\.(result|carriers|question)\.\w+|BadRows"),
    (r"py:class", r"upto\.theory\.hierarchy\.Guarantee"),
    (r"py:class", r"upto\.batch_metrics\.mixing\.view\.MixingView"),
    (r"py:exc", r"MissingExtraError"),
]

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"upto {version}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sphinx = False


def quote_shapes(app, what, name, obj, options, lines):
    """Show "ndarray of shape (n, m)" as text: it is no type that could be linked."""
    for number, line in enumerate(lines):
        name, mark, kind = line.partition(" : ")
        if mark and " of shape " in kind:
            lines[number] = f"{name} : ``{kind}``"


def setup(app):
    app.connect("autodoc-process-docstring", quote_shapes, priority=100)
