"""`upto report RESULT.json…`: build an HTML report from saved results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from upto.cli.exits import EPILOG, say
from upto.cli.options import page_option
from upto.cli.output import check_page, check_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from upto.core import Result


@click.command("report", epilog=EPILOG)
@click.argument(
    "results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULT.json…"
)
@page_option
def command(results: tuple[Path, ...], output: Path) -> None:
    """Combine results saved as JSON into one self-contained HTML report.

    \b
    upto compare a.npy b.npy -o ab.json
    upto compare a.npy c.npy -o ac.json
    upto report ab.json ac.json -o report.html
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    check_places({"-o": output})
    check_page(output)
    from upto.core.files import write_text_atomically

    read = read_results(results)
    write_text_atomically(output, render_read(dict(zip(results, read, strict=True))))
    say(f"wrote {output}")


def read_results(paths: Sequence[Path]) -> list[Result]:
    """Read saved results of any kind."""
    from upto.core import InputError, StudyResult, result_from_json
    from upto.core.errors import one_sentence
    from upto.core.read_file import read_whole
    from upto.question import questions, resolve

    kinds = {each.name: resolve(each.result) for each in questions()}
    kinds[StudyResult.kind] = StudyResult
    read: list[Result] = []
    for path in paths:
        text = read_whole(path)
        try:
            read.append(result_from_json(text, kinds))
        except InputError as error:
            raise InputError(one_sentence(f"{path}: {error}")) from None
    return read


def render_read(results: Mapping[Path, Result]) -> str:
    """Return the HTML report of results that were read from files.

    Raises
    ------
    InputError
        If a result cannot be rendered, because it was not written by upto.
    """
    from upto.core import InputError, UptoError
    from upto.core.errors import one_sentence, reason
    from upto.report import Report

    try:
        return Report([*results.values()]).html()
    except UptoError:
        raise
    except Exception as error:
        path, result = next(iter(results.items()))
        if len(results) > 1:
            for path, result in results.items():
                render_read({path: result})
            raise
        message = one_sentence(
            f"{path}: this {result.kind} result is damaged, its parts are inconsistent "
            f"({reason(error)}): recompute it."
        )
        raise InputError(message) from None
