"""A recording as a page: its current branch, frame by frame, in one HTML file that loads nothing else."""

from __future__ import annotations

import json
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...checks import integer, text
from ...io import check_target, write_bytes
from ...io.atomic import StrPath, path_text
from ...run.core.frame import Frame, Past
from ...run.panels.base import PanelPicture
from ...run.scene.scene import Scene, weights_text
from ...run.sources.played import RecordedSource
from ...run.sources.recording.file import check_apart
from ...run.sources.recording.recorded import Recorded
from ..ink.boxes import check_size
from ..ink.listed import Record, changes, records_of
from ..ink.text import loss_text
from ..ink.theme import Theme, get_theme, presenting
from ..panels.word import WordDrawer
from ..shown.subject import Subject, recorded_subject, subject_of
from .bar import bars_of
from .document import document_of
from .layers import PageParts, other_layers
from .lists import FrameLists, Pool
from .opened import checked_steps, opened_of
from .pack import EXACT, Float32, dense_text, led_updates, packed_text, squeezed
from .page import SceneParts, about_of, gathered, keys_of, parts_of, shell, shows_of
from .pictures import MOST as MOMENTS
from .pictures import chosen, slots_of, still_bytes
from .trains import DATA_LIMIT, training_text, trains_of

SENTENCE = "A recorded training; playing it needs a browser with JavaScript and WebGL 2"
ROWS = 128
"""Rough number of activations in a frame: other branches are dropped before numbers lose bits."""
LARGE = 10_000_000  # bytes of a page above which a warning names ways to shrink it


def at_the_end(record: Recorded) -> tuple[RecordedSource, Subject, Frame]:
    """Return the source, subject and frame of a recording's last step."""
    source = RecordedSource(record)
    source.to(source.span[1])
    frame = source.frame()
    return source, subject_of(source).after(frame), frame


def html_of(
    record: Recorded,
    pictures: Sequence[PanelPicture] = (),
    *,
    theme: str | Theme = "dark",
    size: tuple[int, int] = (1280, 720),
    title: str = "",
    frames: int | None = None,
    open: Sequence[int] | None = (),
    data_limit: int = DATA_LIMIT,
    others: Sequence[PanelPicture] = (),
    scene: object = None,
) -> str:
    """Return the page of a recording's branch; see :meth:`~scalarviz.view.page.recording.Recorded.save_html`.

    `open` lists steps to open; none by default. Frames of an earlier network are left out, which the page says.
    `pictures` are of the scene's panels, `others` the same in the other theme. `scene` is the recorded scene: it adds
    what the file does not store.
    """
    look, size = get_theme(theme), check_size(size)
    title = text(title, "the title") or record.about.name
    most = None if frames is None else integer("frames of a page", frames, 2)
    limit = integer("data_limit (bytes)", data_limit, 0)
    write = partial(page_parts, look=look, title=title, most=most, limit=limit)
    page = write(record, pictures, others=others, scene=scene, open=checked_steps(open))
    parts = {"run": dense_text(squeezed(page.head)), "lists": dense_text(squeezed(page.lists)), **page.texts}
    first = [replace(one, step=0) for one in {one.panel: one for one in pictures}.values()]
    layers = other_layers(scene, page, lambda one, own: write(one, first, scene=own))
    if trains := page.trains.parts:
        parts |= {**trains, **layers.texts, "training": training_text({**page.trains.told, **layers.told})}
    entries, call = ("opened.js", "openWithSteps();") if page.opens else ("page.js", "openPage();")
    extras = [*(["branches.js"] if "branches" in page.head else []), *(["train.js"] if trains else [])]
    loss = page.head["loss"][-1]
    lost = f", loss {loss_text(loss)}" if isinstance(loss, float) else ""
    sentence = f"{SENTENCE}: its last step, {page.head['steps'][-1]:,}{lost}."
    still, story = still_bytes(page.subject, page.last, size, look), _story(record, page.subject)
    programs = [page.trains.program, *layers.programs] if trains else []
    return shell(title, look.name, parts, sentence, call, entries, *extras, still=still, story=story, workers=programs)


