"""Colour look-up tables as .cube files: the exchange format of colour grading programs.

Source of the format: Adobe, "Cube LUT Specification", version 1.0 (2013).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import function as function_of
from ..checks import integer, real_array, text
from ..errors import FileFormatError, InputError, TypeMismatchError, listing, shown
from .atomic import StrPath, as_path, check_source, check_target, path_text, unreadable, write_bytes

Floats = NDArray[np.float64]
Colours = Callable[[Floats], NDArray[np.floating]]

POINTS = 33
SMALLEST, LARGEST = 2, 256  # limits of the specification
LARGEST_FILE = LARGEST**3 * 64  # bytes: three numbers a line, each longer than a float64 needs
KEYWORDS = ("TITLE", "LUT_1D_SIZE", "LUT_3D_SIZE", "DOMAIN_MIN", "DOMAIN_MAX")
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?"


@dataclass(frozen=True, slots=True)
class Lut:
    """A function of colours, given by its values at the points of a grid.

    `table` is indexed ``[blue][green][red]`` in the order of the file: red changes fastest. `low` and `high` are
    DOMAIN_MIN and DOMAIN_MAX: the colours of the first and the last point.
    """

    table: Floats
    title: str = ""
    low: tuple[float, float, float] = (0.0, 0.0, 0.0)
    high: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        table = real_array(self.table, "a LUT's table")
        if table.ndim != 4 or table.shape != (len(table),) * 3 + (3,) or len(table) < SMALLEST:
            raise InputError(f"a LUT's table must have the shape (n, n, n, 3) with n >= {SMALLEST}, got {table.shape}")
        text(self.title, "a LUT's title")
        for what, corner in (("low", self.low), ("high", self.high)):
            if real_array(corner, f"a LUT's {what!r}").shape != (3,):
                raise InputError(f"a LUT's {what!r} must be three numbers, got {shown(corner)}")

    @property
    def points(self) -> int:
        """The number of grid points along each axis."""
        return int(self.table.shape[0])

    def __call__(self, colours: NDArray[np.floating]) -> Floats:
        """Interpolate colours (..., 3) trilinearly; colours outside the domain get the value of its edge."""
        low, high = np.array(self.low), np.array(self.high)
        given = real_array(colours, "a LUT's colours").astype(np.float64)
        if given.ndim == 0 or given.shape[-1] != 3 or np.isnan(given).any():
            nan = " containing NaN" if np.isnan(given).any() else ""
            raise InputError(f"a LUT takes colours of shape (..., 3), got {given.shape}{nan}")
        place = np.clip((given - low) / (high - low), 0, 1) * (self.points - 1)
        corner = np.minimum(place.astype(np.int64), self.points - 2)
        part = place - corner
        result = np.zeros(place.shape)
        for offset in np.ndindex(2, 2, 2):
            r, g, b = (corner[..., c] + offset[c] for c in range(3))
            share = np.prod(np.where(offset, part, 1 - part), axis=-1)
            result += share[..., None] * self.table[b, g, r]
        return result


def grid(points: int = POINTS) -> Floats:
    """Return the colours of the grid in the file's order, shape (points**3, 3): red fastest, blue slowest."""
    integer("a LUT: points along an axis", points, SMALLEST, LARGEST)
    level = np.linspace(0, 1, points)
    blue, green, red = np.meshgrid(level, level, level, indexing="ij")
    return np.stack([red, green, blue], axis=-1).reshape(-1, 3)


def sample(function: Colours, points: int = POINTS, title: str = "scalarviz") -> Lut:
    """Return the LUT of `function`, which maps sRGB colours (N, 3) in 0..1 to such colours."""
    asked = grid(points)
    colours = real_array(function_of(function, "sample: 'function'")(asked), "sample: the result of the function")
    if colours.shape != asked.shape:
        raise InputError(f"sample: the function must return colours of shape {asked.shape}, got {colours.shape}")
    return Lut(colours.astype(np.float64).reshape(points, points, points, 3), title)


def check_lut_name(path: StrPath) -> Path:
    """Raise InputError if `path` cannot become a .cube file, by its suffix or its folder."""
    if as_path(path).suffix.lower() != ".cube":
        raise InputError(f"cannot write {path_text(path)}: the file name of a LUT must end in .cube")
    return check_target(path)


