"""Windows, of the desktop or such that nobody sees: waiting for what happens in them, and what they say."""

import time
from collections.abc import Callable
from typing import Any

from scalarviz.view.out.unseen import Unseen


def until(host: Unseen, true: Callable[[], object], seconds: float = 60.0, tick: float = 1 / 30) -> None:
    """Let time pass, `tick` at each look, until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, host.view
        host.pass_time(tick)
        time.sleep(0.003)


def middle(host: Unseen, place: int) -> tuple[float, float]:
    """A point on a picture of a wall, in device pixels."""
    x, y, wide, high = host.view.grid.box(place)
    return (x + wide / 2) * host.view.grid.scale, (y + high / 2) * host.view.grid.scale


def said(host: Unseen) -> str:
    """All that a wall says."""
    sketches = [*host.view.sketches(), *host.view.overlay()]
    return " ".join(item.text for sketch in sketches for item in sketch.texts)


def serve(window: Any, seconds: float = 0.0, until: Callable[[], object] = lambda: True) -> None:
    """Let a window of the desktop go on for a while, and until something is true."""
    least = time.monotonic() + seconds
    while time.monotonic() < least or not until():
        assert time.monotonic() < least + 20
        window.serve()
        time.sleep(0.003)
