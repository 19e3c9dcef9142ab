"""Players of single runs for a report: each is computed again, recorded, and made a page of its own."""

from __future__ import annotations

import re
from contextlib import closing
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ...errors import DivergedError
from ...io.scratch import scratch
from ...run.scene.scene import Scene
from ...sweep.result import Result
from ..browser.ofscene import of_scene
from ..browser.recorded import html_of
from ..panels.word import WordDrawer
from ..recorded.pictures import can_draw, chosen, panel_pictures
from ..recorded.recording import Recorded, Recording
from .runs import Runs

FRAMES, PICTURES, ROOM = 120, 6, 120_000
"""Frames of a player, pictures of each of its panels, and bytes that these may take."""
SIZE = 1120, 640
"""Pixels that it is laid out for."""
_HASH = re.compile(r"'sha256-[A-Za-z0-9+/=]+'")


def player_of(runs: Runs, result: Result, theme: str, title: str) -> tuple[str, str]:
    """A run, computed again from its beginning: its page, and what is to be said of it (usually nothing)."""
    assert runs.build is not None  # else nothing is played
    scene = runs.build(result)
    with TemporaryDirectory(prefix=scratch()) as folder:
        path, every = Path(folder) / "run.svz", max(1, result.steps // FRAMES)
        with Recording(scene, every, gradients=True, updates=True, activations=True, path=path):
            said = _train(scene, result)
        with closing(Recorded(path)) as record:  # once it is closed, where it ended is recorded too
            page = _page(scene, record, theme, title)
    if not said and result.state == "done":
        said = _same(scene, runs, result)
    scene.run.close()
    return page, said


def _train(scene: Scene, result: Result) -> str:
    try:
        scene.run.step(max(result.steps - scene.run.steps, 1))
    except DivergedError as diverged:
        return str(diverged.fact)
    return ""


def _same(scene: Scene, runs: Runs, result: Result) -> str:
    """Whether it came to the same weights, bit for bit."""
    kept, now = runs.weights(result.number), scene.run.state_dict()
    if all(name in now and np.array_equal(now[name], kept[name], equal_nan=True) for name in kept):
        return ""
    return f"computed again here, it came to other bits than those of the file ({result.processor})"


def _page(scene: Scene, record: Recorded, theme: str, title: str) -> str:
    extra = of_scene(scene)
    pictures = []
    if can_draw() and scene.panels:
        pictures = panel_pictures(scene, chosen(range(len(record)), PICTURES), record.frame, theme, ROOM)
    if extra.letters is not None:  # which say more than their pictures
        pictures = [one for one in pictures if one.panel != WordDrawer.name]
    return html_of(record, pictures, theme=theme, size=SIZE, title=title, frames=FRAMES + 1, scene=extra)


def frame_of(page: str, title: str) -> str:
    """The page in a frame that can do nothing but play."""
    return f'<iframe sandbox="allow-scripts" loading="lazy" title="{escape(title)}" srcdoc="{escape(page)}"></iframe>'


def scripts_of(page: str) -> set[str]:
    """The hashes by which a page's own policy allows its scripts: a page around it has to allow them too."""
    policy = page.partition("Content-Security-Policy")[2].partition("style-src")[0]
    return set(_HASH.findall(policy))
