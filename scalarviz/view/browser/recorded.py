"""A recording as a page: its branch of now, frame after frame, in one file."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from ...checks import text
from ...errors import MissingDependencyError
from ...io import write_bytes
from ...io.atomic import path_text
from ...run.frame import Frame
from ...run.recorded_source import RecordedSource
from ...run.recording import Recorded
from ..draw.places import check_size
from ..draw.theme import get_theme
from ..render import paint
from ..shown.subject import Subject, subject_of
from ..window.offscreen import available, offscreen
from ..workbench import Workbench
from .page import Beside, PanelFilm, page_of

LARGE = 10_000_000
"""Bytes of a page from which on it is said how it becomes smaller."""
STILL = 0.7, 55
"""Share of the page's size, and quality, of the picture for where nothing plays."""


def html_of(
    record: Recorded,
    *,
    theme: str = "dark",
    size: tuple[int, int] = (1280, 720),
    title: str = "",
    pictures: Sequence[PanelFilm] = (),
) -> str:
    """The page of a recording's newest branch.

    Parameters
    ----------
    record : Recorded
        With one frame at least.
    theme : {"dark", "light"}
        The look that it opens with; a key changes it.
    size : (int, int)
        Of the page that it is laid out for, in pixels, 160 to 8192 a side; in another size it is arranged anew.
    title : str
        What it is called.
    pictures : sequence of PanelFilm
        Of the scene's panels.

    Raises
    ------
    UnknownNameError, TypeMismatchError, InputError
        No such theme; a title that is no text; a size that is none; a recording without a frame.
    """
    look, size, title = get_theme(theme).name, check_size(size), text(title, "the title")
    source = RecordedSource(record)
    subject, past = subject_of(source), source.past
    source.to(source.span[1])
    beside = Beside(
        title, look, size,
        ("weight", *(name for name in ("gradient", "update") if not source.lacks(name))),
        [(edit.step, edit.what) for edit in past.edits], [(flag.step, flag.name) for flag in past.flags],
        list(pictures), still=still_of(subject, subject.frame(), size, look),
    )  # fmt: skip
    return page_of(subject, (source.frame_at(k) for k in range(len(record))), beside)


def write_html(record: Recorded, path: str | os.PathLike[str], every: int | None = None, **how: object) -> Path:
    """Write the page, whole or not at all; `how` as :func:`html_of`.

    A page above 10 MB is written with a RuntimeWarning that names what makes it smaller: fewer frames, `every` of which
    is what there are now.

    Raises
    ------
    InputError
        It cannot be written there; what was there before stays.
    """
    data = html_of(record, **how).encode("utf-8")  # type: ignore[arg-type]
    write_bytes(path, data)
    if len(data) > LARGE:
        now = "" if every is None else f" (now every={every})"
        warnings.warn(
            f"{path_text(path)} has {len(data) / 1e6:.0f} MB, which browsers open slowly; record fewer frames with a "
            f"larger every={now}, or without gradients and updates",
            RuntimeWarning,
            stacklevel=3,
        )
    return Path(path)


def still_of(subject: Subject, frame: Frame, size: tuple[int, int], theme: str) -> bytes:
    """The picture of a frame as WebP, smaller than a page of `size`; empty where nothing can draw."""
    from PIL import Image

    try:
        if available():
            return b""
    except MissingDependencyError:
        return b""
    share, quality = STILL
    with offscreen():
        bench = Workbench(subject, size, theme)
        bench.update(frame)
    picture = Image.fromarray(paint(bench, size))
    small = picture.resize((max(1, round(size[0] * share)), max(1, round(size[1] * share))), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    small.save(file, "WEBP", quality=quality, method=6)
    return file.getvalue()
