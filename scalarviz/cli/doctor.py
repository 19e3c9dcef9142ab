"""``scalarviz doctor``: check what works on this machine, and what to install for the rest."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from pydantic import Field

from ..engine.problem import DTYPES
from ..engine.table import ENGINES
from ..errors import InputError, MissingDependencyError, ScalarvizError, listing, shown
from ..run.scene.scene_file import load_scene
from ..scalar import ops
from .console import tell
from .flags import Command, argument, model_of
from .scene_files import scene_names

PACKAGES = (
    *("numpy", "numba", "llvmlite", "vispy", "typer", "rich", "pydantic", "pillow", "safetensors"),
    *("imageio-ffmpeg", "scikit-image", "scikit-learn", "PySide6-Essentials", "jupyterlab", "ipykernel"),
    *("numba-cuda", "cuda-bindings", "cuda-toolkit"),
)


def command() -> Command:
    """Return the flags and the function of the command."""
    flags = {
        "scene": (str | None, argument("With --ops: include the operations that this scene registers.")),
        "report": (bool, Field(False, description="Also print the versions that a bug report needs.")),
        "ops": (bool, Field(False, description="Instead, list how each engine compiles each operation.")),
    }
    return model_of("DoctorOptions", flags, ()), doctor


def doctor(options: Any) -> int:
    """Print the findings; with ``--report`` versions too, with ``--ops`` the engines' operations instead. Return 0."""
    scene = options.scene
    if options.report and options.ops:
        raise InputError("doctor: give --report or --ops, not both")
    if scene is not None and not options.ops:
        raise InputError(f"doctor: only --ops takes a scene, got {shown(scene)}; try: scalarviz doctor --ops {scene}")
    if scene is not None:
        if scene not in scene_names() and not scene.endswith(".py"):
            known = listing(scene_names())
            raise InputError(f"there is no scene {shown(scene)}; give a file such as my_scene.py, or one of {known}")
        load_scene(scene)
    if options.ops:
        return _operations()
    width = max(map(len, CHECKS))
    for name, check in CHECKS.items():
        try:
            works, says = check()
        except Exception as error:  # a doctor that dies of a broken driver helps nobody
            works, says = False, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        tell(f"{'ok' if works else 'no':3} {name:{width}}  {says}")
    if options.report:
        tell()
        for name, found in versions():
            tell(f"{name} {found}")
    return 0


def _operations() -> int:
    """Print how each engine compiles every registered operation. Return the exit code, 0."""
    rows = [["operation", *ENGINES], ["value + derivatives", *(engine.form.made for engine in ENGINES.values())]]
    rows += [[op.name, *(engine.form.describe(op) for engine in ENGINES.values())] for op in ops.TABLE.values()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        tell("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def versions() -> Iterator[tuple[str, str]]:
    """Yield names and versions of everything that a bug may depend on."""
    from .. import __version__

    yield "scalarviz", __version__
    yield "Python", platform.python_version()
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores"
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"


def _gl() -> tuple[bool, str]:
    from ..view.out.offscreen import available, offscreen

    if reason := available():
        return False, reason
    from vispy.gloo import gl

    with offscreen():
        return True, f"{_text(gl.glGetParameter(gl.GL_RENDERER))}, OpenGL {_text(gl.glGetParameter(gl.GL_VERSION))}"


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _films() -> tuple[bool, str]:
    from ..view.out.files import check_video

    try:
        check_video()
    except MissingDependencyError as error:
        return False, str(error)
    return True, f"imageio-ffmpeg {version('imageio-ffmpeg')}"


def _window() -> tuple[bool, str]:
    from ..display import WindowProbe, has_display

    if not has_display():
        return False, "no display (DISPLAY and WAYLAND_DISPLAY are not set); films and pictures need none"
    probe = WindowProbe()
    if reason := probe.reason():
        return False, reason
    return True, f"{probe.binding} {version(probe.package)} on {probe.platform()}"


def _example() -> tuple[bool, str]:
    from ..io import example_photo

    try:
        return True, "{} x {} pixels, from scikit-image".format(*example_photo().size)
    except ScalarvizError as error:
        return False, str(error)


def _cache() -> tuple[bool, str]:
    from ..engine.cpu.units import cache_is_warm, folder, no_numba, refusal

    if why := no_numba():
        return False, f"numba {why}"
    warm = [dtype for dtype in DTYPES if cache_is_warm(dtype, ops.TABLE)]
    if len(warm) == len(DTYPES):
        return True, f"cached in {folder()}"
    cold = f"not cached for {listing(d for d in DTYPES if d not in warm)}"
    return False, (
        f"{cold}; {refusal() or 'each network compiles its own kernels; `scalarviz warmup` compiles all of them'}"
    )


def _layers() -> tuple[bool, str]:
    from ..engine.cpu.vector import capability

    return True, capability.describe()


def _cuda() -> tuple[bool, str]:
    from ..engine.cuda.there import gpu_summary, no_cuda

    why = no_cuda(0)
    return not why, why or gpu_summary()


def _notebook() -> tuple[bool, str]:
    install = 'install it with: pip install "scalarviz[notebook]"'
    if not find_spec("ipykernel"):
        return False, f"ipykernel is not installed; {install}"
    lab = f"jupyterlab {version('jupyterlab')}" if find_spec("jupyterlab") else f"no jupyterlab ({install})"
    return True, f"ipykernel {version('ipykernel')}, {lab}; `sv.render` draws pictures"


CHECKS: dict[str, Callable[[], tuple[bool, str]]] = {
    "window": _window,
    "pictures (EGL)": _gl,
    "films": _films,
    "example photo": _example,
    "numba cache": _cache,
    "layers": _layers,
    "CUDA": _cuda,
    "notebook": _notebook,
}
"""Checks of the machine, by name: each returns whether it works, and what was found or is to be installed."""
