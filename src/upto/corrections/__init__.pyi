from upto.corrections.biology import BiologyComponents as BiologyComponents
from upto.corrections.combat import ComBat as ComBat
from upto.corrections.harmony import Harmony as Harmony
from upto.corrections.pipeline_scores import BatchScorer as BatchScorer
from upto.corrections.random_rotation import RandomRotation as RandomRotation
from upto.corrections.sphering import ControlSphering as ControlSphering
from upto.corrections.standardise import BatchScaler as BatchScaler
from upto.corrections.typical import TypicalVariation as TypicalVariation