def page_parts(
    record: Recorded, pictures: Sequence[PanelPicture], *, others: Sequence[PanelPicture] = (), scene: object = None,
    look: Theme, title: str, most: int | None, limit: int, open: Sequence[int] | None = (),
) -> PageParts:  # fmt: skip
    """Return the parts of the page of a recording's branch, in the theme `look`; see :func:`html_of`."""
    source, subject, last = at_the_end(record)
    past = source.past
    every = len(record) if most is None else most
    own = parts_of(scene, edited=bool(past.edits))
    source.twin = own.source
    if own.board is not None:  # drawn for every frame, and for every letter
        pictures, others = ([one for one in some if one.panel != WordDrawer.name] for some in (pictures, others))
    fitting = [k for k in range(len(record)) if record.shapes(k) is record.shapes(-1)]
    shown = sorted({*chosen(fitting, every), *(k for k in fitting if int(record.steps[k]) in (open or ()))})
    rest = EXACT // max(1, record.shapes(-1).size + ROWS) - len(shown)
    added, lines = lines_of(source, shown, rest if most is None else min(most, rest))
    quantities = ["weight", *(name for name in ("gradient", "update") if not source.lacks(name))]

    with_panels, pool = recorded_subject(source, pictures, own.panels).after(last), Pool()
    lists = FrameLists(with_panels, shows_of(quantities), pool, look)
    document = document_of(subject, lists.layout, look)

    def read() -> Iterator[Frame]:
        for frame in played(source, [*((record.branch, k) for k in shown), *added]):
            lists.add_frame(frame, "  \N{MIDDLE DOT}  ".join(("recording", *own.headlines(frame))))
            yield frame

    numbers, tables = gathered(subject, read(), document, quantities)
    slots = slots_of(scene, last, look) if isinstance(scene, Scene) and pictures else {}
    if tables["weight"].size > EXACT:  # the page has rounded weights, and no true last digits of recorded steps
        slots |= {name: slot._replace(whole=False) for name, slot in slots.items() if slot.kind == "text"}
    trains = trains_of(source, with_panels, shown, slots, scene, limit, opens=open is None or len(open) > 0)
    painted = {name for name, slot in slots.items() if trains.parts and slot.whole}  # by the browser
    newest = {one.panel: one for one in sorted(pictures, key=lambda one: one.step)}
    seen = films([one for one in pictures if one.panel not in painted or one is newest[one.panel]], others)
    if trains.parts:
        word = [f"word of step {last.step:,}"] * (own.board is not None)  # which the browser does not read again
        lists.add_coming(
            last if last.settings is None else replace(last, settings=replace(last.settings, optimizer=trains.wide)),
            "  \N{MIDDLE DOT}  ".join(("trained on in this page", *word)),
            {one["name"] for one in seen} - slots.keys(),
        )
    source.twin = None  # cubes of opened steps have no looks of their own
    losses = [float(loss) for loss in numbers["loss"][: len(shown)]]
    walks = opened_of(with_panels, source, shown, open, losses, pool, look)
    stored = [one for one in seen if one["name"] not in painted]
    program = _program(record, fitting[0], subject, last, own, stored, len(shown), trains.said)
    head = {
        "document": document, **numbers,
        "keys": keys_of({*quantities, *(("micro",) if walks else ())}),
        "about": about_of(subject, title, program, bool(trains.parts)),
        **branch_marks(past), "bars": bars_of(subject, last, record.steps[shown].tolist()), "pictures": seen,
    }  # fmt: skip
    if lines:
        head |= _branched(numbers, lines, len(shown))
    texts = {name: packed_text(table, led=_led(name, tables, numbers)) for name, table in tables.items()}
    if walks is not None:
        texts |= {"opened": dense_text(squeezed(walks[0])), "steps": walks[1]}
    told = lists.as_json() | pool.as_json()
    follows = {one["name"] for one in seen} <= {name for name, slot in slots.items() if not slot.lists}
    return PageParts(head, told, texts, trains, walks is not None, follows, subject, last)


def _program(
    record: Recorded,
    first: int,
    subject: Subject,
    frame: Frame,
    scene: SceneParts,
    seen: list[dict[str, Any]],
    most: int,
    trains: str,
) -> str:
    """Return a line about the recording program and the parts that the page leaves out."""
    said = [trains, frame.stopped_by, f"recorded with scalarviz {record.about.version}".rstrip()]
    if first:
        said.append(f"before step {record.steps[first]:,} the network was different")
    if scene.board is None and subject.plan is not None and subject.plan.rooms:
        said.append("attention and embeddings are not in a recording")
    if scene.turned:
        said.append("only the window shows the maps of single units")
    for count in sorted({len(film["steps"]) for film in seen}):
        if count < min(most, MOMENTS):
            names = ", ".join(film["name"] for film in seen if len(film["steps"]) == count)
            said.append(f"{names}: {count} moments")
    return "  \N{MIDDLE DOT}  ".join(filter(None, said))


def _story(record: Recorded, subject: Subject) -> str:
    """Return an introduction for newcomers."""
    count = sum(tensor.size for tensor in subject.tensors)
    cubes = "The cube is the weight." if count == 1 else "Each cube is one weight."
    return " ".join(filter(None, (subject.purpose or weights_text(count), cubes)))


