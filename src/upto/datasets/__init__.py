"""Published image sets, read from files that the user has."""

from upto.datasets.read import IMAGE_SETS, read_image_set
from upto.datasets.record import ImageSet, Pictures

__all__ = ["IMAGE_SETS", "ImageSet", "Pictures", "read_image_set"]
