"""`display="pictures"`: the window's whole picture, drawn in Python and sent, for a browser without a GPU.

jupyter_rfb's page shows pictures and tells of pointer and keys; when a picture may be sent is the `Channel`'s business.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..out.offscreen import offscreen
from ..page.pictures import encoded
from .play import Play

if TYPE_CHECKING:
    from .channel import Channel

QUALITY = 80  # of a JPEG while something moves; at rest a PNG follows
REST = 0.4  # seconds without another picture after which the exact one is sent
PLACE = "pictures"  # jupyter_rfb speaks for all of its views as one
BUTTONS = {1: "left", 2: "right", 3: "middle"}


class PicturePlay(Play):
    """A viewer whose picture is drawn here."""

    def __init__(self, *of_play: Any) -> None:
        self._canvas = self.drawing = offscreen()
        if not self._canvas.here:
            raise InputError("display='pictures' draws in a thread of its own, which OpenGL here cannot; try 'values'")
        super().__init__(*of_play)
        self._exact_at = math.inf

    def button(self, number: object) -> str:
        """A button of jupyter_rfb's by its name."""
        return BUTTONS.get(number, "left") if isinstance(number, int) else "left"

    def offer(self, channel: Channel) -> bool:
        """Draw the picture of now and send it, if it is another one; a while later the exact one."""
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
