"""`Recording`, `Recorded` and `Comparison` with the methods that need a view.

``sv.Recording``, ``sv.load_recording``, and the result of ``first.compare(second)``: two recordings at the same steps,
for a window, a picture or a page.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...checks import integer, text
from ...errors import InputError, TypeMismatchError
from ...io.atomic import StrPath, scratch
from ...run.opened.opened import Opened
from ...run.opened.why import Why, say, why
from ...run.panels.base import PanelPicture
from ...run.scene.scene import Scene
from ...run.sources import recording
from ...run.sources.played import RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ...run.sources.recording.contents import write_pictures
from ...run.sources.recording.steps import Sample, open_step
from ...scalar.weight import Weight
from ..comparison import MAP
from ..ink.boxes import check_size
from ..ink.text import loss_text
from ..ink.theme import Theme, get_theme, presenting
from ..shown.names import Names
from ..shown.subject import Subject, pair_subject
from .bar import bars_of
from .document import document_of
from .lists import FrameLists, Pool
from .pack import Float32, dense_text, packed_text, squeezed
from .page import GESTURES, keys_of, numbers_of, shell
from .pictures import chosen, panel_pictures, still_bytes
from .recorded import PageWriter, html_of, write_html
from .trains import DATA_LIMIT


class Recorded(PageWriter, recording.Recorded):
    """See :class:`scalarviz.run.sources.recording.Recorded`."""

    def open(self, step: int, sample: Sample | None = None) -> Opened:
        """Return a step with all its numbers, as :meth:`scalarviz.Run.open` does; also a step between two frames.

        Steps between frames are computed again from the keyframe before. The code of the model is not needed.

        Parameters
        ----------
        step : int
            The step, from 1: one of this branch, or the coming one.
        sample : int or (x, y), optional
            A trial step with this sample alone: its number in the data, or inputs and targets.

        Raises
        ------
        InputError, TypeMismatchError
            There is no such step; the sample does not fit.
        FileFormatError
            The file lacks what the step needs, its data say.

        Examples
        --------
        ``with sv.load_recording("run.svz") as run: print(run.open(100).update("0.weight[0][0]"))``
        """
        return open_step(self, step, sample)

    def why(self, weight: Weight | str | int, step: int) -> Why:
        """Print why a weight moved in a step and return the numbers, as :meth:`scalarviz.Run.why` does."""
        opened = self.open(step)
        found = why(opened, opened.index(weight))
        say(str(found))
        return found

    def compare(self, other: recording.Recorded) -> Comparison:
        """Return two recordings at the same steps, with their difference: for ``sv.show``, ``sv.render`` or a page.

        Each shows its last frame up to the shown step; tensors are matched by name and shape.

        Raises
        ------
        TypeMismatchError
            `other` is not a recording.
        InputError
            The recordings share no tensor, or no step.

        Examples
        --------
        ``first.compare(second).save_html("both.html")``, ``sv.render(first.compare(second), step=300)``
        """
        given: Any = other
        if not isinstance(given, recording.Recorded):
            raise TypeMismatchError(f"compare: got {type(given).__name__}; allowed: a recording")
        first, second = names_of([self.path, other.path], [self.about.name, other.about.name])
        if first == second and self.branch != other.branch:
            first, second = f"{first}, branch {self.branch}", f"{second}, branch {other.branch}"
        return Comparison(RecordedSource(self), RecordedSource(other), (first, second))

    def _save_html(self, path: StrPath, **asked: Any) -> Path:
        return write_html(path, [self.path], partial(html_of, self, self.pictures, **asked))


class Recording(PageWriter, recording.Recording):
    """See :class:`scalarviz.run.sources.recording.Recording`."""

    reader: ClassVar[type[recording.Recorded]] = Recorded

    def close(self) -> Path:
        """Record the current step and finish the file, with pictures of the panels if wanted; return its path.

        Raises
        ------
        StateError
            This process was forked from the recording one.
        """
        had, path = self._closed, super().close()
        if self.panels and not had and not self.trouble:
            with closing(Recorded(path)) as record:
                drawn = self._drawn(record)
                rows = {step: record.row(record.at(step), "id")[0] for step in {one.step for one in drawn}}
            try:
                write_pictures(path, [(rows[one.step], one) for one in drawn])
            except InputError as error:  # a full disk: the numbers are there
                with suppress(RuntimeWarning):
                    warnings.warn_explicit(f"{error}; everything else was read", RuntimeWarning, "scalarviz", 0)
        return path

    def _save_html(self, path: StrPath, **asked: Any) -> Path:
        """Write the frames recorded so far; the scene's panels are drawn in both themes."""
        with closing(self.read()) as record:

            def make() -> str:
                theme, frames = asked["theme"], asked["frames"]
                other = presenting("dark" if theme.name == "light" else "light", theme.presenter)
                pictures = self._drawn(record, theme, frames)
                others = self._drawn(record, other, frames, pictures)
                return html_of(record, pictures or record.pictures, others=others, scene=self.subject, **asked)

            return write_html(path, [record.path], make, self.every)

    def _drawn(
        self,
        record: recording.Recorded,
        theme: str | Theme = "dark",
        most: int | None = None,
        like: Sequence[PanelPicture] = (),
    ) -> list[PanelPicture]:
        """Return pictures of the recorded scene's panels, at frames of its current network."""
        scene = self.subject
        if not isinstance(scene, Scene) or not scene.panels:
            return []
        now = [(tensor.name, tensor.shape) for tensor in scene.run.tensors]
        fitting = [k for k in range(len(record)) if [(t.name, t.shape) for t in record.shapes(k).tensors] == now]
        return panel_pictures(scene, chosen(fitting, most or len(fitting)), record.frame, theme, like=like)


