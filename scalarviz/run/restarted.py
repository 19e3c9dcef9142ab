"""Where a run stands that begins anew: at its first weights, or at others that its initialisers draw."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, StateError, listing
from ..nn import Module
from ..nn.init import drawn, without_rule
from ..optim._pace import Pace, PaceMoment
from .checks import seed_of
from .gather import as_blocks, begun_buffers
from .optimizer import begun, starts
from .state import State

if TYPE_CHECKING:
    from .frame import Frame
    from .run import Run

MOST_NAMED = 6
"""Weights that an error names."""


def restarted(home: State, today: State) -> State:
    """The weights of `home` in the run of `today`.

    Raises
    ------
    StateError
        They are other weights.
    """
    first, now = home.parts["weights"], today.parts["weights"]
    if home.parts["graph"].blocks != today.parts["graph"].blocks:
        raise StateError(
            f"restart: the run began with {len(first.values):,} weights and has {len(now.values):,} since its model "
            "was changed, others among them; go back before that change (run.to), draw all anew with "
            "restart(seed=...), or make a new Run"
        )
    gathered, ours = home.parts["optimizer"]["arrays"], today.parts["optimizer"]
    same = home.parts["optimizer"]["class"] == ours["class"]
    optimizer = today.parts["graph"].optimizer
    arrays = {
        name: gathered[name] if same and name in gathered else begun(optimizer, name, array)
        for name, array in ours["arrays"].items()
    }
    return _with(today, replace(first, frozen=now.frozen), arrays, home.parts["optimizer"]["before"], home)


def redrawn(values: NDArray[Any], home: State, today: State) -> State:
    """The run of `today` at the step of `home`, with other weights and an optimiser that begins."""
    now = today.parts["weights"]
    nothing = np.zeros_like(values)
    weights = replace(
        now, values=values, gradient=nothing, previous=values, computed=np.zeros_like(now.computed), edited=False,
        update=None,
    )  # fmt: skip
    optimizer, now_kept = today.parts["graph"].optimizer, today.parts["optimizer"]["arrays"]
    arrays = {name: begun(optimizer, name, array) for name, array in now_kept.items()}
    return _with(today, weights, arrays, -home.step, home)


def _pace(today: State) -> PaceMoment:
    """The rates of now, or those that their schedule begins with."""
    now = Pace()
    now.put(today.parts["optimizer"]["pace"])
    return now.begun()


def _with(today: State, weights: Any, arrays: dict[str, Any], before: int, home: State) -> State:
    parts = dict(today.parts)
    parts["optimizer"] = {**parts["optimizer"], "before": before, "arrays": arrays, "pace": _pace(today)}
    parts["weights"] = weights
    parts["step"] = home.parts["step"]
    return State(MappingProxyType(parts))


def seed_shown(frame: Frame) -> int:
    """The seed of the first weights of the line of steps that a frame is on: the run's, or that of a restart."""
    if frame.past is not None and frame.past.seed is not None:
        return frame.past.seed
    return 0 if frame.settings is None else frame.settings.seed


def seeded_as_before(run: Run, home: State) -> NDArray[Any]:
    """The weights of a model that was changed since `home`, (P,): those of then, and others as the run's seed draws.

    Raises
    ------
    StateError
        Some were made by hand.
    """
    first, graph = home.parts["weights"].values, home.parts["graph"]
    before = starts(graph.tape)
    try:
        values = seeded(run, seed_shown(run.frame()))
    except InputError as error:
        raise StateError(
            f"restart: the run began with {len(first):,} weights and has {len(run._store.value):,} since its model was "
            f"changed; {str(error).removeprefix('restart: ')}, or go back before that change (run.to)"
        ) from None
    for block, to in starts(run._tape).items():
        if block in before:
            values[to : to + block.size] = first[before[block] : before[block] + block.size]
    return values


def seeded(run: Run, seed: int) -> NDArray[Any]:
    """All weights as the initialisers that drew them last draw them with this seed, buffers as they were made, (P,).

    In the run's dtype.

    Raises
    ------
    InputError
        No seed; or nobody draws some weights, which are named.
    """
    number = seed_of(seed)
    total = len(run._store.value)
    values, known = np.zeros(total), np.zeros(total, bool)
    model, begins = run.model, starts(run._tape)
    lone = set(without_rule(model)) if isinstance(model, Module) else set()
    begun: dict[Any, Any] = drawn(model, number) if isinstance(model, Module) else {}
    for part, found in (begun | begun_buffers(run._graph.blocks)).items():
        (block,) = as_blocks([part])
        if part in lone or block not in begins:
            continue
        start = begins[block] + int(getattr(part, "_index", 0))
        values[start : start + found.size], known[start : start + found.size] = np.ravel(found), True
    missing = [t.name for t in run.tensors if not known[t.start : t.start + t.size].all()]
    if missing:
        rest = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise InputError(
            f"restart: nobody knows how {listing(missing[:MOST_NAMED])}{rest} may be drawn anew: they were made by "
            "hand. Let an initialiser draw them before the Run is made (net.initialize(...)), or restart without a seed"
        )
    return values.astype(run._stored)