def _led(name: str, tables: dict[str, Float32], numbers: dict[str, Any]) -> Float32 | None:
    """Return the updates predicted from values and gradients, if both keep every bit; otherwise None."""
    values, gradients = tables["weight"], tables.get("gradient")
    if name != "update" or max(values.size, 0 if gradients is None else gradients.size) > EXACT:
        return None
    count = tables["update"].shape[1]
    return led_updates(values[:, :count], gradients, numbers["steps"], [float(rate) for rate in numbers["lr"]])


def films(pictures: Sequence[PanelPicture], others: Sequence[PanelPicture]) -> list[dict[str, Any]]:
    """Return the display lists by panel: rising steps, changes from one to the next, and changes to the other theme.

    A record in which only colours change has these apart, by its number.
    """
    every: dict[str, list[tuple[PanelPicture, list[Record]]]] = {one.panel: [] for one in pictures}
    for one in sorted(pictures, key=lambda one: one.step):
        if records := records_of(one.image, (one.width, one.height)):  # else from another program: nothing to show
            every[one.panel].append((one, records))
    looks, found = {(one.panel, one.step): one for one in others}, list[dict[str, Any]]()
    for name, some in ((name, some) for name, some in every.items() if some):
        other = [looks.get((name, one.step)) for one, _ in some]
        there = [[] if one is None else records_of(one.image, (one.width, one.height)) for one in other]
        lists, colours = colours_apart([records for _, records in some])
        found.append({
            "name": name, "steps": [one.step for one, _ in some],
            "lists": [changes(one, two) for one, two in zip([None, *lists], lists, strict=False)],
            "other": [changes(records, new or records) for (_, records), new in zip(some, there, strict=True)],
            "colours": colours,
        })  # fmt: skip
    return found


COLOURS = {"cells": 2, "points": 3}
"""Places of the colours in records."""


def colours_apart(lists: list[list[Record]]) -> tuple[list[list[Record]], dict[int, str]]:
    """Return lists without changes of colours alone, and these colours by the number of their record.

    They are differences from one list to the next, by channel and by point, and small: colours change slowly.
    """
    kept, found = [[*some] for some in lists], dict[int, str]()
    for k, first in enumerate(lists[0] if len({*map(len, lists)}) == 1 else ()):
        records, at = [some[k] for some in lists], COLOURS.get(first[0], 0)
        if not at or {one[0] for one in records} != {first[0]} or len({one[at] for one in records}) == 1:
            continue
        if len({json.dumps([*one[:at], len(one[at]), *one[at + 1 :]]) for one in records}) == 1:
            shades = np.stack([np.frombuffer(bytes.fromhex(one[at]), np.uint8).reshape(-1, 3) for one in records])
            found[k] = np.diff(shades, axis=0, prepend=np.uint8(0)).T.tobytes().hex()
            for some in kept:
                some[k] = [*first[:at], "", *first[at + 1 :]]
    return kept, found


class PageWriter:
    """An object that can be written as one HTML file."""

    def save_html(
        self, path: StrPath, *, theme: str = "dark", size: tuple[int, int] = (1280, 720), title: str = "",
        frames: int | None = None, open: Sequence[int] | None = None, data_limit: int = DATA_LIMIT,
        presenter: bool = False,
    ) -> Path:  # fmt: skip
        """Write one HTML file that plays in a browser, without Python and without a network.

        Parameters
        ----------
        path : path
            An existing file is replaced, whole or not at all.
        theme : {"dark", "light"}
            The theme at the start; a key changes it.
        size : (int, int)
            Pixels of the picture for browsers that cannot play the page, 160 to 8192 a side.
        title : str
            Default: the name of the recorded scene or run, or both names.
        frames : int, optional
            The most frames shown, evenly chosen, at least 2; default: all.
        open : list of int, optional
            Recorded steps after which the page can walk through the next step, micro-step by micro-step. Default: the
            first, the last, and the one before the largest fall of the loss, as far as they are small. A comparison
            opens none.
        data_limit : int
            Most bytes of the training data in the page, which it needs to train on. Above it, the page plays only;
            with 0, it never holds data. A comparison holds none.
        presenter : bool
            For a lecture hall: letters are larger, and small print is left out.

        Returns
        -------
        Path

        Raises
        ------
        InputError, TypeMismatchError, UnknownNameError
            The file cannot be written, or an argument is not allowed.

        Warns
        -----
        RuntimeWarning
            The file has more than 10 MB, or the page plays but cannot train on.
        """
        look = presenting(theme, presenter)
        asked = {"theme": look, "size": size, "title": title, "frames": frames, "open": open}
        return self._save_html(path, data_limit=data_limit, **asked)

    @abstractmethod
    def _save_html(self, path: StrPath, **asked: Any) -> Path:
        """Write the file; `asked` has the arguments of :meth:`save_html`."""


