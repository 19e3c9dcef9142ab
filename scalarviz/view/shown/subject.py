"""`Subject`: what a workbench shows, whatever it was made from: a scene, a run, or plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, TypeMismatchError
from ...run.frame import Frame, Role, Stage, Tensor
from ...run.scene import ColourCube, DigitBoard, Pictures, Scene, TestCurve
from .pad import DigitPad

if TYPE_CHECKING:
    from ...run.run import Run

Float = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Sample:
    """The one sample whose way is drawn: its names, its target and whether its numbers are colours.

    Attributes
    ----------
    inputs, outputs : tuple of str
        A name for each.
    target : ndarray or None
        Shape (n_out,).
    colours : bool
        Whether three inputs and three outputs are to be shown as swatches.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    target: NDArray[np.floating] | None = None
    colours: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """Everything that stays the same while a picture changes.

    Attributes
    ----------
    tensors, stages : tuple
        What has cubes; the chain from input to output, empty for none.
    run : Run or None
        None for arrays alone: no HUD, no curve, no pictures.
    probe : ndarray or None
        The sample whose way is drawn.
    sample : Sample
        Its names and target.
    pad : DigitPad or None
        Where a hand can draw another sample: it changes `probe` in place.
    """

    tensors: tuple[Tensor, ...]
    stages: tuple[Stage, ...]
    run: Run | None
    probe: Float | None
    sample: Sample
    curve_label: str = "batch"
    pictures: Pictures | None = None
    colour_cube: ColourCube | None = None
    test: TestCurve | None = None
    digits: DigitBoard | None = None
    pad: DigitPad | None = None

    @property
    def panels(self) -> tuple[str, ...]:
        """Names of the panels that have something to show."""
        there = {
            "pictures": self.pictures,
            "colours": self.colour_cube,
            "digits": self.digits,
            "probe": self.pad,
            "loss": self.run,
        }
        return tuple(name for name, content in there.items() if content is not None)

    def frame(self) -> Frame:
        """A snapshot of the run now."""
        if self.run is None:
            raise TypeMismatchError("there is no run to take a frame of: the subject is made of arrays")
        return self.run.frame(self.probe)

    def probe_loss(self, frame: Frame) -> float | None:
        """The loss of the probe sample alone at the values of a frame; None where it has no target."""
        if self.run is None or self.probe is None or self.sample.target is None:
            return None
        return float(self.run.evaluate(self.probe[None], self.sample.target[None], frame.values))


def subject_of(scene: Scene) -> Subject:
    """The subject of a scene."""
    run = scene.run
    stages = tuple(run.stages)
    ins = run.n_inputs if any(s.weight is not None for s in stages) else 0
    outs = stages[-1].outputs if stages else 0
    colours = ins == outs == 3 and (scene.colour_cube is not None or scene.pictures is not None)
    inputs, outputs = _names(scene.input_names, ins, "x"), _names(scene.output_names, outs, "y")
    sample = Sample(inputs, outputs, scene.probe_target, colours)
    probe = scene.probe if scene.probe is not None or not ins else np.full(ins, 0.5)
    pad = None
    if scene.digits is not None and probe is not None:
        probe = np.array(probe, np.float64).ravel()  # its own: a hand may draw on it
        pad = DigitPad(scene.digits, probe, None if scene.probe_target is None else int(scene.probe_target[0]))
    return Subject(
        tuple(run.tensors),
        stages,
        run,
        probe,
        sample,
        scene.curve_label,
        scene.pictures,
        scene.colour_cube,
        scene.test,
        scene.digits,
        pad,
    )


def _names(given: tuple[str, ...], count: int, letter: str) -> tuple[str, ...]:
    return given if len(given) == count else tuple(f"{letter}{k}" for k in range(count))


def arrays_subject(arrays: Mapping[str, ArrayLike]) -> tuple[Subject, Frame]:
    """The subject of named arrays, and the one frame that shows them.

    Raises
    ------
    InputError
        No arrays, only empty ones, or one that is not made of real numbers.
    """
    blocks = {str(name): _block(str(name), value) for name, value in arrays.items()}
    blocks = {name: block for name, block in blocks.items() if block.size}
    if not blocks:
        raise InputError("nothing to draw: got no numbers; allowed: at least one array with at least one element")
    tensors, start = [], 0
    for name, block in blocks.items():
        role: Role = "bias" if name.rpartition(".")[2] == "bias" else "weight"
        tensors.append(Tensor(name, block.shape, start, role))
        start += block.size
    flat = np.concatenate([block.ravel() for block in blocks.values()])
    nothing = np.zeros_like(flat)
    flags = np.zeros(len(flat), bool)
    frame = Frame(0, float("nan"), 0.0, flat, nothing, nothing, flags, flags)
    return Subject(tuple(tensors), (), None, None, Sample((), ())), frame


def _block(name: str, value: ArrayLike) -> Float:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"dtype {array.dtype}")
        return np.ascontiguousarray(array, np.float32 if array.dtype == np.float32 else np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"array {name!r}: got {type(value).__name__} ({error}); allowed: real numbers") from error
