"""Published image sets, read from local files."""

from upto.datasets.image_set import ImageSet, Pictures
from upto.datasets.read import IMAGE_SETS, read_image_set

__all__ = ["IMAGE_SETS", "ImageSet", "Pictures", "read_image_set"]
