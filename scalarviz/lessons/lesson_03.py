"""Why a hidden layer: exclusive or, with a map of what the network answers everywhere."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..run import Scene


def scene(seed: int = 0) -> Scene:
    """The scene ``xor``; with ``--activation sigmoid`` many seeds are stuck, of which the lesson speaks."""
    xor: Any = import_module("scalarviz.scenes.xor")
    found: Scene = xor.build(xor.Options(seed=seed, cells=20))
    return found
