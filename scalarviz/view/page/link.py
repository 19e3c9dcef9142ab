"""A small recording as a link: all data follow its ``#`` and are never sent to a server.

One static file plays any such link (:func:`write_player`). It has what all pictures share: shaders, colours and the
program; the link has the rest.
"""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...checks import text
from ...errors import InputError, shown
from ...io import write_bytes
from ...io.atomic import StrPath
from ...run.sources.recording.recorded import Recorded
from ..ink.theme import get_theme
from ..shown.subject import recorded_subject, subject_of
from .bar import bars_of
from .document import document_of
from .lists import FrameLists, Pool
from .pack import packed, squeezed, text_of
from .page import GESTURES, about_of, gathered, keys_of, shell
from .pictures import chosen
from .recorded import at_the_end, played

MOST = 8_000  # most characters of a link that mail, chats and browsers keep whole
FRAMES = 300
LEVELS = 2_045  # largest number of a column: 12 bits
EDITS, WORDS = 20, 80  # most edits in a link, and characters of each
OF_A_RUN = (
    "theme", "size", "plates", "trays", "flow", "atlas", "parameters", "texels", "tensors", "rows", "units", "sheet",
    "target", "rect", "scene", "pose", "time", "rim",
)  # fmt: skip
"""Parts of a picture that a link may set; the player has the others. `js/link.js` has the same list."""
MOST_TEXELS, MOST_PLATES = 65_536, 300  # most texels and plates; `js/link.js` refuses more
BAR, OFF = ((340, 66),), 0.25  # size of the time bar, which stretches, and how far its curve may be off
NUMBERS = ("loss", "lr", "sample")
SIZE = (680, 480)  # of the picture
SENTENCE = "This page plays the recording stored in its link after the #. Nothing is sent to a server"


class Link(NamedTuple):
    """A recording as a link."""

    text: str  # the address
    said: str  # what was left out


def link_of(record: Recorded, player: str = "player.html", *, theme: str = "dark", title: str = "") -> Link:
    """Return a link with the values of a recording's branch: at most `FRAMES` frames, 12 bits a number."""
    look, title = get_theme(theme).name, text(title, "the title") or record.about.name
    if not text(player, "the player's address") or "#" in player:
        raise InputError(f"the player's address: got {shown(player)}; allowed: a file or a page, without #")
    source, _, last = at_the_end(record)
    subject = recorded_subject(source, (), ()).after(last)  # a link has no pictures of panels
    document = document_of(subject, FrameLists(subject, ["weight"], Pool(), [SIZE], captioned=False).layout, look)
    own = _differing_parts(document, _base())
    if own.keys() - set(OF_A_RUN):
        raise InputError(f"a link cannot store {sorted(own.keys() - set(OF_A_RUN))} of this picture; try save_html")
    if document["texels"] > MOST_TEXELS or len(document["plates"]) > MOST_PLATES:
        raise _too_much(record, document)
    past = replace(source.past, branches=(), flags=(), edits=source.past.edits[-EDITS:])
    fitting = [k for k in range(len(record)) if record.shapes(k) is record.shapes(-1)]
    count = min(len(fitting), FRAMES)
    while count >= min(2, len(fitting)):
        places = chosen(fitting, count)
        frames = played(source, [(record.branch, k) for k in places])
        said = f"{len(places):,} of {len(record):,} recorded steps" if len(places) < len(record) else ""
        pool = Pool()
        lists = FrameLists(subject, ["weight"], pool, [SIZE], captioned=False)
        told, tables = gathered(subject, lists.adding(frames), document, ["weight"])
        told |= {part: [_short(x) for x in told[part]] for part in NUMBERS}
        head = {
            **told, "steps": np.diff(told["steps"], prepend=0).tolist(), "document": own,
            "lists": lists.as_json() | pool.as_json() | {"layouts": [{}]},  # the document has it
            "about": about_of(subject, title, said) | {"bits": 12},
            "edits": [(edit.step, re.sub(r"\s+", " ", edit.what)[:WORDS]) for edit in past.edits],
            "bars": bars_of(subject, last, told["steps"], past, sizes=BAR, off=OFF),
            "parts": {name: packed(table, exact=False, most=LEVELS) for name, table in tables.items()},
        }  # fmt: skip
        link = f"{player}#1.{base64.urlsafe_b64encode(squeezed(head)).decode('ascii').rstrip('=')}"
        if len(link) <= MOST:
            return Link(link, f"{said}: a link has {MOST:,} characters at most" if said else "")
        count = min(int(0.98 * count * MOST / len(link)), count - 1)
    raise _too_much(record, document)


def _too_much(record: Recorded, document: dict[str, Any]) -> InputError:
    return InputError(
        f"a link has {MOST:,} characters at most, and this recording needs more for two frames ({record.about.name}, "
        f"{document['parameters']:,} weights); try save_html"
    )


def write_player(path: StrPath) -> Path:
    """Write the page that plays links, whole or not at all: one static file for all links."""
    head = {"document": _base(), "keys": keys_of({"weight"}), "gestures": list(map(list, GESTURES))}
    page = shell("scalarviz", "dark", {"base": text_of(squeezed(head))}, f"{SENTENCE}.", "openLink();", "link.js")
    write_bytes(path, page.encode("utf-8"))
    return Path(path)


@cache
def _base() -> dict[str, Any]:
    """Return the parts that all pictures share, as the document of the smallest one."""
    subject = subject_of({"w": np.zeros((2, 2))})
    return document_of(subject, FrameLists(subject, ["weight"], Pool(), [SIZE], captioned=False).layout)


def _differing_parts(own: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in own.items() if name not in common or common[name] != part}


def _short(number: float | str) -> float | str:
    return number if isinstance(number, str) else float(f"{number:.5g}")
