"""In which forms the engine can compute a problem, by asking it: as it chooses, and with its switches set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from scalarviz.engine.cuda import trainer
from scalarviz.engine.cuda.trainer import launches
from scalarviz.engine.problem import Problem

OWN, PLAIN, TILES, BLOCKS = "cuda", "cuda, plain", "cuda, tiles", "cuda, blocks of {} lanes"
"""As the engine chooses; an instruction a kernel, which is the reference; tiles and no blocks; blocks."""
CHUNKS, MEGABYTES = "cuda, chunks of {} MB", (32, 128)
"""Chunks of lanes whose rows stay in a second-level cache, at the price of more launches."""
OFF: dict[str, Any] = {"joined": False, "tiles": None, "lanes": 0}
"""Switches of the engine's configuration that switch a form off."""
LANES = (8, 16, 32)


def forms() -> dict[str, Any]:
    """Configurations by name, as far as this engine knows their switches."""
    own, known = trainer.SHAPE, {field.name for field in fields(trainer.SHAPE)}
    off = {name: value for name, value in OFF.items() if name in known}
    found = {OWN: own}
    if "tiles" in known:
        found[TILES] = replace(own, **{name: value for name, value in off.items() if name == "lanes"})
    if "lanes" in known:
        found |= {BLOCKS.format(lanes): replace(own, lanes=lanes) for lanes in LANES}
    found |= {CHUNKS.format(size): replace(own, chunk_bytes=size << 20) for size in MEGABYTES}
    found[PLAIN] = replace(own, **off)
    return {name: shape for name, shape in found.items() if name == OWN or shape != own}


def forms_of(problem: Problem, tiny: bool = False) -> dict[str, Any]:
    """Those in which it is launched differently: a form that cannot do it is another one under its name.

    In a trial (`tiny`) the first and the last are enough.
    """
    found: dict[Any, tuple[str, Any]] = {}
    for name, shape in forms().items():
        if tiny and name not in (OWN, PLAIN):
            continue
        with taken(shape):
            launched = [(each.kernel.name, each.grid, each.block, each.shared) for each in launches(problem)]
        found.setdefault(tuple(launched), (name, shape))
    return dict(found.values())


@contextmanager
def taken(shape: Any) -> Iterator[None]:
    """Trainers that are made meanwhile are made so."""
    before = trainer.SHAPE
    trainer.SHAPE = shape
    try:
        yield
    finally:
        trainer.SHAPE = before
