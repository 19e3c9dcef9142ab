"""The widget of a cell of pictures: jupyter_rfb's page with our channel behind it."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from ..browser.scripts import joined
from .pictures import PLACE
from .widget import InCell, heard_where_sent, need

if TYPE_CHECKING:
    from .shown import Shown

LIVES = """
%s
const scalarvizPictures = %s;
export default () => {
  const made = scalarvizPictures();
  return {
    initialize: place => made.initialize(place),
    render(place) {
      const hidden = document.head.appendChild(document.createElement("style"));
      hidden.textContent = `.${place.model.get("about").still} { display: none !important; }`;  // while this lives
      const end = made.render(place), density = window.devicePixelRatio || 1;
      const endTheme = watchTheme(theme => place.model.send({ kind: "look", place: "pictures", theme, density }));
      return () => { endTheme(); hidden.remove(); end?.(); };
    },
  };
};
"""


def script_of(own: str) -> str:
    """jupyter_rfb's module, which hides the still of a notebook while it lives, and says how the notebook looks."""
    body, _, what = own.rpartition("export default")
    return body + LIVES % (joined("notebook.js"), what.strip().rstrip(";"))


@cache
def pictures_class() -> type:
    """The class of what ``sv.live(x, display="pictures")`` returns.

    Raises
    ------
    MissingDependencyError
        There is no jupyter_rfb.
    """
    rfb, traitlets, capture = need("jupyter_rfb"), need("traitlets"), need("IPython.utils.capture")

    class Pictures(InCell, rfb.RemoteFrameBuffer):  # type: ignore[misc, name-defined]
        """What a cell of pictures shows; it does what `Live` does."""

        _esm = script_of(rfb.RemoteFrameBuffer._esm)
        about = traitlets.Dict().tag(sync=True)

        def __init__(self, shown: Shown) -> None:
            self._shown, self._sending = shown, threading.Lock()
            width, height = shown.size
            with capture.capture_output():  # an output widget of its own, for errors that are told elsewhere here
                super().__init__(css_width=f"{width}px", css_height=f"{height}px", about=shown.about)
            shown.post = self._post
            heard_where_sent(self)
            self.observe(lambda change: self._fed_back(change["new"]), "_frame_feedback")
            self.observe(lambda change: self._seen(change["new"]), "_has_visible_views")

        def _fed_back(self, feedback: dict[str, Any]) -> None:
            self._shown.hear({"kind": "drawn", "place": PLACE, "number": feedback.get("index")})

        def _seen(self, visible: bool) -> None:
            self._shown.hear({"kind": "ready" if visible else "gone", "place": PLACE})

        def _rfb_handle_msg(self, widget: object, content: Any, buffers: object) -> None:
            self._shown.hear(content)

        def get_frame(self) -> None:
            """Nothing: pictures are sent when the channel is free."""

    return Pictures
