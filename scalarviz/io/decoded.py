"""Decode the bytes of a file: UTF-8 with or without a mark, UTF-16 and UTF-32 with one, else Windows' Latin-1."""

from __future__ import annotations

import codecs

from ..errors import FileFormatError

LARGEST = 2**30
"""The most bytes to read."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's mark
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
OTHERS = {
    b"PK\x03\x04": "a workbook (.xlsx, .ods) or another zip archive; save its sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls); save its sheet as CSV",
    b"%PDF": "a PDF; save the table as CSV",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
"""First bytes of files that are no text."""


def decoded(data: bytes, what: str) -> str:
    """Return bytes as text; FileFormatError if there are too many, or they belong to a file that is no text."""
    if len(data) > LARGEST:
        raise FileFormatError(f"{what} is larger than {LARGEST // 2**20:,} MiB; use fewer rows")
    for head, kind in OTHERS.items():
        if data.startswith(head):
            raise FileFormatError(f"{what} is not a text table but {kind}")
    for mark, coding in MARKS:
        if data.startswith(mark):
            try:
                return data.decode(coding)
            except UnicodeDecodeError as error:
                raise FileFormatError(f"{what} is marked as {coding}, but it is not: {error.reason}") from None
    if b"\0" in data:
        raise FileFormatError(f"{what} is not a text table: it contains zero bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")