def load_recording(path: StrPath) -> Recorded:
    """Open a recording for reading; close it, or use it in a ``with``.

    Parameters
    ----------
    path : path
        A file of ``sv.Recording`` or ``scalarviz SCENE --recording FILE``. If its program was killed, the file is
        repaired, or read from a copy if it cannot be written. A file that is still being written can be read.

    Returns
    -------
    Recorded
        ``.steps``, ``.loss``, ``.lr``, ``.values[name]``, ``.frame(k)``, ...

    Raises
    ------
    InputError
        There is no such file, or it is a folder.
    FileFormatError
        The file is not a recording, is of another version, or is too damaged to read. A partly damaged file opens with
        the readable part; ``.remark`` says what is missing.
    """
    return Recorded(path)


# ---- Two recordings.


class Comparison(PageWriter, RecordedPair):
    """The result of ``first.compare(second)``; see :class:`~scalarviz.run.sources.recorded_pair.RecordedPair`.

    Examples
    --------
    ``sv.show(first.compare(second))``, ``sv.render(first.compare(second), step=300)``
    """

    def open(self, step: int) -> tuple[Opened, Opened]:
        """Return a step of each of the two, as :meth:`Recorded.open` does: on the branches that they show."""
        one, other = (open_step(own.record, step) for own in self.pair if isinstance(own, RecordedSource))
        return one, other

    def _save_html(self, path: StrPath, **asked: Any) -> Path:
        """Write both and their difference; `frames` counts the steps at which either was recorded."""
        if asked.pop("data_limit") != DATA_LIMIT:
            raise InputError("data_limit: a page of two recordings holds no training data; try save_html of one")
        if asked.pop("open"):
            raise InputError("open: a comparison opens no steps; try save_html of one recording")
        files = [one.record.path for one in self.pair if isinstance(one, RecordedSource)]
        return write_html(path, files, partial(comparison_html, self, **asked))


def names_of(paths: Sequence[Path], called: Sequence[str] = ()) -> list[str]:
    """Return the names of two recordings: file names without ending, with the folder if they are equal.

    Temporary files get the names `called` of the recorded scenes, numbered if those are equal.
    """
    names, files = [path.stem for path in paths], {path.absolute() for path in paths}
    if called and all(path.absolute().parent.name.startswith(scratch()) for path in paths):
        alike = len(set(called)) < len(called)
        return [f"{name} {k}" if alike else name for k, name in enumerate(called, 1)]
    if len(set(names)) < len(files):
        names = [f"{path.absolute().parent.name}/{path.stem}" for path in paths]
    return names


# ---- `comparison_html`: two recordings and their difference as one HTML file, which plays like one recording.

