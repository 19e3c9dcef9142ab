"""`CsvTable`: a text table from a spreadsheet program, as columns of numbers or words.

Encodings: UTF-8 with or without a byte order mark, UTF-16 and UTF-32 with one, else Windows' Latin-1. Separators:
commas, semicolons or tabs; with semicolons and tabs the decimal sign may be a comma. The first line names the columns.
A first column without a name that numbers the rows, as from pandas and R, is left out. Every error names the line.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..checks import text as check_text
from ..errors import FileFormatError, InputError, listing, shown
from .atomic import StrPath, check_source, unreadable

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
                raise FileFormatError(f"{what} is marked as {coding}, but cannot be decoded: {error.reason}") from None
    if b"\0" in data:
        raise FileFormatError(f"{what} is not a text table: it contains zero bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


# ---- The table


WIDEST = 1000
"""The most columns."""
LONGEST = 10_000
"""The most characters in a cell."""


@dataclass(frozen=True, slots=True, eq=False)
class CsvTable:
    """Columns of text: unique `names`, and the cells of each as they are in the file.

    `what` is the source, for messages; `text` is the whole text, `mark` the separator, `notes` are remarks for the
    user.
    """

    what: str
    names: tuple[str, ...]
    columns: tuple[Sequence[str], ...]
    text: str
    mark: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns[0])

    def column(self, name: str) -> Sequence[str]:
        """Return the cells of a column; InputError if there is no such column."""
        if name not in self.names:
            raise InputError(f"{self.what} has no column {name!r}; allowed: {listing(map(repr, self.names))}")
        return self.columns[self.names.index(name)]

    def numbers(self, name: str, hint: str = "") -> NDArray[np.float64]:
        """Return a column as numbers (N,); `hint` is added to the error if a cell is a word.

        FileFormatError, which names the line: a cell is empty, or is no finite number.
        """
        cells = self.column(name)
        try:
            if "_" in self.text and any("_" in cell for cell in cells):
                raise ValueError  # float accepts 1_000, but no table means that
            found = np.array(list(map(float, self._plain(cells))))
        except ValueError:
            found = np.array([self._number(cell) for cell in cells])
        bad = np.flatnonzero(~np.isfinite(found))
        if len(bad):
            raise self._no_number(name, bad, hint)
        return found

    def are_numbers(self, name: str) -> bool:
        """Return whether most cells of a column are numbers; then a cell that is not is a mistake."""
        cells = self.column(name)
        some = cells[:: max(1, len(cells) // 1000)]
        return sum(not math.isnan(self._number(cell)) or _says_nan(cell) for cell in some) > len(some) / 2

    def words(self, name: str) -> Sequence[str]:
        """Return a column as words; FileFormatError, which names the line, if a cell is empty."""
        cells = [cell.strip() for cell in self.column(name)]
        if "" in cells:
            place = f"{self.what}, line {self.line(cells.index(''))}: column {name!r}"
            raise FileFormatError(f"{place} is empty{_others(cells.count('') - 1)}")
        return cells

    def line(self, row: int) -> int:
        """Return the line of the text, counted from 1, for a row of the columns."""
        reader = csv.reader(io.StringIO(self.text, newline=""), delimiter=self.mark)
        rows = -1
        for cells in reader:
            rows += any(cell.strip() for cell in cells)
            if rows > row:
                break
        return reader.line_num

    def _plain(self, cells: Sequence[str]) -> Iterator[str] | Sequence[str]:
        return cells if self.mark == "," else (cell.replace(",", ".") for cell in cells)

    def _number(self, cell: str) -> float:
        """Return the number of a cell; NaN if it is none, which the caller reports."""
        number = None if "_" in cell or (self.mark == "," and "," in cell) else _parsed(cell)
        return math.nan if number is None else number

    def _no_number(self, name: str, rows: NDArray[np.intp], hint: str) -> FileFormatError:
        cells = self.column(name)
        cell = cells[int(rows[0])].strip()
        place = f"{self.what}, line {self.line(int(rows[0]))}: column {name!r}"
        if not cell:
            more = sum(not cells[int(row)].strip() for row in rows[1:])
            rest = f"{'these rows' if more else 'the row'} out"
            return FileFormatError(f"{place} is empty{_others(more)}; give every row a number there, or leave {rest}")
        if _says_nan(cell):
            return FileFormatError(f"{place} is {shown(cell)}; give a finite number, or leave the row out")
        return FileFormatError(f"{place} is {shown(cell)}, which is not a number{hint}")


def read_csv(path: StrPath) -> CsvTable:
    """Read the table in a file; FileFormatError if it is no text table, or is damaged."""
    source = check_source(path, "table")
    try:
        with source.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    return parse_csv(decoded(data, Path(path).name), Path(path).name)


def parse_csv(text: str, what: str = "the table") -> CsvTable:
    """Parse a text as a table; `what` is its source.

    FileFormatError, which names the line: the text is empty, its first line names no columns, or a row has too few or
    too many cells.
    """
    text = check_text(text, "parse_csv: the text").removeprefix("\ufeff")
    first = next((line for line in io.StringIO(text) if line.strip(" ,;\t\r\n")), "")
    mark = max(",;\t", key=lambda one: (first.count(one), one == ","))
    with _limit():
        rows = _rows(text, mark, what)
        head = next(rows, None)
        if head is None:
            raise FileFormatError(
                f"{what} is empty; give a line of column names, such as x,y,kind, then one line per row"
            )
        names = _names(head, what)
        found = list(rows)
    if not found:
        raise FileFormatError(f"{what} has column names but no rows")
    widths = set(map(len, found))
    table = CsvTable(what, names, (), text, mark)
    if widths != {len(names)}:
        row = next(k for k, cells in enumerate(found) if len(cells) != len(names))
        cells = len(found[row])
        missing = f"column {names[cells]!r} is missing" if cells < len(names) else "there are too many cells"
        raise FileFormatError(
            f"{what}, line {table.line(row)}: {cells} {'cell' if cells == 1 else 'cells'}, but the first line names "
            f"{len(names)} {'column' if len(names) == 1 else 'columns'}; {missing}"
        )
    columns = tuple(zip(*found, strict=True))
    if names[0]:
        return CsvTable(what, names, columns, text, mark)
    if len(names) == 1 or not _are_row_numbers(columns[0]):
        raise FileFormatError(f"{what}: column 1 has no name in the first line")
    return CsvTable(
        what, names[1:], columns[1:], text, mark, ("the first column only numbers the rows, so it is left out",)
    )


def _are_row_numbers(cells: Sequence[str]) -> bool:
    """Return whether all cells are different whole numbers."""
    found = {cell.strip() for cell in cells}
    return len(found) == len(cells) and all(cell.isascii() and cell.isdigit() for cell in found)


@contextmanager
def _limit() -> Iterator[None]:
    """Limit the size of a cell: one that is never closed would run to the end of the file."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _rows(text: str, mark: str, what: str) -> Iterator[list[str]]:
    """Yield all rows that are not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        for cells in reader:
            if any(cells) and any(cell.strip() for cell in cells):
                yield cells
    except csv.Error as error:
        why = f"a cell is longer than {LONGEST:,} characters" if "field larger" in str(error) else str(error)
        open_quote = any(word in why for word in ("longer", "quote", "end of data"))
        hint = "; is a closing quotation mark missing?" if open_quote else ""
        raise FileFormatError(f"{what}, line {reader.line_num}: {why}{hint}") from None


def _names(cells: list[str], what: str) -> tuple[str, ...]:
    names = tuple(" ".join(cell.split()) for cell in cells)
    if len(names) > WIDEST:
        raise FileFormatError(f"{what} has {len(names):,} columns; allowed: {WIDEST:,}")
    if None not in map(_parsed, names):
        raise FileFormatError(
            f"{what}: the first line is {shown(', '.join(names))}; give column names there, such as x,y,kind"
        )
    for k, name in enumerate(names):
        if not name and k:
            raise FileFormatError(f"{what}: column {k + 1} has no name in the first line")
        if name in names[:k]:
            raise FileFormatError(f"{what}: two columns are called {name!r}; give each its own name")
    return names


def _others(count: int) -> str:
    return f", as in {count:,} other {'row' if count == 1 else 'rows'}" if count else ""


def _parsed(cell: str) -> float | None:
    """Return the number in a cell, with a comma as the decimal sign; None if it is none."""
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def _says_nan(cell: str) -> bool:
    return (number := _parsed(cell)) is not None and not math.isfinite(number)
