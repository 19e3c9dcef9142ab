"""The kernels compiled to the end without a GPU: no spills, no stack frames, no float64 where it was not meant.

All kernels of the catalogue, and those of whole runs with launches that a GPU can do. Internals: the texts and the
machine code of kernels have no front door. ``SCALARVIZ_TEST_ARCHITECTURES="75 80 90 100"`` compiles for other GPUs.
"""

import ctypes
import functools
import importlib
import itertools
import os
import pkgutil
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="no numba-cuda (extra cuda)")
from scalarviz.engine.cuda import catalog, driver, images, jit, kernels, trainer
from scalarviz.engine.cuda.device import Buffer
from scalarviz.errors import DeviceError, MissingDependencyError

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
ptxas, launches = importlib.import_module("_ptxas"), importlib.import_module("_gpu_launches").launches

pytestmark = pytest.mark.cuda
ARCHITECTURES = tuple(map(int, os.environ.get("SCALARVIZ_TEST_ARCHITECTURES", "80 90").split()))
"""GPUs to compile for, as numbers: 90 for sm_90."""
NEWEST = ARCHITECTURES[-1:]
DTYPES = ("float32", "float64")
NAMES = tuple(catalog.names())

LARGE_ANGLES = "angles beyond 105615 are reduced by a table of digits of 2/pi, which stands in local memory"
HALVES = "the last step of that reduction is one product in float64"
SLOW_PATH = "the reduction of large angles is a function of libdevice, which is called for them alone"
WEAK = "libdevice's power is a function that is not inlined twice"
NARROW = "libdevice begins the exponential of tanh, erf and expm1 in float32, and corrects it"
SUMS = "sums over all weights or all samples are in float64: 1,024 of them in float32 lose three digits"
IN_FLOAT64 = ("penalty", "lengths", "coefficient", "batch_parts", "batch_mean", "batch_mean_back", "follow", "loss",
              "loss_of_squares", "loss_of_squares:sigmoid.0", "half_gradients", "overflow")  # fmt: skip
ALLOWED = {
    **{(f"forward:{name}", "float32"): {"float64": HALVES} for name in ("sin", "cos")},
    **{(f"backward:{name}", "float32"): {"float64": HALVES, "stack": LARGE_ANGLES} for name in ("sin", "cos")},
    **{(f"{way}:{name}", "float64"): {"call": SLOW_PATH, "stack": LARGE_ANGLES}
       for name in ("sin", "cos") for way in ("forward", "backward")},
    **{(f"{way}:pow", "float64"): {"call": WEAK} for way in ("forward", "backward")},
    **{(f"{way}:{name}", "float64"): {"float32": NARROW}
       for way, name in (("forward", "tanh"), ("forward", "erf"), ("forward", "elu"), ("backward", "elu"))},
    **{(name, "float32"): {"float64": SUMS} for name in IN_FLOAT64},
}  # fmt: skip
"""Kernels that may have what others may not, with the reason."""
OPCODE = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)", re.MULTILINE)
FAST = re.compile(r"(div|sqrt)\.(approx|full)|(sin|cos|tanh|lg2)\.approx")


def text_of(kernel, architecture):
    return images.text(kernel, divmod(architecture, 10))


@functools.cache
def assembled(kernel, architecture):
    return ptxas.assemble(text_of(kernel, architecture), divmod(architecture, 10))


def instructions(ptx):
    """The opcodes of a text, in order."""
    return OPCODE.findall(re.sub(r"//[^\n]*", "", ptx[ptx.index(".entry") :]))


def parameters(ptx):
    """Types of the entry's parameters as the text has them; an array would be a number passed by value."""
    found = re.search(r"\.entry \w+\(([^)]*)\)", ptx)[1]
    return ["".join(row) for row in re.findall(r"\.param \.(\w+)(?: \.ptr[\w. ]*)? \w+(\[\d+\])?", found)]


