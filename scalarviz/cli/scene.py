"""Scenes by name, and a user's own scene file by path."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import FileFormatError, InputError

if TYPE_CHECKING:
    from ..run.scene import Scene


@dataclass(frozen=True, slots=True)
class LoadedScene:
    """A scene's module, checked.

    Attributes
    ----------
    name : str
        Names the files in ``out/`` and the JSON's scene.
    module : module
        Has ``build(options)`` and may have ``finish(scene, options)`` and ``report(scene)``.
    options : type
        The pydantic model of its flags.
    """

    name: str
    module: ModuleType
    options: Any

    @property
    def summary(self) -> str:
        """The first line of its docstring, for help."""
        return (self.module.__doc__ or self.name).strip().partition("\n")[0]

    def build(self, options: Any) -> Scene:
        """Call the module's ``build``; FileFormatError, which names the file, if it returns no scene."""
        from ..run.scene import Scene

        scene = self.module.build(options)
        if not isinstance(scene, Scene):
            raise FileFormatError(
                f"{self.module.__file__}: build(options) must return a scalarviz.run.scene.Scene, got "
                f"{'None' if scene is None else type(scene).__name__}; end it with: return Scene(name, run)"
            )
        return scene


def load_scene(name: str) -> LoadedScene:
    """The scene of the package called `name`, or the file of that path.

    Raises
    ------
    InputError
        If there is no such file.
    FileFormatError
        If the file is no scene; says what it lacks.
    """
    module = _from_file(Path(name)) if name.endswith(".py") else importlib.import_module(f"scalarviz.scenes.{name}")
    base = importlib.import_module("scalarviz.scenes").SceneOptions
    options = getattr(module, "Options", base)
    if not callable(getattr(module, "build", None)):
        raise FileFormatError(f"{name} is no scene: it has no function build(options) that returns a Scene")
    if not (isinstance(options, type) and issubclass(options, base)):
        raise FileFormatError(f"{name}: Options must be a subclass of scalarviz.scenes.SceneOptions")
    return LoadedScene(Path(name).stem, module, options)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"there is no scene file {path}; `scalarviz scenes` lists those that come with the package")
    spec = importlib.util.spec_from_file_location(f"scalarviz_scene_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FileFormatError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic resolves annotations through it
    sys.path.insert(0, str(path.resolve().parent))  # as `python my_scene.py` does, for its own helpers
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise FileFormatError(f"{path}, line {error.lineno}: {error.msg}") from None
    return module
