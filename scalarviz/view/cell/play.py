"""`Play`: what one cell shows and lets be done, without threads and without a notebook.

It wraps a viewer: a `LiveView`, which trains, or a `Mirror` of what the user's own cells change. What it offers to a
`Channel` is one moment: the numbers of a frame and all that is said beside them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..browser.document import document_of, flags_of, texels_of
from ..cubes.own import LOOKS, OwnLook
from ..panels.wording import newest_beyond
from ..watch.live import LiveView
from .asked import Asked
from .channel import RATE, pace_of
from .controls import CellControls
from .offered import ALLOWED, covered
from .opened import put_rows, rows_told
from .panels import CellPanels
from .snapshot import Snapshot
from .told import Part, curve, finite, head, inspector, micro, refusals, rows, showing, story, timeline

if TYPE_CHECKING:
    from ...run.core.frame import Frame
    from ..watch.viewer import Viewer
    from .channel import Channel

KEPT = 30.0
"""Seconds between two pictures for the saved notebook, while something moves."""
BENCH = (1280, 720)
"""Size for which a viewer of numbers is laid out: one that has a column for the inspector."""
RESTED = 1.0
"""Seconds without another number after which that picture is of now: a loop by hand is done, or an edit."""
CURVE = 0.5
"""Seconds between two curves of all losses, while it trains."""


class Play:
    """One cell's viewer, its controls and its table of what may be asked.

    Parameters
    ----------
    viewer : Viewer
    hide : collection of str
        Names that are left out.
    controls : bool
        Whether there are sliders and buttons.
    size : (int, int)
        Pixels that the cubes are laid out for.
    title : str

    Attributes
    ----------
    viewer : Viewer
    """

    def __init__(
        self,
        viewer: Viewer,
        hide: Collection[str] = (),
        controls: bool = True,
        size: tuple[int, int] = (680, 446),
        title: str = "",
    ) -> None:
        self.viewer, self._hide, self._left_out = viewer, frozenset(hide), covered(hide)
        live = viewer if isinstance(viewer, LiveView) else None
        self._live = live
        self._controls = None if live is None or not controls else CellControls(live, live.scene, hide)
        self._panels = None if "panels" in self._hide else CellPanels(viewer.bench)
        self.asked = Asked(viewer, self._controls, hide, self._panels)
        self._size, self._title = size, title
        self._document: tuple[object, dict[int, OwnLook], dict[str, object]] | None = None
        self._worn = LOOKS.version
        self._curve: Part = None
        self._curve_at = 0.0
        self._changed = True
        self._sent: tuple[Frame, dict[str, object]] | None = None
        self._kept_at: float | None = None
        self._kept: tuple[object, ...] | None = None
        self._stood: tuple[tuple[object, ...], float] | None = None  # the newest moment, and since when
        self._was_moving = False

    # ---- time

    @property
    def moves(self) -> bool:
        """Whether anything trains or travels."""
        live = self._live
        return live is not None and (live.playback.running or live.worker.busy or live.worker.journey is not None)

    def take(self, asked: object) -> None:
        """Do what a message asks for."""
        self.asked.take(asked)
        self._changed = True

    def do(self, asked: object) -> None:
        """The same; raises where it is not done."""
        self._changed = True
        self.asked.do(asked)
        self.viewer.refresh()

    def look(self) -> None:
        """Take over what the user's own cells have changed."""
        if isinstance(self.viewer, Snapshot):
            self.viewer.look()
        self.pass_time(0.0)

    def pass_time(self, seconds: float, *, seen: bool = True) -> None:
        """`seconds` have passed; where nobody has `seen` them nothing is worked out but what trains."""
        if seen:
            self._changed |= self.viewer.tick(seconds)
            if self._panels is not None:
                self._panels.look(curve=self._no_bar)
        else:
            self.viewer.advance(seconds)

    def keeps(self, now: float) -> bool:
        """Whether the picture of the saved notebook is to be renewed: at rest at once, else now and then."""
        rested = self._was_moving and not self.moves
        self._was_moving = self.moves
        frame = self.viewer.shown
        moment = (frame.step, frame.values.tobytes() if len(frame.values) <= 4096 else float(frame.values.sum()))
        if self._kept is None:
            self._kept, self._kept_at = moment, now
        if self._stood is None or self._stood[0] != moment:
            self._stood = moment, now
        rested |= not self.moves and now - self._stood[1] >= RESTED
        stale = now - (self._kept_at or now) >= KEPT
        if moment == self._kept or not (rested or stale):
            return False
        self._kept, self._kept_at = moment, now
        return True

    @property
    def whole(self) -> Frame:
        """The frame of now; inside of an opened step that of the run, for a picture that has no room for the step."""
        told = self.viewer.bench.inside.told
        return self.viewer.shown if told is None or told.now is None else told.now

    def close(self) -> None:
        """Let go of what is shown."""
        self.viewer.close()

    # ---- what is shown

    def offer(self, channel: Channel) -> bool:
        """Send the moment of now, if it is another one; returns whether it was sent."""
        if self._panels is not None:
            self._changed |= self._panels.renew(self.viewer.clock, channel)
        self._changed |= self._worn != LOOKS.version  # a cell of the user has given a cube another look
        if not (self._changed or channel.new):
            return False
        self._worn = LOOKS.version
        self._changed, frame = False, self.viewer.shown
        parts, before = self.parts(frame), self._sent
        if not channel.new and before is not None and before[0] is frame and before[1] == parts:
            return False
        self._sent, buffers = (frame, parts), self.buffers(frame)
        parts = {**parts, "thinned": thinned(len(frame.values), sum(map(len, buffers.values())))}
        if self._live is not None:
            self._live.mark_frame()
        content: dict[str, object] = {
            "step": frame.step, "loss": finite(frame.loss), "buffers": list(buffers), "rows": rows(frame),
            "known": self._known(frame), "past": newest_beyond(frame) > 0,
            "inside": rows_told(self.viewer.bench.inside, self.document()),
        }  # fmt: skip
        channel.offer(content, parts, list(buffers.values()))
        return True

    def _known(self, frame: Frame) -> dict[str, bool]:
        """Whether there are gradients and updates of the frame, and what the optimiser keeps where that is shown."""
        shows = self.viewer.bench.colouring.shows
        none = shows.state and shows.numbers(frame) is None
        return {name: bool(frame.known(name).any()) and not none for name in ("gradient", "update")}

    def parts(self, frame: Frame) -> dict[str, object]:
        """All that is said beside the numbers of a frame."""
        viewer, live = self.viewer, self._live
        bench = viewer.bench
        inside = bench.inside.told
        offered = [name for name in ALLOWED if name not in self._left_out]
        return {
            "head": head(viewer, frame), "running": live is not None and live.playback.running,
            "notice": viewer.message() or viewer.notice(), "micro": micro(viewer), "story": story(viewer),
            "quantity": bench.colouring.quantity if inside is None else inside.quantity, "showing": showing(bench),
            "why_not": refusals(viewer, offered), "controls": self._rows(),
            "breaks": None if live is None or self._controls is None or "pause when" in self._left_out
            else live.breaks.listed,
            "tools": [] if self._controls is None else list(self._controls.tools),
            "inspector": None if "inspector" in self._hide else inspector(viewer, frame),
            "time": None if "timeline" in self._hide else timeline(self.whole, bench.subject.step_loss),
            "curve": self._losses(self.whole),
            "document": self.document(), **({} if self._panels is None else self._panels.parts),
        }  # fmt: skip

    @property
    def _no_bar(self) -> bool:
        """Whether there is no time bar, which has the curve of the loss."""
        return "timeline" in self._hide or self.whole.past is None

    def _rows(self) -> list[dict[str, object]]:
        return [] if self._controls is None else self._controls.written(self.viewer.shown)

    def document(self) -> dict[str, object]:
        """What the cubes are drawn from; the same object as long as it is the same network, and its cubes look so."""
        subject = self.viewer.bench.subject
        looks = LOOKS.of(subject.source)
        if self._document is None or self._document[0] is not subject or self._document[1] != looks:
            self._document = subject, looks, document_of(subject, self._size, title=self._title, looks=looks)
        return self._document[2]

    def _losses(self, frame: Frame) -> Part:
        """The curve, made anew now and then: the page adds what comes in between."""
        now = self.viewer.clock
        if now >= self._curve_at or not self.moves:
            self._curve_at, self._curve = now + CURVE, None if "timeline" in self._hide else curve(frame)
        return self._curve

    def buffers(self, frame: Frame) -> dict[str, bytes]:
        """The numbers of a frame as the player's textures want them: values, what is shown besides, and marks."""
        document, shows = self.document(), self.viewer.bench.colouring.shows
        told = self.viewer.bench.inside.told
        shown = shows.name if told is None else told.quantity
        wanted = ("weight", *(name for name in ("gradient", "update") if name in shown))
        numbers = {name: texels_of(frame, document, name) for name in wanted}
        if shows.state and told is None:
            numbers[shows.name] = texels_of(frame, document, shows)
        flags = flags_of(frame, document)
        put_rows(self.viewer.bench.inside, document, numbers["weight"], flags)
        found = {name: texels.tobytes() for name, texels in numbers.items()}
        return {**found, "flags": flags.tobytes()} if flags.any() else found


def thinned(count: int, size: int) -> str:
    """What is said where frames are so large that fewer of them are sent; empty where they are not."""
    pace = pace_of(size)
    return "" if pace >= RATE else f"{count:,} numbers: {pace:.2g} frames a second"
