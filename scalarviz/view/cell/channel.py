"""`Channel`: decides when a frame may go to the browser: at most 30 a second, at most two unanswered, no queue.

A browser without a GPU draws more slowly than numbers arrive. Frames that it missed are not sent again: after its
answer it gets the newest frame. Several places of a notebook (two tabs, a widget shown twice) may look at once. Frames
go to all of them, and the slowest that still answers sets the pace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

RATE = 30.0  # most frames a second
UNANSWERED = 2  # most unanswered frames of one place
PATIENCE = 2.0
"""Seconds after which a place that owes answers no longer slows others: a hidden tab, a lost connection."""
MOST_PLACES = 64  # most places at once; beyond that the longest silent one is dropped
BUDGET = 16e6  # most bytes a second: frames of large networks come less often


def pace_of(size: int) -> float:
    """Return how many frames of `size` bytes may be sent a second."""
    return min(RATE, BUDGET / max(1, size))


_ANYTHING = object()


@dataclass(slots=True)
class _Place:
    """A view in a browser: the last frame it drew, when it last answered, and the parts that it knows."""

    drawn: int
    heard: float
    known: dict[str, object] = field(default_factory=dict)
    else_known: object = None  # what it knows of all other parts: None, or `_ANYTHING`

    def forget(self) -> None:
        """Forget what the place knows, so that it gets all parts again."""
        self.known, self.else_known = {}, _ANYTHING


class Channel:
    """The frames of one widget. Any thread may report messages; one thread sends to all places."""

    def __init__(
        self, send: Callable[[dict[str, object], list[bytes]], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send, self._clock = send, clock
        self._lock = threading.Lock()
        self._places: dict[str, _Place] = {}
        self._kept: dict[int, dict[str, object]] = {}  # parts sent with unanswered frames
        self._last = float("-inf")
        self._heard = clock()
        self.sent = 0  # number of the last frame
        self.pace = RATE  # most frames a second at their current size

    # ---- messages of the browser

    def ready(self, place: str) -> None:
        """Register a place that starts to look, with no unanswered frames and no known parts."""
        with self._lock:
            self._heard = self._clock()
            self._places[place] = _Place(self.sent, self._heard)
            if len(self._places) > MOST_PLACES:  # crashed tabs never leave, and any client can send any name
                del self._places[min(self._places, key=lambda name: self._places[name].heard)]
            self._last = float("-inf")

    def mark_present(self, place: str) -> None:
        """Mark a place that reports that nothing arrived for a while: unanswered frames count as lost."""
        with self._lock:
            found = self._places.get(place)
            if found is not None:
                if found.drawn < self.sent:
                    found.forget()
                found.drawn, found.heard = self.sent, self._clock()
                self._heard = found.heard

    def answered(self, place: str, number: int) -> None:
        """Note that a place has drawn frame `number`; ignore numbers that were never sent."""
        with self._lock:
            found = self._places.get(place)
            if found is None or not found.drawn <= number <= self.sent:
                return
            for one in range(found.drawn + 1, number + 1):  # of several pending frames it drew the last
                found.known |= self._kept.get(one, {})
            found.drawn, found.heard = number, self._clock()
            self._heard = found.heard
            least = min(one.drawn for one in self._places.values())
            self._kept = {n: parts for n, parts in self._kept.items() if n > least}

    def remove_place(self, place: str) -> None:
        """Remove a place that no longer looks."""
        with self._lock:
            self._heard = self._clock()
            self._places.pop(place, None)

    # ---- places

    @property
    def places(self) -> int:
        """The number of places."""
        return len(self._places)

    @property
    def silent(self) -> float:
        """Seconds since the last message of any place."""
        return self._clock() - self._heard

    @property
    def watched(self) -> bool:
        """True if any place answers, so that pictures are useful."""
        with self._lock:
            return bool(self._attentive())

    def _attentive(self) -> list[_Place]:
        now = self._clock()
        return [p for p in self._places.values() if self.sent == p.drawn or now - p.heard < PATIENCE]

    @property
    def new(self) -> bool:
        """True if a place knows no parts yet."""
        with self._lock:
            return any(not place.known and place.drawn == self.sent for place in self._places.values())

    # ---- frames

    def tell(self, content: dict[str, object]) -> None:
        """Send a message that is no frame and needs no answer."""
        self._send(content, [])

    @property
    def free(self) -> bool:
        """True if a frame may be sent now."""
        with self._lock:
            attentive = self._attentive()
            late = any(self.sent - place.drawn >= UNANSWERED for place in attentive)
            return bool(attentive) and not late and self._clock() - self._last >= 1.0 / self.pace

    def offer(self, content: dict[str, object], parts: dict[str, object], buffers: Sequence[bytes] = ()) -> int:
        """Send a frame: its `content`, its `buffers`, and the `parts` that some place does not know; return its number.

        Parts have the same names every time, with None for an absent part; lost parts are sent again. Parts of type
        bytes follow the buffers, in the order of the names under ``"buffers"``.
        """
        with self._lock:
            attentive = self._attentive()
            for place in self._places.values():
                if not any(place is one for one in attentive):
                    place.forget()
            told = [(self._known_when_received(place), place.else_known) for place in attentive]
            new = {name: part for name, part in parts.items()
                   if any(known.get(name, other) != part for known, other in told)}  # fmt: skip
            self.sent += 1
            number, self._last = self.sent, self._clock()
            self._kept[number] = new
            if len(self._kept) > 4 * UNANSWERED:  # those of dropped places
                del self._kept[min(self._kept)]
            said = {name: part for name, part in new.items() if not isinstance(part, bytes)}
            block = {name: part for name, part in new.items() if isinstance(part, bytes)}
            sent = [*buffers, *block.values()]
            self.pace = pace_of(sum(map(len, sent)))
        self._send({**content, "kind": "frame", "number": number, "buffers": list(block), **said}, sent)
        return number

    def _known_when_received(self, place: _Place) -> dict[str, object]:
        """Return what a place knows once all pending frames have arrived."""
        found = dict(place.known)
        for number in range(place.drawn + 1, self.sent + 1):
            found |= self._kept.get(number, {})
        return found
