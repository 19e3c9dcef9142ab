"""`Labelled`: what a person calls a node, as in micrograd's lecture: ``Value(2.0, label="a")``, ``e.label = "e"``."""

from __future__ import annotations

from ..errors import TypeMismatchError, shown


class Labelled:
    """A text that nodes carry. A node without one has no room taken but a pointer, and no time."""

    __slots__ = ("_label",)

    _label: str

    @property
    def label(self) -> str:
        """What the node is called; empty at first. For people alone: a Weight's is its name."""
        try:
            return self._label
        except AttributeError:
            return ""

    @label.setter
    def label(self, label: str) -> None:
        given: object = label
        if not isinstance(given, str):
            raise TypeMismatchError(f"{type(self).__name__}: the label must be a text, got {shown(given)}")
        self._label = label
