"""`Travels`: journeys to other steps, as keys, buttons and the time bar ask for them.

A worker, or a source that can go to other steps, makes the journey; nothing waits for it. There is one journey at a
time, and the last request wins, so that a held key makes no queue.
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
"""Seconds of a journey after which its progress is shown."""
REST = 0.15
"""Seconds without movement of a drag after which the exact step is shown instead of one near it."""


class Travels:
    """The journeys of a viewer: a journey pauses the playback, and `goal` is its step."""

    def __init__(self, viewer: Viewer) -> None:
        guide = viewer.playback.worker
        self._viewer, self._playback, self._guide = viewer, viewer.playback, guide
        self._look: Callable[[], Frame] = viewer.current_frame if isinstance(guide, Guide) else lambda: guide.latest
        self._source = viewer.bench.subject.source
        self._branch: int | None = None
        self.goal: int | None = None
        self._plays_then = False
        self._set_out = 0.0
        self._dragged: int | None = None  # the step under the dragged cursor
        self._rests_at = 0.0
        self._remarked = ""
        self._asked = 0  # number of requests that the run has not done yet
        self.handlers: dict[str, Callable[..., object]] = {
            "back": self.go_back, "first": lambda: self.go(self.past.first), "newest": self.newest,
            "restart": self.restart, "undo": self.undo, "redo": self.redo, "name_moment": self.name_moment,
            "toggle_loop": self.toggle_loop,
        }  # fmt: skip

    # ---- position

    @property
    def past(self) -> Past:
        """The past of the shown frame; StateError if no past is kept."""
        past = self._look().past
        if past is None:
            raise StateError(NO_PAST)
        return past

    @property
    def target_step(self) -> int:
        """The step that is shown, or the goal of the journey."""
        return next((step for step in (self._playback.aim, self.goal) if step is not None), self._look().step)

    @property
    def behind(self) -> int:
        """The number of steps after the shown one."""
        return _after(self._look())

    def words(self, frame: Frame) -> str:
        """Return the text of the HUD's second line while `frame` is in the past; otherwise ''."""
        left = _after(frame)
        if not left:
            return ""
        plays = "plays on from here" if self._playback.running else "Space plays on from here"
        ways = [plays] * self._viewer.trains + ["End returns"] * (not self._playback.running)
        return "  ·  ".join([f"in the past, {left:,} step{'s' if left > 1 else ''} before the newest", *ways])

    # ---- journeys

    def go(self, step: int, *, near: bool = False, plays_then: bool = False) -> None:
        """Start the journey to the nearest kept step; playing pauses, and resumes there with `plays_then`."""
        step = self.past.nearest(step)
        self._playback.pause_at(step)
        if self.goal is None:
            self._set_out = self._viewer.clock
        self.goal, self._plays_then = step, plays_then
        self._guide.travel(step, nearest=near)
        remark, before, self._remarked = self._guide.remark, self._remarked, self._guide.remark
        if remark and remark != before:  # report once how the past is kept, e.g. by a long replay
            self._viewer.say(remark)
        self._viewer.refresh()

    def play_there(self) -> bool:
        """Switch whether to play at the goal; return whether a journey is under way."""
        if self.goal is None or not self._guide.moving:
            return False
        self._plays_then = not self._plays_then
        return True

    def go_back(self, count: int = 1) -> None:
        """Go `count` steps back; after a divergence at least to the last good step, as later ones are lost too."""
        past, good = self.past, last_good(self._guide.error)
        if self.target_step <= past.first:
            self._viewer.say(f"step {past.first:,} is the first")
        step = past.neighbour(self.target_step, -count)
        self.go(max(past.first, step if good is None else min(step, good)))

    def forward(self, count: int) -> bool:
        """Go `count` steps forward if they were trained before; return whether they were."""
        step = self.past.neighbour(self.target_step, count)
        if step > self.past.newest:
            return False
        self.go(step)
        return True

    def newest(self) -> None:
        """Go to the newest step, and continue there if it was playing."""
        newest = self.past.newest
        self._playback.loop = None
        if self.target_step < newest:
            self.go(newest, plays_then=self._playback.running)
        elif not self._playback.running:
            self._viewer.say(f"step {newest:,} is the newest")

    def cancel(self) -> bool:
        """Cancel a long journey; return whether there was one."""
        if self.goal is None or self._viewer.clock - self._set_out < SLOW:
            return False
        self._guide.cancel()
        self.goal, self._plays_then = None, False
        return True

    def rescue(self) -> None:
        """Go back to the last good step after a divergence."""
        good = last_good(self._guide.error)
        if good is not None:
            self.go(good)

    # ---- the time bar

    def drag(self, step: int) -> None:
        """Show a step near `step` at once, and `step` itself once the drag rests."""
        if step != self._dragged:
            self._dragged, self._rests_at = step, self._viewer.clock + REST
            self.go(step, near=True)

    def release(self, target: Click) -> None:
        """End a drag or a click on `target`."""
        step, self._dragged = self._dragged, None
        if step is not None:
            self.go(step)
        elif target[0] == BRANCH:
            self.switch(int(target[1]))
        elif target[0] not in ("", GO):
            self._viewer.send(target[0])

    # ---- branches and edits

    def switch(self, number: int) -> None:
        """Go to the newest step of another branch."""
        branch = next((b for b in self.past.branches if b.number == number), None)
        if branch is None:
            return
        if isinstance(self._source, Played):
            self._playback.pause()
            self._source.switch(number)
            self._viewer.say(f"Switched branch: it ends at step {self._source.span[1]:,}.")
        else:
            self._ask_run(lambda run: run.switch(number), lambda _: f"Switched branch: it has {branch.newest:,} steps.")

    def restart(self, seed: int | None = None) -> None:
        """Restart, with the weights of `seed` if given; play on if it was playing."""
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
        """Redo the undone edit."""
        self._ask_run(lambda run: run.redo(), lambda words: f"Redone: {words}")

    def name_moment(self) -> None:
        """Set or remove a flag at this step."""
        flags, step = self.past.flags, self.target_step
        named = next((flag.name for flag in flags if flag.step == step), "")
        taken = {flag.name for flag in flags}
        name = "" if named else next(f"flag {n}" for n in range(1, len(taken) + 2) if f"flag {n}" not in taken)
        said = f"step {step:,} is now {name}" if name else f"{named} removed from step {step:,}"
        more = "; Shift+N loops between two flags" if name and len(taken) == 1 else ""
        self._ask_run(lambda run: run.name(name, step), lambda _: said + more, stands=False)

    def toggle_loop(self) -> None:
        """Start or end a loop between two flags."""
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
        """Ask the run for a change and report it when done; with `stands`, pause first."""
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
            self._playback.pause()  # the next steps count from the current one

    # ---- time

    def pass_time(self) -> None:
        """Report arrivals, slow journeys and finished requests."""
        if not self._source.can.go:
            return
        clock = self._viewer.clock
        if self._dragged is not None and clock >= self._rests_at:
            self._rests_at = float("inf")
            self.go(self._dragged)
        journey = self._guide.journey_progress
        if self.goal is not None and journey is not None and clock - self._set_out >= SLOW:
            self._viewer.say(f"Going to step {self.goal:,}: {100 * journey:.0f} % (Esc cancels)", 0.25)
        self._watch_branches()
        if not self._guide.moving and not self._asked and self._dragged is None:
            self._arrived()
        loop = self._playback.loop
        if loop is not None and self._playback.running and self._look().step >= loop[1]:
            self.go(loop[0], plays_then=True)

    def _watch_branches(self) -> None:
        """Report a new branch after an edit in the past; requests made here report it themselves."""
        past = self._look().past
        now = None if past is None else next((b for b in past.branches if b.current), None)
        if now is None or self._source.recorded or now.number == self._branch:
            return
        if now.parent is not None and now.parent == self._branch and not self._asked:
            ring = ": click its ring" if self._viewer.bench.places.time is not None else ""
            self._viewer.say(f"New branch from step {now.first:,}. The later steps are kept{ring}")
        self._branch = now.number

    def _arrived(self) -> None:
        plays, goal = self._plays_then, self.goal
        self.goal, self._plays_then = None, False
        if plays and (goal is None or self._look().step == goal):
            self._playback.play()


