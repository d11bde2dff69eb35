"""Table 1 of Nelson et al. 2026 for models trained here, pretrained ones and a user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from upto.core import Column, Estimate, InputError, Table
from upto_studies.order_failures import (
    failures_table,
    order_by_rows,
    rows_panel,
    rows_table,
    swept_rows,
)
from upto_studies.outcome import Outcome
from upto_studies.pretrained_families import read_families
from upto_studies.table_one import (
    by_family,
    curve_panel,
    errors_panel,
    order_share,
    over_models,
    pair_row,
    pairs_table,
    table_one,
)
from upto_studies.trained_pairs import Trained, trained_families

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Cell
    from upto_studies.outcome import Work
    from upto_studies.pretrained_families import Family
    from upto_studies.table_one import PairRow

Count = Annotated[int, Meta(ge=1)]
Rate = Annotated[float, Meta(gt=0.0)]
_CHANCE = 0.98
"""Share of the error of rows paired at random from which a pair is no better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    own_models: list[str]
    inputs: str
    column: str
    pool: str
    n_inputs: Annotated[int, Meta(ge=20)]
    pretrained: bool
    rows_each: Annotated[list[Count], Meta(min_length=2)]
    swept_pairs: Count
    trained: list[Literal["gpt", "mae", "resnet18"]]
    n_seeds: Annotated[int, Meta(ge=2)]
    images: Literal["cifar10", "digits"]
    n_train: Count
    shift: Annotated[int, Meta(ge=0)]
    resnet_epochs: Count
    resnet_batch: Annotated[int, Meta(ge=2)]
    resnet_rate: Rate
    resnet_width: Count
    mae_epochs: Count
    mae_batch: Count
    mae_rate: Rate
    mae_width: Count
    mae_depth: Count
    mae_patch: Count
    texts: Literal["novels", "drawn"]
    n_sentences: Count
    vocabulary: Annotated[int, Meta(ge=257)]
    context: Annotated[int, Meta(ge=4)]
    n_texts: Annotated[int, Meta(ge=20)]
    gpt_width: Count
    gpt_depth: Count
    gpt_heads: Count
    gpt_steps: Count
    gpt_batch: Count
    gpt_rate: Rate


def run(settings: Settings, work: Work) -> Outcome:
    """Make a row for every pair: the user's models, or all families that are here."""
    if settings.own_models:
        return _run_users(settings, work)
    trained = trained_families(settings, work)
    families = [each.family for each in trained]
    if settings.pretrained:
        families += read_families(work.data)
    rows = _rows(families, work)
    swept = swept_rows(families, settings, work)
    titles = {each.family.title for each in trained}
    ours = [row for row in rows if row.family in titles]
    others = [row for row in rows if row.family not in titles]
    measured = _measured(trained, ours, others) | order_by_rows(swept)
    return Outcome(
        measured=measured,
        says=_says(rows),
        tables=(
            table_one(rows),
            _yardsticks_table(trained),
            pairs_table(rows),
            failures_table(rows),
            rows_table(swept),
        ),
        panels=(
            errors_panel(rows),
            rows_panel(swept),
            *(curve_panel(each.family.title, each.losses, each.unit) for each in trained),
        ),
        device=", ".join(dict.fromkeys(each.device for each in trained)) or "cpu",
    )


def _run_users(settings: Settings, work: Work) -> Outcome:
    from upto_studies.user_models import user_families

    if len(settings.own_models) != 2:
        message = f"{len(settings.own_models)} models were given: give two, as in --models A B."
        raise InputError(message)
    families = user_families(settings, work)
    rows = _rows(families, work)
    return Outcome(
        measured={},
        says=_says(rows[-1:]),
        tables=(table_one(rows), pairs_table(rows)),
        panels=(errors_panel(rows),),
        findings=rows[-1].agreement.findings,
        device=work.device,
        tests_claims=False,
    )


def _rows(families: Sequence[Family], work: Work) -> list[PairRow]:
    planned = [(family, pair) for family in families for pair in family.pairs()]
    rows = []
    with work.progress.task("comparing pairs", len(planned)) as advance:
        for family, (first, second) in planned:
            rows.append(pair_row(family, first, second, seed=work.seed))
            advance(1)
    return rows


