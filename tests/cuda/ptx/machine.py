"""A machine that executes PTX without a GPU: modules, launches, threads in step.

All threads of some blocks run together as vectors. The threads that stand at the lowest address go on until they
meet the others, so branches that diverge and loops of different lengths come together again behind. What the
hardware would punish, and what it would let pass with a wrong number now and then, raises: see
:class:`~ptx.memory.Fault` and :class:`~ptx.races.Race`.

It does not show what only the hardware has: the last bits of ``.approx`` instructions, which products and sums
ptxas fuses (``contract`` tries all of a basic block), speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .emit import code
from .launch import Launch
from .memory import Fault, Memory
from .program import Program, compile_kernel
from .text import Reader, Variable

DYNAMIC = "dynamic shared memory"


class Module:
    """The kernels of one PTX text.

    Parameters
    ----------
    text : str
        PTX.
    contract : bool
        Whether ``mul`` and ``add`` become one rounding within a basic block. ptxas may do that where neither names a
        rounding; which it takes, only it knows.
    """

    def __init__(self, text: str, contract: bool = False) -> None:
        self.text, self.contract = text, contract
        self.reader = Reader(text)
        self._programs: dict[str, Program] = {}

    @property
    def kernels(self) -> list[str]:
        return [name for name, function in self.reader.functions.items() if function.entry]

    def program(self, name: str) -> Program:
        if name not in self._programs:
            if name not in self.kernels:
                raise KeyError(f"no kernel {name}; there are {', '.join(self.kernels)}")
            self._programs[name] = compile_kernel(self.reader, name, self.contract)
            if len(self._programs) == len(self.kernels):
                self.reader.forget()
        return self._programs[name]

    def parameters(self, name: str) -> list[tuple[int, Variable]]:
        """Offset and declaration of each parameter."""
        return list(self.program(name).parameters.values())

    def pack(self, name: str, args: Sequence[Any]) -> bytes:
        """Numbers as the kernel's parameters lie in memory."""
        program = self.program(name)
        if len(args) != len(program.parameters):
            raise TypeError(f"{name} takes {len(program.parameters)} arguments, got {len(args)}")
        packed = bytearray(program.size)
        for value, (at, declared) in zip(args, program.parameters.values(), strict=True):
            if isinstance(value, bytes):
                raw = value
            else:
                kind = np.dtype(code(declared.type))
                exact = isinstance(value, int | np.integer) and kind.kind == "u"
                raw = (
                    (int(value) % (1 << 8 * kind.itemsize)).to_bytes(kind.itemsize, "little")
                    if exact
                    else (np.array(value).astype(kind, casting="same_kind" if kind.kind == "f" else "no").tobytes())
                )
            packed[at : at + len(raw)] = raw
        return bytes(packed)

    def shared_name(self, name: str) -> str:
        """All dynamic shared arrays are one."""
        declared = self.reader.variables.get(name)
        return DYNAMIC if declared is not None and declared.nbytes is None else name

    def shared_variables(self, program: Program, dynamic: int) -> list[tuple[str, int, int]]:
        """Name, size and alignment of the shared variables that a kernel uses."""
        used = [*program.flat.shared.values(), *(self.reader.variables[n] for n in sorted(program.flat.symbols))]
        shared = [(n, v) for n, v in zip(self._shared_names(program), used, strict=True) if v.space == "shared"]
        static = [(n, v.nbytes, v.align) for n, v in shared if v.nbytes is not None]
        align = max((v.align for _, v in shared if v.nbytes is None), default=1)
        return [*static, (DYNAMIC, dynamic, align)] if dynamic else static

    def _shared_names(self, program: Program) -> list[str]:
        return [*program.flat.shared, *sorted(program.flat.symbols)]

    def shared_bytes(self, name: str) -> int:
        """Static shared memory of a kernel, in bytes."""
        return sum(size for _, size, _ in self.shared_variables(self.program(name), 0))

    def most_threads(self, name: str) -> int:
        """Of a block, by the bounds that the kernel was compiled with."""
        bounds = self.reader.functions[name].directives
        given = bounds.get("reqntid") or bounds.get("maxntid")
        return int(np.prod([int(n) for n in given.split(",")])) if given else 1024

    def local_bytes(self, name: str) -> int:
        return sum(v.nbytes or 0 for v in self.program(name).flat.locals.values())

    def address(self, name: str, memory: Memory) -> int:
        """Where a global variable lies in that memory; it is laid there when it is first asked for."""
        key = (id(self), name)
        if key not in memory.symbols:
            declared = self.reader.variables[name]
            nbytes = declared.nbytes or 0
            memory.symbols[key] = memory.allocate(nbytes, name)
            data = declared.data.ljust(nbytes, b"\0")
            memory.view(memory.symbols[key], nbytes, np.uint8)[:] = np.frombuffer(data, np.uint8)
        return memory.symbols[key]

    def launch(
        self,
        name: str,
        grid: tuple[int, ...] | int,
        block: tuple[int, ...] | int,
        shared_bytes: int,
        args: Sequence[Any] | bytes,
        memory: Memory,
        *,
        races: bool = True,
    ) -> None:
        """Run a kernel.

        Parameters
        ----------
        name : str
        grid, block : int or tuple of one to three int
        shared_bytes : int
            Dynamic shared memory of each block.
        args : sequence of numbers, or bytes
            Matched to the parameters' types, or packed already.
        memory : Memory
        races : bool
            Whether a race raises.

        Raises
        ------
        Fault
            What :class:`Fault` says; Race is one.
        Unsupported
            The kernel has an instruction that this machine does not know.
        """
        program = self.program(name)
        packed = bytes(args) if isinstance(args, bytes | bytearray) else self.pack(name, args)
        launch = Launch(self, program, _three(grid), _three(block), shared_bytes, packed, memory, races)
        try:
            launch.run()
        except Fault as fault:
            fault.kernel, fault.line = name, launch.line
            fault.text = self.text.splitlines()[launch.line - 1].strip() if launch.line else ""
            if fault.linear is not None:
                fault.thread = launch.coordinates(fault.linear)
            raise


def _three(shape: tuple[int, ...] | int) -> tuple[int, int, int]:
    given = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    x, y, z = (*given, 1, 1)[:3]
    if min(x, y, z) < 1:
        raise ValueError(f"a launch of {given}")
    return x, y, z