def _after(frame: Frame) -> int:
    """Return the number of steps after that of `frame`."""
    return 0 if frame.past is None else max(0, frame.past.newest - frame.step)


def _undone_at(past: Past, here: int) -> int:
    """Return the step to which undo goes if the run is at step `here`."""
    now = next((branch for branch in past.branches if branch.current), None)
    if now is not None and past.undo == now.why and not any(edit.step <= here for edit in now.edits):
        return now.first  # begun by a restart or by a file
    return next((edit.step for edit in reversed(past.edits) if edit.step <= here), past.newest)


# ---- What stopped the training, in a window's words: the way back is a click or a key, not Python code.


def stopped_by(error: Exception | None, *, keys: bool = True) -> str:
    """Return the text of the banner, or ''. Without `keys` the arrow keys have another use."""
    if isinstance(error, DivergedError) and error.good is not None:
        press = f" or press {action_of('back').keys[0]}" if keys else ""
        back = f"click here{press} to go back to step {error.good:,}, the last good one,"
        return f"{error.fact}; {back} and {SLOWER}"
    if isinstance(error, DivergedError) and error.spoilt:
        return f"{error.fact}: press {action_of('undo').keys[0]} to undo the last change"
    return "" if error is None else str(error)


def last_good(error: Exception | None) -> int | None:
    """Return the last good step after a divergence, or None."""
    return error.good if isinstance(error, DivergedError) else None