def write_html(path: StrPath, recordings: Iterable[Path], make: Callable[[], str], every: int | None = None) -> Path:
    """Write the page that `make` returns, whole or not at all; refuse to overwrite its `recordings`.

    A page above 10 MB gives a RuntimeWarning with ways to shrink it; `every` is the current interval between frames.
    """
    check_target(path)
    check_apart(path, *recordings)
    data = make().encode("utf-8")
    write_bytes(path, data)
    if len(data) > LARGE:
        now = "" if every is None else f" (now every={every})"
        warnings.warn(
            f"{path_text(path)} has {len(data) / 1e6:.0f} MB, which browsers open slowly; record fewer frames with a "
            f"larger every={now}, or without gradients and updates",
            RuntimeWarning,
            stacklevel=4,
        )
    return Path(path)


# ---- Branches: frames of earlier branches, and the time bar's data for each branch.

LEFT = 8  # most other branches with frames
FrameOfBranch = tuple[int, int]  # a branch, and the index of a frame along it


def played(source: RecordedSource, places: Iterable[FrameOfBranch]) -> Iterator[Frame]:
    """Yield the frames at places, with the source at the same moment; afterwards the source is on its branch again."""
    own = source.record.branch
    for branch, place in places:
        if source.record.branch != branch:
            source.switch(branch)
        source.show_frame(place)
        yield source.frame()
    if source.record.branch != own:
        source.switch(own)


def lines_of(source: RecordedSource, shown: list[int], most: int) -> tuple[list[FrameOfBranch], list[dict[str, Any]]]:
    """Return what a page needs besides the frames `shown` of the source's branch.

    First the places of frames of other branches, at most `most`, shared evenly; in the page they follow the shown
    frames. Then all branches that can be chosen, by number; [] if there is only one. Each has: the edit that began it;
    the indices of its frames in the page; the last step that it shares with the opening branch; edits, flags, and its
    time bar (the page has that of the opening branch already).
    """
    record = source.record
    own, wanted = record.branch, record.shapes(shown[-1])
    kept = {int(record.entry(k, "id")): row for row, k in enumerate(shown)}  # row of the page by frame id in the file
    passed = {int(record.entry(k, "id")) for k in range(len(record))}
    others = [branch.number for branch in record.branches if branch.number != own][-LEFT:]
    share, places, lines = most // max(len(others), 1), list[FrameOfBranch](), list[dict[str, Any]]()
    for number in sorted([*others, own]):
        source.switch(number)
        branch = source.record
        ids = [int(branch.entry(k, "id")) for k in range(len(branch))]
        fitting = [k for k in range(len(branch)) if (branch.shapes(k).tensors, branch.shapes(k).stages)
                   == (wanted.tensors, wanted.stages)]  # fmt: skip
        new = [k for k in fitting if ids[k] not in passed]
        if number != own and (share < 2 or not new):
            continue
        for k in chosen(new, share) if number != own else ():
            kept[ids[k]] = len(kept)
            places.append((number, k))
        passed.update(ids)
        shared = [int(branch.steps[k]) for k in range(len(branch)) if kept.get(ids[k], len(shown)) < len(shown)]
        steps, frame = [int(branch.steps[k]) for k in range(len(branch)) if ids[k] in kept], source.frame()
        lines.append({
            "number": number, "why": next(one.why for one in branch.branches if one.number == number),
            "places": [kept[one] for one in ids if one in kept], "until": max(shared, default=-1),
            **branch_marks(source.past),
            "bars": [] if number == own else bars_of(subject_of(source).after(frame), frame, steps),
        })  # fmt: skip
    source.switch(own)
    return (places, lines) if len(lines) > 1 else ([], [])


def _branched(numbers: dict[str, Any], lines: list[dict[str, Any]], count: int) -> dict[str, Any]:
    """Return the data of the first `count` frames, and separately those of other branches."""
    names = ("steps", "loss", "lr", "sample")
    rest = {name: numbers[name][count:] for name in names}
    first = {name: numbers[name][:count] for name in names}
    return first | {"branches": {"rest": rest, "lines": lines}}


def branch_marks(past: Past) -> dict[str, list[tuple[int, str]]]:
    """Return edits and flags of a branch."""
    return {"edits": [(edit.step, edit.what) for edit in past.edits],
            "named": [(flag.step, flag.name) for flag in past.flags]}  # fmt: skip
