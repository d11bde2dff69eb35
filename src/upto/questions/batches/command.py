"""`upto batches RUN --batch COL --label COL`: compare transforms on unseen batches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from upto.cli.exits import EPILOG, Exit, check_strictly, stop
from upto.cli.options import complete_file, output_options, report_option, strict_option
from upto.core.extras import check_extra

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
"""Copy of the names in `upto.batch_metrics.classifiers`, whose import requires NumPy."""


def _split(_context: object, _parameter: object, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split comma-separated names of a repeatable option."""
    names = tuple(name.strip() for value in values for name in value.split(",") if name.strip())
    if values and not names:
        message = f"{values[0]!r} names no condition; --list shows the available ones."
        raise click.BadParameter(message)
    return names


def _number(_context: object, _parameter: object, value: str | None) -> int | float | None:
    """Read a number of components, or the fraction of variance to keep."""
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
            f"{value!r} is neither a number of components, e.g. 20, nor a fraction of variance "
            "between 0 and 1, e.g. 0.95."
        )
        raise click.BadParameter(message)
    return share


@click.command("batches", epilog=EPILOG)
@click.argument("run", metavar="RUN", required=False, shell_complete=complete_file)
@click.option(
    "--batch",
    multiple=True,
    metavar="COL",
    help="Batch column, e.g. plate. Repeat to combine columns.",
)
@click.option("--label", metavar="COL", help="Label column, e.g. perturbation.")
@click.option(
    "--control",
    metavar="VALUE",
    help="Label of the controls. By default each label is compared with all others.",
)
@click.option(
    "--conditions",
    multiple=True,
    metavar="NAMES",
    callback=_split,
    help="Transforms, e.g. base,ica,control-scaled+ica, or all. Repeatable.",
)
@click.option("--list", "listed", is_flag=True, help="List the available conditions and exit.")
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="LABEL",
    help="Label to evaluate, by name or pattern. Repeatable; all by default.",
)
@click.option(
    "--fold-by",
    multiple=True,
    metavar="COL",
    help="Column whose values are held out as a whole, e.g. day; batches by default.",
)
@click.option(
    "--well", metavar="COL", help="Column of well positions; detected by name by default."
)
@click.option(
    "--scheme",
    type=click.Choice(("folds", "one-trains")),
    default="folds",
    show_default=True,
    help="Hold out parts of the batches in turn, or train on one batch at a time.",
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Number of folds of batches.",
)
@click.option(
    "--fit",
    type=click.Choice(("training", "all")),
    default="training",
    show_default=True,
    help="Rows that transforms are fitted to; the paper uses all.",
)
@click.option(
    "--n-components",
    metavar="NUMBER",
    callback=_number,
    help="Components kept by whitening: a number or a fraction of variance; all by default.",
)
@click.option(
    "--classifier",
    type=click.Choice(CLASSIFIERS),
    default="boosted",
    show_default=True,
    help="LightGBM as in the paper, a faster variant of it, or logistic regression.",
)
@click.option(
    "--concentration",
    multiple=True,
    type=click.FloatRange(0, 100, min_open=True, max_open=True),
    default=(25.0,),
    show_default=True,
    help="Percentage of top columns that are tested alone. Repeatable.",
)
@click.option(
    "--shuffled/--no-shuffled",
    default=True,
    show_default=True,
    help="Also train on shuffled labels.",
)
@click.option(
    "--probe-labels",
    type=click.IntRange(1),
    default=60,
    show_default=True,
    help="Largest number of labels, drawn at random, for shuffling and concentration.",
)
@click.option("--mixing/--no-mixing", default=True, help="Score batch mixing.", show_default=True)
@click.option(
    "--maps/--no-maps", default=True, help="Add t-SNE maps to the report.", show_default=True
)
@click.option(
    "--keep", type=click.Choice(("biology",)), help="Write RUN to OUT without its batch components."
)
@click.option(
    "--space",
    type=click.Choice(("original", "components")),
    default="original",
    show_default=True,
    help="With --keep: write the coordinates of RUN or the kept components.",
)
@click.option("--ids", help="Column or entry with one id per row.")
@strict_option
@report_option
@output_options
def command(
    *, output: Output, run: str | None, listed: bool, keep: str | None, **options: Any
) -> None:
    """Test which transform of an embedding lets labels transfer to unseen batches.

    RUN is a file of embeddings with metadata columns, or FILE::KEY: parquet, CSV, h5ad, npz and
    others. Transforms and classifiers of each label against controls are fitted to some batches and
    tested on the others. The output lists AUROCs with intervals, the gain of each transform over
    the unmodified embedding, and how well labels are predicted without any biology.

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
    if keep is not None:
        _keep(output, run, options)
    else:
        _judge(output, run, options)


def _judge(output: Output, run: str, options: dict[str, Any]) -> None:
    report: Path | None = options.pop("report")
    strict, ids = options.pop("strict"), options.pop("ids")
    options.pop("space")
    _refuse(("space",), "requires --keep: add --keep or drop this option")
    output.check(page=report)
    # What is missing is said before scikit-learn is imported, and a table read at once.
    if options["classifier"] != "linear":
        check_extra("boost", f"the classifier {options['classifier']}")
    conditions = options.pop("conditions") or None
    if any(each == "all" or "harmony" in each for each in conditions or ()):
        check_extra("harmony", "Harmony")
    import upto
    from upto.files.accept import single_run

    result = upto.batches(
        single_run(run, "batches", ids=ids),
        conditions=conditions,
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
    """Refuse options that would have no effect."""
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is ParameterSource.COMMANDLINE:
            message = f"{parameter.opts[0]} {why}."
            raise click.UsageError(message)


def _keep(output: Output, run: str, options: dict[str, Any]) -> None:
    _refuse(
        _NOT_WITH_KEEP, "cannot be combined with --keep, which evaluates nothing: drop one of them"
    )
    out = output.path
    if out is None:
        message = "--keep writes an embedding: name the file with -o OUT."
        raise click.UsageError(message)
    # OUT is the embedding, so the table goes to stdout.
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
    from upto.core.table import Table, columns

    dropped = set(found.dropped)
    heads = ("component", "carries", "share of batch", "share of label")
    return Table(
        title="Components",
        columns=columns(*heads, "largest label shift", "written", spec=".3f"),
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
    from upto.core.table import Table, columns
    from upto.questions.batches.conditions import CONDITIONS, DEFAULT, WITH_CONTROLS

    return Table(
        title="Conditions",
        columns=columns("condition", "title", "needs", "what it does"),
        rows=tuple((kind.name, kind.title, kind.needs, kind.says) for kind in CONDITIONS.values()),
        caption=f"without --conditions: {', '.join(DEFAULT)}; with --control: "
        f"{', '.join(WITH_CONTROLS)}; + applies conditions in sequence",
    )
