"""`Letters`: how the network of each frame of a page reads a scene's word, and the words that it makes up.

These are what a window draws among the cubes of such a scene: who looks at whom, the numbers of the letters on their
way, and what comes next. A page has no network that could read: it has what was read, of every frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import Reading, WordBoard
from ...run.scene.scene import Scene
from ...run.source import Moment
from ..panels.word_scene import MOST
from ..shown.subject import subject_of

Float32 = NDArray[np.float32]
BRIGHTNESS = 255
"""A letter of a new word is as bright as the root of its probability, in so many steps."""


class Letters:
    """Reads a word once for each frame.

    Parameters
    ----------
    panel : WordBoard
        Whose word it is.
    moment : callable
        ``moment(frame)``: what the panel reads at.
    """

    def __init__(self, panel: WordBoard, moment: Callable[[Frame], Moment]) -> None:
        self._panel, self._moment = panel, moment
        self._shape: dict[str, Any] = {}
        self._parts: list[Float32] = []
        self._likely: list[Float32] = []
        self._uses: list[list[list[int]]] = []
        self._names: list[list[Any]] = []

    def take(self, frame: Frame) -> None:
        """Read at one more frame."""
        moment, panel = self._moment(frame), self._panel
        reading = panel.look(moment, panel.word)
        down, across = np.tril_indices(reading.attention.shape[1])
        hidden = np.zeros((0, 0)) if reading.hidden is None else reading.hidden[1]
        parts = [reading.attention[:, down, across], *reading.stream, hidden]
        numbers = np.concatenate([np.ravel(part) for part in parts])
        self._shape = self._shape or _shape_of(reading)
        mosts = [max((float(np.abs(part).max()) for part in some if part.size), default=0.0)
                 for some in (reading.stream, (hidden,))]  # fmt: skip
        likely = np.concatenate([np.ravel(reading.likely), mosts])
        if not (np.isfinite(numbers).all() and np.isfinite(likely).all()):
            numbers, likely = np.full_like(numbers, np.nan), np.full_like(likely, np.nan)
        self._parts.append(numbers.astype(np.float32))
        self._likely.append(likely.astype(np.float32))
        self._uses.append([list(rows) for _, rows in reading.uses])
        self._names.append(self._made(moment) if np.isfinite(likely).all() else [])

    def _made(self, moment: Moment) -> list[Any]:
        """Words, and how bright each of their letters is."""
        made = [self._panel.make(moment, self._panel.temperature, number) for number in range(MOST)]
        return [[one.word, [_bright(share) for share in one.likely]] for one in made]

    def told(self) -> dict[str, Any]:
        """What JSON takes: the word, how the tables are divided, rows that each letter uses, and new words."""
        same = all(rows == self._uses[0] for rows in self._uses)
        return {
            "word": self._panel.word, "letters": self._panel.letters, "temperature": self._panel.temperature,
            **self._shape, "rows": self._uses[:1] if same else self._uses, "names": self._names,
        }  # fmt: skip

    @property
    def parts(self) -> Float32:
        """Shares of attention (each head's lower triangle), the stream, inner numbers; a row a frame, NaN: none."""
        return np.stack(self._parts)

    @property
    def likely(self) -> Float32:
        """Probabilities of what comes next after each letter, then the largest numbers of stream and inner ones."""
        return np.stack(self._likely)


def _bright(share: float) -> int:
    """Of a letter that is so probable; a share that is no number is none."""
    return round(BRIGHTNESS * min(max(share, 0.0), 1.0) ** 0.5) if share == share else 0


def _shape_of(reading: Reading) -> dict[str, Any]:
    """How many of what there are."""
    hidden = reading.hidden
    return {
        "heads": len(reading.attention), "count": reading.attention.shape[1],
        "widths": [part.shape[1] for part in reading.stream],
        "hidden": None if hidden is None else [hidden[0], hidden[1].shape[1]],
        "uses": [tensor for tensor, _ in reading.uses],
    }  # fmt: skip


def letters_of(scene: object) -> Letters | None:
    """Of a scene that has a word to read and a plan with room for what is read; None of others."""
    if not isinstance(scene, Scene) or scene.plan is None:
        return None
    panel = next((panel for panel in scene.panels if isinstance(panel, WordBoard)), None)
    source = subject_of(scene).source
    return None if panel is None else Letters(panel, lambda frame: Moment(frame, source))
