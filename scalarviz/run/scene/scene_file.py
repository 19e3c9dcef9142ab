"""Load a scene by name, from a user's file, or from its text."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any

from ...contexts import collection_paused
from ...errors import FileFormatError, InputError, ScalarvizError
from ...io.atomic import path_text
from ..core.setup import names_kept
from .scene import Scene

WRITER = "scene"
"""Note in a file of weights with the name of the scene that wrote it."""
PACKAGE = Path(__file__).resolve().parents[2]
OWN = "scalarviz.scenes.own_"
"""Module name of a user's file: a copy of a scene can import its neighbours (`from . import kit`)."""


@dataclass(frozen=True, slots=True)
class LoadedScene:
    """A checked module of a scene: it has ``build(options)`` and may have ``finish`` and ``report``.

    `name` names the files in ``out/`` and the JSON's scene; `options` is the pydantic model of its flags.
    """

    name: str
    module: ModuleType
    options: Any

    @property
    def summary(self) -> str:
        """First line of its docstring, for help."""
        return (self.module.__doc__ or self.name).strip().partition("\n")[0]

    @collection_paused()
    def build(self, options: Any) -> Scene:
        """Call the module's ``build``; FileFormatError with the file's name if it returns no scene."""
        with _catching_errors(self.module, "build(options)"):
            scene = self.module.build(options)
        if not isinstance(scene, Scene):
            raise FileFormatError(
                f"{self.module.__file__}: build(options) must return an sv.Scene, got "
                f"{'None' if scene is None else type(scene).__name__}; end it with: return Scene(name, run)"
            )
        if scene.options is None:  # for its controls, which name their flags
            scene.options = options
        return scene

    def build_loaded(self, options: Any) -> Scene:
        """Build the scene, with the weights of ``--load``."""
        from .own_controls import Command

        scene = self.build(options)
        if options.load:
            scene.run.load(options.load, keep=options.kept(names_kept(scene.run.optimizer)))
        if scene.command is None and isinstance(scene.options, type(options)):
            own = self.module.__name__.startswith(OWN)
            scene.command = Command(scene, str(self.module.__file__) if own else self.name)
        return scene

    def finish(self, scene: Scene, options: Any) -> list[Path]:
        """Call the module's ``finish``, if it has one; FileFormatError with the line if that fails."""
        own: Any = getattr(self.module, "finish", lambda scene, options: ())
        with _catching_errors(self.module, "finish(scene, options)"):
            return [Path(path) for path in own(scene, options)]

    def report(self, scene: Scene) -> dict[str, int | float]:
        """Call the module's ``report``, if it has one; FileFormatError with the line if that fails."""
        own: Any = getattr(self.module, "report", lambda scene: {})
        with _catching_errors(self.module, "report(scene)"):
            return {str(what): _plain(number) for what, number in own(scene).items()}


@contextmanager
def _catching_errors(module: ModuleType, what: str = "") -> Iterator[None]:
    """Turn an error in a user's file into one line; an error of our code is a defect and keeps its traceback."""
    try:
        yield
    except ScalarvizError:
        raise
    except Exception as error:
        if not module.__name__.startswith(OWN) or _is_ours(error):
            raise
        raise FileFormatError(_line_of(error, str(module.__file__), what)) from error


def _plain(number: Any) -> int | float:
    """Return a number as JSON writes it, whatever its type."""
    return int(number) if isinstance(number, Integral) else float(number)


def _is_ours(error: Exception) -> bool:
    """Return whether the package's own code raised the error, below this file."""
    frames = traceback.extract_tb(error.__traceback__)
    return Path(frames[-1].filename).is_relative_to(PACKAGE) and frames[-1].filename != __file__


def _line_of(error: Exception, file: str, what: str) -> str:
    """Return text such as ``my_scene.py, line 7: KeyError: 'r'``, with the deepest line of the user's file."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    place = f"{file}, line {lines[-1]}" if lines else f"{file}, {what}" if what else file
    return f"{place}: {type(error).__name__}: {' '.join(str(error).split())[:400]}"


def settled(scene: Scene, options: Any) -> Any:
    """Return the options that the scene was built with, if it has them; otherwise the given ones."""
    return scene.options if isinstance(scene.options, type(options)) else options


@collection_paused()
def load_scene(name: str) -> LoadedScene:
    """Return the package's scene called `name`, or the file of that path."""
    if not name.endswith(".py"):
        return _checked(name, importlib.import_module(f"scalarviz.scenes.{name}"))
    path = Path(name)
    try:
        text = path.read_bytes() if path.is_file() else None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path_text(path)!a}: {getattr(error, 'strerror', None) or error}") from None
    if text is None:
        raise InputError(f"there is no scene file {path}; `scalarviz scenes` lists the included scenes")
    return scene_of_text(name, text)


@collection_paused()
def scene_of_text(name: str, text: str | bytes) -> LoadedScene:
    """Return the scene in a text, as if the file `name` held it; the file itself is not read."""
    path = Path(name)
    module = ModuleType(OWN + path.stem.replace(".", "_"))
    module.__file__, module.__package__ = str(path), "scalarviz.scenes"
    sys.modules[module.__name__] = module  # pydantic resolves annotations through it
    # its own helpers are found; last, since a scene may be called random.py and the program has yet to import much
    sys.path.append(os.path.realpath(path.parent))
    with _catching_errors(module):
        try:
            code = compile(text, str(path), "exec")
        except SyntaxError as error:
            raise FileFormatError(f"{path}, line {error.lineno or 1}: {error.msg}") from None
        exec(code, module.__dict__)
    return _checked(name, module)


def _checked(name: str, module: ModuleType) -> LoadedScene:
    base = importlib.import_module("scalarviz.scenes").SceneOptions
    options = getattr(module, "Options", base)
    if not callable(getattr(module, "build", None)):
        raise FileFormatError(f"{name} is not a scene file: it needs a function build(options) that returns a Scene")
    if not (isinstance(options, type) and issubclass(options, base)):
        raise FileFormatError(f"{name}: Options must be a subclass of scalarviz.scenes.SceneOptions")
    return LoadedScene(Path(name).stem, module, options)
