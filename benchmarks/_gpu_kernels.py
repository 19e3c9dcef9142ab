"""Parts `kernels`, `determinism`, `suite` of `gpu.py`: every kernel, against NumPy in float64 and the objects.

Each operation of the table alone, at ordinary points and at zeros, denormals, infinities and NaN, forward and backward;
the structural kernels in small runs that need all of them. Where pytest is, the tests that pass in the simulator. And
``--write-kernels``: machine code of all that the script launches, for a machine that has no libNVVM.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import Any

import numpy as np
from _gpu_launches import launches
from _gpu_networks import Case, case_of, checks, every_case, forms_of, taken
from _gpu_setting import DTYPES, Setting
from _ptxas import assemble
from _timing import HERE, child, command_of, fresh, main, say
from _workloads import WORKLOADS
from numpy.typing import NDArray

from scalarviz.engine.cost import processors
from scalarviz.engine.cuda import images
from scalarviz.engine.cuda.catalog import find, names
from scalarviz.engine.cuda.kernel import Kernel
from scalarviz.engine.cuda.machine import Machine, Shape
from scalarviz.engine.cuda.trainer import open_device
from scalarviz.scalar import ops
from scalarviz.scalar.kernel import numpy_form
from scalarviz.tape import Instruction, Program

NONE = np.zeros(0, np.int64)
Numbers = NDArray[Any]
MOVED = 2.0**-20
"""By how much of itself an operand is moved to see what its last place is worth in the result (`share`)."""
LANES = 32
MOST_ULPS = 16.0
"""Of an operation's value or adjoint (units of the last place of it, or of what those of its operands are worth there,
whichever are larger): libdevice's functions are good to 8, and a derivative is made of a few."""
MOST = {"float64": 1e-12, "float32": 1e-5}
"""Norm-wise error of a gradient against that of the objects in float64."""
STEPS = 12


def measure(setting: Setting) -> None:
    """All of them."""
    device: Any = open_device(0)
    tried: set[str] = set()
    for dtype in DTYPES:
        chosen = list(ops.TABLE)[:: 8 if setting.tiny else 1]
        found = {name: _operation(device, name, dtype, setting.tiny) for name in chosen}
        for name, (error, words) in found.items():
            if words or not error <= MOST_ULPS:
                setting.check(f"{name}, {dtype}", error, MOST_ULPS, unit="ulp", remark=words)
        worst = max(found, key=lambda name: found[name][0])
        setting.check(
            f"{len(found)} operations, {dtype}: the worst", found[worst][0], MOST_ULPS, unit="ulp", remark=worst
        )
        tried |= {f"{way}:{name}" for name in chosen for way in ("forward", "backward")}
    device.close()
    for case in [case for case in checks() if case.reference == "objects"][::3] if setting.tiny else checks():
        problem = case.build("numpy", "float64")._problem
        for form, shape in forms_of(problem, setting.tiny).items():
            with taken(shape):
                tried |= {launch.kernel.name for launch in launches(problem)}
                for dtype in DTYPES:
                    _case(setting, case, dtype, form, 2 if setting.tiny else STEPS)
    left = sorted(name for name in set(names()) - tried if not name.startswith("tile_"))  # some sizes are for others
    if not setting.tiny:
        setting.row("kernels that nothing here launched", float(len(left)), ok=not left, remark=", ".join(left))


# ---- operations


def usual(arity: int, dtype: str, count: int) -> Numbers:
    """Numbers of all sizes, shape (arity, count)."""
    make = np.random.default_rng(5)
    return (make.normal(size=(arity, count)) * 10.0 ** make.uniform(-3, 1, (1, count))).astype(dtype)


def odd(arity: int, dtype: str) -> Numbers:
    """All combinations of zeros, denormals, kinks, large numbers, infinities and NaN, shape (arity, points)."""
    info = np.finfo(dtype)
    tiny, huge = float(info.smallest_subnormal), float(info.max)
    numbers = {1: [0.0, tiny, 1e-30, 0.5, 1.0, 2.0, 60.0, 1000.0, huge, np.inf], 2: [0.0, 0.5, 1.0, 3.0, huge, np.inf],
               3: [0.0, 0.5, 1.0, np.inf]}[arity]  # fmt: skip
    pairs = itertools.product([*(-x for x in numbers), *numbers, np.nan], repeat=arity)
    return np.array(list(pairs)).T.astype(dtype)


