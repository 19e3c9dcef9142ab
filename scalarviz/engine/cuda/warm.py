"""Fill the cache of GPU kernels: PTX for any GPU on any machine; machine code on the machine of the GPU.

These kernels are shared by many programs: the structural ones and those of operations. Kernels for one program are
compiled at its first run, side by side, and stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...errors import InputError
from ..cache import Filling, Progress, start_helpers
from ..problem import DTYPES
from . import catalog, images, there
from .kernel import Kernel
from .there import simulated

if TYPE_CHECKING:
    from .driver import Context

Unit = tuple[str, str, str, int, int]  # the kind of unit, name, dtype, capability


def warmup(capability: tuple[int, int], dtypes: Iterable[str] = DTYPES, progress: Progress | None = None) -> None:
    """Compile missing kernels to PTX, for GPUs with this capability; no GPU is needed.

    `progress(done, total, next_name)` is called before each unit, and once at the end.
    """
    units = _units("ptx", capability, dtypes)
    missing = [unit for unit in units if not _has_text(unit)]
    helpers = start_helpers(__name__, len(missing), images.PLACE)
    Filling(units, _has_text, help_out, _named, progress).fill(missing, helpers)


def is_warm(dtype: str, operations: Iterable[str]) -> bool:
    """Return whether the first GPU can start a program with these operations without compiling shared kernels."""
    if simulated() or images.named():
        return True
    (kind, *_), needed = (gpu.capability for gpu in there.driver().gpus), set(operations)
    units = _units("ptx", kind, (dtype,))
    return all(_has_text(unit) for unit in units if ":" not in unit[1] or unit[1].partition(":")[2] in needed)


def warmup_device(context: Context, dtypes: Iterable[str] = DTYPES, progress: Progress | None = None) -> None:
    """Make machine code for a local GPU from the PTX of :func:`warmup`, compiling it if needed."""

    def is_kept(unit: Unit) -> bool:
        return images.has(images.image_name(*_kernel(unit), context.driver))

    def make(unit: Unit) -> None:
        context.image(_kernel(unit)[0])

    units = _units("machine code", context.capability, dtypes)
    Filling(units, is_kept, make, _named, progress).fill([unit for unit in units if not is_kept(unit)])


FEW = 3
"""For fewer kernels, starting a helper process takes longer than it saves."""


def compile_side_by_side(kernels: Iterable[Kernel], capability: tuple[int, int], driver: int) -> None:
    """Compile the kernels that a program misses to PTX, in several processes if they are several.

    Those that catalog does not find by name, since their source was made for the program, are compiled in this one.
    """
    missing = {
        ("ptx", kernel.name, kernel.dtype, *capability): kernel for kernel in kernels
        if not images.kept(kernel, capability, driver)
    }  # fmt: skip
    made_here = {unit for unit, kernel in missing.items() if not _has_name(kernel)}
    helpers = start_helpers(__name__, len(missing) - len(made_here), images.PLACE, FEW)
    if helpers:
        make = lambda unit: images.text(missing[unit], capability)  # noqa: E731
        is_there = lambda unit: images.has(images.text_name(missing[unit], capability))  # noqa: E731
        filling = Filling(list(missing), is_there, make, _named, only_here=made_here.__contains__)
        filling.fill(list(missing), helpers)


def _has_name(kernel: Kernel) -> bool:
    try:
        return catalog.find(kernel.name, kernel.dtype).key == kernel.key
    except (KeyError, InputError):
        return False


def count(dtypes: Iterable[str] = DTYPES) -> int:
    """Return the numbers of units that the two functions compile."""
    return len(_units("ptx", (0, 0), dtypes))


def help_out(unit: Unit) -> None:
    """Compile a unit, perhaps for another process; operations registered only in that process are unknown here."""
    images.text(*_kernel(unit))


def _units(what: str, capability: tuple[int, int], dtypes: Iterable[str]) -> list[Unit]:
    return [(what, name, dtype, *capability) for dtype in dtypes for name in catalog.names()]


def _kernel(unit: Unit) -> tuple[Kernel, tuple[int, int]]:
    return catalog.find(unit[1], unit[2]), unit[3:]


def _has_text(unit: Unit) -> bool:
    return images.has(images.text_name(*_kernel(unit)))


def _named(unit: Unit) -> str:
    return f"{unit[1]}, {unit[2]}"
