"""Words beside a number about its samples and its moment.

The chips of a picture show one sample, its cubes a gradient of many; and after a change by hand the loss and the
gradient are still those of the earlier numbers. These words say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...run.core.frame import UPDATES, Frame
from ..cubes.scale import QUANTITIES
from ..ink.text import loss_text
from ..shown.subject import Subject

BEFORE = "before the change"
"""Words for a loss, gradient or update of weights or data before a change by hand."""


def test_loss(loss: float) -> tuple[str, str]:
    """Return the label and the text of a test loss."""
    return "test", loss_text(loss)


def test_share(share: float) -> tuple[str, str]:
    """Return the label and the text of a test accuracy."""
    return "test accuracy", f"{100 * share:.1f} %"


def noun(subject: Subject, count: int = 1) -> str:
    """Return the word for `count` samples: ``colour`` or ``sample``."""
    return ("colour" if subject.sample.colours else "sample") + ("s" if count != 1 else "")


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of a gradient and a loss."""

    kind: str  # reduction over the samples: mean or sum
    count: int
    samples: str  # ``1,024 colours``, ``all 64 samples``, ``one colour``

    def __str__(self) -> str:
        return f"of {self.samples}" if self.count == 1 else f"{self.kind} of {self.samples}"


def batch_of(subject: Subject) -> Batch | None:
    """Return the batch of a subject, or None without training."""
    facts = subject.source.facts
    if facts is None:
        return None
    count, name = facts.batch_size, noun(subject, facts.batch_size)
    whole = "all " if facts.whole else ""
    return Batch(facts.reduction, count, f"{whole}{count:,} {name}" if count > 1 else f"one {name}")


def loss_words(subject: Subject, frame: Frame) -> str:
    """Return the samples of a frame's loss (:meth:`Subject.loss`), or its moment if that is another one."""
    facts, now = subject.source.facts, frame.settings
    if facts is None or not (frame.step or frame.coming is not None or frame.shown_loss is not None):
        return BEFORE if frame.edited and frame.loss == frame.loss else ""
    if frame.coming is None and frame.shown_loss is None:
        return f"before step {frame.step:,}"
    batch = facts.batch_size if now is None else now.batch_size
    return facts.loss_of(subject.whole_loss, noun(subject), batch)


def coming_words(subject: Subject, frame: Frame) -> str:
    """Return the samples of single steps' losses if they differ from those of the loss shown, else ""."""
    facts = subject.source.facts
    batch = 0 if facts is None else facts.batch_size if frame.settings is None else frame.settings.batch_size
    other = facts is not None and subject.whole_loss and batch < facts.samples
    return facts.loss_of(False, noun(subject), batch) if other and facts is not None else ""


def gradient_words(subject: Subject, frame: Frame) -> str:
    """Return the remark on the gradients of a frame."""
    batch = batch_of(subject)
    if batch is None or not frame.computed.any():
        return ""
    return f"{batch}, {BEFORE}" if frame.edited else str(batch)


def quantity_words(quantity: str, subject: Subject, frame: Frame) -> str:
    """Return the remark on the quantity of the cubes; empty for weights, which are always current."""
    if quantity in ("gradient", "|gradient|"):
        return gradient_words(subject, frame)
    if quantity not in QUANTITIES and quantity not in subject.source.moments:
        return "not stored by this optimiser"
    if quantity not in UPDATES or not frame.known(quantity).any():
        return ""
    return f"over the last {frame.together:,} steps" if frame.together > 1 else BEFORE if frame.edited else ""


def update_names(frame: Frame) -> tuple[str, ...]:
    """Return labels of an update, the longest first."""
    return ("last update",) if frame.together == 1 else (f"last {frame.together:,} updates", "last updates")


def newest_beyond(frame: Frame) -> int:
    """Return the newest step if a frame is of the past, else 0."""
    past = frame.past
    return past.newest if past is not None and frame.step < past.newest else 0


def time_jumped(old: Frame | None, new: Frame) -> bool:
    """Return whether two frames are not simply successive: one is of the past, or of another branch."""
    if old is None or old is new or old.past is None or new.past is None:
        return False
    lines = [next((b.number for b in frame.past.branches if b.current), None) for frame in (old, new) if frame.past]
    return lines[0] != lines[1] or (old.step != new.step and (newest_beyond(old) > 0 or newest_beyond(new) > 0))


def changed_by_hand(old: Frame | None, new: Frame) -> bool:
    """Return whether an edit or another sample separates two frames of one step; then text changes at once."""
    if old is None or old is new:
        return False
    if not np.array_equal(old.activations.get("input", ()), new.activations.get("input", ()), equal_nan=True):
        return True
    if old.step != new.step:
        return False
    told = (old.edited, old.next_lr) != (new.edited, new.next_lr)
    return told or not np.array_equal(old.values, new.values, equal_nan=True)
