"""A recording as a page: its branch of now, frame after frame, in one file."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import integer, text
from ...errors import MissingDependencyError, ScalarvizError
from ...io import check_target, write_bytes
from ...io.atomic import StrPath, path_text
from ...run.core.frame import Frame
from ...run.opened.micro import PHASES, MicroStep
from ...run.scene.scene import weights_text
from ...run.sources.played import RecordedSource
from ...run.sources.recording.contents import Picture
from ...run.sources.recording.file import check_apart
from ...run.sources.recording.recorded import Recorded
from ...run.sources.recording.recorded_step import RecordedStep
from ...run.sources.recording.taken import About
from ..ink.places import check_size
from ..ink.text import loss_text
from ..ink.theme import THEMES, get_theme, mixed
from ..micro.saying import delta_text
from ..micro.told import Formula
from ..micro.walk import Walk
from ..out.offscreen import available, offscreen
from ..shown.subject import Subject, subject_of
from ..workbench import Workbench
from .branches import Place, evenly, left_aside, lines_of, said_of
from .ofscene import NOTHING, OfScene
from .pack import EXACT, text_of
from .page import Beside, PanelFilm, json_number, page_of

ROWS = 128
"""About how many activations a frame has besides: other branches are left out before numbers lose bits."""
LARGE = 10_000_000
"""Bytes of a page from which on it is said how it becomes smaller."""
CUBES = "Every cube is one."
STILL = 0.7, 55
"""Share of the page's size, and quality, of the picture for where nothing plays."""


def html_of(
    record: Recorded,
    pictures: Sequence[Picture] = (),
    *,
    theme: str = "dark",
    size: tuple[int, int] = (1280, 720),
    title: str = "",
    frames: int | None = None,
    others: Sequence[Picture] = (),
    scene: OfScene = NOTHING,
) -> str:
    """The page of a recording's branch. Frames of another network than the last one's are left out, which it says.

    Parameters
    ----------
    record : Recorded
    pictures : sequence of Picture
        Of the scene's panels.
    theme : {"dark", "light"}
        The look that it opens with; a key changes it.
    size : (int, int)
        Of the page that it is laid out for, in pixels, 160 to 8192 a side; in another size it is arranged anew.
    title : str
        What it is called; default: the name of what was recorded.
    frames : int, optional
        The most that it shows, evenly chosen, from 2; default: all.
    others : sequence of Picture
        The pictures in the other look; without them those of the first stand there in both.
    scene : OfScene
        What the page has from the scene itself.

    Raises
    ------
    UnknownNameError, TypeMismatchError, InputError
        No such theme; a title that is no text; a size or a number that is none.
    """
    look, size = get_theme(theme).name, check_size(size)
    title = text(title, "the title") or record.about.name
    most = len(record) if frames is None else integer("frames of a page", frames, 2)
    source = RecordedSource(record)
    source.to(source.span[1])
    last = source.frame()
    subject, past = subject_of(source).after(last), source.past
    fitting = [k for k in range(len(record)) if record.shapes(k) is record.shapes(-1)]
    shown = evenly(fitting, most)
    room = EXACT // max(1, record.shapes(-1).size + ROWS) - len(shown)
    added, lines = lines_of(source, shown, room if frames is None else min(most, room))
    beside = Beside(
        title, look, size,
        ("weight", *(name for name in ("gradient", "update") if not source.lacks(name))),
        *said_of(past), left_aside(past), films(pictures), _program(record, fitting[0], subject, scene),
        still_of(subject, last, size, look), story_of(record.about, subject), lines, films(others),
        None if source.lacks("micro") else lambda document: walks_of(subject, source, shown, document),
        scene,
    )  # fmt: skip
    return page_of(subject, played(source, [*((record.branch, k) for k in shown), *added]), beside)


def _program(record: Recorded, first: int, subject: Subject, scene: OfScene) -> str:
    """What recorded it, and what is not shown of it."""
    said = [f"recorded with scalarviz {record.about.version}".rstrip()]
    if first:
        said.append(f"before step {record.steps[first]:,} it had another network")
    if scene.letters is None and subject.plan is not None and subject.plan.rooms:
        said.append("what is read among the cubes is not in a recorded file: pictures show it")
    if scene.turned:
        said.append("the maps of single units are in the window")
    said += [f"{title} is in the window" for title in scene.above]
    return "  \N{MIDDLE DOT}  ".join(said)


def story_of(about: About, subject: Subject) -> str:
    """What somebody who has never seen such a page is told of it."""
    count = sum(tensor.size for tensor in subject.tensors)
    cubes = "The cube is it." if count == 1 else CUBES
    return " ".join(filter(None, (weights_text(count), cubes, about.sentence)))


