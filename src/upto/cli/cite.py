"""`upto cite [RESULT.json…]`: BibTeX of upto and of the papers behind results."""

from __future__ import annotations

from pathlib import Path

import click

from upto.cli.exits import EPILOG


@click.command("cite", epilog=EPILOG)
@click.argument("results", nargs=-1, type=click.Path(path_type=Path), metavar="[RESULT.json…]")
def command(results: tuple[Path, ...]) -> None:
    """Print BibTeX of upto, of the paper it implements and of those behind what results used.

    \b
    upto compare a.npy b.npy -o ab.json
    upto cite ab.json > references.bib
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from upto.cli.report import read_results
    from upto.core.references import bibtex

    read = read_results(results)
    versions = {result.provenance.versions.get("upto") for result in read}
    papers = [paper for result in read for paper in result.papers()]
    click.echo(bibtex(papers, versions.pop() if len(versions) == 1 else None), nl=False)
