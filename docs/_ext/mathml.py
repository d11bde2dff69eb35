"""Formulas become MathML when the site is built: browsers draw it without a script.

Sphinx would otherwise load MathJax from a network.
"""

import re
from xml.etree import ElementTree as ET

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

SPACE = "http://www.w3.org/1998/Math/MathML"
LIMITS = {"min", "max", "sup", "inf", "lim", "arg\u2009min", "arg\u2009max"}
"""Operators with their index beneath them in a formula of its own."""

ET.register_namespace("", SPACE)


def readable(latex: str) -> str:
    """Write aligned lines, which the converter does not know, as an array."""
    latex = re.sub(r"\\begin\{(?:aligned|align\*?|split)\}", r"\\begin{array}{rlrlrl}", latex)
    return re.sub(r"\\end\{(?:aligned|align\*?|split)\}", r"\\end{array}", latex)


def to_mathml(latex: str, *, display: str) -> str:
    """Return the MathML of a formula, with its source for screen readers."""
    try:
        formula = ET.fromstring(convert(readable(latex.strip()), display=display))
    except Exception as error:  # its own errors have no common base
        message = f"the formula {latex!r} cannot be set: {error!r}"
        raise ExtensionError(message) from error
    for part in formula.iter():
        if re.fullmatch(r"\\[A-Za-z]*|&", part.text or ""):
            message = f"the formula {latex!r} has {part.text!r}, which cannot be set."
            raise ExtensionError(message)
        beneath = display == "block" and part.tag == f"{{{SPACE}}}msub"
        if beneath and part[0].text in LIMITS:
            part.tag = f"{{{SPACE}}}munder"
    formula.set("alttext", " ".join(latex.split()))
    return ET.tostring(formula, encoding="unicode")


def visit_inline(translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    translator.body.append(to_mathml(node.astext(), display="inline"))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.math_block) -> None:
    """Write a formula of its own, in a box that scrolls."""
    anchors = "".join(f' id="{name}"' for name in node["ids"][:1])
    number = ""
    if node["number"]:
        number = f'<span class="eqno">({get_node_equation_number(translator, node)})</span>'
    formula = to_mathml(node.astext(), display="block")
    translator.body.append(f'<div class="formula"{anchors} tabindex="0">{number}{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer; `html_math_renderer = "mathml"` chooses it."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
