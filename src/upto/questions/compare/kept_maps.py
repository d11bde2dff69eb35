"""The maps of a comparison as estimators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Group
from upto.questions.compare.pair import CONSTANT, UNMIXED, Map

if TYPE_CHECKING:
    from upto.alignment import Aligner


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Maps:
    """Maps of the first run onto the second, by row of the table.

    `names` and `target_names` are the names of the coordinates of the first and second run, if they
    have any. No rows are kept.
    """

    maps: Mapping[str, Map]
    n_features: int
    names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, maps: Mapping[str, Map], n_features: int) -> Maps:
        """Keep every map but the mean."""
        kept = {name: each for name, each in maps.items() if name != CONSTANT}
        return cls(maps=kept, n_features=n_features)

    def aligner(self, name: str) -> Aligner:
        """Return the map of a row as a fitted estimator.

        ICA in both runs and a matching of components are one affine map together.
        """
        from upto.alignment import Aligner  # imports scikit-learn, which takes a second

        up_to = Group.AFFINE if name in UNMIXED else Group(name)
        aligner = Aligner(str(up_to)).keep(
            self.maps[name], self.n_features, target_names=self.target_names
        )
        if self.names:
            aligner.feature_names_in_ = np.array(self.names, dtype=object)
        return aligner
