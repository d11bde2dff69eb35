from upto.batch_metrics import classifiers as classifiers
from upto.batch_metrics import effects as effects
from upto.batch_metrics import mixing as mixing
from upto.batch_metrics import retrieval as retrieval
