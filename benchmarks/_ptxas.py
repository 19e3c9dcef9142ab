"""ptxas, the assembler of NVIDIA's GPUs: machine code and what it needs, on a machine without a GPU.

The engine does without: where there is a GPU, its driver assembles. Kernels that are to run where no compiler is come
from here, and so does the word on registers, stack frames and spills, which the tests read.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scalarviz.errors import DeviceError, MissingDependencyError

NAME = "ptxas.exe" if sys.platform == "win32" else "ptxas"
HOMES = ("CUDA_HOME", "CUDA_PATH")


@dataclass(frozen=True, slots=True)
class Assembled:
    """Machine code of one kernel."""

    code: bytes  # a cubin, which a driver loads as it is
    registers: int  # of a thread
    stack: int  # bytes of local memory: a frame
    spills: int  # bytes of local memory that registers were written to for want of registers
    shared: int  # bytes of shared memory that it declares itself


def find() -> Path:
    """Where ptxas is: in NVIDIA's Python packages, in ``CUDA_HOME``, on the ``PATH``."""
    packages = importlib.util.find_spec("nvidia")
    places = [Path(place) for place in (packages.submodule_search_locations or ())] if packages else []
    found = [path for place in places for path in sorted(place.glob(f"*/bin/{NAME}"), reverse=True)]
    found += [Path(os.environ[home], "bin", NAME) for home in HOMES if os.environ.get(home)]
    on_path = shutil.which(NAME)
    found += [Path(on_path)] if on_path else []
    for path in found:
        if path.is_file():
            return path
    raise MissingDependencyError(
        f"{NAME} was not found in NVIDIA's packages, in {' or '.join(HOMES)}, or on the PATH: "
        'pip install "scalarviz[cuda-compile]", or name a CUDA toolkit in CUDA_HOME'
    )


def assemble(ptx: str, capability: tuple[int, int]) -> Assembled:
    """Machine code of a kernel (`ptx` has one entry); DeviceError says why ptxas refuses it."""
    with tempfile.TemporaryDirectory(prefix="scalarviz-") as folder:
        source, code = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        command = [str(find()), f"-arch=sm_{capability[0]}{capability[1]}", "-v", str(source), "-o", str(code)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DeviceError(f"ptxas refuses a kernel: {(done.stderr or done.stdout).strip()}")
        return _read(done.stderr, code.read_bytes())


def _read(said: str, code: bytes) -> Assembled:
    """What ``ptxas -v`` prints of an entry and of the functions that it calls."""
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said)
    registers, shared = re.search(r"Used (\d+) registers", said), re.search(r"(\d+) bytes smem", said)
    if registers is None or not frames:
        raise DeviceError(f"ptxas does not say what a kernel needs: {said.strip()}")
    return Assembled(
        code,
        int(registers[1]),
        max(int(stack) for stack, _, _ in frames),
        sum(int(stores) + int(loads) for _, stores, loads in frames),
        int(shared[1]) if shared else 0,
    )
