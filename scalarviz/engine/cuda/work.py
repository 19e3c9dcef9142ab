"""`Work`: all that a problem has on a device; and how it is cut finer where memory is short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ...errors import DeviceMemoryError
from ..coupled import check_coupled
from ..outside import Outside
from ..problem import Problem
from .between import Between
from .block.steps import make_steps
from .device import Device, Recorded
from .machine import Shape
from .room import refusal
from .state import State

FINER = (1, 8, 64, 512)
"""How many times as fine as it should be a problem is cut, one after the other."""


class Work:
    """A problem on a device, ready to be trained.

    Parameters
    ----------
    problem : Problem
    device : Device
    shape : Shape

    Attributes
    ----------
    together : int
        Steps that are queued between two looks at whether somebody asks for numbers.
    remark : str
        What is not as it should be; empty if all is.
    """

    def __init__(self, problem: Problem, device: Device, shape: Shape) -> None:
        self.device, self.remark_of_memory = device, ""
        self.state = State(problem, device)
        self.steps = make_steps(problem, device, self.state, shape)
        self.between = Between(device, self.state, self.steps)
        self.together = 1
        self.gradient, self.step = self._recorded()

    def _recorded(self) -> tuple[Recorded, Recorded]:
        self.steps.samples.load()
        return self.steps.recorded(self.steps.gradient()), self.steps.recorded(self.steps.step())

    def upload(self) -> None:
        """Bring in what may have changed on the host."""
        if self.steps.samples.changed:
            self.gradient, self.step = self._recorded()
        self.steps.samples.load()
        self.state.upload()

    @property
    def remark(self) -> str:
        """See the class."""
        return "; ".join(said for said in (self.remark_of_memory, self.steps.remark, self.device.remark) if said)


def fitted(problem: Problem, shape: Shape, open_device: Callable[[], Device]) -> Work:
    """The problem on a device: cut finer, or with its data coming in call by call, where the memory does not suffice.

    Parameters
    ----------
    problem : Problem
    shape : Shape
        How it is to be cut.
    open_device : callable

    Raises
    ------
    DeviceMemoryError
        It does not fit, however it is cut; the message says what it needs, and which batch would fit.
    InputError
        Samples that depend on each other are too few.
    """
    plan, item = problem.plan, problem.store.value.dtype.itemsize
    check_coupled(plan.body, problem.batch, 2 * plan.body.n_rows * item)
    device, error = open_device(), ""
    for tried in _ways(problem, shape, device):
        try:
            work = Work(problem, device, tried)
        except DeviceMemoryError as said:
            error = str(said)
            continue
        work.remark_of_memory = _told(tried, shape, isinstance(problem.data, Outside))
        return work
    raise DeviceMemoryError(refusal(problem, device, tried, error))


def _ways(problem: Problem, shape: Shape, device: Device) -> Iterator[Shape]:
    """Shapes to try in order: as it should be; finer; then with the data coming in call by call."""
    for resident in (True, False):
        if resident and (isinstance(problem.data, Outside) or problem.data.nbytes > device.memory()[1]):
            continue
        for finer in FINER:
            yield cut(shape, finer, resident)


def cut(shape: Shape, finer: int, resident: bool) -> Shape:
    """A shape that takes a fraction of the memory, beside weights and data."""
    return replace(
        shape,
        chunk_bytes=shape.chunk_bytes // finer,
        slices=max(1, shape.slices // finer),
        loss_parts=shape.loss_parts // finer,
        stream_bytes=shape.stream_bytes // finer,
        resident=resident,
    )


def _told(tried: Shape, shape: Shape, outside: bool) -> str:
    said = [] if tried.slices == shape.slices else ["work that is cut finer, which changes bits"]
    said += [] if tried.resident or outside else ["data that comes in call by call"]
    return f"the GPU's memory is short: {' and '.join(said)}" if said else ""
