"""Descriptions of published image sets and their files."""

from __future__ import annotations

from dataclasses import dataclass

from upto.core import FactorGrid


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """Published checksums of a file.

    Parameters
    ----------
    size
        Size in bytes.
    md5, sha256
        Hash of the whole file, one or the other.
    pieces
        MD5 of its size (eight bytes, big-endian) and of its first, middle and last 16 KiB.
    unpacked
        MD5 of the decompressed content, if it may be gzipped.
    """

    size: int | None = None
    md5: str | None = None
    sha256: str | None = None
    pieces: str | None = None
    unpacked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSet:
    """Published facts about an image set.

    Parameters
    ----------
    name, title
        Name for `read_image_set`, and name given by its publishers.
    source, licence, size
        Source of its files, their licence and their size.
    layout
        Description of the expected files.
    names
        Alternative files; one is enough.
    places
        Subfolders that are searched too.
    n_images, pixels
        Number of images, and their height, width and channels; None if several sizes were
        published.
    factor_names
        Names of the factors.
    levels
        Values of each factor if all combinations exist, the last factor varying fastest.
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
        """Grid of its factors, for sets with all combinations of levels."""
        return FactorGrid(names=self.factor_names, values=self.levels or ())
