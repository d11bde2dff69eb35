"""Small changes of the bytes of a file, all drawn from one generator."""

from __future__ import annotations

import io
import re
import struct
import zipfile

NUMBERS = (0, 1, -1, 2, 127, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 10**9, 10**12)
_TEXTS = (
    *(str(number) for number in NUMBERS),
    "1e308",
    "-1e308",
    "1e-320",
    "NaN",
    "null",
    "true",
    "[]",
    "{}",
    '""',
    '"\\u0000"',
    '"\\ud800"',
    "9" * 400,
    "[" * 3000,
)
_TOKEN = re.compile(
    rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\"[^\"]*\"|'[^']*'|true|false|True|False|null"
)
_MARKS = re.compile(rb"[\[\]{}():,=\"']")
_ENDS = 400
_FEW = 24


def mutate(content: bytes, rng, *, text: bool = False) -> bytes:
    """Return a changed copy; formats of text have their tokens changed more often."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if not content:
            return b"\0"
        kinds = (*_TEXTUAL, *_BINARY[:4]) if text else (*_BINARY, *_BINARY, _token)
        change = kinds[rng.integers(len(kinds))]
        content = change(content, rng)
    return content


def reseal(content: bytes, rng) -> bytes:
    """Change one member of a zip archive and give it the right checksum again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(member, archive.read(member)) for member in archive.infolist()]
    except (zipfile.BadZipFile, OSError):
        return content
    chosen = int(rng.integers(len(members)))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number, (member, inside) in enumerate(members):
            changed = inside
            if number == chosen:
                head, rest = inside[:128], inside[128:]
                changed = _token(head, rng) + rest if rng.random() < 0.6 else mutate(inside, rng)
            archive.writestr(member.filename, changed, compress_type=member.compress_type)
    return made.getvalue()


def redirect(content: bytes, rng) -> bytes:
    """Change one field of the directory of a zip archive."""
    start = content.rfind(b"PK\x01\x02")
    if start < 0 or len(content) < start + 46:
        return content
    offset, size = [(8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4)][
        rng.integers(8)
    ]
    return _packed(content, start + offset, size, rng)


def _place(content: bytes, rng) -> int:
    """Choose a place, more often near the ends, where headers and footers are."""
    where = rng.random()
    if where < 0.4:
        return int(rng.integers(min(_ENDS, len(content))))
    if where < 0.6:
        return len(content) - 1 - int(rng.integers(min(_ENDS, len(content))))
    return int(rng.integers(len(content)))


def _flip(content: bytes, rng) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 8]))):
        changed[_place(content, rng)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _set(content: bytes, rng) -> bytes:
    changed = bytearray(content)
    changed[_place(content, rng)] = int(rng.choice([0, 255, 127, 128, int(rng.integers(256))]))
    return bytes(changed)


def _truncate(content: bytes, rng) -> bytes:
    return content[: _place(content, rng)]


def _delete(content: bytes, rng) -> bytes:
    start = _place(content, rng)
    return content[:start] + content[start + int(rng.integers(1, _FEW)) :]


def _repeat(content: bytes, rng) -> bytes:
    start, other = _place(content, rng), _place(content, rng)
    piece = content[start : start + int(rng.integers(1, 200))]
    return content[:other] + piece + content[other:]


def _insert(content: bytes, rng) -> bytes:
    start = _place(content, rng)
    return content[:start] + rng.bytes(int(rng.integers(1, _FEW))) + content[start:]


def _number(content: bytes, rng) -> bytes:
    return _packed(content, _place(content, rng), int(rng.choice([1, 2, 4, 8])), rng)


def _packed(content: bytes, start: int, size: int, rng) -> bytes:
    value = NUMBERS[rng.integers(len(NUMBERS))] % 256**size
    order = "little" if rng.random() < 0.8 else "big"
    return content[:start] + value.to_bytes(size, order) + content[start + size :]


def _varint(content: bytes, rng) -> bytes:
    """Put a number as thrift writes it, in parquet's footer."""
    value, packed = 2 * abs(NUMBERS[rng.integers(len(NUMBERS))]), b""
    while value > 127:
        packed, value = packed + bytes([value & 127 | 128]), value >> 7
    start = _place(content, rng)
    changed = content[:start] + packed + bytes([value]) + content[start + 1 :]
    if content[-4:] == b"PAR1" and len(content) > 8:
        (length,) = struct.unpack("<I", content[-8:-4])
        grown = struct.pack("<I", max(0, length + len(changed) - len(content)))
        changed = changed[:-8] + grown + b"PAR1"
    return changed


def _token(content: bytes, rng) -> bytes:
    """Put another number, text or value in the place of one."""
    found = list(_TOKEN.finditer(content[:200_000]))
    if not found:
        return _flip(content, rng)
    token = found[rng.integers(len(found))]
    new = _TEXTS[rng.integers(len(_TEXTS))].encode()
    return content[: token.start()] + new + content[token.end() :]


def _swap(content: bytes, rng) -> bytes:
    """Put one token of the file in the place of another."""
    found = list(_TOKEN.finditer(content[:200_000]))
    if len(found) < 2:
        return _flip(content, rng)
    one, other = (found[rng.integers(len(found))] for _ in range(2))
    return content[: one.start()] + other.group() + content[one.end() :]


def _mark(content: bytes, rng) -> bytes:
    """Drop, double or change one sign of the syntax."""
    found = list(_MARKS.finditer(content[:200_000]))
    if not found:
        return _flip(content, rng)
    mark = found[rng.integers(len(found))]
    new = [b"", mark.group() * 2, b"[", b"]", b"{", b"}", b",", b"\n"][rng.integers(8)]
    return content[: mark.start()] + new + content[mark.end() :]


def _drop_item(content: bytes, rng) -> bytes:
    """Drop what stands between two commas."""
    commas = [match.start() for match in re.finditer(rb",", content[:200_000])]
    if len(commas) < 2:
        return _delete(content, rng)
    first = int(rng.integers(len(commas) - 1))
    last = min(first + int(rng.choice([1, 1, 2, 10])), len(commas) - 1)
    return content[: commas[first]] + content[commas[last] :]


_BINARY = (_flip, _set, _truncate, _delete, _repeat, _insert, _number, _number, _varint)
_TEXTUAL = (_token, _token, _token, _swap, _mark, _drop_item, _drop_item, _repeat)
