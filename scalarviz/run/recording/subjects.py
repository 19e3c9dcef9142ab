"""`Recordable`: what can be recorded, a Run or what another library trains, as a recording asks for it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, TypeMismatchError, shown
from ..run import Run
from ..scene import Scene
from ..watched import Watched
from .about import About, about_of, about_watched
from .coming import Steps
from .looks import Looks
from .watching import Watching

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recordable:
    """One of them.

    Attributes
    ----------
    about : About
    count : int
        Its numbers.
    probe, target : ndarray or None
        The sample whose way is recorded.
    news : Watching or Looks
        Knows what is new.
    begin, end : callable
        A recorder is told of every place from now on; of this one, and of no more.
    """

    about: About
    count: int
    probe: Float | None
    target: Float | None
    news: Watching | Looks
    begin: Callable[[Any], None]
    end: Callable[[Any], None]


def recordable(x: Any, wanted: Mapping[str, bool]) -> Recordable:
    """What is recorded of `x`; `wanted` says which parts of a frame are.

    Raises
    ------
    TypeMismatchError
        It is neither a Run, a Scene nor watched.
    InputError
        What is watched has no such part.
    StateError
        The run is closed, or another Run took its weights.
    """
    if isinstance(x, Watched):
        return _of_watched(x, wanted)
    if not isinstance(x, Run | Scene):
        raise TypeMismatchError(
            f"Recording: a Run, a Scene or sv.watch(net) is recorded, got {type(x).__name__} {shown(x)}; a loop of "
            "your own becomes a Run by sv.Run(model, loss, optimizer, data=(X, Y))"
        )
    return _of_run(x, wanted)


def _of_run(x: Run | Scene, wanted: Mapping[str, bool]) -> Recordable:
    run = x.run if isinstance(x, Scene) else x
    run._check_live()
    about = run._in_turn(lambda: about_of(x))
    probe, target = (None if row is None else np.array(row) for row in (about.probe, about.probe_target))
    steps = Steps(probe, target) if wanted["micro"] else None
    news = Watching(gradients=wanted["gradients"], updates=wanted["updates"], steps=steps)
    known = weakref.ref(run)

    def end(recorder: Any) -> None:
        if (here := known()) is not None:
            here._record_no_more(recorder)

    return Recordable(about, len(run._store.value), probe, target, news, lambda recorder: _begin(known, recorder), end)


def _begin(known: Callable[[], Run | None], recorder: Any) -> None:
    run = known()
    assert run is not None  # whoever begins holds it
    run._record(recorder)


def _of_watched(x: Watched, wanted: Mapping[str, bool]) -> Recordable:
    for part in ("activations", "deltas", "micro"):
        if wanted[part]:
            raise InputError(
                f"Recording: got {part} of what another library trains; allowed: gradients, updates; what goes "
                "through the network is seen of a Run alone"
            )
    news = Looks(gradients=wanted["gradients"], updates=wanted["updates"])
    return Recordable(about_watched(x), len(x.last.values), None, None, news, x.begin, x.end)
