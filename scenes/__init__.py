"""The scenes: one short file each (data + network + loss + optimiser + panels). Copy one to start your own.

A scene is a module with a docstring, a class ``Options`` (a subclass of :class:`SceneOptions`; optional) and a function
``build(options) -> Scene``. It may have ``finish(scene, options) -> list of paths``, called after training, and
``report(scene) -> dict of numbers``, for the last line and the JSON. ``NEEDS`` may name an extra, and the package of it
that the scene's defaults import: ``{"data": "sklearn"}``. A file of your own runs as ``scalarviz my_scene.py
--steps 500``.
"""

from .options import SceneOptions, Size, WholeNumbers, flag

__all__ = ["SceneOptions", "Size", "WholeNumbers", "flag"]
