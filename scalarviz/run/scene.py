"""`Scene`: the description that a view shows. Data only; no drawing, no training logic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..checks import flag, function, integer, real_array, text
from ..errors import InputError, TypeMismatchError, shown
from .controls import Control, Reader
from .edits import Edit
from .panels import LossCurve, Panel
from .plan import Plan
from .run import Run
from .story import Story, plain_story

if TYPE_CHECKING:
    from ..io import CsvTable

Float = NDArray[np.floating]

SIDES = (160, 8192)
"""Fewest and most pixels of a picture's side: less shows nothing, a framebuffer holds no more."""

_NOW_PANELS = {
    "pictures": "Pictures(...)",
    "colour_cube": "ColourCube(...)",
    "digits": "DigitBoard(...), DigitPad(side)",
    "test": "LossCurve(label, test=TestCurve(...))",
    "curve_label": "LossCurve(label)",
}


@dataclass(slots=True)
class Scene:
    """Data + network + loss + optimiser (all in `run`) + what to show.

    Attributes
    ----------
    name : str
        As on the command line.
    run : Run
        What trains.
    probe, probe_target : ndarray or None
        The one sample whose way through the network is drawn, and its target, shapes (n_in,) and (n_targets,).
        Without a probe it is the first sample of the data, with its target.
    input_names, output_names : tuple of str
        One name an input (``("r", "g", "b")``), one an output.
    panels : sequence of Panel
        All that stands beside the cubes, from top to bottom (:mod:`scalarviz.run.panels`). Default: the loss curve.
    notes : list of str
        Lines for the console.
    story : Story or None
        What is said before the first step and after the last one. Default: how many weights should learn how much.
    plan : Plan or None
        Where the tensors stand (:mod:`scalarviz.run.plan`). Default: what the network's stages say.
    controls : sequence of Control
        What a hand may set beside what every run has (:mod:`scalarviz.run.controls`), from top to bottom.
    command : callable or None
        ``command(reader)``: the command line that shows the same as the moment does; None or an empty text: there is
        none.
    table : callable or None
        ``table(table)``: the edit that lets the run learn a :class:`scalarviz.io.CsvTable` that was pasted into the
        window or dropped on it; raises InputError for one that will not do. None: it takes none.
    hide : tuple of str
        Controls that are left out of the panel, by their names ("learning rate", "layers", "seed").
    options : object or None
        What it was built with; controls and command find it as ``reader.options``.
    whole_loss : bool
        The loss that is told is that of all samples at the numbers shown: the one of a small batch says little of the
        others. For data that are small.
    steps_a_frame : int or None
        Steps of each frame of a window or film after the first two seconds, which have one. Default: as many as let
        the most be seen in the time that there is.

    Raises
    ------
    InputError
        For a field that has become a panel; the message names it. For fewer steps a frame than one.
    TypeMismatchError
        For panels that are none, a `run` that is no Run, names that are no texts, a probe without numbers, a
        story that is no Story, a plan that is no Plan, controls that are none, a command that cannot be called, a
        whole_loss that is not True or False, a count of steps that is no whole number.
    UnknownNameError
        For a plan that names a tensor which the run has not.
    """

    name: str
    run: Run
    probe: Float | None = None
    probe_target: Float | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = (LossCurve(),)
    notes: list[str] = field(default_factory=list)
    story: Story | None = None
    plan: Plan | None = None
    controls: tuple[Control, ...] = ()
    command: Callable[[Reader], str | None] | None = None
    hide: tuple[str, ...] = ()
    table: Callable[[CsvTable], Edit] | None = None
    options: Any = None
    whole_loss: bool = False
    steps_a_frame: int | None = None

    def __new__(cls, *args: Any, **named: Any) -> Self:
        """Say where the fields of former scene files are now; everything else is for ``__init__`` to check."""
        gone = [name for name in named if name in _NOW_PANELS]
        if gone:
            panels = ", ".join(_NOW_PANELS[name] for name in gone)
            raise InputError(
                f"Scene has no {gone[0]}=; what stands beside the cubes is listed in panels=, as "
                f"panels=({panels},) with the kinds of scalarviz.run.panels"
            )
        return object.__new__(cls)

    def __post_init__(self) -> None:
        text(self.name, "Scene: the name")
        run: Any = self.run
        if not isinstance(run, Run):
            raise TypeMismatchError(f"Scene: run must be a Run, got {type(run).__name__} {shown(run)}")
        for what in ("input_names", "output_names", "hide"):
            names: Any = getattr(self, what)
            if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
                raise TypeMismatchError(f"Scene: {what} is a tuple of texts, got {shown(names)}")
        for what, row in (("probe", self.probe), ("probe_target", self.probe_target)):
            if row is not None:
                real_array(row, f"Scene: {what}")
        given: Any = self.panels  # a scene file may say anything
        if not isinstance(given, tuple | list):
            kind = type(given).__name__
            raise TypeMismatchError(
                f"Scene: panels= is a tuple of panels, got {kind}; "
                f"try panels=({kind if isinstance(given, Panel) else 'LossCurve'}(...),)"
            )
        for panel in given:
            if not isinstance(panel, Panel):
                raise TypeMismatchError(
                    f"Scene: panels= holds {type(panel).__name__}, which is no Panel; allowed are the kinds of "
                    "scalarviz.run.panels (LossCurve, Image, Table, ...) and subclasses of Panel"
                )
        self.panels = tuple(given)
        story: Any = self.story
        if story is not None and not isinstance(story, Story):
            raise TypeMismatchError(
                f"Scene: story= is a Story or None, got {type(story).__name__} {shown(story)}; try "
                'scalarviz.run.Story("They should turn every colour into its opposite.")'
            )
        plan: Any = self.plan
        if plan is not None and not isinstance(plan, Plan):
            raise TypeMismatchError(
                f"Scene: plan= is a Plan or None, got {type(plan).__name__} {shown(plan)}; try "
                'scalarviz.run.Plan((Group("layer", ((Placed("0.weight", "first"),),)),))'
            )
        if self.plan is not None:
            self.plan.check(self.run.tensors)
        self.controls = _controls(self.controls)
        if self.command is not None:
            function(self.command, "Scene: command")
        if self.table is not None:
            function(self.table, "Scene: table")
        flag(self.whole_loss, "Scene: whole_loss")
        if self.steps_a_frame is not None:
            integer("Scene: steps_a_frame", self.steps_a_frame, 1)

    @property
    def told(self) -> Story:
        """Its story, or what can be said of any run."""
        return self.story or plain_story(self.run)


def _controls(given: Any) -> tuple[Control, ...]:
    """What a scene file lists, checked: kinds, and no name twice."""
    if not isinstance(given, tuple | list) or not all(isinstance(one, Control) for one in given):
        raise TypeMismatchError(
            f"Scene: controls= is a tuple of Button, Slider, Segments and Switch, got {shown(given)}; see "
            "scalarviz.run.controls"
        )
    labels = [one.label for one in given]
    twice = next((label for k, label in enumerate(labels) if label in labels[:k]), None)
    if twice is not None:
        raise InputError(f"Scene: two controls are called {shown(twice)}; each needs a name of its own")
    return tuple(given)
