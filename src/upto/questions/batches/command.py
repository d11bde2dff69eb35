"""`upto batches RUN --batch COL --label COL`: which transform lets labels transfer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from upto.cli.exits import EPILOG, Exit, check_strictly, own_words, stop
from upto.cli.options import complete_file, output_options, report_option, strict_option

if TYPE_CHECKING:
    from pathlib import Path

    from upto.cli.output import Output
    from upto.core import Table

_NOT_WITH_KEEP = (
    "conditions",
    "tasks",
    "fold_by",
    "well",
    "scheme",
    "folds",
    "fit",
    "n_components",
    "classifier",
    "concentration",
    "shuffled",
    "probe_labels",
    "mixing",
    "maps",
    "report",
)
CLASSIFIERS = ("boosted", "boosted-fast", "linear")
"""The names of `upto.batch_metrics.classifiers`, here again because importing them takes NumPy."""


def _split(_context: object, _parameter: object, values: tuple[str, ...]) -> tuple[str, ...]:
    """Take names given again and names with commas between them."""
    names = tuple(name.strip() for value in values for name in value.split(",") if name.strip())
    if values and not names:
        message = f"{values[0]!r} names no condition; --list shows those there are."
        raise click.BadParameter(message)
    return names


def _number(_context: object, _parameter: object, value: str | None) -> int | float | None:
    """Read a number of directions, or the share of variance that they reach."""
    if value is None:
        return None
    if value.isdecimal() and int(value) >= 1:
        return int(value)
    try:
        share = float(value)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        message = (
            f"{value!r} is neither a number of directions, as 20, nor a share of variance between "
            "0 and 1, as 0.95."
        )
        raise click.BadParameter(message)
    return share


@click.command("batches", epilog=EPILOG)
@click.argument("run", metavar="RUN", required=False, shell_complete=complete_file)
@click.option(
    "--batch",
    multiple=True,
    metavar="COL",
    help="Column of batches, as plates; given again, columns make a batch together.",
)
@click.option("--label", metavar="COL", help="Column of labels, as perturbations.")
@click.option(
    "--control", metavar="VALUE", help="Label of controls; without, one against the rest."
)
@click.option(
    "--conditions",
    multiple=True,
    metavar="NAMES",
    callback=_split,
    help="Transforms, as base,ica,control-scaled+ica or all; may be given again.",
)
@click.option("--list", "listed", is_flag=True, help="List the conditions and do nothing else.")
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="LABEL",
    help="Label to judge, by name or pattern; may be given again; all by default.",
)
@click.option(
    "--fold-by",
    multiple=True,
    metavar="COL",
    help="Column whose values are held out as a whole, as days; the batches by default.",
)
@click.option(
    "--well", metavar="COL", help="Column of well positions; found by its name if not given."
)
@click.option(
    "--scheme",
    type=click.Choice(("folds", "one-trains")),
    default="folds",
    show_default=True,
    help="Hold out a part of the batches in turn, or train on one at a time.",
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Parts of the batches that are held out in turn.",
)
@click.option(
    "--fit",
    type=click.Choice(("training", "all")),
    default="training",
    show_default=True,
    help="Rows that transforms are fitted to; all is the paper's way.",
)
@click.option(
    "--n-components",
    metavar="NUMBER",
    callback=_number,
    help="Directions that whitening keeps, or the share of variance they reach; all by default.",
)
@click.option(
    "--classifier",
    type=click.Choice(CLASSIFIERS),
    default="boosted",
    show_default=True,
    help="LightGBM as in the paper, a faster form of it, or logistic regression.",
)
@click.option(
    "--concentration",
    multiple=True,
    type=click.FloatRange(0, 100, min_open=True, max_open=True),
    default=(25.0,),
    show_default=True,
    help="Per cent of the columns that are tried alone; may be given again.",
)
@click.option(
    "--shuffled/--no-shuffled",
    default=True,
    show_default=True,
    help="Train again on shuffled labels.",
)
@click.option(
    "--probe-labels",
    type=click.IntRange(1),
    default=60,
    show_default=True,
    help="Labels, drawn where there are more, that are shuffled and tried on parts of the columns.",
)
@click.option(
    "--mixing/--no-mixing", default=True, help="Score how batches mix.", show_default=True
)
@click.option(
    "--maps/--no-maps", default=True, help="Lay rows on a plane for the page.", show_default=True
)
@click.option(
    "--keep", type=click.Choice(("biology",)), help="Write RUN without its batch components to OUT."
)
@click.option(
    "--space",
    type=click.Choice(("original", "components")),
    default="original",
    show_default=True,
    help="With --keep: write the coordinates of RUN, or the components that are kept.",
)
@click.option("--ids", help="Column or entry with one id a row.")
@strict_option
@report_option
@output_options
def command(
    *,
    output: Output,
    run: str | None,
    listed: bool,
    keep: str | None,
    **options: Any,
) -> None:
    """Tell which transform of an embedding lets labels transfer to batches never seen.

    RUN is a file of embeddings with columns, or FILE::KEY: parquet, CSV, h5ad, npz and others.
    Transforms are fitted to some batches, a classifier learns every label against controls on them,
    and is judged on the other batches. Shown are AUROCs with intervals, what each transform gains
    over the embedding as given, and what labels are told by without any biology.

    \b
    upto batches wells.parquet --batch Metadata_Plate --label Metadata_JCP2022 --control DMSO
    upto batches cells.h5ad::X_emb --batch experiment --batch plate --label gene --report page.html
    upto batches wells.parquet --batch Plate --label gene --conditions base,ica,control-scaled+ica
    upto batches wells.parquet --batch Plate --label gene --keep biology -o clean.parquet
    upto batches --list
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if listed:
        output.check()
        output.show_table(_catalogue())
        return
    if run is None:
        message = "Missing argument 'RUN'."
        raise click.UsageError(message)
    for name, words in (("batch", "batches"), ("label", "labels")):
        if not options[name]:
            message = f"Missing option '--{name}': name the column of {words}."
            raise click.UsageError(message)
    with own_words():
        if keep is not None:
            _keep(output, run, options)
        else:
            _judge(output, run, options)


