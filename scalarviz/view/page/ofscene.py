"""`OfScene`: what a page has from the scene itself, which a recorded file does not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...run.core.frame import Frame
from ...run.panels import LossCurve, TestCurve
from ...run.run import Run
from ...run.scene.scene import Scene
from ...run.source import Moment
from ...run.sources.watched import Watched
from ..cubes.own import LOOKS, OwnLook
from ..ink.theme import DARK
from ..panels.wording import test_loss, test_share
from ..screen.side import SidePanels
from ..shown.subject import subject_of
from .letters import Letters, letters_of

Headlines = Callable[[Frame], tuple[str, ...]]
"""``headlines(frame)``: words of one frame, as ``"test accuracy 91.2 %"``."""


def no_headlines(frame: Frame) -> tuple[str, ...]:
    """Of what has none."""
    return ()


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


# ----


@dataclass(frozen=True, slots=True, eq=False)
class OfScene:
    """Parts of a page.

    Attributes
    ----------
    letters : Letters or None
        What reads the scene's word at each frame; then the page has no picture of the panel that it is of.
    looks : mapping of int to OwnLook or None
        That cubes were given by hand, by flat index; None: those that the subject's weights have.
    turned : bool
        Whether the flow turns at each layer, as it does around pictures of single units.
    above : tuple of str
        What stands above the cubes in the window, which has room there.
    headlines : callable
        What the head says of a frame beside the loss.
    """

    letters: Letters | None = None
    looks: Mapping[int, OwnLook] | None = None
    turned: bool = False
    above: tuple[str, ...] = ()
    headlines: Headlines = no_headlines


NOTHING = OfScene()


def of_scene(subject: Scene | Run | Watched | None) -> OfScene:
    """What a scene, or a run without one, has for its page."""
    if subject is None or isinstance(subject, Watched):
        return NOTHING
    shown = subject_of(subject)
    turned = SidePanels(shown, DARK).turns(1.0, 1.0, rows=True) is not None
    above = tuple(str(getattr(panel, "title", "a panel")) for panel in shown.panels if panel.place == "above")
    return OfScene(letters_of(subject), LOOKS.of(shown.source), turned, above, headlines_of(subject))