SENTENCE = "Two recorded trainings and their difference; playing them needs a browser with JavaScript and WebGL 2"
QUANTITIES = ("weight", "gradient", "update")

Parts = dict[str, Float32]


def comparison_html(
    pair: RecordedPair, *, theme: str | Theme, size: tuple[int, int], title: str, frames: int | None
) -> str:
    """Return the page of two recordings; arguments as for :meth:`Comparison.save_html`."""
    look, size = get_theme(theme), check_size(size)
    title = text(title, "the title") or " and ".join(pair.names)
    count = len(pair.steps)
    most = count if frames is None else min(integer("frames of a page", frames, 2), count)
    shown = chosen(range(count), most)
    subject, last = pair_subject(pair), pair.frame_at(count - 1)
    known, pool = [name for name in QUANTITIES if not pair.lacks(name)], Pool()
    lists, ranges = FrameLists(subject, known, pool, look), list[list[float]]()
    for place in shown:
        lists.add_frame(pair.frame_at(place))
        rows, apart = (view.activations.range for view in lists.first.views[1:])
        ranges.append([rows.low, rows.high, apart.high])
    document = document_of(subject, lists.layout, look)
    head, tables = _head_and_tables(pair, shown, document, known)
    keys = keys_of({*known})
    head |= {
        "document": document, "ranges": ranges if pair.stages else [], "of": pair.of,
        "third": {"quantities": [{**one, "map": MAP} for one in document["quantities"]], "sheet": False},
        "keys": [key for key in keys if key["name"] != "show_ratio"],  # a difference has no update / value
        "about": {"line": "  \N{MIDDLE DOT}  ".join(_about(pair, subject, title, len(shown))),
                  "gestures": list(map(list, GESTURES))},
        "edits": [(edit.step, edit.what) for edit in pair.past.edits],
        "bars": bars_of(subject, last, head["steps"], pair.past, other=pair.other_curve),
    }  # fmt: skip
    parts = {"run": dense_text(squeezed(head)), "lists": dense_text(squeezed(lists.as_json() | pool.as_json()))}
    parts |= {name: packed_text(table) for name, table in tables.items()}
    sides = []
    for name, one in zip(NAMES, last.frames, strict=True):
        loss = "" if np.isnan(one.display_loss) else f", loss {loss_text(one.display_loss)}"
        sides.append(f"{name} at step {one.step:,}{loss}")
    still, call = still_bytes(subject, last, size, look), "openComparison();"
    sentence, styles = f"{SENTENCE}: {'; '.join(sides)}.", ["comparison.css"]
    return shell(title, look.name, parts, sentence, call, "comparison.js", styles=styles, still=still)


def _about(pair: RecordedPair, subject: Subject, title: str, count: int) -> list[str]:
    """Return words about the two: their names, what could not be compared, and how many steps the page has."""
    named = [f"{letter}: {name}" for letter, name in zip(NAMES, pair.names, strict=True) if name != letter]
    line = [title, *(named if title != " and ".join(pair.names) else ())]
    line += [lacks for name in QUANTITIES[1:] if (lacks := pair.lacks(name))]
    without = "; ".join(Names(subject).plain(one) for one in pair.left_out)
    line += [f"left out: {without}"] if without else []
    return line + ([f"{count:,} of {len(pair.steps):,} recorded steps"] if count < len(pair.steps) else [])


def _head_and_tables(
    pair: RecordedPair, shown: Sequence[int], document: dict[str, Any], known: Sequence[str]
) -> tuple[dict[str, Any], Parts]:
    """Return the head (steps, each recording's frame at each step, frame data), and the tables by part name."""
    steps = [int(pair.steps[k]) for k in shown]
    stands = [pair.places(step) for step in steps]
    both: list[dict[str, Any]] = []
    tables, places = Parts(), []
    for k, letter in enumerate(NAMES):
        own = sorted({place[k] for place in stands})
        places.append([own.index(place[k]) for place in stands])
        frames = (pair.frame_of(k, place) for place in own)
        told, found = numbers_of(frames, document, known, lambda frame: frame.display_loss)
        both.append({"name": pair.names[k], **told})
        tables |= {f"{letter}-{name}": table for name, table in found.items()}
    return {"steps": steps, "places": list(zip(*places, strict=True)), "both": both}, tables
