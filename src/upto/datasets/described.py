"""How a published set of images and its files are described."""

from __future__ import annotations

from dataclasses import dataclass

from upto.core import FactorGrid


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """What others published of a file.

    Parameters
    ----------
    size
        Its bytes.
    md5, sha256
        One or the other hash of all of it.
    pieces
        The MD5 of its size, eight bytes with the highest first, and of three pieces of 16 KiB: its
        first, its middle and its last.
    unpacked
        The MD5 of what is in it, where it may be gzipped.
    """

    size: int | None = None
    md5: str | None = None
    sha256: str | None = None
    pieces: str | None = None
    unpacked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSet:
    """What is publicly known of a set of images.

    Parameters
    ----------
    name, title
        What `read_image_set` calls it, and what its publishers do.
    source, licence, size
        Where its files come from, under which terms, and how large they are.
    layout
        What is looked for, in words.
    names
        Files of which one is enough.
    places
        Folders within the given one where it is looked for too.
    n_images, pixels
        How many images there are, and the height, width and channels of each; nothing where sets
        of several sizes were published.
    factor_names
        What is known of each image.
    levels
        The values of each factor where all combinations are there, the last running fastest.
    files
        Checksums of files by name.
    """

    name: str
    title: str
    source: str
    licence: str
    size: str
    layout: str
    names: tuple[str, ...] = ()
    places: tuple[str, ...]
    n_images: int
    pixels: tuple[int, int, int] | None
    factor_names: tuple[str, ...]
    levels: tuple[tuple[float, ...], ...] | None = None
    files: dict[str, KnownFile]

    @property
    def grid(self) -> FactorGrid:
        """The grid of its factors, for sets that have all combinations of levels."""
        return FactorGrid(names=self.factor_names, values=self.levels or ())
