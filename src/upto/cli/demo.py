"""`upto demo`: compare bundled real embeddings."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from upto.cli.exits import EPILOG
from upto.cli.options import page_option

if TYPE_CHECKING:
    from pathlib import Path

    from upto.questions.compare.result import CompareResult

CHAPTERS = (
    (
        "Two networks that learned the same task",
        "ResNet-20 and ResNet-32 were trained on CIFAR-10 with the same code from different "
        "initialisations. Each embeds an image in 64 dimensions. Are the representations the same?",
    ),
    (
        "Two members of an ensemble",
        "ADMET-AI includes several graph networks of one architecture, trained on the same "
        "molecules from different initialisations. Each embeds a molecule in 300 dimensions.",
    ),
    (
        "Four networks at once",
        "ResNet-20, -32, -44 and -56, every pair in both directions.",
    ),
)


@click.command("demo", epilog=EPILOG)
@page_option
def command(output: Path) -> None:
    """Compare bundled embeddings of public trained networks and explain the results."""
    from rich.text import Text

    import upto
    from upto.cli.output import check_page, check_places, console_for
    from upto.core import InputError
    from upto.files import bundled_path
    from upto.report import Report

    check_places({"-o": output})
    check_page(output)
    console = console_for(stderr=False)
    is_watched = sys.stderr.isatty()
    resnets = bundled_path("cifar_resnets")
    arguments: list[tuple[list[str], dict[str, Any]] | None] = [
        ([f"{resnets}::resnet{depth}" for depth in (20, 32)], {"labels": "label"}),
        None,
        ([f"{resnets}::resnet{depth}" for depth in (20, 32, 44, 56)], {}),
    ]
    # This excerpt is too large for the wheel; only a checkout has it.
    with suppress(InputError):
        members = bundled_path("admet_members")
        arguments[1] = ([f"{members}::member{number}" for number in (0, 1)], {})
    chapters = [
        (*chapter, *given)
        for chapter, given in zip(CHAPTERS, arguments, strict=True)
        if given is not None
    ]
    results: list[Any] = []
    for number, (title, story, runs, options) in enumerate(chapters, 1):
        console.print(Text(f"\n{number}. {title}", style="bold cyan"))
        console.print(Text(f"{story}\n"))
        results.append(upto.compare(*runs, progress=is_watched, **options))
        console.print(Text(results[-1].verdict, style="bold"))
        console.print(results[-1].tables()[0])
        if len(runs) == 2:
            console.print(Text(_in_words(results[-1]) + "\n"))
    Report(results).write(output)
    console.print(Text(f"\nWrote {output}: open it in a browser.", style="bold"))
    console.print(
        Text(
            "Try your own: upto compare first.npy second.npy --report report.html\n"
            "The excerpts and their licences are in upto/files/bundled/README.md."
        )
    )


def _in_words(result: CompareResult) -> str:
    permutation, rotation, affine = result.signed_permutation, result.similarity, result.affine
    lines = [
        f"Matching coordinates one to one leaves an error of {permutation.error.value:.1%} of the "
        f"diameter; a rotation with one scale leaves {rotation.error.value:.1%}, an affine map "
        f"{affine.error.value:.1%}.",
    ]
    if affine.chance is not None and result.mean is not None and result.mean.held_out is not None:
        lines.append(
            f"Predicting the mean leaves {result.mean.held_out.mean.value:.1%} and a map fitted to "
            f"permuted rows {affine.chance.mean.value:.1%}, so the agreement is real."
        )
    if result.shared is not None:
        lines.append(
            f"It is partial: of {result.shared.n_first} directions the networks agree on "
            f"{result.shared.n_shared}, which account for {result.shared.variance_first:.0%} of "
            "the variance."
        )
    if result.efficiency is not None and result.efficiency > 0:
        lines.append(
            f"ICA, fitted to each network separately, removes {result.efficiency:.0%} of the error "
            "that the rotation removes."
        )
    elif result.efficiency is not None:
        lines.append(
            "ICA, fitted to each network separately, does not find that rotation here: its error "
            f"is {result.ica.error.value:.1%}. The findings in the report explain why."
        )
    fit = None if result.up_to is None else result.fit(result.up_to)
    if fit is not None and fit.supremum is not None:
        least = "" if fit.supremum.low is None else f" and at least {fit.supremum.low:.1%}"
        lines.append(
            f"In sample, the smallest possible error of the worst row {fit.up_to.manner} is at "
            f"most {fit.supremum.high:.1%}{least}."
        )
    return "\n".join(lines)