def _judge(output: Output, run: str, options: dict[str, Any]) -> None:
    report: Path | None = options.pop("report")
    strict, ids = options.pop("strict"), options.pop("ids")
    options.pop("space")
    _refuse(("space",), "is for --keep, which is not given: add that or drop this")
    output.check(page=report)
    import upto
    from upto.core import InputError
    from upto.files import read_runs

    runs = read_runs([run], ids=ids)
    if len(runs) != 1:
        message = f"one run is judged at a time, and {run} lists {len(runs)}: name one."
        raise InputError(message)
    result = upto.batches(
        runs[0],
        conditions=options.pop("conditions") or None,
        fold_by=options.pop("fold_by") or None,
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
        **options,
    )
    output.publish(result, report)
    if strict:
        check_strictly(result)


def _refuse(names: tuple[str, ...], why: str) -> None:
    """Refuse options that would change nothing."""
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is ParameterSource.COMMANDLINE:
            message = f"{parameter.opts[0]} {why}."
            raise click.UsageError(message)


def _keep(output: Output, run: str, options: dict[str, Any]) -> None:
    _refuse(_NOT_WITH_KEEP, "is for judging, and --keep judges nothing: drop one")
    out = output.path
    if out is None:
        message = "--keep writes an embedding: give the file with -o OUT."
        raise click.UsageError(message)
    # The file is an embedding, and what was found goes to stdout.
    output = replace(output, path=None)
    output.check(rows=("-o", out))
    from upto.questions.batches.remove_batch import keep_biology

    found = keep_biology(
        run,
        out,
        ids=options["ids"],
        batch=options["batch"],
        label=options["label"],
        control=options["control"],
        space=options["space"],
        seed=output.seed,
        engine=output.engine,
        progress=output.watcher(),
    )
    output.show_table(_kept(found))
    output.say(f"wrote {out}: {found.says}")
    if not found.converged and options["strict"]:
        stop(Exit.NOT_CONVERGED, "ICA did not converge and --strict was given; see UP004.")


def _kept(found: Any) -> Table:
    from upto.core import Column, Table

    dropped = set(found.dropped)
    return Table(
        title="Components",
        columns=tuple(
            Column(name=name, spec=".3f")
            for name in (
                "component",
                "carries",
                "share of batch",
                "share of label",
                "label moves it at most",
                "written",
            )
        ),
        rows=tuple(
            (
                effect.component,
                effect.carries,
                effect.batch_share,
                effect.label_share,
                effect.label_shift,
                "no" if effect.component in dropped else "yes",
            )
            for effect in found.effects
        ),
        caption="in sample" if found.converged else "in sample; ICA did not converge (UP004)",
    )


def _catalogue() -> Table:
    from upto.core import Column, Table
    from upto.questions.batches.conditions import CONDITIONS, DEFAULT, WITH_CONTROLS

    return Table(
        title="Conditions",
        columns=tuple(
            Column(name=name) for name in ("condition", "title", "needs", "what it does")
        ),
        rows=tuple((kind.name, kind.title, kind.needs, kind.says) for kind in CONDITIONS.values()),
        caption=f"without --conditions: {', '.join(DEFAULT)}; with --control: "
        f"{', '.join(WITH_CONTROLS)}; a plus puts one after another",
    )
