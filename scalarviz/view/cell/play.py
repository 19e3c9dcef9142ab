"""`Play`: the picture and the input of one cell, without threads and without a notebook.

It is the window's picture around a `LiveView`, which trains, or around a viewer that follows the user's own cells.
Input in the browser works as in the window. A `Channel` gets the picture in parts: the numbers of the cubes, the
camera, and the display list. Only changed parts are sent.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

from ...checks import one_of
from ...errors import InputError, TypeMismatchError, shown
from ...run.core.frame import Frame
from ...run.edits import Edit
from ...run.scene.scene import SIDES, Scene
from ..ink.listed import colours_of, encoded, short
from ..ink.sketch import Spot
from ..ink.theme import THEMES
from ..out.canvas import words_of
from ..out.offscreen import offscreen
from ..page.document import advances_of, constants_of, cubes_of, pose_data
from ..page.lists import PictureLists
from ..panels.drawer import newest_beyond
from ..screen.controls import TYPED
from ..watch.actions import ACTIONS
from ..watch.live import LiveView
from ..watch.scene_controls import TOOLS
from ..watch.viewer import Viewer
from ..workbench import Workbench
from .channel import RATE, Channel, pace_of

KEPT = 30.0  # seconds between two stills for the saved notebook, while something moves
RESTED = 1.0
"""Seconds without a change after which the still is renewed: a hand-written loop or an edit is done."""
LONGEST = 32  # most letters of a key's name
COVERS = {
    "learning rate": ("raise_rate", "lower_rate"), "pace": ("slower", "faster", "normal_speed"),
    "timeline": ("first", "newest", "name_moment", "toggle_loop"),
    "micro_next": ("micro_back", "whose", "add_samples"), "pause when": ("break_on",), "panels": ("toggle_panels",),
    "inspector": ("nudge_up", "nudge_down", "freeze", "zero", "halve", "double", "redraw", "find_sign", "select_more",
                  "type_value"),
}  # fmt: skip
"""Actions that are hidden together with a control, because their keys do the same."""
NOT_HERE = {
    "open": "load a file in Python", "film": "record the run with `sv.Recording`, show it with `sv.player`",
    "close": "call `w.close()`",
}  # fmt: skip
"""Actions that a cell lacks, and what to do instead."""


def covered(hidden: Collection[str]) -> frozenset[str]:
    """Return the hidden names with the actions that belong to them."""
    return frozenset(hidden).union(*(COVERS.get(name, ()) for name in hidden))


def names_of(scene: Scene) -> set[str]:
    """Return the names that `hide` takes for a scene: controls of every run, the scene's own, and buttons."""
    own = {"learning rate", "batch", "optimiser", "momentum", "regularisation", "regularisation rate", "activation",
           "pace", "layers", "seed", "pause when"}  # fmt: skip
    return own | {control.label for control in scene.controls} | {tool[0] for tool in TOOLS}


def called(spot: Spot) -> str:
    """Return the name of a spot for screen readers."""
    name = spot.name.replace("_", " ")
    if spot.words:
        return f"{name}: {spot.words}"
    does = next((one.does for one in ACTIONS if one.name == spot.name), "")
    return spot.tip or does or f"{name} {spot.value}".strip()


class Snapshot(Viewer):
    """A viewer whose numbers change only in :meth:`look`.

    A hand-written loop trains in another thread; numbers read during a step would be half old and half new.
    """

    _seen: Frame | None = None

    def look(self) -> None:
        """Read the current numbers."""
        self._seen = super().current_frame()

    def current_frame(self) -> Frame:
        """Return the numbers of the last :meth:`look`."""
        if self._seen is None:
            self._seen = super().current_frame()
        return self._seen

    def change(self, edit: Edit, gesture: str = "") -> None:
        """Make an edit, which is visible at once."""
        super().change(edit, gesture)
        self.look()


