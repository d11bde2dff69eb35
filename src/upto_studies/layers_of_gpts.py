"""Figure 4 of Roeder et al. 2021: which layers of differently sized GPTs agree linearly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from upto_studies.gpt_agreement import LayerStates, PairScores, Passages, pair_scores

if TYPE_CHECKING:
    from upto_studies.gpt_states import TrainedSizes
    from upto_studies.outcome import Outcome, Work

Count = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0.0)]
Kind = Literal["sizes", "sizes within positions", "untrained sizes", "seeds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["novels", "drawn"]
    n_sentences: Count
    vocabulary: Annotated[int, Meta(ge=256)]
    widths: Annotated[list[Count], Meta(min_length=2)]
    depths: Annotated[list[Count], Meta(min_length=2)]
    head_width: Count
    layers: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2)]
    n_seeds: Annotated[int, Meta(ge=2)]
    context: Annotated[int, Meta(ge=2)]
    steps: Count
    batch_texts: Count
    learning_rate: Annotated[float, Meta(gt=0.0)]
    weight_decay: NotNegative
    dropout: Annotated[float, Meta(ge=0.0, lt=1.0)]
    bfloat16: bool
    n_texts: Annotated[int, Meta(ge=8)]
    rows_of_text: Count
    directions: Annotated[list[Count], Meta(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPair:
    """Scores of one layer of two GPTs.

    Parameters
    ----------
    kind
        Pairs of sizes of one seed, the same without the mean state of each position or before
        training, or pairs of seeds of one size.
    unit
        Number of the seed for pairs of sizes and of the size for pairs of seeds. Units share no
        training, so intervals are over them.
    names
        What differs in the pair.
    back
        Layers before the last.
    scores
        Scores.
    """

    kind: Kind
    unit: int
    names: tuple[str, str]
    back: int
    scores: PairScores


def run(settings: Settings, work: Work) -> Outcome:
    """Train every size from every seed and compare layers of all pairs."""
    from upto_studies.gpt_states import trained_sizes
    from upto_studies.gpt_tables import outcome_of

    trained = trained_sizes(settings, work)
    return outcome_of(settings, work, trained, scored_pairs(settings, work, trained))


def planned_pairs(n_sizes: int, n_seeds: int) -> list[tuple[Kind, int, tuple[int, int, int, int]]]:
    """Return kind, unit, and size and seed of the source and of the target of every pair.

    The narrower GPT is mapped onto the wider. Seeds are compared with the next one, in a ring.
    """
    found: list[tuple[Kind, int, tuple[int, int, int, int]]] = []
    for seed in range(n_seeds):
        for narrow, wide in combinations(range(n_sizes), 2):
            both = (narrow, seed, wide, seed)
            found.append(("sizes", seed, both))
            found.append(("sizes within positions", seed, both))
            found.append(("untrained sizes", seed, both))
    for size in range(n_sizes):
        for seed in range(n_seeds if n_seeds > 2 else 1):
            found.append(("seeds", size, (size, seed, size, (seed + 1) % n_seeds)))
    return found


def scored_pairs(settings: Settings, work: Work, trained: TrainedSizes) -> list[ScoredPair]:
    """Compare every chosen layer of every pair."""
    passages = Passages(trained.passages, work.seed)
    planned = planned_pairs(len(trained.runs), settings.n_seeds)
    found = []
    with work.progress.task("comparing layers", len(planned) * len(settings.layers)) as advance:
        for number, back in enumerate(settings.layers):
            # One layer of all members at a time, so that the moments of each are computed once.
            states = _layer_states(settings, trained, passages, number)
            for kind, unit, (size, seed, other, other_seed) in planned:
                scores = pair_scores(
                    states[kind, size, seed],
                    states[kind, other, other_seed],
                    settings.directions,
                    errors=kind in ("sizes", "seeds"),
                )
                names = (
                    (str(seed), str(other_seed))
                    if kind == "seeds"
                    else (str(settings.widths[size]), str(settings.widths[other]))
                )
                found.append(
                    ScoredPair(kind=kind, unit=unit, names=names, back=back, scores=scores)
                )
                advance(1)
    return found


def _layer_states(
    settings: Settings, trained: TrainedSizes, passages: Passages, layer: int
) -> dict[tuple[Kind, int, int], LayerStates]:
    """Return the states of one layer that pairs of each kind, size and seed compare."""
    found: dict[tuple[Kind, int, int], LayerStates] = {}
    for size, run in enumerate(trained.runs):
        for seed in range(settings.n_seeds):
            rows = run.states[layer, seed]
            plain = LayerStates(rows, passages)
            found["sizes", size, seed] = found["seeds", size, seed] = plain
            found["sizes within positions", size, seed] = LayerStates(
                rows, passages, positions=settings.rows_of_text
            )
            found["untrained sizes", size, seed] = LayerStates(run.untrained[layer, seed], passages)
    return found