def faults(kernel, architecture):
    """Words for what a kernel should not have, on one GPU; see `ALLOWED` for who may."""
    found = set()
    for opcode in set(instructions(text_of(kernel, architecture))):
        found |= {{"atom": "atomic", "red": "atomic", "call": "call"}.get(opcode.split(".")[0], "")}
        found |= {"approximate"} if FAST.match(opcode) else set()
        found |= {"float64"} if kernel.dtype == "float32" and ".f64" in opcode else set()
        mixed = kernel.dtype == "float64" and opcode.startswith("cvt") and ".f32" in opcode and ".f64" in opcode
        found |= {"float32"} if mixed else set()
    code = assembled(kernel, architecture)
    return (found | ({"stack"} if code.stack else set()) | ({"spill"} if code.spills else set())) - {""}


# ---- all kernels


def some(names):
    """A third of the tiles and half of the operations in float64; the others are hunted."""
    for (k, name), dtype in itertools.product(enumerate(names), DTYPES):
        rare = k % 3 if name.startswith("tile_") else k % 2 and ":" in name and dtype == "float64"
        yield pytest.param(name, dtype, marks=pytest.mark.hunt if rare and (name, dtype) not in ALLOWED else ())


@pytest.mark.parametrize(("name", "dtype"), list(some(NAMES)))
def test_a_kernel_has_only_what_it_may_have(name, dtype):
    kernel, may = catalog.find(name, dtype), set(ALLOWED.get((name, dtype), {}))
    found = [faults(kernel, architecture) for architecture in NEWEST]
    assert set().union(*found) == may, "more than it may have, or the list allows what it has no more"
    assert parameters(text_of(kernel, NEWEST[0])) == [width(annotation, dtype) for annotation in kernel.parameters]


ROUNDED = "float16.0+leaky_relu.0+float16.0"


@pytest.mark.parametrize("name", [
    f"tile_layer:8x8x8x16x16h:{ROUNDED}.kept", f"tile_back:8x8x8x16x16h:{ROUNDED}", "tile_weights:8x4x8x16x32h",
    f"tile_layer:4x4x16x8x64h:{ROUNDED}.kept", f"tile_back:4x4x16x8x64h:{ROUNDED}", "tile_weights:2x2x8x8x64h",
    "tile_layer:2x4x8x8x64h:float16.0",
])  # fmt: skip
def test_a_tile_of_halves_has_only_what_it_may_have(name):
    kernel = catalog.find(name, "float32")
    assert not set().union(*(faults(kernel, architecture) for architecture in ARCHITECTURES))
    assert "mma.sync" in text_of(kernel, NEWEST[0])