def _measured(
    trained: Sequence[Trained], ours: Sequence[PairRow], others: Sequence[PairRow]
) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    for name, rows in (("trained", ours), ("pretrained", others)):
        if rows:
            found[f"order in sample/{name}"] = order_share(rows, in_sample=True)
            found[f"order held out/{name}"] = order_share(rows, in_sample=False)
            found[f"permutation above rigid/{name}"] = Estimate(
                value=min(
                    row.agreement.held_out["signed-permutation"]
                    - row.agreement.held_out["similarity"]
                    for row in rows
                )
            )
    for family, rows in by_family([*ours, *others]).items():
        if any(row.agreement.efficiency_in_sample is not None for row in rows):
            found[f"efficiency in sample/{family}"] = over_models(
                rows, lambda row: row.agreement.efficiency_in_sample
            )
        if any(row.agreement.efficiency is not None for row in rows):
            found[f"efficiency/{family}"] = over_models(rows, lambda row: row.agreement.efficiency)
    for each in trained:
        title = each.family.title
        found |= {f"{title}/{name}": value for name, value in each.yardsticks.items()}
    return found | _gains(found)


def _gains(found: dict[str, Estimate]) -> dict[str, Estimate]:
    """Return yardsticks as differences from, or shares of, what needs no network."""
    compared = {
        "ResNet-18 above pixels": ("ResNet-18/accuracy", "ResNet-18/linear classifier on pixels"),
        "MAE above pixels": (
            "MAE/linear classifier on features",
            "MAE/linear classifier on pixels",
        ),
        "MAE over guess": (
            "MAE/error of hidden patches",
            "MAE/error of the mean of seen patches",
        ),
        "GPT over trigrams": ("GPT/perplexity", "GPT/perplexity of trigrams"),
    }
    gains = {}
    for name, (ours, other) in compared.items():
        if ours not in found:
            continue
        base = found[other].value
        gains[name] = _shifted(found[ours], base) if "above" in name else _over(found[ours], base)
    return gains


def _shifted(value: Estimate, base: float) -> Estimate:
    low, high = (None if end is None else end - base for end in (value.low, value.high))
    return Estimate(value=value.value - base, low=low, high=high)


def _over(value: Estimate, base: float) -> Estimate:
    low, high = (None if end is None else end / base for end in (value.low, value.high))
    return Estimate(value=value.value / base, low=low, high=high)


def _yardsticks_table(trained: Sequence[Trained]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (each.family.title, name, value)
        for each in trained
        for name, value in each.yardsticks.items()
    ]
    return Table(
        title="What shows that the networks are trained",
        columns=(*(Column(name=name) for name in ("models", "yardstick")), Column(name="value")),
        rows=tuple(rows),
        caption="On held-out inputs; intervals over members.",
    )


def _says_of_ica(row: PairRow) -> str:
    """Return how much of the rotation ICA removes, and whether that outlasts other rows."""
    efficiency, found = row.agreement.efficiency, row.unmixed
    if efficiency is None:
        return ""
    says = f"; efficiency of ICA {efficiency:.0%}"
    if not row.gains_more_than_a_scale:
        says += ", no more than a scale gains"
    if found is None:
        return f"{says}, from too few rows to test it"
    apart = "–" if found.apart is None else f"{found.apart:.0%}"
    return (
        f"{says}; in the {found.n_components} leading directions {apart} if each model is unmixed "
        f"on rows of its own, and {found.recurrence:.0%} of the components recur"
    )


def _says(rows: Sequence[PairRow]) -> str:
    n_inside, n_outside = (
        sum(row.in_order(in_sample=inside) for row in rows) for inside in (True, False)
    )
    if len(rows) == 1:
        (row,) = rows
        first, second = row.models
        errors = row.agreement.held_out
        says = (
            f"{first} and {second} of {row.family} differ by {errors['signed-permutation']:.3f} up "
            f"to permutation, {errors['similarity']:.3f} up to a rigid motion, "
            f"{errors['affine']:.3f} up to a linear map and {errors['ica']:.3f} after ICA, held out"
        )
        chance = row.agreement.chance["similarity"]
        if errors["similarity"] > _CHANCE * chance:
            return f"{says}; rows paired at random differ by {chance:.3f} up to a rigid motion"
        return says + _says_of_ica(row)
    families = by_family(rows)
    return (
        f"permutation > ICA > rigid ≥ linear holds for {n_inside} of {len(rows)} pairs of "
        f"{len(families)} families in sample and for {n_outside} held out; ICA is ahead of a "
        f"permutation with one scale for {sum(row.gains_more_than_a_scale for row in rows)}, held "
        "out"
    )
