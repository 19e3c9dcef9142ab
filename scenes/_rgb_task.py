"""What the scene `rgb` learns, and what stands beside it: a formula, pairs of colours, or a pair of pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scalarviz import data
from scalarviz.errors import InputError, MissingDependencyError
from scalarviz.io import example_photo, load_picture, shrink
from scalarviz.run.panels import ColourCube, LossCurve, Panel, Pictures, TestCurve

if TYPE_CHECKING:
    from .rgb import Options

Colours = NDArray[np.floating]

SHOWN = 160  # longest side of the pictures that are painted at every frame
LEARNT = 2**20  # pixels of a pair of pictures; a colour grade needs no more, and memory holds them
TESTED = 1024  # colours of the test curve
CUBE = 4096  # colours of the colour cube
FEWEST = 1024  # random colours, also for small batches
PROBE = "#eb942e"  # the colour whose way through the network is drawn


@dataclass(slots=True)
class Task:
    """What is learnt: colours and what they are to become.

    Attributes
    ----------
    inputs, targets : ndarray, shape (N, 3)
    label : str
        What they are ("1,024 colours").
    probe, probe_target : ndarray, shape (3,)
        The colour whose way through the network is drawn.
    cube : ColourCube
        Colours that are shown all the time.
    pictures : Pictures or None
        A picture that is.
    test : TestCurve or None
        Colours that are not learnt.
    notes : list of str
        What the console should say.
    """

    inputs: Colours
    targets: Colours
    label: str
    probe: Colours
    probe_target: Colours
    cube: ColourCube
    pictures: Pictures | None = None
    test: TestCurve | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def panels(self) -> tuple[Panel, ...]:
        """From top to bottom."""
        pictures = () if self.pictures is None else (self.pictures,)
        return (*pictures, self.cube, LossCurve(self.label, self.test))


def task_of(options: Options) -> Task:
    """The task that the options describe; InputError if they contradict each other."""
    if (options.source is None) != (options.graded is None):
        raise InputError("--source photo.png and --graded graded.png belong together; one is missing")
    used = {"--pair": bool(options.pair), "--source": bool(options.source), "--target": options.given("target")}
    kinds = [flag for flag in used if used[flag]]
    if len(kinds) > 1:
        raise InputError(f"{' and '.join(kinds)} are different tasks; give one of them")
    if options.picture and (options.pair or options.source):
        raise InputError(f"no target is known for the picture {options.picture} with {kinds[0]}; leave one of them out")
    if options.pair:
        return _from_pairs(options)
    if options.source and options.graded:
        return _from_pictures(options.source, options.graded)
    return _from_formula(options)


def _from_formula(options: Options) -> Task:
    target = data.target(options.target)
    inputs = data.random_colours(max(options.batch, FEWEST), options.seed)
    grid, probe = data.colour_grid(), data.parse_colour(PROBE)
    task = Task(
        inputs, target(inputs), f"{len(inputs):,} colours", probe, target(probe), ColourCube(grid, target(grid))
    )
    try:
        photo = load_picture(options.picture) if options.picture else example_photo()
    except MissingDependencyError as error:
        task.notes.append(f"{error}; shown is the colour cube alone")
        return task
    shown = shrink(photo, SHOWN).rgb
    task.pictures = Pictures(shown, target(shown), target_of=target)
    some = _spread(shown.reshape(-1, 3), TESTED)
    task.test = TestCurve("the photo", some, target(some))
    return task


def _from_pairs(options: Options) -> Task:
    pairs = [data.parse_pair(text) for text in options.pair]
    inputs, targets = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    label = f"{len(pairs):,} pair{'s' if len(pairs) > 1 else ''} of colours"
    return Task(inputs, targets, label, inputs[0], targets[0], ColourCube(inputs, targets))


def _from_pictures(source_path: Path, graded_path: Path) -> Task:
    source, graded = load_picture(source_path), load_picture(graded_path)
    if source.size != graded.size:
        sizes = ["{} x {}".format(*picture.size) for picture in (source, graded)]
        raise InputError(
            f"{source_path} has {sizes[0]} pixels and {graded_path} has {sizes[1]}; they must be the same picture"
        )
    # what lies under full transparency is no colour that anybody chose
    seen = np.ones(len(source.pixels), bool)
    for picture in (source, graded):
        if picture.alpha is not None:
            seen &= picture.alpha.reshape(-1) > 0
    if not seen.any():
        raise InputError(f"no pixel of {source_path} and {graded_path} is opaque in both")
    places = np.flatnonzero(seen)
    notes = []
    if len(places) > LEARNT:
        notes.append(f"learning from {LEARNT:,} of {len(places):,} pixels, evenly spread")
        places = _spread(places, LEARNT)
    inputs, targets = source.pixels[places], graded.pixels[places]
    middle = len(inputs) // 2
    return Task(
        inputs,
        targets,
        f"{len(inputs):,} pixel{'s' if len(inputs) > 1 else ''}",
        inputs[middle],
        targets[middle],
        ColourCube(_spread(inputs, CUBE), _spread(targets, CUBE)),
        Pictures(shrink(source, SHOWN).rgb, shrink(graded, SHOWN).rgb),
        notes=notes,
    )


def _spread(rows: NDArray[Any], most: int) -> NDArray[Any]:
    """At most `most` of the rows, evenly spread."""
    some: NDArray[Any] = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int))]
    return some