def played(source: RecordedSource, places: Iterable[Place]) -> Iterator[Frame]:
    """Frames by their branches and places; what the source knows of its training is of the same moment.

    Afterwards it stands on the branch where it stood.
    """
    own = source.record.branch
    for branch, place in places:
        if source.record.branch != branch:
            source.switch(branch)
        source.stand(place)
        yield source.frame()
    if source.record.branch != own:
        source.switch(own)


def films(pictures: Sequence[Picture]) -> list[PanelFilm]:
    """Pictures by panel, as a page has them."""
    found: dict[tuple[str, int, int], PanelFilm] = {}
    for one in sorted(pictures, key=lambda one: one.step):
        film = found.setdefault((one.panel, one.width, one.height), PanelFilm(one.panel, one.width, one.height, [], []))
        film.steps.append(one.step)
        film.data.append(f"data:image/{one.kind};base64,{text_of(one.image)}")
    order = list(dict.fromkeys(one.panel for one in pictures))
    return sorted(found.values(), key=lambda film: order.index(film.name))


def write_html(
    record: Recorded,
    path: StrPath,
    every: int | None = None,
    pictures: Sequence[Picture] = (),
    *,
    theme: str = "dark",
    size: tuple[int, int] = (1280, 720),
    title: str = "",
    frames: int | None = None,
    others: Sequence[Picture] = (),
    scene: OfScene = NOTHING,
) -> Path:
    """Write the page, whole or not at all; the arguments as of :func:`html_of`.

    A page above 10 MB is written with a RuntimeWarning that names what makes it smaller: fewer frames, `every` of which
    is what there are now.

    Raises
    ------
    InputError
        It cannot be written there, or is the recording itself; what was there before stays.
    """
    check_target(path)
    check_apart(path, record.path)
    page = html_of(record, pictures, theme=theme, size=size, title=title, frames=frames, others=others,
                   scene=scene)  # fmt: skip
    write_page(path, page, every)
    return Path(path)


def write_page(path: StrPath, page: str, every: int | None = None) -> None:
    """Write a page that is made; warns where it is large."""
    data = page.encode("utf-8")
    write_bytes(path, data)
    if len(data) > LARGE:
        now = "" if every is None else f" (now every={every})"
        warnings.warn(
            f"{path_text(path)} has {len(data) / 1e6:.0f} MB, which browsers open slowly; record fewer frames with a "
            f"larger every={now}, or without gradients and updates",
            RuntimeWarning,
            stacklevel=4,
        )