class Browser:
    """The host of a cell's viewer; the browser does the window's work if it can."""

    place = None
    visible = True
    pixel_ratio = 1.0
    full_screen = False

    def __init__(self, viewer: Viewer, tell: Callable[[dict[str, object]], None]) -> None:
        self._viewer, self._tell = viewer, tell
        self.clipboard = ""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture in pixels."""
        return self._viewer.bench.size

    def every(self, seconds: float, call: Callable[[float], None]) -> None:
        """Do nothing: the cell's thread calls the viewer."""

    def repaint(self) -> None:
        """Do nothing: changes are offered when the channel is free."""

    def show_full_screen(self, on: bool) -> None:
        """Enter or leave full screen."""
        self.full_screen = on
        self._tell({"kind": "full", "on": on})

    def screenshot(self) -> None:
        """Let the browser save its picture."""
        self._tell({"kind": "save", "name": f"scalarviz-step-{self._viewer.shown.step}.png"})

    def film(self) -> None:
        """Show a hint: a cell cannot film."""
        self._viewer.say(NOT_HERE["film"])

    def ask_file(self, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
        """Show a hint: the kernel cannot open files of the browser."""
        self._viewer.say(NOT_HERE["open"])

    def copy(self, text: str) -> None:
        """Put a text on the browser's clipboard."""
        self._tell({"kind": "copy", "text": text})

    def pasted(self) -> str:
        """Return what the browser pasted last."""
        return self.clipboard

    def tell(self, line: str) -> None:
        """Do nothing: a cell has no terminal, and the picture shows the message."""

    def close_soon(self) -> None:
        """Show a hint: a cell is closed in Python."""
        self._viewer.say(NOT_HERE["close"])

    def enter(self, make: object, name: str) -> None:
        """Do nothing: a cell has no wall."""


class Play:
    """The viewer, input and picture of one cell; `tell` sends messages other than frames to the browser."""

    drawing: AbstractContextManager[object] = nullcontext()  # entered around all work of the cell's thread
    buttons: ClassVar = {0: "left", 1: "middle", 2: "right"}  # numbers of the browser

    def __init__(
        self,
        make: Callable[[tuple[int, int]], Viewer],
        size: tuple[int, int],
        hide: Collection[str] = (),
        controls: bool = True,
        tell: Callable[[dict[str, object]], None] = lambda said: None,
        title: str = "",
    ) -> None:
        self.size, self._title = size, title
        with self.drawing:
            viewer = self.viewer = make(size)
        self.host = Browser(viewer, tell)
        viewer.attach(self.host)
        viewer.escape_action = lambda: None  # Escape closes no cell
        self._live = viewer if isinstance(viewer, LiveView) else None
        self._hidden = covered(hide if controls else {*hide, "timeline", "toggle_controls"})
        bench = viewer.bench
        parts = {"panels", "timeline", "inspector"}
        bench.left_out = frozenset(self._hidden & parts | (set() if controls else {"keys"}))
        for name in self._hidden & viewer.handlers.keys():
            viewer.handlers[name] = partial(viewer.say, "hidden in this cell (hide=)")
        absent = [action.line() for action in ACTIONS if action.name in NOT_HERE]
        bench.interaction.table = tuple(line for line in bench.interaction.table if line not in absent)
        bench.lay_out()
        self._changed = True
        self._kept: tuple[object, float] | None = None  # moment and time of the last still
        self._stood: tuple[object, float] | None = None  # the newest moment, and its time
        self._was_moving = False
        self._lists = PictureLists(bench)
        self._buttons: list[object] = []
        self._standing: tuple[object, dict[str, Any]] = (None, {})  # a layout, and its description for the browser

    # ---- time

    @property
    def moves(self) -> bool:
        """True if anything trains or travels."""
        live = self._live
        return live is not None and live.is_busy

    def look(self) -> None:
        """Show what the user's own cells have changed."""
        if isinstance(self.viewer, Snapshot):
            self.viewer.look()
        self.pass_time(0.0)

    def pass_time(self, seconds: float, *, seen: bool = True) -> None:
        """Advance by `seconds`; if they are not `seen`, only training is computed."""
        if seen:
            self._changed |= self.viewer.tick(seconds)
        else:
            self.viewer.advance(seconds)

    def keeps(self, now: float) -> bool:
        """Return whether to renew the still of the saved notebook: soon when at rest, otherwise now and then."""
        rested = self._was_moving and not self.moves
        self._was_moving = self.moves
        frame = self.viewer.shown
        moment = (frame.step, frame.values.tobytes() if len(frame.values) <= 4096 else float(frame.values.sum()))
        if self._kept is None:
            self._kept = moment, now
        if self._stood is None or self._stood[0] != moment:
            self._stood = moment, now
        rested |= not self.moves and now - self._stood[1] >= RESTED
        if moment == self._kept[0] or not (rested or now - self._kept[1] >= KEPT):
            return False
        self._kept = moment, now
        return True

    # ---- input

    def do_action(self, name: str, value: int | None = None) -> None:
        """Run an action of the table; raise InputError if the cell hides it."""
        if name in self._hidden:
            raise InputError(f"{name}: hidden in this cell; leave it out of hide=")
        self._changed = True
        self.viewer.send(name, value)

    def handle_message(self, said: object) -> None:
        """Handle a message of the browser; it is untrusted: any client of the notebook can send it."""
        self._changed = True
        with self.viewer.saying():
            self._hear(said)
        self.viewer.refresh()

    def _hear(self, said: Any) -> None:
        kind, viewer, host = said.get("kind"), self.viewer, self.host
        if kind == "look":
            theme = one_of(said.get("theme"), THEMES, "look: the theme")
            if theme != viewer.bench.theme.name:
                viewer.bench.set_look(theme=theme)
        elif kind == "paste" and isinstance(said.get("text"), str):
            host.clipboard = said["text"]
            viewer.send("paste")
        elif kind == "left full":
            host.full_screen = False
        elif kind == "spot":
            spot = next((one for one in viewer.bench.spots if one.click == (said.get("name"), said.get("value"))), None)
            if spot is not None:
                x, y, wide, high = (side * viewer.bench.scale for side in spot.box)
                for _ in range(1 + (spot.value == TYPED)):  # a button is pressed once, a number twice
                    viewer.press((x + wide / 2, y + high / 2))
                    viewer.release((x + wide / 2, y + high / 2))
        elif isinstance(said.get("type"), str):
            self._event(said["type"], said)

    def _event(self, kind: str, event: dict[str, Any]) -> None:
        """Handle an input event in the format of jupyter_rfb."""
        viewer = self.viewer
        ratio = _number(event.get("ratio", 1.0), 0.25, 8.0)
        given = event.get("modifiers")
        held = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
        shift, ctrl = "Shift" in held, "Control" in held or "Meta" in held
        if kind == "resize":
            wide, high = (round(_number(event.get(side), 1.0, SIDES[1]) * ratio) for side in ("width", "height"))
            self.resize((min(max(wide, SIDES[0]), SIDES[1]), min(max(high, SIDES[0]), SIDES[1])))
        elif kind == "pointer_leave":
            viewer.leave()
        elif kind == "key_down" and isinstance(event.get("key"), str) and len(event["key"]) <= LONGEST:
            name = event["key"]
            viewer.key(name, name if len(name) == 1 else "", shift=shift, ctrl=ctrl)
        elif kind in ("pointer_down", "pointer_move", "pointer_up", "wheel"):
            at = _number(event.get("x"), -1e5, 1e5) * ratio, _number(event.get("y"), -1e5, 1e5) * ratio
            if kind == "pointer_down":
                when = _number(event["time"], 0.0, 1e12) / 1000 if "time" in event else None
                viewer.press(at, self.button(event.get("button")), shift=shift, ctrl=ctrl, when=when)
            elif kind == "pointer_move":
                viewer.move(at)
            elif kind == "pointer_up":
                viewer.release(at)
            elif not (shift and "inspector" in self._hidden):
                dx, dy = (_number(event.get(name, 0.0), -1e5, 1e5) for name in ("dx", "dy"))
                viewer.scroll(at, ((dx < 0.0) - (dx > 0.0), (dy < 0.0) - (dy > 0.0)), shift=shift)

    def button(self, number: object) -> str:
        """Return the name of a button of the browser."""
        return self.buttons.get(number, "left") if isinstance(number, int) else "left"

    def resize(self, size: tuple[int, int]) -> None:
        """Lay out for another size in pixels."""
        self.size = size
        self.viewer.resize(size)

    # ---- picture

    def offer(self, channel: Channel) -> bool:
        """Send the current picture if it has changed; return whether it was sent."""
        if not (self._changed or channel.new):
            return False
        self._changed = False
        self.viewer.bench.renew()
        if self._live is not None:
            self._live.frames.mark()
        content: dict[str, object] = {"step": self.viewer.shown.step, "running": self.viewer.playback.running}
        channel.offer(content, self.parts())
        return True

    def parts(self) -> dict[str, object]:
        """Return the current picture in parts, each sent when it has changed."""
        bench, slab = self.viewer.bench, self.viewer.bench.slab
        atlas = slab.atlas
        if self._standing[0] is not bench.layout:
            self._standing = bench.layout, cubes_of(bench.layout)
        frame, flags, numbers = self.viewer.shown, atlas.flags, atlas.values.tobytes()
        pace = pace_of(len(numbers))  # frames may be so large that fewer of them are sent
        if not self.moves:  # buttons for users without a pointer; they stay while something moves
            self._buttons = [[*spot.click, called(spot), spot.tip, *short(spot.box)] for spot in bench.spots]
        return {
            "made": _constants(),
            "cubes": self._standing[1],
            "look": {**colours_of(bench.theme), "shading": asdict(bench.theme.shading), "name": bench.theme.name},
            "past": newest_beyond(frame) > 0,
            "page": [short(bench.places.size), list(bench.camera.size), short(bench.window)],
            "pose": pose_data(bench.camera, bench.layout),
            "ranges": [[one.low, one.high, one.scale] for one in slab.ranges],
            "sizing": [slab.sizing.by_value, slab.sizing.threshold],
            "tables": slab.tables.tobytes(),
            "numbers": numbers,
            "thinned": "" if pace >= RATE else f"{len(frame.values):,} numbers: {pace:.2g} frames a second",
            "marks": flags.tobytes() if flags.any() else None,
            "own": atlas.look_texels().tobytes() if slab.looks or atlas.instead is not None else None,
            "shines": None if slab.bloom.shines is None else slab.bloom.shines.tobytes(),
            "looks": [bool(slab.looks), atlas.lift is not None],  # whether sides and heights are included
            **{f"list {name}": records for name, records in self._lists.parts().items()},
            "words": self._words(bench, frame),
            "spots": self._buttons,
        }

    def _words(self, bench: Workbench, frame: Frame) -> str:
        """Return the picture's description for screen readers; during training it stays constant."""
        if self.moves:
            return f"{self._title}, training"
        shows, step = bench.colouring.shows.words, bench.step_drawing.micro_step
        return words_of(self._title, bench.subject, frame, shows=shows, micro_step=step)


@cache
def _constants() -> dict[str, Any]:
    return {**constants_of(), "advances": advances_of()}


def _number(given: object, least: float, most: float) -> float:
    """Return a finite number of an event, clipped to its range."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeMismatchError(f"an event: expected a number, got {shown(given)}")
    if not abs(given) <= sys.float_info.max:  # an int may be larger than any float
        raise InputError(f"an event: expected a finite number, got {shown(given)}")
    return min(max(float(given), least), most)


# ---- ``display="pictures"``: the window's picture is drawn here and sent, for browsers without a GPU. The page of
# jupyter_rfb shows pictures and sends input; the `Channel` decides when one may be sent.

QUALITY = 80  # of a JPEG while something moves; a PNG follows at rest
REST = 0.4  # seconds without a change after which the exact picture is sent
PLACE = "pictures"  # jupyter_rfb handles all its views as one


class PicturePlay(Play):
    """A viewer whose picture is drawn here."""

    buttons: ClassVar = {1: "left", 2: "right", 3: "middle"}  # numbers of jupyter_rfb

    def __init__(self, *of_play: Any) -> None:
        self._canvas = self.drawing = offscreen()
        if not self._canvas.is_usable_here:
            raise InputError("display='pictures' needs OpenGL in a second thread, which fails here; try 'values'")
        super().__init__(*of_play)
        self._exact_at = math.inf

    def offer(self, channel: Channel) -> bool:
        """Draw and send the current picture if it has changed; a while later send it exactly."""
        now = time.monotonic()
        exact = not self._changed and now >= self._exact_at
        if not (self._changed or exact or channel.new):
            return False
        self._changed, self._exact_at = False, math.inf if exact else now + REST
        picture = self._canvas.render(self.viewer.draw, self.size)
        kind, how = ("PNG", {"compress_level": 1}) if exact else ("JPEG", {"quality": QUALITY})
        data = encoded(picture, kind, **how)
        content: dict[str, object] = {"type": "framebufferdata", "mimetype": f"image/{kind.lower()}", "data_b64": None,
                                      "index": channel.sent + 1, "timestamp": time.time()}  # fmt: skip
        channel.offer(content, {"shown": self.viewer.shown.step}, [data])
        return True
