"""`Channel`: when a frame may go to the browser. At most thirty a second, at most two unanswered, none queued.

A browser without a GPU draws slower than numbers arrive. What it has not drawn is not sent again: when it answers, it
gets the newest frame. Several places of a notebook (two tabs, a widget shown twice) may look at once; frames go to all
of them, and the slowest one that still answers sets the pace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

RATE = 30.0  # frames a second, at most
UNANSWERED = 2  # frames that one place may owe an answer for
PATIENCE = 2.0
"""Seconds after which a place that owes answers is waited for no longer: a hidden tab, a lost connection."""
MOST_PLACES = 64  # places at once; of more the one that was heard longest ago is given up
BUDGET = 16e6  # bytes a second, at most: the frames of a large network come less often


def pace_of(size: int) -> float:
    """Frames of `size` bytes that may be sent in a second."""
    return min(RATE, BUDGET / max(1, size))


_ANYTHING = object()


@dataclass(slots=True)
class _Place:
    """One place that looks: the frames it has drawn, when it was heard last, and what it knows of the parts."""

    drawn: int
    heard: float
    known: dict[str, object] = field(default_factory=dict)
    else_known: object = None  # what it has of all other parts: nothing, or perhaps anything

    def forget(self) -> None:
        """Something was lost, or may have been: it is told everything anew."""
        self.known, self.else_known = {}, _ANYTHING


class Channel:
    """The frames of one widget. Any thread may tell it what came; one thread sends, to every place."""

    def __init__(
        self, send: Callable[[dict[str, object], list[bytes]], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send, self._clock = send, clock
        self._lock = threading.Lock()
        self._places: dict[str, _Place] = {}
        self._kept: dict[int, dict[str, object]] = {}  # what went with frames that are not answered yet
        self._last = float("-inf")
        self._heard = clock()
        self.sent = 0  # frames so far; the number of the last one
        self.pace = RATE  # frames a second, at most, for the size that they have

    # ---- what the browser says

    def ready(self, place: str) -> None:
        """A place begins to look, or does again: it owes nothing and knows nothing."""
        with self._lock:
            self._heard = self._clock()
            self._places[place] = _Place(self.sent, self._heard)
            if len(self._places) > MOST_PLACES:  # tabs that crashed say no goodbye, and anybody can send any name
                del self._places[min(self._places, key=lambda name: self._places[name].heard)]
            self._last = float("-inf")

    def mark_present(self, place: str) -> None:
        """A place that looks has had nothing for a while: whatever was on its way to it is lost, or late."""
        with self._lock:
            found = self._places.get(place)
            if found is not None:
                if found.drawn < self.sent:
                    found.forget()
                found.drawn, found.heard = self.sent, self._clock()
                self._heard = found.heard

    def answered(self, place: str, number: int) -> None:
        """A place has drawn frame `number`; numbers that were never sent are passed over."""
        with self._lock:
            found = self._places.get(place)
            if found is None or not found.drawn <= number <= self.sent:
                return
            for one in range(found.drawn + 1, number + 1):  # of several that came before it drew, it drew the last
                found.known |= self._kept.get(one, {})
            found.drawn, found.heard = number, self._clock()
            self._heard = found.heard
            least = min(one.drawn for one in self._places.values())
            self._kept = {n: parts for n, parts in self._kept.items() if n > least}

    def remove_place(self, place: str) -> None:
        """A place looks no longer."""
        with self._lock:
            self._heard = self._clock()
            self._places.pop(place, None)

    # ---- who looks

    @property
    def places(self) -> int:
        """How many were there last."""
        return len(self._places)

    @property
    def silent(self) -> float:
        """Seconds since anybody was heard."""
        return self._clock() - self._heard

    @property
    def watched(self) -> bool:
        """Whether anybody answers: else a picture is nobody's."""
        with self._lock:
            return bool(self._attentive())

    def _attentive(self) -> list[_Place]:
        now = self._clock()
        return [p for p in self._places.values() if self.sent == p.drawn or now - p.heard < PATIENCE]

    @property
    def new(self) -> bool:
        """Whether a place knows nothing yet."""
        with self._lock:
            return any(not place.known and place.drawn == self.sent for place in self._places.values())

    # ---- frames

    def tell(self, content: dict[str, object]) -> None:
        """Send what is no frame, and nobody answers."""
        self._send(content, [])

    def mute(self) -> None:
        """Send nothing any more: there is nobody, or soon."""
        self._send = lambda content, buffers: None

    @property
    def free(self) -> bool:
        """Whether a frame may be sent now."""
        with self._lock:
            attentive = self._attentive()
            late = any(self.sent - place.drawn >= UNANSWERED for place in attentive)
            return bool(attentive) and not late and self._clock() - self._last >= 1.0 / self.pace

    def offer(self, content: dict[str, object], parts: dict[str, object], buffers: Sequence[bytes] = ()) -> int:
        """Send a frame: what belongs to it, its `buffers`, and `parts` that some place does not know yet.

        Parts have the same names every time, None for nothing there; what is lost on the way is sent again. Those that
        are bytes follow the buffers, in the order of the names under ``"buffers"``.
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
            if len(self._kept) > 4 * UNANSWERED:  # those of places that were given up
                del self._kept[min(self._kept)]
            said = {name: part for name, part in new.items() if not isinstance(part, bytes)}
            block = {name: part for name, part in new.items() if isinstance(part, bytes)}
            sent = [*buffers, *block.values()]
            self.pace = pace_of(sum(map(len, sent)))
        self._send({**content, "kind": "frame", "number": number, "buffers": list(block), **said}, sent)
        return number

    def _known_when_received(self, place: _Place) -> dict[str, object]:
        """What a place knows as soon as all that is on its way has come."""
        found = dict(place.known)
        for number in range(place.drawn + 1, self.sent + 1):
            found |= self._kept.get(number, {})
        return found
