"""`Travels`: going back and forth by hand, as keys, buttons and the time bar ask for it.

It asks a worker, or a source that can go, and waits for nothing. There is one way at a time, and who asks last is
obeyed: a key that is held down makes no queue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import SLOWER, DivergedError, StateError
from ...run.sources.played import Played
from ..ink.sketch import Click
from ..screen.time_bar import BRANCH, GO
from .actions import NO_PAST, action_of
from .playback import Guide

if TYPE_CHECKING:
    from ...run.core.frame import Frame, Past
    from ...run.run import Run
    from .viewer import Viewer


SLOW = 0.3
"""Seconds on the way after which it is said how far it is."""
REST = 0.15
"""Seconds without a movement of the hand after which the step itself is shown, not one near it."""


class Travels:
    """Where a viewer goes: a way stops its playback, and `goal` is the step that it is on the way to."""

    def __init__(self, viewer: Viewer) -> None:
        guide = viewer.playback.worker
        self._viewer, self._playback, self._guide = viewer, viewer.playback, guide
        self._look: Callable[[], Frame] = viewer.current_frame if isinstance(guide, Guide) else lambda: guide.latest
        self._source = viewer.bench.subject.source
        self._branch: int | None = None
        self.goal: int | None = None
        self._plays_then = False
        self._set_out = 0.0
        self._dragged: int | None = None  # the step under the hand
        self._rests_at = 0.0
        self._remarked = ""
        self._asked = 0  # things that the run is to do, and has not done yet
        self.handlers: dict[str, Callable[..., object]] = {
            "back": self.go_back, "first": self.first, "newest": self.newest, "restart": self.restart,
            "undo": self.undo, "redo": self.redo, "name_moment": self.name_moment, "toggle_loop": self.toggle_loop,
        }  # fmt: skip

    # ---- where it is

    @property
    def past(self) -> Past:
        """What the picture shows of the past; StateError where nothing keeps one."""
        past = self._look().past
        if past is None:
            raise StateError(NO_PAST)
        return past

    @property
    def target_step(self) -> int:
        """The step that is shown, or that it is on the way to."""
        return next((step for step in (self._playback.aim, self.goal) if step is not None), self._look().step)

    @property
    def behind(self) -> int:
        """How many steps there are after the one shown."""
        return _after(self._look())

    def words(self, frame: Frame) -> str:
        """What the second line says while `frame` is of the past."""
        left = _after(frame)
        if not left:
            return ""
        plays = "plays on from here" if self._playback.running else "Space plays on from here"
        ways = [plays] * self._viewer.trains + ["End returns"] * (not self._playback.running)
        return "  ·  ".join([f"in the past, {left:,} step{'s' if left > 1 else ''} before the newest", *ways])

    # ---- going

    def go(self, step: int, *, near: bool = False, plays_then: bool = False) -> None:
        """Set out for a step, or the nearest there is; time stands still, and goes on there if it `plays_then`."""
        step = self.past.nearest(step)
        self._playback.pause_at(step)
        if self.goal is None:
            self._set_out = self._viewer.clock
        self.goal, self._plays_then = step, plays_then
        self._guide.travel(step, nearest=near)
        remark, before, self._remarked = self._guide.remark, self._remarked, self._guide.remark
        if remark and remark != before:  # how the past is kept (a replay that takes long) is said once
            self._viewer.say(remark)
        self._viewer.refresh()

    def play_there(self) -> bool:
        """Let time go on, or no longer, where it is on the way to; returns whether it is on a way."""
        if self.goal is None or not self._guide.moving:
            return False
        self._plays_then = not self._plays_then
        return True

    def go_back(self, count: int = 1) -> None:
        """So many steps back; after a divergence at least to the last good one: those between are lost too."""
        past, good = self.past, last_good(self._guide.error)
        if self.target_step <= past.first:
            self._viewer.say(f"step {past.first:,} is the first")
        step = past.neighbour(self.target_step, -count)
        self.go(max(past.first, step if good is None else min(step, good)))

    def forward(self, count: int) -> bool:
        """So many steps on, if they were done before; returns whether they were."""
        step = self.past.neighbour(self.target_step, count)
        if step > self.past.newest:
            return False
        self.go(step)
        return True

    def first(self) -> None:
        """To the first step."""
        self.go(self.past.first)

    def newest(self) -> None:
        """To the newest step; where time went on, it goes on there."""
        newest = self.past.newest
        self._playback.loop = None
        if self.target_step < newest:
            self.go(newest, plays_then=self._playback.running)
        elif not self._playback.running:
            self._viewer.say(f"step {newest:,} is the newest")

    def cancel(self) -> bool:
        """Stay where it set out; returns whether it was on a way that takes long."""
        if self.goal is None or self._viewer.clock - self._set_out < SLOW:
            return False
        self._guide.cancel()
        self.goal, self._plays_then = None, False
        return True

    def rescue(self) -> None:
        """After a divergence go back to the last good step."""
        good = last_good(self._guide.error)
        if good is not None:
            self.go(good)

    # ---- the time bar

    def drag(self, step: int) -> None:
        """The hand is over a step: one near it is shown at once, itself as soon as the hand rests."""
        if step != self._dragged:
            self._dragged, self._rests_at = step, self._viewer.clock + REST
            self.go(step, near=True)

    def release(self, target: Click) -> None:
        """The hand let go, over `target`."""
        step, self._dragged = self._dragged, None
        if step is not None:
            self.go(step)
        elif target[0] == BRANCH:
            self.switch(int(target[1]))
        elif target[0] not in ("", GO):
            self._viewer.send(target[0])

    # ---- what changes which past there is

    def switch(self, number: int) -> None:
        """Go to the newest step of another branch."""
        branch = next((b for b in self.past.branches if b.number == number), None)
        if branch is None:
            return
        if isinstance(self._source, Played):
            self._playback.pause()
            self._source.switch(number)
            self._viewer.say(f"Switched branch: it ends at step {self._source.span[1]:,}.")
            self._viewer.refresh()
        else:
            self._ask_run(lambda run: run.switch(number), lambda _: f"Switched branch: it has {branch.newest:,} steps.")

    def restart(self, seed: int | None = None) -> None:
        """Begin anew, perhaps with the weights of another seed; it plays if it did."""
        playback = self._playback
        plays, playback.loop = playback.running, None
        playback.reset_end()
        with_seed = "" if seed is None else f" with the first weights of seed {seed}"
        said = f"Restarted{with_seed}. The old run is kept as a branch."
        self._ask_run(lambda run: run.restart(seed), lambda _: said)
        self._plays_then = plays

    def undo(self) -> None:
        """Go to the moment before the last edit."""
        since = self.past.newest - _undone_at(self.past, self.target_step)
        later = f". The later {since:,} steps are kept as a branch." if since else ""
        self._ask_run(lambda run: run.undo(), lambda words: f"Undone: {words}{later}")

    def redo(self) -> None:
        """Redo the undone change."""
        self._ask_run(lambda run: run.redo(), lambda words: f"Redone: {words}")

    def name_moment(self) -> None:
        """Give this moment a name, or take it away."""
        flags, step = self.past.flags, self.target_step
        named = next((flag.name for flag in flags if flag.step == step), "")
        taken = {flag.name for flag in flags}
        name = "" if named else next(f"flag {n}" for n in range(1, len(taken) + 2) if f"flag {n}" not in taken)
        said = f"step {step:,} is now {name}" if name else f"{named} removed from step {step:,}"
        more = "; Shift+N loops between two flags" if name and len(taken) == 1 else ""
        self._ask_run(lambda run: run.name(name, step), lambda _: said + more, stands=False)

    def toggle_loop(self) -> None:
        """Play round and round between two flags, or no longer."""
        flags, playback = self.past.flags, self._playback
        if playback.loop is not None:
            playback.loop = None
            self._viewer.say("loop ended")
            return
        if len(flags) < 2:
            self._viewer.say("Shift+N loops between two flags; N sets a flag")
            return
        after = next((n for n, flag in enumerate(flags) if flag.step > self.target_step), len(flags) - 1)
        first, last = flags[max(after, 1) - 1], flags[max(after, 1)]
        playback.loop = first.step, last.step
        self.go(first.step, plays_then=True)
        self._viewer.say(f"looping from {first.name} to {last.name}; Shift+N ends the loop")

    def _ask_run(self, function: Callable[[Run], object], says: Callable[[Any], str], *, stands: bool = True) -> None:
        """Let the run do something, and say it when it is done; time stands still."""
        if stands:
            self._playback.pause()
            self.goal, self._plays_then = None, False
        if not self._viewer.trains:
            raise StateError(f"this window does not train {self._source.what}")
        self._asked += 1
        self._viewer.ask_run(function, lambda found: self._tell(says(found)), self._refused)
        self._viewer.refresh()

    def _refused(self, error: Exception) -> None:
        self._tell(str(error))
        self._plays_then = False

    def _tell(self, words: str) -> None:
        self._watch_branches()
        self._asked -= 1
        self._viewer.say(words)
        if not self._playback.running:
            self._playback.pause()  # what follows counts from where it stands now

    # ---- time

    def pass_time(self) -> None:
        """What has arrived, or is late, or has been done."""
        if not self._source.can.go:
            return
        clock = self._viewer.clock
        if self._dragged is not None and clock >= self._rests_at:
            self._rests_at = float("inf")
            self.go(self._dragged)
        journey = self._guide.journey_progress
        if self.goal is not None and journey is not None and clock - self._set_out >= SLOW:
            part = f"{100 * journey:.0f} %"
            self._viewer.say(f"Going to step {self.goal:,}: {part} (Esc cancels)", 0.25)
            self._viewer.refresh()
        self._watch_branches()
        if not self._guide.moving and not self._asked and self._dragged is None:
            self._arrived()
        loop = self._playback.loop
        if loop is not None and self._playback.running and self._look().step >= loop[1]:
            self.go(loop[0], plays_then=True)

    def _watch_branches(self) -> None:
        """An edit in the past begins a branch, which is said; what was asked for here says so itself."""
        past = self._look().past
        now = None if past is None else next((b for b in past.branches if b.current), None)
        if now is None or self._source.recorded or now.number == self._branch:
            return
        if now.parent is not None and now.parent == self._branch and not self._asked:
            ring = ": click its ring" if self._viewer.bench.places.time is not None else ""
            self._viewer.say(f"New branch from step {now.first:,}. The later steps are kept{ring}")
            self._viewer.refresh()
        self._branch = now.number

    def _arrived(self) -> None:
        plays, goal = self._plays_then, self.goal
        self.goal, self._plays_then = None, False
        if plays and (goal is None or self._look().step == goal):
            self._playback.play()


def _after(frame: Frame) -> int:
    """How many steps there are after the one that a frame shows."""
    return 0 if frame.past is None else max(0, frame.past.newest - frame.step)


def _undone_at(past: Past, here: int) -> int:
    """The step to which undo goes, where the run stands at step `here`."""
    now = next((branch for branch in past.branches if branch.current), None)
    if now is not None and past.undo == now.why and not any(edit.step <= here for edit in now.edits):
        return now.first  # begun by a restart, or by a file
    return next((edit.step for edit in reversed(past.edits) if edit.step <= here), past.newest)


# ---- What stopped the training, as a window says it: the way back is a click there or a key, and no line of Python.


def stopped_by(error: Exception | None, *, keys: bool = True) -> str:
    """The words of the banner; empty where nothing went wrong. Without `keys` arrows belong to somebody else."""
    if isinstance(error, DivergedError) and error.good is not None:
        press = f" or press {action_of('back').keys[0]}" if keys else ""
        back = f"click here{press} to go back to step {error.good:,}, the last good one,"
        return f"{error.fact}; {back} and {SLOWER}"
    if isinstance(error, DivergedError) and error.spoilt:
        return f"{error.fact}: press {action_of('undo').keys[0]} to undo the last change"
    return "" if error is None else str(error)


def last_good(error: Exception | None) -> int | None:
    """The step to which a click on the banner leads; None: nowhere."""
    return error.good if isinstance(error, DivergedError) else None
