"""Every kernel to PTX and through ptxas, without a GPU: no spills, no stack frames, no float64 where it was not meant.

``SCALARVIZ_TEST_ARCHITECTURES="75 80 90 100"`` compiles for other GPUs than sm_80 and sm_90.
"""

from __future__ import annotations

import ctypes
import importlib
import pkgutil
import subprocess
import sys
from types import FunctionType

import pytest
from machine_code import ALLOWED, ARCHITECTURES, capability, faults, instructions, parameters

from scalarviz.engine.cuda import catalog, images, jit, kernels, ptxas, typed
from scalarviz.errors import DeviceError, MissingDependencyError

pytestmark = pytest.mark.cuda
DTYPES = ("float32", "float64")
NAMES = tuple(catalog.names())

WIDTHS = {"Real": {"float32": "f32", "float64": "f64"}, "Double": "f64"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_has_only_what_it_may_have(name, dtype):
    kernel = catalog.find(name, dtype)
    allowed = ALLOWED.get((name, dtype), {})
    found = {architecture: faults(kernel, architecture) for architecture in ARCHITECTURES}
    assert {a: sorted(kinds - set(allowed)) for a, kinds in found.items()} == {a: [] for a in found}
    assert set().union(*found.values()) == set(allowed), "the list allows what no kernel has any more"
    text = images.text(kernel, capability(ARCHITECTURES[-1]))
    assert parameters(text) == [_type_of(annotation, dtype) for annotation in kernel.parameters]


def _type_of(annotation, dtype):
    """Of a parameter: the layout that launches pack (eight bytes for pointers and whole numbers)."""
    given = WIDTHS.get(annotation, "u64")
    return given if isinstance(given, str) else given[dtype]


def test_what_a_launch_packs_is_as_wide_as_what_a_kernel_takes():
    recorded = importlib.import_module("scalarviz.engine.cuda.recorded")
    for annotation in jit.TYPES:
        for dtype in DTYPES:
            packed = recorded._C_TYPES.get(dtype if annotation == "Real" else annotation, ctypes.c_uint64)
            assert ctypes.sizeof(packed) * 8 == int(_type_of(annotation, dtype)[1:])


def test_the_list_of_kernels_has_every_kernel_of_the_folder():
    """A module that nobody lists, or a function without the words of `typed`, would be compiled by no test."""
    annotations = set(jit.TYPES)
    found = set()
    for module in pkgutil.iter_modules(kernels.__path__):
        space = importlib.import_module(f"{kernels.__name__}.{module.name}")
        device = getattr(space, "DEVICE", ())
        for name, function in vars(space).items():
            own = isinstance(function, FunctionType) and function.__module__ == space.__name__
            if own and name not in device:
                assert set(typed.parameters(function)) <= annotations, name
                found.add(name)
    assert found
    assert found <= set(NAMES)


def test_a_reason_is_given_for_kernels_that_there_are():
    assert {name for name, _ in ALLOWED} <= set(NAMES)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("fault", "body"),
    [
        ("float64", "a[i] = a[i] * 0.1"),
        ("atomic", "t = cuda.shared.array(32, real)\n    cuda.atomic.add(t, n[i], a[i])\n    a[i] = t[i]"),
        ("stack", "t = cuda.local.array(64, real)\n    for k in range(64): t[n[k]] = a[k]\n    a[i] = t[n[64]]"),
        ("approximate", "a[i] = cuda.libdevice.fast_sinf(a[i])"),
    ],
)
def test_what_is_looked_for_is_found(fault, body, architecture):
    kernel = _written(fault, body)
    assert fault in faults(kernel, architecture)


def test_atomics_calls_and_frames_are_read_from_the_text():
    text = (
        ".visible .entry f(\n.param .u64 a\n)\n{\n@%p1 atom.add.f32 %f1, [%rd1], %f2;\n\tcall.uni g, ();\n// red.x\n}"
    )
    assert instructions(text) == ["atom.add.f32", "call.uni"]
    assert parameters(text) == ["u64"]


def _written(name, body):
    source = f"def {name}(a, n):\n    i = cuda.threadIdx.x\n    {body}\n"
    space = {"cuda": jit.cuda, "real": jit.types.float32}
    exec(source, space)
    function = space[name]
    function.__annotations__ = {"a": "Reals", "n": "Words"}
    return catalog.Kernel(name, "float32", function, source)


def test_spills_are_told_from_frames():
    frame = "    32 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
    said = frame + "ptxas info    : Used 24 registers, used 0 barriers, 512 bytes smem\n"
    assert ptxas._read(said, b"") == ptxas.Assembled(b"", 24, 32, 12, 512)


def test_what_ptxas_refuses_is_said_with_its_words():
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
