"""Self-contained HTML reports, which load and send nothing."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upto.core import InputError, Result
from upto.core.files import write_text_atomically
from upto.core.references import bibtex
from upto.question import questions
from upto.report.markup import Inert
from upto.report.summary import summarise

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import jinja2


PAPER = "2603.11970"


class Report:
    """An HTML report of one or more results.

    Parameters
    ----------
    results
        Results to show, in order.

    Raises
    ------
    InputError
        If there are no results.

    See Also
    --------
    upto.core.Result : What it shows.
    upto.Table : Its tables on their own.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> result = upto.inspect(np.random.default_rng(0).normal(size=(100, 3)), ica=False)
    >>> "<html" in upto.Report([result]).html()
    True
    """

    def __init__(self, results: Sequence[Result]) -> None:
        given: Any = results
        self.results: tuple[Result, ...] = () if isinstance(given, Result) else tuple(given)
        if not self.results or not all(isinstance(each, Result) for each in self.results):
            message = "a report needs a list of at least one result: pass [result]."
            raise InputError(message)

    def html(self) -> str:
        """Return the report as HTML."""
        environment = _environment()
        style, script = _template_text("page.css"), _template_text("page.js")
        views = [summarise(result, number) for number, result in enumerate(self.results, start=1)]
        page = environment.get_template("page.html").render(
            views=views,
            style=Inert(style),
            script=Inert(script),
            policy=_policy(style, script),
            version=_version(),
            bibtex=bibtex().strip(),
            paper=PAPER,
        )
        # Undecodable file names contain lone surrogates, which cannot be encoded.
        return page.encode("utf-8", "replace").decode()

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the report to a file atomically and return its path."""
        path = Path(path)
        write_text_atomically(path, self.html())
        return path

    def _repr_html_(self) -> str:
        # A document of its own: neither its style nor its script reaches the notebook.
        page = html.escape(self.html())
        return f'<iframe title="Report" srcdoc="{page}" style="width:100%;height:40em"></iframe>'


def _environment() -> jinja2.Environment:
    import jinja2

    shared = jinja2.PackageLoader("upto.report", "templates")
    own = {
        each.name: jinja2.PackageLoader(each.page.partition(":")[0].rpartition(".")[0], ".")
        for each in questions()
        if each.page is not None
    }
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([shared, jinja2.PrefixLoader(own)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _template_text(name: str) -> str:
    return resources.files("upto.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows only this style and this script."""
    return (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _version() -> str:
    try:
        return metadata.version("upto")
    except metadata.PackageNotFoundError:
        return "unknown"
