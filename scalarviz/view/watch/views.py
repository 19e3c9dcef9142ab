"""`Views`: how the scene is seen, as keys change it: views that are kept, parallel lines, turning by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..space.viewpoint import Viewpoint
    from .viewer import Viewer


class Views:
    """The views of one viewer.

    Parameters
    ----------
    viewer : Viewer

    Attributes
    ----------
    handlers : dict of str to callable
        By the names of the table of actions.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.handlers: dict[str, Callable[..., None]] = {
            "keep_view": self.keep, "go_view": self.go, "toggle_parallel": self.toggle_parallel,
            "toggle_turntable": self.toggle_turntable, "toggle_apart": self.toggle_apart,
            "layer_before": self.layer_before, "layer_after": self.layer_after,
        }  # fmt: skip

    @property
    def _view(self) -> Viewpoint:
        return self._viewer.bench.viewpoint

    def keep(self, number: int) -> None:
        """Keep this view under a number."""
        self._view.keep(number)
        self._viewer.say(f"view {number} is kept: {number} comes back to it")

    def go(self, number: int) -> None:
        """Go to a view that was kept."""
        if not self._view.go(number):
            self._viewer.say(f"no view {number} is kept: Ctrl+{number} keeps this one")

    def toggle_parallel(self) -> None:
        """Parallel lines stay parallel, or come together far away."""
        self._viewer.say("parallel lines" if self._view.toggle_parallel() else "in perspective")

    def toggle_turntable(self) -> None:
        """The scene turns by itself, or stands still."""
        self._view.turning = not self._view.turning

    def toggle_apart(self) -> None:
        """Plates further from each other, or where they belong."""
        bench = self._viewer.bench
        bench.take_apart(replace(bench.apart, wide=not bench.apart.wide))

    def layer_before(self) -> None:
        """The layer before alone; before the first one all of them."""
        self._layer(-1)

    def layer_after(self) -> None:
        """The next layer alone; after the last one all of them."""
        self._layer(+1)

    def _layer(self, by: int) -> None:
        bench = self._viewer.bench
        names = ("", *bench.layer_names)
        here = names.index(bench.apart.layer) if bench.apart.layer in names else 0
        chosen = names[(here + by) % len(names)]
        bench.take_apart(replace(bench.apart, layer=chosen))
        self._viewer.say(f"layer {chosen} alone, {names.index(chosen)} of {len(names) - 1}" if chosen else "all layers")
