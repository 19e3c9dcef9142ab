"""The kernels compiled to the end without a GPU: no spills, no stack frames, no float64 where it was not meant.

All kernels of the catalogue, and those of whole runs with launches that a GPU can do. Internals: the texts and the
machine code of kernels have no front door. ``SCALARVIZ_TEST_ARCHITECTURES="75 80 90 100"`` compiles for other GPUs.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import itertools
import os
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="no numba-cuda (extra cuda)")
import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.engine.cuda import catalog, images, jit, kernels, ptxas, recorded, trainer, typed
from scalarviz.engine.cuda.device import Buffer
from scalarviz.engine.cuda.listing import launches
from scalarviz.engine.cuda.tiling import TILING
from scalarviz.errors import DeviceError, MissingDependencyError

pytestmark = pytest.mark.cuda
ARCHITECTURES = tuple(map(int, os.environ.get("SCALARVIZ_TEST_ARCHITECTURES", "80 90").split()))
"""GPUs to compile for, as numbers: 90 for sm_90."""
NEWEST = ARCHITECTURES[-1:]
DTYPES = ("float32", "float64")
NAMES = tuple(catalog.names())
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SHARED = {75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 103: 227, 120: 99}
"""Kilobytes of shared memory that a block may have, by CUDA's programming guide."""
REGISTERS = 65536
"""Of a multiprocessor, all that a block can have; a warp takes them by 256."""

LARGE_ANGLES = "angles beyond 105615 are reduced by a table of digits of 2/pi, which stands in local memory"
HALVES = "the last step of that reduction is one product in float64"
SLOW_PATH = "the reduction of large angles is a function of libdevice, which is called for them alone"
WEAK = "libdevice's power is a function that is not inlined twice"
NARROW = "libdevice begins the exponential of tanh, erf and expm1 in float32, and corrects it"
SUMS = "sums over all weights or all samples are in float64: 1,024 of them in float32 lose three digits"
IN_FLOAT64 = (
    "penalty",
    "lengths",
    "coefficient",
    "batch_parts",
    "batch_mean",
    "batch_mean_back",
    "follow",
    "loss",
    "loss_of_squares",
)
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
SIGNS = {"sin": "_sin(", "cos": "_cos(", "tanh": "_tanh(", "pow": "**", "erf": "_erf(", "elu": "_expm1("}
OPCODE = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)", re.MULTILINE)
FAST = re.compile(r"(div|sqrt)\.(approx|full)|(sin|cos|tanh|lg2)\.approx")


def allowed(kernel):
    """What a kernel may have: its own entry; one that does several things, what each of them may."""
    kind, dtype = kernel.name.partition(":")[0], kernel.dtype
    found = set(ALLOWED.get((kernel.name, dtype), {}))
    if kind in ("block", "alone"):
        found |= set(ALLOWED.get(("loss", dtype), {}))
    if kind in ("block", "alone", "update") or kind.startswith("tile_"):
        for name in (name for name, sign in SIGNS.items() if sign in kernel.text or f":{name}." in kernel.name):
            found |= {x for way in ("forward", "backward") for x in ALLOWED.get((f"{way}:{name}", dtype), {})}
    return found


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


@pytest.mark.hunt
def test_a_kernel_has_only_what_it_may_have_on_every_gpu():
    for name, dtype in ((name, dtype) for name in NAMES for dtype in DTYPES):
        for architecture in ARCHITECTURES:
            assert faults(catalog.find(name, dtype), architecture) <= set(ALLOWED.get((name, dtype), {}))


def width(annotation, dtype):
    """Of a parameter: the layout that launches pack (eight bytes for pointers and whole numbers)."""
    return {"Real": f"f{dtype[5:]}", "Double": "f64"}.get(annotation, "u64")


def test_what_a_launch_packs_is_as_wide_as_what_a_kernel_takes():
    for annotation in jit.TYPES:
        for dtype in DTYPES:
            packed = recorded._C_TYPES.get(dtype if annotation == "Real" else annotation, ctypes.c_uint64)
            assert ctypes.sizeof(packed) * 8 == int(width(annotation, dtype)[1:])


