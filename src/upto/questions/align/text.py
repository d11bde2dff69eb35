"""The verdict and the findings of an alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Estimate, Finding
from upto.questions.align.carriers import AFFINE, PHRASES
from upto.questions.align.result import BACK, MIXED
from upto.questions.align.unlike import FAR_PAIRS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from upto.questions.align.result import Advice, AlignResult, CarryingMap, PairsPoint

DOUBLINGS = 5
"""Doublings of the pairs, to 32 times as many, within which the recall could become enough."""
FEW_QUERIES, FAR, CARRIED_LENGTHS, WORTH = 200, 32, 0.9, 0.01
"""Limits of the findings: queries, index over judged rows, correlation of lengths, and gain by the
last doubling of the pairs."""


def advise(result: AlignResult, asked: int) -> Advice:
    """Return whether the index is worth carrying, from the recall, its interval and what limits it.

    `asked` is the number of rows retrieved that the verdict should have used.
    """
    recall, enough = result.at_size, result.enough
    if (recall.value if recall.low is None else recall.low) >= enough:
        return "carry" if asked == result.decides else "unclear"
    if (recall.value if recall.high is None else recall.high) < enough:
        return "unclear" if _lacks_pairs(result) else "embed again"
    return "unclear"


def _lacks_pairs(result: AlignResult) -> bool:
    """Return whether more pairs may well raise the recall."""
    width = max(result.old_width, result.new_width)
    if result.n_fitted < 2 * width:
        return True
    gain, recall = gain_by_doubling(result.curve), result.at_size
    # Later doublings gain less than the last one did.
    most = (recall.value if recall.high is None else recall.high) + DOUBLINGS * (gain or 0.0)
    return gain is not None and most >= result.enough


def verdict(result: AlignResult) -> str:
    """State what to do, and the recall that decides."""
    decides = result.decides
    lead = {
        "carry": "Carry the index over",
        "unclear": "Not clear yet",
        "embed again": "Embed everything again",
    }[result.advice]
    if result.advice == "embed again" and len(result.maps) == 1:
        lead += ", or try other maps"
    if result.advice == "carry" and result.chosen == "identity":
        lead = "Keep the index as it is"
    by = PHRASES[result.chosen]
    subject = f"{by}, the index" if result.chosen == "identity" else f"the index, carried {by},"
    rows = f"{decides} nearest rows" if decides > 1 else "nearest rows"
    limit = {
        "carry": f"at least the {result.enough:.0%} asked for",
        "unclear": f"compared with the {result.enough:.0%} asked for",
        "embed again": f"less than the {result.enough:.0%} asked for",
    }[result.advice]
    judged = f"{result.n_rows:,} held-out rows"
    beyond = result.index_size > result.n_rows
    where = f"in an index of {result.index_size:,} rows" if beyond else f"among {judged}"
    sentence = (
        f"{lead}: {subject} finds {_share(result.at_size)} of the {rows} that embedding everything "
        f"again would find {where}, {limit}."
    )
    if beyond:
        sentence += (
            f" This is extrapolated from {judged}, where it finds {_share(result.recall())}."
        )
    chance = decides / (result.index_size - 1)
    others = (
        f"{_share(_in_index(result, result.chosen + BACK))} if queries are carried back into the "
        "old index instead",
        f"{_share(_in_index(result, 'old model'))} with the old model alone",
        f"{f'{chance:.1%}' if chance >= 0.001 else 'less than 0.1%'} by chance",
    )
    if result.advice == "unclear" and _lacks_pairs(result):
        sentence += f" The {result.n_fitted:,} pairs fitted are few: more may raise it."
    if not result.is_size_known:
        sentence += " The size of the index was not given, and in a larger one recall is lower."
    among = f"the {result.index_size:,} rows" if beyond else "the same rows"
    return f"{sentence} Among {among}: {', '.join(others)}."


def _in_index(result: AlignResult, name: str) -> Estimate:
    """Return the recall of a search in an index of the size that the verdict is about."""
    return [each.recall for each in result.sizes if each.name == name][-1]


def _share(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.1%}"
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


def remarks(result: AlignResult, lengths: float) -> Iterator[Finding]:
    """Yield the findings; `lengths` is the correlation of mapped lengths with true ones."""
    # Of few pairs, the distance that one in ten exceeds is not known well.
    most = FAR_PAIRS + max(FAR_PAIRS, 4 * (FAR_PAIRS * (1 - FAR_PAIRS) / result.n_rows) ** 0.5)
    if result.unlike is not None and result.unlike > most:
        yield Finding(
            code="UP101",
            message=f"{result.unlike:.0%} of the sampled rows of the index are far from every "
            f"fitted pair, compared with {FAR_PAIRS:.0%} of the held-out pairs.",
        )
    if result.metric != "cosine" and lengths < CARRIED_LENGTHS:
        yield Finding(
            code="UP102",
            message=f"lengths of mapped rows correlate with those of {result.new} by "
            f"{lengths:.2f}.",
        )
    yield from _beyond_affine(result)
    if (gain := gain_by_doubling(result.curve)) is not None:
        yield Finding(
            code="UP104",
            message=f"from {result.curve[-2].n_pairs:,} to {result.curve[-1].n_pairs:,} pairs, "
            f"recall@{result.decides} rose by {gain:.3f}.",
        )
    if result.index_size > FAR * result.n_rows:
        yield Finding(
            code="UP105",
            message=f"{result.n_rows:,} rows were judged, and the index has "
            f"{result.index_size:,}, {result.index_size / result.n_rows:,.0f} times as many.",
        )
    if result.n_queries < FEW_QUERIES:
        yield Finding(code="UP106", message=f"{result.n_queries} held-out rows are queries.")
    mixed, whole = result.recall(MIXED), result.recall()
    if mixed.high is not None and whole.low is not None and mixed.high < whole.low:
        yield Finding(
            code="UP109",
            message=f"recall@{result.decides} is {mixed:.3f} if half of the index is embedded "
            f"again, and {whole:.3f} if all of it is carried.",
        )
    staying = result.recall("old model")
    low = result.recall().low
    is_better = staying.value < (result.recall().value if low is None else low)
    if result.chosen != "identity" and result.advice != "carry" and not is_better:
        yield Finding(
            code="UP107",
            message=f"recall@{result.decides} is {result.recall():.3f} in the carried index and "
            f"{staying:.3f} with the old model alone.",
        )


def _beyond_affine(result: AlignResult) -> Iterator[Finding]:
    def of(found: Sequence[CarryingMap]) -> CarryingMap | None:
        return max(found, key=lambda each: result.recall(each.name).value, default=None)

    straight = of([each for each in result.maps if each.name in AFFINE])
    bent = of([each for each in result.maps if each.name not in AFFINE])
    if straight is None or bent is None:
        return
    below, above = result.recall(straight.name), result.recall(bent.name)
    if above.low is not None and below.high is not None and above.low > below.high:
        yield Finding(
            code="UP103",
            message=f"{bent.name} has recall@{result.decides} {above:.3f}, the best affine map, "
            f"{straight.name}, {below:.3f}.",
        )


def gain_by_doubling(curve: Sequence[PairsPoint]) -> float | None:
    """Return what the last doubling of the pairs gained, if it is worth naming."""
    if len(curve) < 2:
        return None
    before, after = curve[-2].recall, curve[-1].recall
    gain = after.value - before.value
    if before.low is None or before.high is None:
        return None
    error = (before.high - before.low) / 4
    return gain if gain > max(WORTH, error) else None