def still_of(
    subject: Subject,
    frame: Frame,
    size: tuple[int, int],
    theme: str,
    make: Callable[[Subject, tuple[int, int], str], Workbench] = Workbench,
) -> bytes:
    """The picture of a frame as WebP, smaller than a page of `size`; empty where nothing can draw."""
    from PIL import Image

    try:
        if available():
            return b""
    except MissingDependencyError:
        return b""
    share, quality = STILL
    with offscreen():
        bench = make(subject, size, theme)
        bench.update(frame)
    picture = Image.fromarray(offscreen().render(bench.draw, size))
    small = picture.resize((max(1, round(size[0] * share)), max(1, round(size[1] * share))), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    small.save(file, "WEBP", quality=quality, method=6)
    return file.getvalue()


# ---- `walks_of`: the micro-steps of a recording as a page has them: their words, and the numbers of their cubes.

MOST = 60
"""Steps of which a page holds micro-steps."""
MOST_BYTES = 400_000
"""Bytes of their numbers, unpacked."""


def walks_of(
    subject: Subject, source: RecordedSource, places: Sequence[int], document: Mapping[str, Any]
) -> tuple[dict[str, Any], NDArray[np.float32]] | None:
    """The micro-steps after some of a recording's frames.

    Parameters
    ----------
    subject : Subject
    source : RecordedSource
        It stands afterwards where it stood.
    places : sequence of int
        Of the frames of the page.
    document : mapping
        Of :func:`~scalarviz.view.page.document.document_of`.

    Returns
    -------
    (dict, ndarray of float32), or None
        What JSON takes, and a row of numbers for each walk: gradients, new weights, rows, deltas. None where there are
        no micro-steps.
    """
    here, found = source.place, _Walks(subject, source, document)
    there = [number for number, place in enumerate(places) if source.record.sides(place)]
    try:
        for number in _evenly(there, found.most):
            source.stand(places[number])
            found.add(number)
    finally:
        source.stand(here)
    if not found.rows:
        return None
    chip = {name: _hex(mixed(theme.gradient[3], theme.panel, 0.3)) for name, theme in THEMES.items()}
    order = sorted(range(len(found.walks)), key=lambda k: not found.walks[k]["alone"])  # each side changes slowly
    said = {
        "plans": found.plans,
        "walks": [found.walks[k] for k in order],
        "rows": found.lengths,
        "of": len(there),
        "input": found.input,
        "chip": chip,
    }
    return said, np.stack([found.rows[k] for k in order])


def _evenly(numbers: Sequence[int], most: int) -> list[int]:
    count = min(most, len(numbers))
    return [numbers[k] for k in np.unique(np.linspace(0, len(numbers) - 1, count).round().astype(int))]


class _Walks:
    """Collects them.

    Attributes
    ----------
    plans, walks : list of dict
    lengths : list of (str, int)
        Of the rows, in their order.
    rows : list of ndarray
    input : list of float
        The sample of the first walk.
    """

    def __init__(self, subject: Subject, source: RecordedSource, document: Mapping[str, Any]) -> None:
        self._single = document["words"]["single"]
        self._subject, self._source, self._parameters = subject, source, int(document["parameters"])
        self.lengths = [(stage.name, stage.outputs) for stage in subject.stages]
        self.plans: list[dict[str, Any]] = []
        self._known: dict[str, int] = {}
        self.walks: list[dict[str, Any]] = []
        self.rows: list[NDArray[np.float32]] = []
        self.input: list[float | str] = []

    @property
    def most(self) -> int:
        """Of how many frames there is room for micro-steps."""
        bytes_ = 2 * 4 * (2 * self._parameters + 2 * sum(count for _, count in self.lengths))
        return max(2, min(MOST, MOST_BYTES // bytes_))

    def add(self, number: int) -> None:
        """The micro-steps of the step after the frame where the source stands, which is this one of the page."""
        frame = self._source.frame()
        for alone in sorted(self._source.sides(), reverse=True):
            try:
                opened = self._source.opened(alone=alone)
                walk = Walk(opened, self._subject, frame)
            except ScalarvizError:  # what cannot be read is not there
                continue
            self.walks.append({"frame": number, **self._told(walk, opened)})
            self.rows.append(self._numbers(walk, opened))
            self.input = self.input or _inputs(frame)

    def _numbers(self, walk: Walk, opened: RecordedStep) -> NDArray[np.float32]:
        made = [walk.frame.activations[name] for name, _ in self.lengths]
        deltas = [opened.joined[name] for name, _ in self.lengths]
        parts = [opened.gradient[: self._parameters], opened.new_values[: self._parameters], *made, *deltas]
        with np.errstate(over="ignore"):
            return np.concatenate([np.ravel(part) for part in parts]).astype(np.float32)

    def _told(self, walk: Walk, opened: RecordedStep) -> dict[str, Any]:
        first, last = walk.told(1), walk.told(len(walk))
        own = walk.own_loss
        lines = []
        for at in range(1, len(walk) + 1):
            sentence, face = walk.line(at)
            lines.append([sentence.name, sentence.meaning, [_formula(f) for f in sentence.formulas[:2]], face])
        return {
            "alone": opened.trial, "lr": json_number(opened.lr), "plan": self._plan(walk, opened), "step": opened.step,
            "loss": loss_text(opened.loss), "own": None if own is None else loss_text(own), "samples": first.samples,
            "mean": last.mean, "about": first.headline.split("  \N{MIDDLE DOT}  ")[-1],
            "lines": lines, "table": last.table, "deltas": [delta_text(float(x)) for x in self._sums(opened)],
        }  # fmt: skip

    def _sums(self, opened: RecordedStep) -> NDArray[np.float64]:
        """Deltas of the sums of a single layer, which stand under its outputs."""
        single = self._single
        return opened.joined[single["sums"]] if single else np.zeros(0)

    def _plan(self, walk: Walk, opened: RecordedStep) -> int:
        """The number of what is the same in many steps."""
        phases = [[p.name, span.start, p.count, p.words] for p, span in
                  zip(walk.told(1).phases, opened.phases(), strict=True)]  # fmt: skip
        plan = {"steps": [_step(step, self.lengths) for step in opened.micro_steps()], "phases": phases}
        key = json.dumps(plan)
        if key not in self._known:
            self._known[key] = len(self.plans)
            self.plans.append(plan)
        return self._known[key]


def _inputs(frame: Frame) -> list[float | str]:
    """The sample whose way is drawn."""
    row = np.ravel(frame.activations.get("input", np.zeros(0))).astype(np.float32)
    return [json_number(float(number)) for number in row]


def _step(step: MicroStep, stages: Sequence[tuple[str, int]]) -> list[Any]:
    """Phase, kind, stage, units and weights (as runs)."""
    names = [name for name, _ in stages]
    stage = names.index(step.stage) if step.stage in names else -1
    return [PHASES.index(step.phase), step.kind, stage, _runs(step.units), _runs(step.weights)]


def _runs(numbers: NDArray[np.int64]) -> list[list[int]]:
    if not len(numbers):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
    return [[int(numbers[a]), int(numbers[b - 1]) + 1] for a, b in pairwise(cuts)]


def _hex(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def _formula(formula: Formula) -> list[Any]:
    return [formula.letters, [[word.text, word.tone, int(word.bold)] for word in formula.numbers]]