PROBABILITY = {"binary_cross_entropy": 1}
"""Operations whose operand of this number is in 0 .. 1: far beyond, their terms cancel and the order of sums shows."""


def _operation(device: Any, name: str, dtype: str, tiny: bool) -> tuple[float, str]:
    """Largest error in units of the last place, and what else is wrong."""
    arity = len(ops.get(name).args)
    sets = usual(arity, dtype, 64 if tiny else 4096), odd(arity, dtype)
    given = np.concatenate(sets, axis=1)
    if name in PROBABILITY:
        given[PROBABILITY[name]] = np.clip(given[PROBABILITY[name]], 0.0, 1.0)
    upstream = np.random.default_rng(6).normal(size=given.shape[1]).astype(dtype)
    values, adjoints = _on_device(device, name, given, upstream)
    places = slice(0, sets[0].shape[1]), slice(sets[0].shape[1], None)
    largest, wrong = 0.0, 0
    for place, exact in zip(places, ("float64", dtype), strict=True):
        value, pulls = numpy_form(name, np.dtype(exact))
        x, y, up = (array[..., place].astype(exact) for array in (given, values, upstream))
        pairs = [(values[place], value, tuple(x))]
        pairs += [(adjoints[k, place], pull, (*x, y, up)) for k, pull in enumerate(pulls) if pull]
        for found, call, operands in pairs:
            with np.errstate(all="ignore"):
                wanted, beside = (np.broadcast_to(row, found.shape) for row in (call(*operands), share(call, operands)))
            error, different = _compare(found, wanted, beside)
            largest = max(largest, error)
            wrong += different
    return largest, f"{wrong} are NaN or infinite where NumPy's are not, or the other way round" if wrong else ""


def share(call: Callable[..., Numbers], operands: Sequence[Numbers]) -> Numbers:
    """How far the result moves with its operands, in parts of them: 0 where that is no number.

    No formula can know the last digits of a sum that is nearly zero, of ``1 - y**2`` where tanh is nearly 1, or of
    ``exp`` far out, where a rounding of its operand is worth many of its own.
    """
    here, total = call(*operands), np.zeros(operands[0].shape)
    for k, operand in enumerate(operands):
        other = np.asarray(call(*operands[:k], operand * (1 + MOVED), *operands[k + 1 :]), float)
        moved = np.abs(other - here) / MOVED
        total += np.where(np.isfinite(moved), moved, 0.0)
    return total


def _compare(found: Numbers, wanted: Numbers, beside: Numbers) -> tuple[float, int]:
    """Error in ulps (of what stands `beside`, where that is larger), and at how many only one is a finite number."""
    ordinary = np.isfinite(found) & np.isfinite(wanted)
    same = ordinary | (np.isnan(found) & np.isnan(wanted)) | (found == wanted)
    least = 64 * np.finfo(found.dtype).tiny  # below, a factor of a product may have been a denormal
    size = np.maximum(np.maximum(np.abs(wanted), beside)[ordinary], least)
    size = np.minimum(size, np.finfo(found.dtype).max).astype(found.dtype)
    with np.errstate(over="ignore"):  # the largest numbers
        ulps = np.spacing(size).astype(np.float64)
        errors = np.abs(found[ordinary].astype(np.float64) - wanted[ordinary]) / ulps
    return float(errors.max(initial=0.0)), int(np.count_nonzero(~same))


