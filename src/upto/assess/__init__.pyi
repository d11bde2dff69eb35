from upto.assess.applying import apply_transform as apply_transform
from upto.assess.batches.scoring import score_batches as score_batches
from upto.assess.comparing import compare as compare
from upto.assess.factors.scoring import score_factors as score_factors
