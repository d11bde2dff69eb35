"""`upto report RESULT.json…`: a page from results made before."""

from __future__ import annotations

from pathlib import Path

import click

from upto.cli.exits import EPILOG, say
from upto.cli.output import check_places, page_option


@click.command("report", epilog=EPILOG)
@click.argument(
    "results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULT.json…"
)
@page_option
def command(results: tuple[Path, ...], output: Path) -> None:
    """Make one self-contained page from results that were written as JSON.

    \b
    upto compare a.npy b.npy -o ab.json
    upto compare a.npy c.npy -o ac.json
    upto report ab.json ac.json -o report.html
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    check_places({"-o": output})
    from upto.core import (
        Batches,
        Comparison,
        ComparisonMatrix,
        Consensus,
        Diversity,
        Factors,
        InputError,
        Inspection,
        Layers,
        Lipschitz,
        Similarities,
        StudyResult,
        Unmixed,
        result_from_json,
    )
    from upto.report import Report

    known = (
        Batches,
        Comparison,
        ComparisonMatrix,
        Consensus,
        Diversity,
        Factors,
        Inspection,
        Layers,
        Lipschitz,
        Similarities,
        StudyResult,
        Unmixed,
    )
    kinds = {each.kind: each for each in known}
    read = []
    for path in results:
        try:
            text = path.read_bytes()
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}."
            raise InputError(message) from None
        try:
            read.append(result_from_json(text, kinds))
        except InputError as error:
            message = f"{path}: {error}"
            raise InputError(message) from None
    Report(read).write(output)
    say(f"wrote {output}")
