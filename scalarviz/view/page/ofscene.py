"""What a page has from the scene itself, which a recorded file does not hold: what a test says, and letters.

`Letters`: how the network of each frame reads a scene's word, and the words that it makes up. These are what a window
draws among the cubes of such a scene: who looks at whom, the numbers of the letters on their way, and what comes next.
A page has no network that could read: it has what was read, of every frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...run.core.frame import Frame
from ...run.panels import LossCurve, TestCurve, WordBoard
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.source import Moment, Source
from ..cubes.own import LOOKS, OwnLook
from ..ink.theme import DARK
from ..panels.word import MOST
from ..panels.wording import test_loss, test_share
from ..screen.side import SidePanels
from ..shown.subject import subject_of

Headlines = Callable[[Frame], tuple[str, ...]]
"""``headlines(frame)``: words of one frame, as ``"test accuracy 91.2 %"``."""


def no_headlines(frame: Frame) -> tuple[str, ...]:
    """Of what has none."""
    return ()


class OfScene(NamedTuple):
    """Parts of a page."""

    letters: Letters | None = None  # then the page has no picture of the panel that it is of
    looks: Mapping[int, OwnLook] | None = None  # of cubes by flat index; None: those of the subject's weights
    turned: bool = False  # whether the flow turns at each layer, as it does around pictures of single units
    above: tuple[str, ...] = ()  # titles of panels above the cubes: the window has room there
    headlines: Headlines = no_headlines  # what the head says of a frame beside the loss


def of_scene(x: object) -> OfScene:
    """What a scene, or a run without one, has for its page."""
    if not isinstance(x, Scene | Run):
        return OfScene()
    shown = subject_of(x)
    turned = SidePanels(shown, DARK).turns(1.0, 1.0, rows=True) is not None
    above = tuple(str(getattr(panel, "title", "a panel")) for panel in shown.panels if panel.place == "above")
    letters = None
    if isinstance(x, Scene) and x.plan is not None:  # a plan has room for what is read
        letters = next((Letters(panel, shown.source) for panel in x.panels if isinstance(panel, WordBoard)), None)
    return OfScene(letters, LOOKS.of(shown.source), turned, above, headlines_of(x))


def headlines_of(scene: object) -> Headlines:
    """The loss of a scene's test, or the share of it that is read rightly, at the values of a frame.

    Of data that a hand may change (:class:`~scalarviz.run.panels.HeldBack`) nothing is said: a frame does not know
    which they were.
    """
    if not isinstance(scene, Scene):
        return no_headlines
    panel = next((panel for panel in scene.panels if isinstance(panel, LossCurve)), None)
    if panel is None or not isinstance(panel.test, TestCurve) or not panel.test.headline:
        return no_headlines
    test, source, count = panel.test, subject_of(scene).source, len(scene.run.values)

    def said(frame: Frame) -> tuple[str, ...]:
        if len(frame.values) != count:  # of a network that the run had before
            return ()
        moment = Moment(frame, source)
        share = test.share(moment)
        words = test_loss(moment.evaluate(*test.of(moment))) if share is None else test_share(share)
        return (" ".join(words),)

    return said


# ---- Letters

Float32 = NDArray[np.float32]
BRIGHTNESS = 255  # a letter of a new word is as bright as the root of its probability, in so many steps


class Letters:
    """Reads a panel's word once for each frame."""

    def __init__(self, panel: WordBoard, source: Source) -> None:
        self._panel, self._source = panel, source
        self._shape: dict[str, Any] = {}
        self._parts: list[Float32] = []
        self._likely: list[Float32] = []
        self._uses: list[list[list[int]]] = []
        self._names: list[list[Any]] = []

    def take(self, frame: Frame) -> None:
        """Read at one more frame."""
        moment, panel = Moment(frame, self._source), self._panel
        reading = panel.look(moment, panel.word)
        down, across = np.tril_indices(reading.attention.shape[1])
        hidden = np.zeros((0, 0)) if reading.hidden is None else reading.hidden[1]
        parts = [reading.attention[:, down, across], *reading.stream, hidden]
        numbers = np.concatenate([np.ravel(part) for part in parts])
        self._shape = self._shape or {
            "heads": len(reading.attention), "count": reading.attention.shape[1],
            "widths": [part.shape[1] for part in reading.stream],
            "hidden": None if reading.hidden is None else [reading.hidden[0], hidden.shape[1]],
            "uses": [tensor for tensor, _ in reading.uses],
        }  # fmt: skip
        mosts = [max((float(np.abs(part).max()) for part in some if part.size), default=0.0)
                 for some in (reading.stream, (hidden,))]  # fmt: skip
        likely = np.concatenate([np.ravel(reading.likely), mosts])
        if not (np.isfinite(numbers).all() and np.isfinite(likely).all()):
            numbers, likely = np.full_like(numbers, np.nan), np.full_like(likely, np.nan)
        self._parts.append(numbers.astype(np.float32))
        self._likely.append(likely.astype(np.float32))
        self._uses.append([list(rows) for _, rows in reading.uses])
        made = [panel.make(moment, panel.temperature, k) for k in range(MOST)] if np.isfinite(likely).all() else []
        self._names.append([[one.word, [_bright(share) for share in one.likely]] for one in made])

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
