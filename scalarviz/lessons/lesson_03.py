"""Why a hidden layer: exclusive or, with a map of the network's outputs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..run import Scene


def scene(seed: int = 0) -> Scene:
    """Return the scene ``xor``. With ``--activation sigmoid`` many seeds get stuck, which the lesson discusses."""
    xor: Any = import_module("scalarviz.scenes.xor")
    found: Scene = xor.build(xor.Options(seed=seed, cells=20))
    return found