def _on_device(device: Any, name: str, given: Any, upstream: Any) -> tuple[Numbers, Numbers]:
    """Values, and the adjoint of each operand, by a program of one instruction: rows of some lanes."""
    dtype, (arity, n) = given.dtype, given.shape
    count = -(-n // LANES)
    dst = arity * count
    rows = np.arange(dst)
    outputs = np.arange(dst, dst + count)
    program = Program(
        n_rows=dst + count, n_theta=0, instructions=(Instruction("op", dst, count, rows.reshape(arity, -1), name),),
        input_rows=rows, input_index=rows, constant_rows=NONE, constants=np.zeros(0), outputs=outputs, loss=-1,
        taps=(), needs_gradient=np.ones(dst + count, bool),
    )  # fmt: skip
    machine = Machine(program, device, dtype, LANES, Shape(threads=LANES), tuple(outputs.tolist()))
    device.upload(machine.values.part(0, dst * LANES), _cut(given, count).reshape(-1))
    device.upload(machine.adjoints.part(dst * LANES, count * LANES), _cut(upstream[None], count).reshape(-1))
    for launched in (machine.forward(machine.values, LANES), machine.backward(machine.values, LANES)):
        device.record(launched).run()
    values, adjoints = (np.zeros((arity + 1) * count * LANES, dtype) for _ in range(2))
    device.download(machine.values, values)
    device.download(machine.adjoints, adjoints)
    device.wait()
    return values.reshape(arity + 1, -1)[arity, :n], adjoints.reshape(arity + 1, -1)[:arity, :n]


def _cut(numbers: Any, count: int) -> Any:
    padded = np.zeros((len(numbers), count * LANES), numbers.dtype)
    padded[:, : numbers.shape[1]] = numbers
    return padded


# ---- runs


def _case(setting: Setting, case: Case, dtype: str, form: str, steps: int) -> None:
    """Gradient and loss of the second batch, and what some steps make of the weights: the worst of them."""
    plain, run = case.build(case.reference, "float64"), case.build("cuda", dtype)
    losses = [each._training.trainer.gradient(1) for each in (plain, run)]
    wanted, found = (each._problem.store.grad.astype(float) for each in (plain, run))
    gradient = max(_error(found, wanted), abs(losses[1] - losses[0]) / abs(losses[0]))
    for each in (plain, run):
        each.step(steps)
    trained = _error(run._problem.store.value.astype(float), plain._problem.store.value.astype(float))
    setting.check(f"{case.name}, {dtype}, {form}: gradient", gradient, MOST[dtype])
    setting.check(f"{case.name}, {dtype}, {form}: weights after {steps} steps", trained, 100 * MOST[dtype])
    for each in (plain, run):
        each.close()


def _error(found: Numbers, wanted: Numbers) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


# ---- determinism


def determinism(setting: Setting) -> None:
    """Weights after some steps, as a hash of their bits: of two processes, and of two runs in one of them."""
    first, second = (fresh(command_of(bits, "tiny" if setting.tiny else "full")).json() for _ in range(2))
    for name, made in first.items():
        same = made == second[name]
        words = made if same else f"{made} and {second[name]}"
        setting.row(name, words, ok=same and "differs" not in words)


@child
def bits(size: str) -> None:
    """Hashes of the bits of weights and losses, by name."""
    small, found = list(checks()), {}
    tiny = size == "tiny"
    for case in small[6:7] if tiny else [*small, *(case_of(work) for work in WORKLOADS if work.batch <= 1024)]:
        for dtype in DTYPES:
            made = {_hash(case, dtype, 2 if tiny else 50) for _ in range(2)}
            found[f"{case.name}, {dtype}"] = made.pop() if len(made) == 1 else "differs in one process"
    say(**found)


def _hash(case: Case, dtype: str, steps: int) -> str:
    run = case.build("cuda", dtype)
    losses = run._training.trainer.train(0, steps, 1e-2)
    made = hashlib.sha256(run._problem.store.value.tobytes() + np.asarray(losses).tobytes())
    run.close()
    return made.hexdigest()[:16]


# ---- the tests of the simulator

TESTS = HERE.parent / "tests"
SETS = {"tests of every engine": ["engine"], "tests of every run": ["nn", "run", "scalar", "tape"]}
"""As in ``tests/cuda/test_simulator.py``; what reads the simulator's memory (operations) is in part `kernels`."""
TINY = {"a test of every engine": ["engine/test_batch_mean.py"]}
IMPORTED = ("cuda/simulated", "cuda", "engine", "nn", "run", "scalar", "tape")
"""Folders from which the tests import."""


def suite(setting: Setting) -> None:
    """The objects against the GPU, for every model, loss, layer, optimiser; and what runs do between calls."""
    if importlib.util.find_spec("pytest") is None:
        setting.row("the tests of the simulator", remark="not run: pytest is not installed here")
        return
    around = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    folders = [*(TESTS / folder for folder in IMPORTED), HERE.parent, os.environ.get("PYTHONPATH", "")]
    around["PYTHONPATH"] = os.pathsep.join(map(str, folders))
    around |= {"COLUMNS": "500", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # a line holds a reason; plugins may warn
    many = importlib.util.find_spec("xdist") is not None and not setting.tiny
    xdist = ["-p", "xdist.plugin", "-n", "auto"] if many else []
    for name, paths in (TINY if setting.tiny else SETS).items():
        with tempfile.TemporaryDirectory(prefix="scalarviz-") as folder:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "every_engine", *xdist,
                       "-m", "not hunt", "-rfE", "--tb=no", f"--basetemp={folder}/base",
                       "--continue-on-collection-errors"]  # fmt: skip
            command += [str(TESTS / path) for path in paths]
            options: dict[str, Any] = {"cwd": HERE.parent, "env": around, "capture_output": True, "text": True}
            try:
                done = subprocess.run(command, check=False, timeout=max(10.0, setting.left() - 5), **options)
            except subprocess.TimeoutExpired:
                setting.row(name, ok=False, remark="the tests took longer than they were given")
                continue
        lines = (done.stdout + done.stderr).strip().splitlines()
        failed = [line.partition(" - ") for line in lines if line.startswith(("FAILED ", "ERROR "))]
        for what, _, why in failed[:20]:
            setting.row(what, "failed", ok=False, remark=why[:300])
        setting.row(name, lines[-1].strip("= ") if lines else "no output", ok=done.returncode == 0)


# ---- kernels for a machine without a compiler

_tasks: list[tuple[Kernel, tuple[int, int], Path]] = []
"""What the processes that are forked from this one find here: a kernel cannot be sent to them."""


def write(folder: Path, architectures: tuple[int, ...]) -> None:
    """Compile every kernel for every architecture into a folder, which is made; 90 stands for sm_90."""
    start = time.perf_counter()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.glob("*.cubin"):
        old.unlink()
    found = needed(every_case())
    _tasks[:] = [(kernel, divmod(architecture, 10), folder) for architecture in architectures for kernel in found]
    if "fork" in get_all_start_methods() and processors() > 1:
        with get_context("fork").Pool(processors()) as pool:
            sizes = pool.map(_write, range(len(_tasks)), chunksize=4)
    else:
        sizes = [_write(k) for k in range(len(_tasks))]
    gpus = ", ".join(f"sm_{architecture}" for architecture in architectures)
    seconds = time.perf_counter() - start
    print(f"{len(found)} kernels for {gpus} in {folder}: {sum(sizes) / 2**20:.1f} MB, {seconds:.0f} s")


def needed(cases: list[Case]) -> list[Kernel]:
    """Every kernel of the catalog, and all that the cases launch in all their forms; both dtypes, each once."""
    found = {find(name, dtype): None for dtype in DTYPES for name in names()}
    for case in cases:
        for dtype in DTYPES:
            run = case.build("numpy", dtype)
            for shape in forms_of(run._problem).values():
                with taken(shape):
                    found |= {launch.kernel: None for launch in launches(run._problem)}
            run.close()
    return list({(kernel.name, kernel.dtype, kernel.key): kernel for kernel in found}.values())


def _write(number: int) -> int:
    kernel, capability, folder = _tasks[number]
    code = assemble(images.text(kernel, capability), capability).code
    images.store_carried(folder, kernel, capability, code)
    return len(code)


if __name__ == "__main__":
    main()
