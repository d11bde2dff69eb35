"""`upto report RESULT.json…`: a page from results made before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from upto.cli.exits import EPILOG, say
from upto.cli.output import check_places, page_option

if TYPE_CHECKING:
    from upto.core import Result


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
    from upto.core.errors import one_sentence
    from upto.core.reading import read_whole
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
        text = read_whole(path)
        try:
            read.append(result_from_json(text, kinds))
        except InputError as error:
            raise InputError(one_sentence(f"{path}: {error}")) from None
        _refuse_unfit(path, read[-1])
    Report(read).write(output)
    say(f"wrote {output}")


def _refuse_unfit(path: Path, result: Result) -> None:
    """Refuse a result of which no page can be made: upto itself never wrote it."""
    from upto.core import InputError, UptoError
    from upto.core.errors import one_sentence, reason
    from upto.report.summary import summarise

    try:
        summarise(result, 1)
    except UptoError:
        raise
    except Exception as error:  # noqa: BLE001 - parts that do not fit can fail in any way
        message = one_sentence(
            f"{path}: this {result.kind} result is damaged, its parts do not fit each other "
            f"({reason(error)}): make it again."
        )
        raise InputError(message) from None
