"""What a window's head says of a scene beside its loss, for the frames of a page: a page has no data to test with."""

from __future__ import annotations

from collections.abc import Callable

from ...run.core.frame import Frame
from ...run.panels import LossCurve, TestCurve
from ...run.scene.scene import Scene
from ...run.source import Moment
from ..panels.wording import test_loss, test_share
from ..shown.subject import subject_of

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
