"""`display="pictures"`: the window's whole picture, drawn in Python and sent, for a browser without a GPU.

jupyter_rfb's page shows pictures and tells of pointer and keys; when a picture may be sent is the `Channel`'s business,
as for numbers. The viewer is a window's: the same keys, panels and gestures.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from ...errors import InputError, ScalarvizError
from ...run.scene.scene import SIDES
from ..out.offscreen import offscreen
from ..page.pictures import encoded
from ..watch.actions import find, normalised
from .asked import ALLOWED, covered, finite
from .play import Play

if TYPE_CHECKING:
    from ..watch.viewer import Viewer
    from .channel import Channel

QUALITY = 80  # of a JPEG while something moves; at rest a PNG follows
REST = 0.4  # seconds without another picture after which the exact one is sent
PLACE = "pictures"  # jupyter_rfb speaks for all of its views as one
BUTTONS = {1: "left", 2: "right", 3: "middle"}
KEYS = {"ArrowRight": "Right", "ArrowLeft": "Left", "ArrowUp": "Up", "ArrowDown": "Down", " ": "Space"}
SHORT = 32  # letters of the name of a key
OWN = {"toggle_controls", "toggle_panels", "toggle_layers", "toggle_help", "escape", "type_value", "type_word",
       "toggle_theme", "fit", "go_view", "keep_view", "toggle_parallel", "toggle_turntable", "toggle_apart",
       "layer_after", "layer_before", "toggle_sizes", "hide_more", "hide_less", "next_map", "refit_range",
       "show_moment", "cooler", "warmer", "break_on"}  # fmt: skip
"""Actions of the picture itself, which a page of numbers has not."""


class PicturePlay(Play):
    """A viewer whose picture is sent; ``make(size)`` gives it for a size in device pixels."""

    def __init__(self, make: Callable[[tuple[int, int]], Viewer], size: tuple[int, int], hide: Collection[str]) -> None:
        self._canvas = self.drawing = offscreen()
        if not self._canvas.here:
            raise InputError("display='pictures' draws in a thread of its own, which OpenGL here cannot; try 'values'")
        with self._canvas:
            viewer = make(size)
        super().__init__(viewer, {*hide, "panels"}, False, size)  # panels are part of the picture
        self._left_out, self._pixels = covered(hide), size
        self._exact_at = math.inf

    # ---- what a hand does

    def take(self, asked: object) -> None:
        """Do what a message asks for: an event of the page, or an action."""
        if not (isinstance(asked, dict) and isinstance(asked.get("type"), str)):
            super().take(asked)
            return
        try:
            self._event(asked)
        except (ScalarvizError, KeyError, TypeError, ValueError, OverflowError) as error:
            self.viewer.say(str(error) if isinstance(error, ScalarvizError) else "an event that nobody understands")

    def _event(self, event: dict[str, Any]) -> None:
        kind, viewer = event["type"], self.viewer
        ratio = _number(event.get("ratio", 1.0), 0.25, 8.0)
        if kind == "resize":
            wide, high = (round(_number(event[side], 1.0, SIDES[1]) * ratio) for side in ("width", "height"))
            self._pixels = min(max(wide, SIDES[0]), SIDES[1]), min(max(high, SIDES[0]), SIDES[1])
            viewer.resize(self._pixels)
        elif kind == "pointer_leave":
            viewer.leave()
        elif kind == "key_down":
            self._key(event)
        elif kind in ("pointer_down", "pointer_move", "pointer_up", "wheel"):
            at = _number(event["x"], -1e5, 1e5) * ratio, _number(event["y"], -1e5, 1e5) * ratio
            held = [name for name in event.get("modifiers", ()) if isinstance(name, str)]
            if kind == "pointer_down":
                button = BUTTONS.get(event["button"], "left")
                viewer.press(at, button, shift="Shift" in held, ctrl="Control" in held)
            elif kind == "pointer_move":
                viewer.move(at)
            elif kind == "pointer_up":
                viewer.release(at)
            else:
                dx, dy = (_number(event.get(name, 0.0), -1e5, 1e5) for name in ("dx", "dy"))
                viewer.scroll(at, ((dx < 0.0) - (dx > 0.0), (dy < 0.0) - (dy > 0.0)), shift="Shift" in held)

    def _key(self, event: dict[str, Any]) -> None:
        name, held = event["key"], event.get("modifiers", ())
        if not isinstance(name, str) or len(name) > SHORT:
            return
        shift, ctrl = "Shift" in held, "Control" in held or "Meta" in held
        key, typed = KEYS.get(name, name), name if len(name) == 1 else ""
        action = find(normalised(key, typed, ctrl=ctrl))
        if action is not None and (action.name in self._left_out or action.name not in {*ALLOWED, *OWN}):
            self.viewer.say(f"{action.keys[0]} does nothing in this cell")
            return
        self.viewer.key(key, typed, shift=shift, ctrl=ctrl)

    def offer(self, channel: Channel) -> bool:
        """Draw the picture of now and send it, if it is another one; a while later the exact one."""
        now = time.monotonic()
        exact = not self._changed and now >= self._exact_at
        if not (self._changed or exact or channel.new):
            return False
        self._changed, self._exact_at = False, math.inf if exact else now + REST
        picture = self._canvas.render(self.viewer.draw, self._pixels)
        kind, how = ("PNG", {"compress_level": 1}) if exact else ("JPEG", {"quality": QUALITY})
        data = encoded(picture, kind, **how)
        content: dict[str, object] = {"type": "framebufferdata", "mimetype": f"image/{kind.lower()}", "data_b64": None,
                                      "index": channel.sent + 1, "timestamp": time.time()}  # fmt: skip
        channel.offer(content, {"shown": self.viewer.shown.step}, [data])
        return True


def _number(given: object, least: float, most: float) -> float:
    """A finite number of an event, brought within what it can be."""
    return min(max(finite(given, "an event: a number"), least), most)
