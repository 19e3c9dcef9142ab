"""A recording as a page: its branch of now, frame after frame, in one file."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ...checks import integer, text
from ...errors import MissingDependencyError
from ...io import check_target, write_bytes
from ...io.atomic import StrPath, path_text
from ...run.core.frame import Frame
from ...run.scene.scene import weights_text
from ...run.sources.played import RecordedSource
from ...run.sources.recording.about import About
from ...run.sources.recording.contents import Picture
from ...run.sources.recording.file import check_apart
from ...run.sources.recording.recorded import Recorded
from ..draw.places import check_size
from ..draw.theme import get_theme
from ..shown.subject import Subject, subject_of
from ..window.offscreen import available, offscreen
from ..workbench import Workbench
from .branches import Place, evenly, left_aside, lines_of, said_of
from .ofscene import NOTHING, OfScene
from .pack import EXACT, text_of
from .page import Beside, PanelFilm, page_of
from .walks import walks_of

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
