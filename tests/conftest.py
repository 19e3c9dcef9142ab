"""Fixtures for the whole suite. `kit.tiers` says what runs in which tier."""

import contextlib
import functools
import gc
import importlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

pytest_plugins = ["kit.tiers"]
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores Ctrl-C; tests send it
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # of nohup; tests close terminals
settings.register_profile("any machine", deadline=None, derandomize="HUNT" not in os.environ)
settings.load_profile("any machine")  # an example may take long; only `make hunt` draws others each time
ORACLE = Path(__file__).parent / "oracle"


@pytest.fixture(autouse=True)
def no_thread_stays():
    """Fail a test that leaves a thread of the package behind: a recording, a sweep or a window that nobody closed."""
    before = set(threading.enumerate())
    yield
    until = time.monotonic() + 5
    while left := [t for t in threading.enumerate() if t not in before and t.name.startswith("scalarviz")]:
        assert time.monotonic() < until, f"left behind: {left}"
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def no_recording_stays():
    """Fail a test that leaves its thread recording or without gradients: every later one would fail in its place."""
    yield
    tracing = sys.modules.get("scalarviz.scalar.tracing")
    assert tracing is None or tracing.set_mode(None) is None


@functools.cache
def oracle_maker():
    """The script that wrote the stored reference values, as a module."""
    if str(ORACLE) not in sys.path:
        sys.path.append(str(ORACLE))
    return importlib.import_module("make_oracle")


@functools.cache
def oracle_arrays(kind, group):
    if kind == "live":
        return oracle_maker().GROUPS[group]()
    with np.load(ORACLE / f"{group}.npz") as arrays:
        return dict(arrays)


@pytest.fixture
def torch():
    """PyTorch. A test that asks for it runs in .ci/run."""
    return pytest.importorskip("torch", reason="no PyTorch (extra oracle)")


@pytest.fixture
def torch64(torch):
    """PyTorch with float64 as its default dtype, which `mu_product` of its NAdam has for weights of any dtype."""
    torch.set_default_dtype(torch.float64)
    yield torch
    torch.set_default_dtype(torch.float32)


@pytest.fixture(params=["stored", pytest.param("live", marks=pytest.mark.ci)])
def oracle(request):
    """Reference values by PyTorch, ``oracle(group)`` -> dict of arrays: those stored, and those made on the spot."""
    if request.param == "live":
        pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    return functools.partial(oracle_arrays, request.param)


@pytest.fixture(scope="session")
def few_runs():
    """The module `sweep/few_runs.py`."""
    spec = importlib.util.spec_from_file_location("few_runs", Path(__file__).parent / "sweep" / "few_runs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def make_oracle():
    """The module ``tests/oracle/make_oracle.py``; importing it needs no PyTorch."""
    return oracle_maker()


@contextlib.contextmanager
def start_x_server():
    """An X server without a window manager that nobody else draws on: its process and its DISPLAY."""
    if shutil.which("Xvfb") is None or shutil.which("xdotool") is None:
        pytest.skip("no Xvfb and xdotool (apt-get install xvfb xdotool)")
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x900x24", "-nolisten", "tcp", "-noreset"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as pipe:
        display = f":{pipe.readline().strip()}"
    try:
        yield server, display
    finally:
        server.kill()
        server.wait(10)


@pytest.fixture(scope="session")
def x_server():
    """Makes X servers: a context manager."""
    return start_x_server


@pytest.fixture(scope="session")
def display():
    """The DISPLAY of an X server for the tests of this process; not set in the environment."""
    with start_x_server() as (_, name):
        yield name


@pytest.fixture(scope="module", autouse=True)
def old_objects_stay():
    """What was imported and collected so far stays to the end: nobody looks through it for garbage again and again."""
    gc.collect()
    gc.freeze()