def test_the_list_of_kernels_has_every_kernel_of_the_folder():
    """A module that nobody lists, or a function without the words of `typed`, would be compiled by no test."""
    found = set()
    for module in pkgutil.iter_modules(kernels.__path__):
        space = importlib.import_module(f"{kernels.__name__}.{module.name}")
        for name, function in vars(space).items():
            own = isinstance(function, FunctionType) and function.__module__ == space.__name__
            if own and name not in getattr(space, "DEVICE", ()):
                assert set(typed.parameters(function)) <= set(jit.TYPES), name
                found.add(name)
    assert found
    assert found <= set(NAMES)
    assert {name for name, _ in ALLOWED} <= set(NAMES), "a reason is given for kernels that there are"


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        ("float64", "a[i] = a[i] * 0.1"),
        ("atomic", "t = cuda.shared.array(32, real)\n    cuda.atomic.add(t, n[i], a[i])\n    a[i] = t[i]"),
        ("stack", "t = cuda.local.array(64, real)\n    for k in range(64): t[n[k]] = a[k]\n    a[i] = t[n[64]]"),
        ("approximate", "a[i] = cuda.libdevice.fast_sinf(a[i])"),
    ],
)
def test_what_is_looked_for_is_found(fault, body):
    source, space = f"def {fault}(a, n):\n    i = cuda.threadIdx.x\n    {body}\n", {"cuda": jit.cuda}
    exec(source, {**space, "real": jit.types.float32}, space)
    function = FunctionType(space[fault].__code__, {"cuda": jit.cuda, "real": jit.types.float32}, fault)
    function.__annotations__ = {"a": "Reals", "n": "Words"}
    assert fault in faults(catalog.Kernel(fault, "float32", function, source), NEWEST[0])


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


