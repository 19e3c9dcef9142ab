"""From a neuron to a GPT: the scene ``microgpt``, each part a plate."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..run import Scene


def scene(seed: int = 0) -> Scene:
    """Return the scene ``microgpt``: 4,192 weights learn to write given names."""
    microgpt: Any = import_module("scalarviz.scenes.microgpt")
    found: Scene = microgpt.build(microgpt.Options(seed=seed))
    return found
