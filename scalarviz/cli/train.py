"""`scalarviz train`: a network out of an ONNX file learns, as a scene does, with all that scenes can."""

from __future__ import annotations

import importlib
from typing import Any

from ..run.scene.scene_file import LoadedScene


def train_scene() -> LoadedScene:
    """The scene of the command, whose flags are the command's."""
    module = importlib.import_module("scalarviz.scenes._train")
    return LoadedScene("train", module, module.Options)


def train(options: Any) -> int:
    """Train as the options say; returns the exit code."""
    from .run import run_scene

    return run_scene(train_scene(), options)