def test_the_kernel_of_tensor_cores_has_only_what_it_may_have(monkeypatch):
    """No spills, though a thread carries gradients from tile to tile; its atomic counts blocks at a barrier."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    ours, workloads = importlib.import_module("_contestants"), importlib.import_module("_workloads")
    (work,) = (work for work in workloads.GPU_NETWORKS if work.name == "UV 12-64x4-3 Adam, 65536")
    with ours.build(work, "numpy", dtype="float16") as run:
        kernels = {launch.kernel.name: launch.kernel for launch in launches(run._problem)}
    kernel = kernels["cores"]
    assert {*kernels} <= {"cores", "constants"}
    for architecture in ARCHITECTURES:
        assert faults(kernel, architecture) == {"atomic", "float64"}
        assert assembled(kernel, architecture).registers <= 255


def width(annotation, dtype):
    """Of a parameter: the layout that launches pack (eight bytes for pointers and whole numbers)."""
    return {"Real": f"f{dtype[5:]}", "Double": "f64"}.get(annotation, "u64")


def test_what_a_launch_packs_is_as_wide_as_what_a_kernel_takes():
    for annotation in jit.TYPES:
        for dtype in DTYPES:
            packed = driver._C_TYPES.get(dtype if annotation == "Real" else annotation, ctypes.c_uint64)
            assert ctypes.sizeof(packed) * 8 == int(width(annotation, dtype)[1:])


def test_the_list_of_kernels_has_every_kernel_of_the_folder():
    """A module that nobody lists, or a function without the words of `typed`, would be compiled by no test."""
    found = set()
    for module in pkgutil.iter_modules(kernels.__path__):
        space = importlib.import_module(f"{kernels.__name__}.{module.name}")
        for name, function in vars(space).items():
            own = isinstance(function, FunctionType) and function.__module__ == space.__name__
            if own and name not in getattr(space, "DEVICE", ()):
                assert set(jit.parameters(function)) <= set(jit.TYPES), name
                found.add(name)
    assert found
    assert found <= {name.partition(":")[0] for name in NAMES}, "one that is always joined has its operations behind it"
    assert {name for name, _ in ALLOWED} <= set(NAMES), "a reason is given for kernels that there are"


def test_the_words_of_ptxas_are_read():
    said = "    32 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
    said += "ptxas info    : Used 24 registers, used 0 barriers, 512 bytes smem\n"
    assert ptxas._read(said, b"") == ptxas.Assembled(b"", 24, 32, 12, 512)
    with pytest.raises(DeviceError, match=r"ptxas refuses a kernel: .*nonsense"):
        ptxas.assemble(".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n", (8, 0))


def test_ptxas_is_looked_for_in_packages_homes_and_on_the_path(monkeypatch, tmp_path):
    monkeypatch.setattr(ptxas.importlib.util, "find_spec", lambda name: None)
    for home in ptxas.HOMES:
        monkeypatch.delenv(home, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="cuda-compile"):
        ptxas.find()
    for folder in (tmp_path, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / ptxas.NAME).write_text("#!/bin/sh\n")
        (folder / ptxas.NAME).chmod(0o755)
    assert ptxas.find() == tmp_path / ptxas.NAME
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert ptxas.find() == tmp_path / "bin" / ptxas.NAME


# ---- all that training launches

POINTERS = {"Words": np.int32, "Longs": np.int64, "Doubles": np.float64, "Flags": np.uint8, "Halves": np.uint16}


def fits(launch, dtype):
    """What the driver would refuse, or what a kernel would read as something else."""
    name = launch.kernel.name
    assert launch.kernel.dtype == dtype
    assert (1 <= launch.grid[0] < 2**31, 1 <= launch.grid[1] < 2**16) == (True, True), name
    assert 1 <= launch.block[0] * launch.block[1] <= 1024, name
    for annotation, argument in zip(launch.kernel.parameters, launch.arguments, strict=True):
        if annotation == "Reals" or annotation in POINTERS:
            assert isinstance(argument, Buffer), name
            assert argument.dtype == POINTERS.get(annotation, dtype), name
        elif annotation in ("Int", "Key"):
            lowest, end = (0, 2**64) if annotation == "Key" else (-(2**63), 2**63)
            assert lowest <= int(argument) == argument < end, name
        else:
            assert annotation in ("Real", "Double"), name
            assert float(argument) == float(np.dtype(dtype).type(argument)) or annotation == "Double", name


@pytest.mark.parametrize(
    ("name", "dtype", "lanes"),
    [("rgb", "float32", None), ("UV 12-64x4-3 Adam, 1024", "float32", None), ("XOR", "float64", 0)],
)
def test_the_launches_of_a_workload(name, dtype, lanes, monkeypatch):
    """As the engine cuts it, and with a launch for each part of the work (`lanes` 0); a listing changes no number."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    ours, workloads = importlib.import_module("_contestants"), importlib.import_module("_workloads")
    if lanes is not None:
        monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, lanes=lanes))
    with ours.build(workloads.named(name), "numpy", dtype=dtype) as run:
        before = [array.copy() for array in (run._problem.store.value, run._problem.previous, *run._problem.state)]
        found = launches(run._problem)
        for launch in found:
            fits(launch, dtype)
        after = [run._problem.store.value, run._problem.previous, *run._problem.state]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    names = {launch.kernel.name for launch in found}
    assert names
    assert lanes is None or not {"block", "alone"} & names
