"""`Looks`: what the cubes show and how the picture looks, as keys change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..cubes.atlas import THRESHOLDS

if TYPE_CHECKING:
    from ..workbench import Workbench

MAPS = ("", "grey", "viridis", "coolwarm")
"""What the key for the next colour map goes through; empty: the quantity's own."""


class Looks:
    """The look of one picture.

    Parameters
    ----------
    bench : Workbench

    Attributes
    ----------
    handlers : dict of str to callable
        By the names of the table of actions.
    """

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.handlers: dict[str, Callable[..., None]] = {
            "show_ratio": self.show_ratio, "show_moment": self.show_moment,
            "show_weights": self.show_weights, "show_gradients": self.show_gradients,
            "show_updates": self.show_updates, "next_map": self.next_map,
            "toggle_sizes": self.toggle_sizes, "hide_less": self.hide_less,
            "hide_more": self.hide_more, "refit_range": self.refit_range,
            "fit": self.fit, "toggle_panels": self.toggle_panels, "toggle_theme": self.toggle_theme,
            "toggle_layers": self.toggle_layers,
        }  # fmt: skip

    def show_weights(self) -> None:
        """Colour by value."""
        self.bench.set_look(quantity="weight")

    def show_gradients(self) -> None:
        """Colour by gradient, or by its magnitude where that is shown already."""
        shown, source = self.bench.colouring.quantity, self.bench.subject.source
        size = shown == "gradient" and not source.lacks("|gradient|")
        self.bench.set_look(quantity="|gradient|" if size else "gradient")

    def show_updates(self) -> None:
        """Colour by last update."""
        self.bench.set_look(quantity="update")

    def show_ratio(self) -> None:
        """Colour by update/value."""
        self.bench.set_look(quantity="update/value")

    def show_moment(self) -> None:
        """Colour by what the optimiser keeps for each weight: the next one of that."""
        names = list(self.bench.subject.source.moments)
        shown = self.bench.colouring.quantity
        place = names.index(shown) + 1 if shown in names else 0
        self.bench.set_look(quantity=names[place % len(names)])

    def next_map(self) -> None:
        """The next colour map."""
        here = MAPS.index(self.bench.cmap_name) if self.bench.cmap_name in MAPS else -1
        self.bench.set_look(cmap=MAPS[(here + 1) % len(MAPS)])

    def toggle_sizes(self) -> None:
        """Cubes as large as what they show, or all alike."""
        now = self.bench.sizing
        self.bench.set_look(sizing=replace(now, by_value=not now.by_value))

    def hide_less(self) -> None:
        """A lower threshold: smaller numbers are shown."""
        self._threshold(-1)

    def hide_more(self) -> None:
        """A higher threshold."""
        self._threshold(+1)

    def _threshold(self, by: int) -> None:
        now = self.bench.sizing
        other = [t for t in THRESHOLDS if (t - now.threshold) * by > 0]
        if other:
            self.bench.set_look(sizing=replace(now, threshold=other[0] if by > 0 else other[-1]))

    def refit_range(self) -> None:
        """Fit the range of the colours to what is shown now."""
        self.bench.refit_range()

    def fit(self) -> None:
        """Fit the camera."""
        self.bench.fit_camera()

    def toggle_panels(self) -> None:
        """Hide or show everything but the cubes."""
        self.bench.show_panels(not self.bench.panels_shown)

    def toggle_layers(self) -> None:
        """Show or hide the table of the layers."""
        table = self.bench.layers
        if not table.close():
            table.shown = True
        self.bench.refresh()

    def toggle_theme(self) -> None:
        """Light or dark."""
        self.bench.set_look(theme="light" if self.bench.theme.name == "dark" else "dark")
