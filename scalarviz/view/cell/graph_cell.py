"""`GraphShown`: the graph of a Value in a cell, drawn anew when its numbers change. Nothing trains there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from ...errors import InputError, StateError
from ..drawing import Drawing
from ..output import Output, image_tag
from .shown import known_place
from .still import put


class Ended:
    """Whether it was closed; in the place of a session."""

    closed = False


class GraphShown:
    """One cell with a graph; for a widget the same as :class:`~.shown.Shown`.

    Parameters
    ----------
    drawing : Drawing
    size : (int, int)
    esm, css : str
    """

    scene = None

    def __init__(self, drawing: Drawing, size: tuple[int, int], esm: str, css: str) -> None:
        self._drawing, self.size, self.esm, self.css = drawing, size, esm, css
        self.title = f"graph of {drawing.of}" if drawing.of else "graph"
        self.post: Callable[[dict[str, object], list[bytes]], None] = lambda content, buffers: None
        self.session, self._sent = Ended(), ""
        self.name = f"scalarviz-still-{uuid4().hex[:12]}"
        self.about: dict[str, object] = {"title": self.title, "still": self.name, "size": list(size)}
        self.still = GraphStill(self)

    @property
    def svg(self) -> str:
        """The picture with the numbers of now."""
        return self._drawing.svg

    # ---- what happens to it

    def appear(self) -> None:
        """It is put into a notebook."""
        self.still.draw()

    def hear(self, said: object) -> None:
        """A message of the browser: somebody looks."""
        if isinstance(said, dict) and said.get("kind") == "ready" and known_place(said.get("place")) is not None:
            self._send()

    def look(self, *, rarely: bool = False) -> None:
        """Draw it anew, if the numbers are others."""
        if not self.session.closed:
            self._send(only_new=True)

    def _send(self, *, only_new: bool = False) -> None:
        svg = self.svg
        if only_new and svg == self._sent:
            return
        if self._sent and svg != self._sent:
            self.still.draw()
            self.still.renew()
        self._sent = svg
        self.post({"kind": "graph", "svg": svg}, [])

    def act(self, name: str, value: int | None = None) -> None:
        """Nothing can be done to a graph.

        Raises
        ------
        InputError
        """
        raise InputError(f"act: a graph has no action {str(name)[:60]!r}; change its Values and call update()")

    def update(
        self, params: object = None, grads: object = None, *,
        loss: object = None, step: object = None, lr: object = None,
    ) -> None:  # fmt: skip
        """Draw it anew.

        Raises
        ------
        InputError
            Something was told of a step: a graph has none.
        StateError
            The cell is closed.
        """
        if any(told is not None for told in (params, grads, loss, step, lr)):
            raise InputError(
                "update: a graph has no steps; call update() without loss, step and lr, and without arrays"
            )
        if self.session.closed:
            raise StateError("update: this cell is closed; run it again")
        self.look()

    def close(self) -> None:
        """The last picture stays."""
        self.session.closed = True


class GraphStill:
    """The picture below the widget that stays in a saved notebook."""

    def __init__(self, shown: GraphShown) -> None:
        self._shown, self.output = shown, Output("", "", "", shown.title)
        self._place: Any = None

    @property
    def html(self) -> str:
        """What most notebooks show of it."""
        return self.output.html

    def draw(self) -> None:
        """The graph of now as an image."""
        shown, svg = self._shown, self._shown.svg
        tag = image_tag(svg.encode(), "image/svg+xml", shown.title, name=shown.name)
        self.output = Output(tag, "image/svg+xml", svg, shown.title)

    def show(self) -> None:
        """Put it below the widget."""
        self._place = put(self.output, self._shown.name)

    def renew(self) -> None:
        """Replace it wherever it stands."""
        if self._place is not None:
            self._place.update(self.output)