def test_compiling_needs_no_driver():
    """The process may not even load one."""
    code = (
        "from scalarviz.engine.cuda import catalog, images\n"
        "assert '.entry' in images.text(catalog.find('layer', 'float32'), (9, 0))\n"
        "assert 'libcuda.so' not in open('/proc/self/maps').read()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- tiles

OF_LAYER = [("float32", tile) for tile in TILING.layer] + [("float64", tile) for tile in TILING.wide_layer]
INNER = re.compile(r"(\$L__BB\w+):(?:(?!\$L__BB).)*?bra(?:\.uni)?\s+\1;", re.S)


def count(counts, *kinds):
    return sum(n for name, n in counts.items() if name.startswith(kinds))


@pytest.mark.parametrize(("dtype", "tile"), OF_LAYER, ids=str)
@pytest.mark.parametrize("which", ["tile_layer", "tile_back"])
def test_the_inner_loop_is_products_and_wide_loads(which, dtype, tile):
    """Sums stay in registers; shared memory is read 16 bytes at a time; next to nothing else is done."""
    text = text_of(catalog.find(f"{which}:{tile}", dtype), 90)
    loops = [Counter(instructions(".entry f() {\n" + found.group(0))) for found in INNER.finditer(text)]
    found = max(loops, key=lambda counts: count(counts, "fma"))
    products, bytes_of = 4 * tile.rows * tile.columns, int(dtype[5:]) // 8
    turns, loads = count(found, "fma.rn") // products, count(found, "ld.shared.v")  # the compiler may unroll
    assert count(found, "fma.rn") == turns * products > 0
    assert count(found, "ld.") == loads == turns * (4 * tile.rows + 4 * tile.columns) * bytes_of // 16
    assert count(found, "st.") == 0
    assert sum(found.values()) - turns * products - loads <= 10


JOINED = {"tile_layer": ("", ":leaky_relu.0", ":relu.0.kept"), "tile_back": ("", ":leaky_relu.0", ":relu.0.result")}
OF_TILES = [
    (f"{which}:{tile}{joined}", dtype, tile) for dtype, tile in OF_LAYER for which in JOINED for joined in JOINED[which]
]
OF_TILES += [(f"tile_weights:{tile}", dtype, tile) for tile in TILING.weights for dtype in DTYPES]


@pytest.mark.parametrize(
    ("name", "dtype", "tile"),
    [row if k % 7 == 0 else pytest.param(*row, marks=pytest.mark.hunt) for k, row in enumerate(OF_TILES)],
    ids=str,
)
def test_registers_hold_everything_and_leave_room_for_two_blocks(name, dtype, tile):
    """Of the 65,536 of a multiprocessor; of float32 alone, float64 gets all of it."""
    for architecture in ARCHITECTURES:
        assert faults(catalog.find(name, dtype), architecture) == set()
        code, blocks = assembled(catalog.find(name, dtype), architecture), 2 if dtype == "float32" else 1
        assert blocks * code.registers * tile.down * tile.across <= REGISTERS
        assert blocks * code.shared <= 99 * 1024


# ---- all that training launches

POINTERS = {"Words": np.int32, "Longs": np.int64, "Doubles": np.float64, "Flags": np.uint8}


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


def check(problem, dtype, architectures=NEWEST):
    found = launches(problem)
    assert found
    for launch in found:
        fits(launch, dtype)
        for architecture in architectures:
            assert faults(launch.kernel, architecture) <= allowed(launch.kernel), launch.kernel.name
            code, threads = assembled(launch.kernel, architecture), launch.block[0] * launch.block[1]
            warps, of_a_warp = -(-threads // 32), -(-code.registers * 32 // 256) * 256
            assert warps * of_a_warp <= REGISTERS, f"{launch.kernel.name}: {code.registers} registers"
            assert code.shared + launch.shared <= SHARED[architecture] * 1024, launch.kernel.name
    return {launch.kernel.name for launch in found}


QUICK = ("rgb", "XOR", "3-16-16-3", "UV 12-64x4-3 Adam, 1024")
REST = ("circle", "UiNN", "UV 12-64x4-3 Adam, 65536", "CNN 8/16 3x3 28x28, 64", "CNN 8/16 3x3 28x28, 1", "scalar graph")
HUNTED = [pytest.param(name, dtype, None, marks=pytest.mark.hunt) for name in QUICK for dtype in DTYPES]
HUNTED += [pytest.param(name, dtype, None, marks=pytest.mark.hunt) for name in REST for dtype in DTYPES]


@pytest.mark.parametrize(
    ("name", "dtype", "lanes"),
    [("rgb", "float32", None), ("UV 12-64x4-3 Adam, 1024", "float32", None), ("XOR", "float64", 0), *HUNTED,
     *(pytest.param(name, dtype, 0, marks=pytest.mark.hunt) for name in QUICK[1:] for dtype in DTYPES)],
)  # fmt: skip
def test_the_launches_of_a_workload(name, dtype, lanes, monkeypatch):
    """As the engine cuts it, and with a launch for each part of the work (`lanes` 0)."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    ours, workloads = importlib.import_module("_ours"), importlib.import_module("_workloads")
    assert {w.name if hasattr(w, "name") else w for w in map(workloads.named, (*QUICK, *REST))} == {
        w.name if hasattr(w, "name") else w for w in workloads.WORKLOADS
    }
    if lanes is not None:
        monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, lanes=lanes))
    with ours.build(workloads.named(name), "numpy", dtype=dtype) as run:
        names = check(run.problem, dtype, ARCHITECTURES if (name, dtype) == ("rgb", "float32") else NEWEST)
    assert lanes is None or not {"block", "alone"} & names


class Long(optim.Optimizer):
    """An update of more rows than stay in registers."""

    def update(self, w, g, state, lr, t):
        for k in range(300):
            g = (g * (1.0 + k)).tanh()
        return w - lr * g, {}


class Derived(nn.Module):
    """A weight that is made of others."""

    def __init__(self):
        self.w = [sv.Weight(x) for x in (0.3, -0.7)]

    def forward(self, x):
        return [self.w[0] * self.w[1] * x[0] + x[1], self.w[0].exp() * x[2]]


def problem(rule, model, batch=20, dtype="float32"):
    make, weights = np.random.default_rng(3), model.w if isinstance(model, Derived) else model.parameters()
    data = make.normal(size=(20, 3)), make.normal(size=(20, 2))
    rules = {"sgd": optim.SGD(weights, lr=0.1), "adam": optim.Adam(weights, lr=0.1), "long": Long(weights, lr=0.1)}
    return sv.Run(model, nn.MSELoss(), rules[rule], data, batch_size=batch, engine="numpy", dtype=dtype).problem


@pytest.mark.parametrize(
    ("rule", "derived", "batch", "dtype", "lanes", "kernel"),
    [("long", False, 20, "float32", 8, ""), ("adam", False, 6, "float64", 0, "update"),
     ("adam", True, 20, "float32", 8, "alone"), ("adam", True, 20, "float64", 0, "derived_back"),
     pytest.param("adam", True, 20, "float64", 8, "alone", marks=pytest.mark.hunt),
     pytest.param("long", False, 6, "float64", 8, "", marks=pytest.mark.hunt)],
)  # fmt: skip
def test_the_launches_of_optimisers_and_of_derived_weights(rule, derived, batch, dtype, lanes, kernel, monkeypatch):
    monkeypatch.setattr(trainer, "SHAPE", replace(trainer.SHAPE, lanes=lanes))
    net = Derived() if derived else nn.Sequential(nn.Linear(3, 4, seed=1), nn.Tanh(), nn.Linear(4, 2, seed=2))
    given = problem(rule, net, batch, dtype)
    before = [array.copy() for array in (given.store.value, given.previous, *given.state)]
    assert any(name.startswith(kernel) for name in check(given, dtype))
    after = [given.store.value, given.previous, *given.state]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)), "a listing changes no number"
