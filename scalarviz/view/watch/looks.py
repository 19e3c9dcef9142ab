"""The look of the picture, as keys change it: colours, camera, words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...run.panels import WordBoard
from ..cubes.atlas import THRESHOLDS
from ..panels.word import WordDrawer

if TYPE_CHECKING:
    from .viewer import Viewer


MAPS = ("", "grey", "viridis", "coolwarm")
"""Colour maps in the order of the key; '' is the quantity's own map."""


class LookActions:
    """The actions that change the look of one viewer; `handlers` maps their names to functions."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer, self._bench = viewer, viewer.bench
        bench, show = viewer.bench, viewer.bench.set_look
        self.handlers: dict[str, Callable[..., object]] = {
            "show_weights": lambda: show(quantity="weight"), "show_updates": lambda: show(quantity="update"),
            "show_ratio": lambda: show(quantity="update/value"), "show_gradients": self._show_gradients,
            "show_moment": self._show_moment, "next_map": self._next_map,
            "toggle_sizes": lambda: show(sizing=replace(bench.sizing, by_value=not bench.sizing.by_value)),
            "hide_less": partial(self._threshold, -1), "hide_more": partial(self._threshold, +1),
            "refit_range": bench.refit_range, "fit": bench.fit_camera,
            "toggle_panels": bench.next_panels,
            "toggle_theme": lambda: show(theme="light" if bench.theme.name == "dark" else "dark"),
            "toggle_layers": self._toggle_layers,
            "keep_view": self._keep_view, "go_view": self._go_view, "toggle_turntable": self._toggle_turntable,
            "toggle_parallel": lambda: viewer.say(
                "parallel lines" if bench.viewpoint.toggle_parallel() else "in perspective"),
            "toggle_apart": lambda: bench.take_apart(replace(bench.apart, wide=not bench.apart.wide)),
            "layer_before": partial(self._layer, -1), "layer_after": partial(self._layer, +1),
            "type_word": self._type_word, "cooler": partial(self._warm, -1), "warmer": partial(self._warm, +1),
        }  # fmt: skip

    def _show_gradients(self) -> None:
        """Colour by gradient, or by its magnitude if the gradient is shown already."""
        shown, source = self._bench.colouring.quantity, self._bench.subject.source
        size = shown == "gradient" and not source.lacks("|gradient|")
        self._bench.set_look(quantity="|gradient|" if size else "gradient")

    def _show_moment(self) -> None:
        """Colour by the optimiser's next state (m, v, velocity)."""
        names = list(self._bench.subject.source.moments)
        shown = self._bench.colouring.quantity
        self._bench.set_look(quantity=names[(names.index(shown) + 1 if shown in names else 0) % len(names)])

    def _next_map(self) -> None:
        here = MAPS.index(self._bench.cmap_name) if self._bench.cmap_name in MAPS else -1
        self._bench.set_look(cmap=MAPS[(here + 1) % len(MAPS)])

    def _threshold(self, by: int) -> None:
        now = self._bench.sizing
        other = [t for t in THRESHOLDS if (t - now.threshold) * by > 0]
        if other:
            self._bench.set_look(sizing=replace(now, threshold=other[0] if by > 0 else other[-1]))

    def _toggle_layers(self) -> None:
        """Show or hide the table of layers."""
        table = self._bench.layers
        if not table.close():
            table.shown = True
        self._bench.refresh()

    # ---- camera

    def _keep_view(self, number: int) -> None:
        self._bench.viewpoint.keep(number)
        self._viewer.say(f"view {number} saved: press {number} to return to it")

    def _go_view(self, number: int) -> None:
        if not self._bench.viewpoint.go(number):
            self._viewer.say(f"no view {number} yet: Ctrl+{number} saves this one")

    def _toggle_turntable(self) -> None:
        self._bench.viewpoint.turning = not self._bench.viewpoint.turning

    def _layer(self, by: int) -> None:
        """Show the next or previous layer alone; past either end, show all layers."""
        bench = self._bench
        names = ("", *bench.layer_names)
        here = names.index(bench.apart.layer) if bench.apart.layer in names else 0
        chosen = names[(here + by) % len(names)]
        bench.take_apart(replace(bench.apart, layer=chosen))
        self._viewer.say(f"layer {chosen} alone, {names.index(chosen)} of {len(names) - 1}" if chosen else "all layers")

    # ---- a panel that reads and makes up words

    @property
    def _words(self) -> WordDrawer:
        found = self._bench.side.drawer(WordBoard)
        assert isinstance(found, WordDrawer)  # guaranteed by the table of actions
        return found

    def _type_word(self) -> None:
        if self._words.is_visible:
            self._words.begin_typing()
        else:
            self._viewer.say("E: this picture shows no word")

    def _warm(self, steps: int) -> None:
        self._words.warm(steps)
        self._viewer.say(f"temperature of new words {self._words.temperature:.1f}")
