"""Where an action is to happen, and why it does nothing there: in a few words, empty where it does something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...run.panels import WordBoard
from ...run.sources.watched import Watched

if TYPE_CHECKING:
    from ..shown.subject import Subject


@dataclass(frozen=True, slots=True)
class Here:
    """Where an action is to happen.

    Attributes
    ----------
    subject : Subject
        What is shown.
    trains : bool
        Whether the viewer trains it; else somebody else may.
    computed : bool
        Whether there is a gradient now.
    moved : bool
        Whether it is known what the last step did.
    selected : bool
        Whether a weight is selected.
    layers : int
        How many can be taken apart.
    host : bool
        Whether there is a window (or a notebook's cell) around the picture.
    """

    subject: Subject
    trains: bool = True
    computed: bool = True
    moved: bool = True
    selected: bool = True
    host: bool = True
    layers: int = 2

    @property
    def plays(self) -> bool:
        """Whether time goes on there: something is trained, or a recording is shown."""
        return self.trains or self.recorded

    @property
    def recorded(self) -> bool:
        """Whether a recording is shown."""
        return self.subject.source.recorded

    @property
    def learns(self) -> bool:
        """Whether there can be gradients: plain arrays have none."""
        return self.subject.source.learns


Reason = Callable[[Here], str]
"""Why not, in a few words; empty if there is no reason."""


def nothing(here: Here) -> str:
    """It does something everywhere."""
    return ""


def no_training(here: Here) -> str:
    """Why nothing is trained there."""
    if here.recorded:
        return "a recording is shown, nothing is trained"
    return "" if here.trains else "this window only shows, it does not train"


def no_micro_steps(here: Here) -> str:
    """Why no step can be walked through there."""
    return here.subject.source.lacks("micro") if here.recorded else no_training(here)


def no_samples(here: Here) -> str:
    """Why the samples of a batch cannot be added up there."""
    return "a recording holds the sum over the batch, not its samples" if here.recorded else no_training(here)


def no_playing(here: Here) -> str:
    """Why time does not go on by itself."""
    return "" if here.plays else no_training(here)


def no_past(here: Here) -> str:
    """Why nobody can go back there."""
    return "" if here.subject.source.can.go else "the past of these numbers is not kept"


def no_steps(here: Here) -> str:
    """Why there are no steps to be done or seen."""
    return "" if here.trains or here.subject.source.can.go else "this window only shows, it does not train"


def no_gradients(here: Here) -> str:
    """Why there is never a gradient."""
    return here.subject.source.lacks("gradient") if here.learns else "plain numbers have no gradient"


def no_gradient_yet(here: Here) -> str:
    """Why there is none yet."""
    if here.computed:
        return ""
    if isinstance(here.subject.source, Watched) and here.subject.source.counted:
        return "no gradient is told: call backward() before the step, or update(grads=...)"
    return f"no gradient yet{_first_step(here)}"


def no_updates(here: Here) -> str:
    """Why there is never an update."""
    return here.subject.source.lacks("update") if here.learns else "plain numbers are not trained"


def no_ratio(here: Here) -> str:
    """Why there is never a share of an update in its value."""
    return no_updates(here) or here.subject.source.lacks("update/value")


def no_update_yet(here: Here) -> str:
    """Why there is none yet."""
    return "" if here.moved else f"no update yet{_first_step(here)}"


def _first_step(here: Here) -> str:
    return ": before the first step there is none" if here.recorded else ": take a step"


def no_moments(here: Here) -> str:
    """Why nothing is kept for each weight."""
    if here.recorded:
        return "what the optimiser keeps was not recorded"
    return no_updates(here) or ("" if here.subject.source.moments else "the optimiser here keeps nothing of a weight")


def no_host(here: Here) -> str:
    """Why there is no window."""
    return "" if here.host else "there is no window"


def no_table(here: Here) -> str:
    """Why no table can be pasted."""
    return no_host(here) if here.subject.table is not None else "no table is learnt here"


def nothing_to_open(here: Here) -> str:
    """Why no file can be opened."""
    if here.recorded:
        return "a recording is shown, it takes no picture and no weights"
    if not here.subject.source.can.predict:
        return "no picture and no weights can be opened here"
    return no_host(here)


def no_edits(here: Here) -> str:
    """Why weights cannot be changed by hand there."""
    if here.recorded:
        return "a recording is looked at, not changed"
    return "" if here.subject.source.can.edit else "these numbers are looked at, not touched"


def no_layers(here: Here) -> str:
    """Why no layer can be seen alone."""
    return "" if here.layers > 1 else "the cubes here stand in one piece"


def no_word(here: Here) -> str:
    """Why no word can be typed."""
    there = any(isinstance(panel, WordBoard) for panel in here.subject.panels)
    return "" if there else "no word is read here"


def no_swatch(here: Here) -> str:
    """Why no sample is shown as a colour there, or no other one can be."""
    if here.recorded:
        return "the way of this sample was recorded, of no other"
    return "" if here.subject.sample.colours else "no sample is a colour here"


def no_selection(here: Here) -> str:
    """Why nothing that is selected can be changed."""
    return no_edits(here) or nothing_selected(here)


def no_search(here: Here) -> str:
    """Why nothing can be searched for in the past of a cube."""
    return no_past(here) or nothing_selected(here)


def no_inspector(here: Here) -> str:
    """Why no cube can be looked into."""
    return "a click on a cube tells its numbers in both" if here.subject.source.of else ""


def no_layer_table(here: Here) -> str:
    """Why there is no table of the layers."""
    return no_gradients(here) or ("layers train, their difference does not" if here.subject.source.of else "")


def nothing_selected(here: Here) -> str:
    """Why there is no cube to do it with."""
    return no_inspector(here) or ("" if here.selected else "click a cube first")
