"""Pictures of panels in a recording: they stand there encoded, with the frame that they are of."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import quote

from ...errors import InputError
from ...io.atomic import StrPath, path_text
from .schema import DAMAGED, LONGEST_NAME, clean

MOST_PICTURES = 10_000
MOST_BYTES = 32 << 20
MOST_SIDE = 16_384
KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"RIFF": "webp"}
"""How an image begins, and what it is."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture of one panel.

    Attributes
    ----------
    panel : str
        What the panel is called.
    step : int
        Of the frame.
    width, height : int
        Pixels.
    image : bytes
        PNG or WebP.
    """

    panel: str
    step: int
    width: int
    height: int
    image: bytes

    @property
    def kind(self) -> str:
        """``"png"`` or ``"webp"``."""
        return kind_of(self.image)


def kind_of(image: bytes) -> str:
    """What an image is by its first bytes; empty for anything else."""
    return next((kind for begins, kind in KINDS.items() if image.startswith(begins)), "")


def write_pictures(path: StrPath, pictures: Sequence[tuple[int, Picture]]) -> None:
    """Put pictures into a closed recording, each with the row of its frame.

    Raises
    ------
    InputError
        They cannot be written: a full disk, a file that is gone.
    """
    rows = [(frame, one.panel, one.width, one.height, one.image) for frame, one in pictures]
    try:
        with closing(sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=rw", uri=True)) as database, database:
            database.executemany("INSERT INTO picture VALUES (NULL, ?, ?, ?, ?, ?)", rows)
    except sqlite3.Error as error:
        raise InputError(f"cannot write pictures of panels into {path_text(path)}: {error}") from None


def read_pictures(database: sqlite3.Connection, steps: Mapping[int, int]) -> tuple[Picture, ...]:
    """Those of frames that there are; `steps` says the step of a frame's id. What is no picture is left out."""
    found = []
    try:
        rows = database.execute(
            "SELECT frame, panel, width, height, image FROM picture WHERE typeof(image) = 'blob' AND "
            "length(image) <= ? AND length(panel) <= ? ORDER BY id LIMIT ?", (MOST_BYTES, MOST_BYTES, MOST_PICTURES),
        )  # fmt: skip
        for frame, panel, width, height, image in rows:
            sides = all(isinstance(side, int) and 0 < side <= MOST_SIDE for side in (width, height))
            if frame in steps and isinstance(panel, str) and sides and kind_of(image):
                found.append(Picture(clean(panel, LONGEST_NAME), steps[frame], width, height, image))
    except DAMAGED:  # a damaged end: what was read so far stays
        pass
    return tuple(sorted(found, key=lambda picture: (picture.panel, picture.step)))