def write_cube(path: StrPath, lut: Lut) -> None:
    """Write a 3-D LUT, whole or not at all; InputError if a value is not finite or the file cannot be written."""
    check_lut_name(path)
    given: Any = lut
    if not isinstance(given, Lut):
        raise TypeMismatchError(f"write_cube {path_text(path)}: the LUT must be an io.Lut, got {type(given).__name__}")
    rows = lut.table.reshape(-1, 3)
    if not np.isfinite(rows).all():
        raise InputError(f"cannot write {path_text(path)}: a colour is not a finite number")
    title = lut.title.replace('"', "'").replace("\n", " ")
    head = [f'TITLE "{title}"', f"LUT_3D_SIZE {lut.points}"]
    for name, values in (("DOMAIN_MIN", lut.low), ("DOMAIN_MAX", lut.high)):
        head.append(name + " " + " ".join(f"{v:.6f}" for v in values))
    lines = [f"{r:.6f} {g:.6f} {b:.6f}" for r, g, b in rows.tolist()]
    write_bytes(path, ("\n".join([*head, *lines]) + "\n").encode())


def read_cube(path: StrPath) -> Lut:
    """Read a 3-D LUT; FileFormatError, which names the line, if the file is none."""
    source = check_source(path, "LUT")
    head: dict[str, str] = {}
    numbers = array("d")
    try:
        if source.stat().st_size > LARGEST_FILE:
            raise FileFormatError(f"{path} is not a .cube file: it has more than {LARGEST_FILE:,} bytes")
        with source.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                _read_line(line, f"{path}, line {number}", head, numbers)
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a .cube file: it is not text in UTF-8") from None
    return _assemble(path, head, numbers)


def _read_line(line: str, where: str, head: dict[str, str], numbers: array[float]) -> None:
    word, _, rest = line.strip().replace("\t", " ").partition(" ")
    if not word or word.startswith("#"):
        return
    if word in KEYWORDS:
        if word in head:
            raise FileFormatError(f"{where}: {word} occurs a second time")
        head[word] = rest.strip()
    elif word[0].isalpha():
        raise FileFormatError(f"{where}: {word[:40]!r} is not a keyword of a LUT; allowed: {listing(KEYWORDS)}")
    else:
        numbers.extend(_three(line, where))


def _three(text: str, where: str) -> list[float]:
    """Return three numbers in the format's notation; Python would also accept other digits, and 1_000."""
    words = text.split()
    numbers = [float(word) for word in words if re.fullmatch(NUMBER, word)]
    if len(numbers) != 3 or len(words) != 3 or not np.isfinite(numbers).all():
        raise FileFormatError(f"{where}: expected three finite numbers, got {shown(text.strip())}")
    return numbers


def _assemble(path: StrPath, head: dict[str, str], numbers: array[float]) -> Lut:
    if "LUT_3D_SIZE" not in head:
        kind = "a 1-D LUT" if "LUT_1D_SIZE" in head else "no .cube file"
        raise FileFormatError(f"{path} is {kind}; give a 3-D LUT, with a line LUT_3D_SIZE")
    if "LUT_1D_SIZE" in head:
        raise FileFormatError(f"{path} has a 1-D LUT before its 3-D LUT; export it without the 1-D LUT")
    size = head["LUT_3D_SIZE"]
    points = int(size) if re.fullmatch("[0-9]{1,6}", size) else 0
    if not SMALLEST <= points <= LARGEST:
        raise FileFormatError(f"{path}: LUT_3D_SIZE must be {SMALLEST} to {LARGEST}, got {shown(size)}")
    if len(numbers) != 3 * points**3:
        raise FileFormatError(f"{path}: LUT_3D_SIZE {points} needs {points**3} colours, got {len(numbers) // 3}")
    low = _three(head.get("DOMAIN_MIN", "0 0 0"), f"{path}, DOMAIN_MIN")
    high = _three(head.get("DOMAIN_MAX", "1 1 1"), f"{path}, DOMAIN_MAX")
    if any(a >= b for a, b in zip(low, high, strict=True)):
        raise FileFormatError(f"{path}: DOMAIN_MIN {low} is not below DOMAIN_MAX {high}")
    table = np.array(numbers).reshape(points, points, points, 3)
    return Lut(table, head.get("TITLE", "").strip('"'), (low[0], low[1], low[2]), (high[0], high[1], high[2]))
