from upto_studies.outcome import Outcome as Outcome
from upto_studies.outcome import Work as Work
from upto_studies.run import run_study as run_study

STUDIES: dict[str, str]
