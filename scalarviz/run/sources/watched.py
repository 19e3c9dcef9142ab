"""`Watched`: a network of another library as a source; its steps, its numbers, and kept frames."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import attributes
from ...checks import integer
from ...errors import InputError, TypeMismatchError, shown
from ..callbacks import Recorder
from ..core.frame import Branch, Frame, Past
from ..core.history import Curve, History
from ..core.tensors import Stage, Tensor
from ..source import Abilities, Source
from ..travel import POINTS, WeightRecord
from ..validation import LAST_STEP
from .watched_arrays import Reader

if TYPE_CHECKING:
    from .script_hooks import LayerFlow


def step_number(given: Any) -> int:
    """Return `given` as a step number: a whole number, or an array or tensor of one; InputError otherwise."""
    if hasattr(given, "shape"):
        with suppress(TypeError, ValueError, RuntimeError):
            given = index(given)
    return min(integer("step", given, 0), LAST_STEP)


def as_number(name: str, given: Any) -> float | None:
    """Return `given` as a float; accepts Values, and arrays and tensors of one number. None stays None."""
    if given is None:
        return None
    try:
        if isinstance(given, str | bytes | bool):
            raise TypeError
        bare = getattr(given, "detach", None)  # PyTorch warns about losses that are still part of a graph
        return float(bare() if callable(bare) else given)
    except OverflowError:
        raise InputError(f"{name}: got {shown(given)}; allowed: a number that a float can hold") from None
    except (TypeError, ValueError, RuntimeError):
        raise TypeMismatchError(f"{name} must be one number, such as 0.5, got {type(given).__name__}") from None


def is_pending(given: Any) -> bool:
    """Return whether it is one number that JAX still computes; reading it now would wait."""
    if not callable(getattr(given, "copy_to_host_async", None)) or getattr(given, "shape", None) != ():
        return False
    return str(given.dtype).startswith(("float", "bfloat", "int", "uint"))


def arrived(given: Any) -> float:
    """Return the number of a pending JAX array; NaN if its memory was given away meanwhile."""
    try:
        return float(given)
    except RuntimeError:
        return float("nan")


# ---- `StepCount`: the steps of a user's loop: numbers, losses, learning rates


ROOM = 1024
"""Most losses that wait to be put into the curve."""


class StepCount:
    """The reported steps so far.

    `loss` and `lr` are the last ones, NaN before. `calls` counts reports of the loop, `rounds` its restarts from
    an earlier step. `ahead`: the last step was seen before the loop reported it.
    """

    def __init__(self) -> None:
        self.step = self.calls = self.rounds = 0
        self.lr = float("nan")
        self._loss: Any = float("nan")  # perhaps a JAX array, which is read when it is needed
        self.ahead = False
        self._silent = 0  # calls without information since the last look
        self._history, self._written = History(), 0  # the last step with a known loss
        self._new: list[tuple[int, Any, float]] = []  # not in it yet: a list takes a tenth of the time

    @property
    def loss(self) -> float:
        """The last reported loss."""
        self._loss = arrived(self._loss)
        return float(self._loss)

    @property
    def reached(self) -> int:
        """The last step, if each call without information was one."""
        return self.step + self._silent

    def curve(self, step: int | None = None) -> Curve:
        """Return the steps with a loss: all, or up to `step`."""
        self._take_in()
        return self._history.curve(step)

    def tell(
        self, *, said: bool, step: object = None, loss: object = None, lr: object = None, seen: bool = False
    ) -> None:  # fmt: skip
        """Count a step; if nothing is `said` about it, it counts only if the numbers turn out to have changed.

        `seen`: it was counted at a look, `ahead` of this call. Wrong numbers change nothing.
        """
        at = None if step is None else step_number(step)
        new_loss: Any = loss if is_pending(loss) else as_number("loss", loss)
        new_lr = as_number("lr", lr)
        self.calls += 1
        self.ahead = False
        if not (said or any(one is not None for one in (at, new_loss, new_lr))):
            self._silent += 1
            return
        if at is not None and at < self.step:
            self.rounds += 1
            self._cut(max(at - 1, 0))
        self.step = self.step + self._silent + (not seen) if at is None else at
        self._silent = 0
        self._loss = self._loss if new_loss is None else new_loss
        self.lr = self.lr if new_lr is None else new_lr
        if new_loss is not None and self.step:
            self._write()

    def _write(self) -> None:
        """Put the loss of the step into the curve; the last report of a step counts."""
        if self._written >= self.step:
            self._cut(self.step - 1)
        self._new.append((self.step, self._loss, self.lr))
        self._written = self.step
        if len(self._new) >= ROOM:
            self._take_in()

    def _take_in(self) -> None:
        """Put new losses into the history, consecutive steps at once."""
        if self._new:
            step, loss, lr = np.array([(step, arrived(loss), lr) for step, loss, lr in self._new]).T
            for run in np.split(np.arange(len(step)), np.flatnonzero(np.diff(step) != 1) + 1):
                self._history.extend(int(step[run[0]]) - 1, loss[run], lr[run])
            self._new.clear()

    def _cut(self, step: int) -> None:
        self._take_in()
        self._history.cut(step)
        self._written = min(self._written, step)

    def looked(self, *, changed: bool, announced: bool) -> None:
        """Note a look: silent calls were steps if the numbers `changed`; so is a change without `announced`."""
        if changed:
            self.ahead = not (self._silent or announced)
            self.step += self._silent or (0 if announced else 1)
        self._silent = 0


# ---- `KeptFrames`: frames to go back to, thinned to a budget of bytes


BUDGET = 64 << 20
MOST = 2_000
"""Most frames, whatever their size."""


class KeptFrames:
    """Frames by their steps, rising. Above `budget` bytes every second is dropped, except the first and the newest."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget = budget
        self._frames = dict[int, Frame]()

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def first(self) -> int:
        """The step of the first frame."""
        return next(iter(self._frames))

    @property
    def steps(self) -> NDArray[np.int64]:
        """Steps of the frames."""
        return np.fromiter(self._frames, np.int64)

    def frame_at(self, step: int) -> Frame | None:
        """Return the frame of a step, or None."""
        return self._frames.get(step)

    def add(self, frame: Frame) -> None:
        """Keep a frame; drop frames of the same or later steps, which precede a restart of the loop."""
        self.cut(frame.step)
        self._frames[frame.step] = frame
        arrays = (frame.values, frame.gradient, frame.update, frame.computed, frame.frozen, *frame.activations.values())
        most = min(MOST, self._budget // sum(array.nbytes for array in arrays))
        while len(self) > max(2, most):
            self._frames = dict([*list(self._frames.items())[:-1:2], (frame.step, frame)])
        if most < 2:
            self._frames = {frame.step: frame}

    def cut(self, step: int) -> None:
        """Keep only the frames before a step."""
        while self._frames and next(reversed(self._frames)) >= step:
            self._frames.popitem()

    def values(self, index: int) -> NDArray[np.float64]:
        """Return one number at every frame."""
        return np.array([frame.values[index] for frame in self._frames.values()], np.float64)


# ---- `Pace`: how often to look. A look takes time from the loop, so it gets a share of it


SHARE = 0.02
"""Largest share of the loop's time for looking and painting."""
RATE = 30.0
"""Most looks per second."""
SLOWEST = 5.0
AT_REST = 0.2
"""The share after the loop has ended."""
EAGER = 1.5
"""Seconds after a user action during which it looks as often as possible."""


class Pace:
    """Allows `rate` looks per second, or as many as take a `share` of the time; one every `slowest` seconds."""

    def __init__(self, rate: float = RATE, share: float = SHARE, slowest: float = SLOWEST) -> None:
        self.rate, self.share, self._slowest = rate, share, slowest
        self._began = self._eager = float("-inf")
        self._spent = 0.0

    def due(self, now: float, *, rests: bool = False) -> bool:
        """Return whether to look at `now` (seconds of any clock); `rests`: the loop has ended."""
        passed = now - self._began
        if passed < 1 / self.rate:
            return False
        share = max(self.share, AT_REST) if rests else self.share
        return now < self._eager or passed >= min(self._spent / share, self._slowest)

    def took(self, start: float, end: float) -> None:
        """Note the start and end of a look."""
        self._began, self._spent = start, end - start

    def touched(self, now: float) -> None:
        """Look often for a while after a user action."""
        self._eager = now + EAGER


# ---- `Watched`: a network of another library as a source; `sv.watch` makes one


Floats = NDArray[np.floating]
QUIET = 0.2
"""Seconds without an update after which the loop counts as ended and a picture looks by itself."""
IDLE, LONGER = 2.0, 10.0
"""A living thread is idle after IDLE seconds without an update, and LONGER times its longest pause so far."""


ABSENT = {
    **dict.fromkeys(("log", "report", "step"), "call update(loss=loss) after each step of your loop"),
    **dict.fromkeys(("save", "save_html", "history", "record"),
                    "recording = sv.Recording(watched) before the loop keeps its steps; recording.save_html(path) "
                    "writes a page"),
    **dict.fromkeys(("show", "live", "plot"), "use sv.show(watched, block=False)"),
    "render": "use sv.render(watched)",
}  # fmt: skip
"""Names that people try, and what is said of each."""


class Watched(Source):
    """Weights that another library trains. Make it with :func:`watch`, which says what it takes and refuses.

    They are read in place, between two steps of the loop, which calls :meth:`update`; none is changed.
    ``sv.show``, ``sv.live``, ``sv.render`` and ``sv.Recording`` take it.

    Attributes
    ----------
    name : str
        Kind of the watched object.
    pace : Pace or None
        How often to look; None: only when asked.
    over : str
        Why the numbers can no longer be read, so that the last ones stay; empty while they can.
    """

    what = "what is watched"
    stages: tuple[Stage, ...] = ()

    if not TYPE_CHECKING:
        __getattr__ = attributes(ABSENT)

    def __repr__(self) -> str:
        done = self._counted
        return f"Watched({self.name}, {self.last.values.size} numbers, step {done.step}, loss {done.loss:.4g})"

    def __init__(self, x: Any, budget: int = BUDGET) -> None:
        self._budget = integer("watch: budget (bytes)", budget, 0)
        self._reader = Reader(x)
        self.name = type(x).__name__.lower()
        self.pace: Pace | None = None
        self.over = ""
        self._flow: LayerFlow | None = None
        self._counted, self._kept = StepCount(), KeptFrames(self._budget)
        self._onlookers: list[Recorder] = []
        self._lock, self._owner = threading.RLock(), threading.current_thread()
        self._called, self._longest = float("-inf"), 0.0
        self.rounds = 0  # restarts of the loop from an earlier step, at the last look
        self._given: tuple[Frame, Frame, Frame] | None = None  # the last frame that was given out, complete
        self._known: deque[tuple[int, int, Floats]] = deque(maxlen=2)  # calls, their rounds, and the numbers then
        self._standing: Frame | None = None  # a past frame to show
        values = self._reader.values()
        self._moved = np.zeros(len(values), bool), np.ones(len(values), bool)
        self.last = self._frame(values)
        self._remember(values)
        self._kept.add(self.last)

    def show_flow(self, flow: LayerFlow) -> None:
        """Show the activations of one sample at each layer, too."""
        named, before = {tensor.name: tensor for tensor in self.tensors}, flow.sample.numel()
        stages = list[Stage]()
        for name, kind, _, outputs in flow.layers:
            weight, bias = (named.get(f"{name}.{part}".strip(".")) for part in ("weight", "bias"))
            arrays = (weight, bias) if kind == "linear" else (None, None)
            stages.append(Stage(name or "linear", kind, outputs, *arrays, (outputs,), (before,)))
            before = outputs
        self._flow, self.stages = flow, tuple(stages)
        self.last = replace(self.last, activations=self._rows())

    def _rows(self) -> dict[str, NDArray[np.float64]]:
        if self._flow is None:
            return {}
        try:
            return self._flow.rows()
        except (RuntimeError, TypeError, ValueError, IndexError):  # the script has changed the network
            self._flow, self.stages = None, ()
            return {}

    # ---- for the loop

    def update(
        self, params: Any = None, grads: Any = None, *, loss: object = None, step: object = None, lr: object = None
    ) -> bool:
        """Report a step. A call without arguments counts as a step if the numbers have changed.

        Parameters
        ----------
        params, grads : tree of arrays, optional
            The new arrays, if a step makes new ones (JAX), and their gradients, with the same names and shapes.
            A torch.nn.Module is read in place, with its ``.grad``.
        loss, lr : number, optional
        step : int, optional
            Number of the step; an earlier number restarts the curve from there.

        Returns
        -------
        bool
            Whether it looked at the numbers; most steps of a fast loop pass unseen.

        Raises
        ------
        InputError, TypeMismatchError
            Not numbers, or other names or shapes than before.
        """
        with self._lock:
            self._heard()
            self._reader.give(params, grads)
            seen = self._counted.ahead and np.array_equal(self._reader.values(), self.last.values, equal_nan=True)
            self._counted.tell(said=params is not None or grads is not None, step=step, loss=loss, lr=lr, seen=seen)
            if self._counted.step < self.last.step:  # it began again
                self._standing = None
            return self._look_in_time()

    def _heard(self) -> None:
        """Note the calling thread, which changes the numbers."""
        now, owner = time.perf_counter(), threading.current_thread()
        if owner is self._owner and self._called > float("-inf"):
            self._longest = max(self._longest, now - self._called)
        self._owner, self._called = owner, now

    def tell(self, *, step: object = None, loss: object = None, lr: object = None) -> None:
        """Report a step of arrays that are read in place."""
        self.update(step=step, loss=loss, lr=lr)

    def _look_in_time(self) -> bool:
        """Look if it is time. Copy the numbers one call before, so that the update of the step is known."""
        start, step = time.perf_counter(), self._counted.reached
        ready = self._known[-1][0] == self._counted.calls - 1
        timely = self.pace is not None and self.pace.due(start)
        looks = (timely and ready) or self._is_wanted(step)
        if looks:
            self.look()
            if self.pace is not None:
                self.pace.took(start, time.perf_counter())
        elif timely or self._is_wanted(step + 1):
            self._remember(self._reader.values())
        for one in self._onlookers:
            one.look(self)
        return looks

    def _is_wanted(self, step: int) -> bool:
        """Return whether a recorder wants to look at a step, whatever time it takes."""
        return bool(self._onlookers) and any(step % one.every == 0 for one in self._onlookers)

    def look(self) -> Frame:
        """Look at the current numbers; an unreported change is a step.

        InputError: they can no longer be read, because JAX has donated them to a step.
        """
        with self._lock:
            last, counted = self.last, self._counted
            if self.over:
                return last
            values = self._reader.values()
            changed = not np.array_equal(values, last.values, equal_nan=True)
            counted.looked(changed=changed, announced=counted.step != last.step)
            was, now = (last.step, last.loss, last.lr), (counted.step, counted.loss, counted.lr)
            if changed or not np.array_equal(was, now, equal_nan=True):
                self.last = self._frame(values)
                self._kept.add(self.last)
                self.rounds = counted.rounds
                self.can = Abilities(go=self.can.go or len(self._kept) > 1)
            self._remember(values)
            return self.last

    def _frame(self, values: Floats) -> Frame:
        gradient, computed, frozen = self._reader.gradients()
        counted, (before, together) = self._counted, self._earlier(values)
        with np.errstate(invalid="ignore", over="ignore"):  # a diverged network holds infinities
            update = np.zeros_like(values) if before is None else values - before
        known = self._moved[before is not None]
        return Frame(counted.step, counted.loss, counted.lr, values, gradient, update, computed, frozen,
                     self._rows(), moved=known, together=together)  # fmt: skip

    def _remember(self, values: Floats) -> None:
        """Keep the current numbers, to compute an update at a later look."""
        self._known.append((self._counted.calls, self._counted.rounds, values))

    def _earlier(self, values: Floats) -> tuple[Floats | None, int]:
        """Return earlier numbers (None if they are of another round), and how many calls ago they were current."""
        now = self._counted.calls
        for calls, rounds, known in reversed(self._known):
            if calls == now and np.array_equal(known, values, equal_nan=True):
                continue  # copied at this call, for a look at the next one
            together = max(now - calls, 1)
            if together > 1 and (former := self._reader.former()) is not None:
                return former, 1
            return (known, together) if rounds == self._counted.rounds else (None, 1)
        return None, 1

    # ---- for recorders

    def begin(self, onlooker: Recorder) -> None:
        """Call a recorder at every step, and look at the steps that its `every` divides."""
        with self._lock:
            self.look_at_rest()
            self._onlookers.append(onlooker)
            onlooker.look(self)

    def end(self, onlooker: Recorder) -> None:
        """Call a recorder for the last time; numbers that can no longer be read do not cost it its frames."""
        with self._lock:
            if onlooker in self._onlookers:
                self._onlookers.remove(onlooker)
                try:
                    self.look_at_rest()
                except InputError as error:
                    self.over = str(error)
                onlooker.look(self, last=True)

    # ---- a source

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self._reader.tensors

    @property
    def n_inputs(self) -> int:
        return 0 if self._flow is None else self._flow.sample.numel()

    @property
    def counted(self) -> bool:
        return self._counted.step > 0

    @property
    def learns(self) -> bool:
        """True if gradients are possible; arrays without a reported step have none."""
        return self._reader.in_place or self.counted or bool(self.last.computed.any())

    @property
    def curve(self) -> Curve:
        return self._counted.curve()

    @property
    def span(self) -> tuple[int, int]:
        with self._lock:
            return self._kept.first, self.last.step

    def frame(self, probe: ArrayLike | None = None, *, state: bool = False) -> Frame:
        """Return the current frame: the last look, a past one that was gone to, or a new look.

        While the loop's thread lives, only that thread looks; any other would read in the middle of a step.
        """
        with self._lock:
            now = time.perf_counter()
            if self.pace is None:
                self.look_at_rest()
            elif now - self._called > QUIET and self.pace.due(now, rests=True):  # the loop seems to have ended
                self.look_at_rest()
                self.pace.took(now, time.perf_counter())
            shown = self._standing or self.last
            if self._given is None or self._given[0] is not shown or self._given[1] is not self.last:
                curve = self._counted.curve(step=shown.step)
                whole = replace(shown, curve=curve, past=self._past() if self.can.go else None)
                self._given = shown, self.last, whole
            return self._given[2]

    def _at_rest(self) -> bool:
        """Return whether the numbers cannot change meanwhile: in the loop's thread, or if that has ended or idles."""
        if threading.current_thread() is self._owner or not self._owner.is_alive():
            return True
        return time.perf_counter() - self._called > max(IDLE, LONGER * self._longest)

    def look_at_rest(self) -> None:
        """Look, unless another thread may be in the middle of a step, or the numbers are gone."""
        with self._lock:
            try:
                if self._at_rest():
                    self.look()
            except InputError:
                if self._reader.in_place:
                    raise

    def _past(self) -> Past:
        steps, curve = self._kept.steps, self._counted.curve()
        first, newest = self.span
        return Past(first, newest, curve, steps=steps, branches=(Branch(0, None, first, newest, curve, current=True),))

    def to(self, step: int) -> None:
        """Go to a kept step (InputError otherwise); the newest one follows the loop."""
        with self._lock:
            found = self._kept.frame_at(step)
            if found is None:
                first, newest = self.span
                raise InputError(
                    f"step {step:,} was not kept; {len(self._kept):,} steps from {first:,} to {newest:,} are kept"
                )
            self._standing = None if found is self.last else found

    def weight_record(self, index: int) -> WeightRecord:
        with self._lock:
            steps, values = self._kept.steps, self._kept.values(index)
        places = np.unique(np.linspace(0, len(steps) - 1, POINTS).astype(int))
        return WeightRecord(index, steps[places], values[places])


def watch(x: Any, *, budget: int = BUDGET) -> Watched:
    """Follow weights that a loop trains, without a window: for recordings, cells and pictures.

    Parameters
    ----------
    x : Module, torch.nn.Module, or nested dict, list, tuple or dataclass of arrays
        Arrays of JAX, NumPy, PyTorch and others that NumPy can read.
    budget : int
        Most bytes of frames that are kept to go back to.

    Returns
    -------
    Watched
        Call its ``update(loss=loss)`` after each step, or ``update(params, grads)`` if a step makes new arrays.

    Raises
    ------
    TypeMismatchError, InputError
        No arrays, arrays on a GPU, or arrays that do not hold real numbers.

    Examples
    --------
    ``watched = sv.watch(net)``, ``with sv.Recording(watched, every=10, path="net.svz"): ...``
    """
    return Watched(x, budget)
