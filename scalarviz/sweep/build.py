"""Builders of the runs of a sweep, also in other processes: a scene by name, its text, or a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_origin

from ..errors import InputError, TypeMismatchError, shown
from ..run.run import Run
from ..run.scene.scene import Scene
from ..run.scene.scene_file import LoadedScene, load_scene, scene_of_text, settled


@dataclass(frozen=True, slots=True)
class Built:
    """A run that is ready to train, and its scene, if any."""

    run: Run
    scene: Scene | None = None
    loaded: LoadedScene | None = None
    options: Any = None  # the options that the scene was built with
    steps: int | None = None  # if the scene computed another number, as from epochs

    def metrics(self) -> dict[str, float]:
        """Return the numbers that the scene reports."""
        if self.loaded is None or self.scene is None:
            return {}
        return {name: float(number) for name, number in self.loaded.report(self.scene).items()}


@dataclass(frozen=True, slots=True)
class SceneBuild:
    """A scene of the package, or of a file, with its own flags."""

    name: str
    text: str = ""  # the text of the file when the sweep began

    @property
    def loaded(self) -> LoadedScene:
        """The scene's module; loaded once per process."""
        return _loaded(self.name, self.text)

    def options(self, given: Mapping[str, Any], seed: int) -> Any:
        """Return the model of its options; one thread by default, since many runs share the processors."""
        model = self.loaded.options
        for name, value in given.items():  # an option that may be repeated, such as --pair, gets one value
            if isinstance(value, str) and get_origin(model.model_fields[name].annotation) is list:
                given = {**given, name: [value]}
        return model(**{"threads": 1, **given, "seed": seed})

    def built(self, given: Mapping[str, Any], seed: int) -> Built:
        """Build the scene with some options, ready to train."""
        options, loaded = self.options(given, seed), self.loaded
        scene = loaded.build_loaded(options)
        for condition in options.break_on:
            scene.run.break_on(condition)
        made = settled(scene, options)
        return Built(scene.run, scene, loaded, made, None if made.steps == options.steps else int(made.steps))


@lru_cache(maxsize=8)
def _loaded(name: str, text: str) -> LoadedScene:
    return scene_of_text(name, text) if text else load_scene(name)


@dataclass(frozen=True, slots=True)
class FunctionBuild:
    """A function that returns a Run or a Scene: ``function(seed=0, **options)``."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """Qualified name of the function."""
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))

    @property
    def text(self) -> str:
        """Source of the function, or an empty text."""
        try:
            return inspect.getsource(self.function)
        except (OSError, TypeError):
            return ""

    def built(self, given: Mapping[str, Any], seed: int) -> Built:
        """Call the function with some options; TypeMismatchError if it returns neither a Run nor a Scene."""
        made = self.function(seed=seed, **{name: value for name, value in given.items() if name != "steps"})
        if isinstance(made, Scene):
            return Built(made.run, made)
        if isinstance(made, Run):
            return Built(made)
        raise TypeMismatchError(f"{self.name}(seed={seed}, ...) must return a Run or a Scene, got {shown(made)}")

    def check(self, names: list[str]) -> None:
        """Raise InputError if the function does not take the seed, or one of the options `names`."""
        try:
            taken = inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # a function without a signature
            return
        if "seed" in names:
            raise InputError(f"sweep: {self.name} takes its seed from seeds=; leave seed out of the options")
        anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
        for name in ("seed", *names):
            if name not in taken and not anything:
                raise InputError(
                    f"sweep: {self.name} takes no {name}=; it is called as {self.name}(seed=0"
                    f"{''.join(f', {n}=...' for n in names)}) and returns a Run"
                )


Build = SceneBuild | FunctionBuild
