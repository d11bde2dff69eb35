"""Figure 1 of Roeder et al. 2021: word embeddings of two trainings, up to a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

if TYPE_CHECKING:
    from upto_studies.outcome import Outcome, Work

Count = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["novels", "drawn"]
    n_sentences: Count
    vocabulary: Annotated[int, Meta(ge=256)]
    losses: Annotated[list[Literal["release", "nce"]], Meta(min_length=1)]
    sizes: Annotated[list[Count], Meta(min_length=1)]
    n_pairs: Count
    reach: Count
    n_noise: Count
    steps: Count
    batch_gaps: Count
    learning_rate: Annotated[float, Meta(gt=0.0)]
    passage: Annotated[int, Meta(ge=20)]
    n_words: Annotated[int, Meta(ge=20)]
    n_gaps: Annotated[int, Meta(ge=20)]
    shown: Annotated[list[Count], Meta(min_length=2, max_length=2)]


def run(settings: Settings, work: Work) -> Outcome:
    """Train models by every loss and of every size, and compare pairs that share no member."""
    from upto_studies.word_agreement import scored_pairs
    from upto_studies.word_runs import trained_words
    from upto_studies.word_tables import outcome_of

    trained = trained_words(settings, work)
    return outcome_of(settings, work, trained, scored_pairs(settings, work, trained))
