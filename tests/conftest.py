"""Hooks for the whole suite."""

from __future__ import annotations

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
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

os.environ["SCALARVIZ_WARMUP"] = "0"  # no test is slowed by a compiler beside it
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores Ctrl-C; tests send it
settings.register_profile("any machine", parent=settings(), deadline=None)  # an example may take long on a busy one
settings.load_profile("any machine")
ALLOWED_SKIP = "no GPU"
CUDA = "SCALARVIZ_TEST_CUDA"
"""Environment variable: ``1`` demands the tests marked cuda, ``0`` leaves them out; else they run where they can."""
LEFT_OUT = pytest.StashKey[int]()
ORACLE = Path(__file__).parent / "oracle"


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


@pytest.fixture(params=["stored", "live"])
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI (SCALARVIZ_NO_SKIPS=1) a skipped test has failed, unless its reason says "no GPU"."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("SCALARVIZ_NO_SKIPS"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if ALLOWED_SKIP not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped where a skip is a failure: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The same for a module that skips itself (``pytest.importorskip`` at its top)."""
    report = yield
    if report.skipped and os.environ.get("SCALARVIZ_NO_SKIPS"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if ALLOWED_SKIP not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped where a skip is a failure: {reason}"
    return report


def pytest_configure(config):
    """Where the tests marked cuda are demanded, their compiler has to be there: they must not vanish in silence."""
    config.stash[LEFT_OUT] = 0
    if os.environ.get(CUDA) == "1" and not _has_numba_cuda():
        raise pytest.UsageError(f'{CUDA}=1, and numba-cuda is not installed: pip install -e ".[test,cuda-compile]"')


def pytest_collection_modifyitems(config, items):
    """The rules of the house first; leave out the tests marked cuda without numba-cuda, or where none asks for them."""
    items.sort(key=lambda item: item.path.parent.name != "house")
    if os.environ.get(CUDA) != "0" and _has_numba_cuda():
        return
    left_out = [item for item in items if item.get_closest_marker("cuda")]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker("cuda")]
        config.hook.pytest_deselected(items=left_out)
        config.stash[LEFT_OUT] = len(left_out)


def pytest_collection_finish():
    """What was imported and collected stays to the end: nobody need look through it for garbage again and again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session):
    """Hand the number to the process that prints, where pytest-xdist runs several."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[CUDA] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take it; each process has collected all tests."""
    stash = node.config.stash
    stash[LEFT_OUT] = max(stash[LEFT_OUT], getattr(node, "workeroutput", {}).get(CUDA, 0))


def pytest_terminal_summary(terminalreporter, config):
    """Say in one line what was left out."""
    if count := config.stash[LEFT_OUT]:
        why = f"{CUDA}=0" if _has_numba_cuda() else "numba-cuda is not installed"
        terminalreporter.write_line(
            f"{count} test{'s' * (count > 1)} marked cuda left out: {why} (make test CUDA=1 runs them)"
        )


def _has_numba_cuda():
    return importlib.util.find_spec("numba_cuda") is not None
