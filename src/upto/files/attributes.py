"""Read text attributes of HDF5, checking their lengths before the library allocates memory.

The library cannot return a length without reading the text, so the object header is parsed here
according to the format's specification.
"""

from __future__ import annotations

import struct
from typing import IO, TYPE_CHECKING, Any

from upto.core import InputError
from upto.files.damage import damaged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ATTRIBUTE, _CONTINUATION = 0x0C, 0x10
_MOST_BLOCKS = 64
_LONGEST_BLOCK = 2**20


def text_attribute(path: Path, group: Any, name: str, otherwise: str) -> str:
    """Return an attribute of an HDF5 or zarr group as text.

    Parameters
    ----------
    path
        The file or folder.
    group
        The open group.
    name
        Name of the attribute.
    otherwise
        Value returned if the attribute is missing.

    Raises
    ------
    InputError
        If the declared length of the text exceeds the file.
    """
    if hasattr(group, "id"):
        import h5py

        size = path.stat().st_size
        with path.open("rb") as file:
            base = int(group.file.userblock_size)
            for kind, message in _messages(file, h5py.h5o.get_info(group.id).addr, base):
                length = _text_length(message, name) if kind == _ATTRIBUTE else 0
                if length > size:
                    why = f"{name} is text of {length} bytes in a file of {size}"
                    raise InputError(damaged(path, why))
    return str(group.attrs.get(name, otherwise))


def _text_length(message: bytes, name: str) -> int:
    """Return the declared length of a text attribute; 0 for other attributes."""
    version, _, *sizes = struct.unpack_from("<BBHHH", message.ljust(8, b"\0"))
    start = 9 if version == 3 else 8
    # In version 1, parts are padded to multiples of eight bytes.
    steps = [-(-size // 8) * 8 if version == 1 else size for size in sizes]
    if message[start : start + sizes[0]].rstrip(b"\0") != name.encode():
        return 0
    kind = message[start + steps[0] : start + steps[0] + 1]
    value = message[start + sum(steps) :]
    is_vlen = bool(kind) and kind[0] & 0x0F == 9
    return int.from_bytes(value[:4], "little") if is_vlen and len(value) >= 16 else 0


def _messages(file: IO[bytes], address: int, base: int) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of the messages in an object header of either version.

    Addresses count from `base`, the size of the user block.
    """
    file.seek(base + address)
    head = file.read(32).ljust(32, b"\0")
    if head[:4] == b"OHDR":
        flags = head[5]
        start = 6 + 16 * bool(flags & 0x20) + 4 * bool(flags & 0x10)
        width = 1 << (flags & 3)
        length = int.from_bytes(head[start : start + width], "little")
        blocks, form = [(address + start + width, length)], ("<BHB", 4 + 2 * bool(flags & 4))
    else:
        blocks, form = [(address + 16, int.from_bytes(head[8:12], "little"))], ("<HHB", 8)
    for _ in range(_MOST_BLOCKS):
        if not blocks:
            return
        place, length = blocks.pop(0)
        file.seek(base + place)
        block = file.read(min(length, _LONGEST_BLOCK))
        # Continuations of a version 2 header are framed by a signature and a checksum.
        block = block[4:-4] if block[:4] == b"OCHK" else block
        at = 0
        while at + form[1] <= len(block):
            kind, size, _ = struct.unpack_from(form[0], block, at)
            message = block[at + form[1] : at + form[1] + size]
            if kind == _CONTINUATION and len(message) >= 16:
                blocks.append(struct.unpack_from("<QQ", message))
            yield kind, message
            at += form[1] + size
