"""The three tiers of the suite, as a pytest plugin: what runs where, what a skip means, how long a quick test may take.

* no mark: ``make test``. No other process, no browser, no package that its extra does not bring; half a second of
  processor time at most.
* ``smoke``: in ``make test``, and may take longer: one film, still, page, command and window.
* ``ci``: ``.ci/run`` runs it too. Tests that ask for PyTorch, a display or a GPU's compiler are marked by this plugin.
* ``hunt``: ``make hunt`` alone. Long walks, fuzzing, soak.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import time
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TESTS = Path(__file__).resolve().parents[1]
ALLOWED_SKIP = "no GPU"
CUDA = "SCALARVIZ_TEST_CUDA"
"""Environment variable: ``1`` demands the tests marked cuda, ``0`` leaves them out; else they run where they can."""
MOST_SECONDS = float(os.environ.get("SCALARVIZ_TEST_SECONDS", "inf"))
"""Processor seconds that a test without a mark may take: .ci/run says, as other machines may be slower."""
FOLDERS = ("browser", "cuda", "frozen", "imported", "notebooks", "onnx_files", "replay", "sweep", "view")
"""Folders whose tests all draw, or need what `make test` does not install: .ci/run runs them."""
FIXTURES = frozenset({"torch", "display", "screen", "x_server", "program"})
"""Fixtures that start another process or load a large library."""
SUM_SECONDS = 0.016
"""What a sum takes on a quiet machine: one that is slower just now, or listens to every call, may take longer."""
NUMBA_CUDA_FINDER = "_numba_cuda_redirector"
"""It imports numba-cuda wherever numba's own `numba.cuda` is asked for."""
LEFT_OUT = pytest.StashKey[int]()
SPENT = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    """Where the tests marked cuda are demanded, their compiler has to be there: they must not vanish in silence."""
    config.stash[LEFT_OUT] = 0
    if os.environ.get(CUDA) == "1" and not has_numba_cuda():
        raise pytest.UsageError(f'{CUDA}=1, and numba-cuda is not installed: pip install -e ".[test,cuda-compile]"')
    if _is_make_test(config):
        WithoutOtherExtras.begin()


def has_numba_cuda() -> bool:
    return importlib.util.find_spec("numba_cuda") is not None


def _is_make_test(config: pytest.Config) -> bool:
    return "not ci" in config.option.markexpr


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what the first tier has no packages for."""
    skipped = _is_make_test(config) and collection_path.parent == TESTS and collection_path.name in FOLDERS
    return True if skipped else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what belongs to a later tier by what it needs."""
    folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
    compiles = item.get_closest_marker("cuda") is not None
    if compiles or folder in FOLDERS or FIXTURES & set(getattr(item, "fixturenames", ())):
        item.add_marker("ci")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The rules of the house first; leave out hunts that nobody asked for, and kernels that cannot be compiled."""
    items.sort(key=lambda item: item.path.parent.name != "house")
    if "hunt" not in config.option.markexpr:
        _leave_out(config, items, "hunt")
    if os.environ.get(CUDA) == "0" or not has_numba_cuda():
        config.stash[LEFT_OUT] = _leave_out(config, items, "cuda")


def _leave_out(config: pytest.Config, items: list[pytest.Item], mark: str) -> int:
    left_out = [item for item in items if item.get_closest_marker(mark)]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker(mark)]
        config.hook.pytest_deselected(items=left_out)
    return len(left_out)


# ---- ``make test`` has the packages of its extra and no others, also where .ci/run has installed all of them


class WithoutOtherExtras(PathFinder):
    """Finds no package that another extra brings and the extra `test` does not, as on a fresh clone.

    A test that needs one fails then on every machine. What pytest's own plugins have loaded before stays there.
    """

    hidden: frozenset[str] = frozenset()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in cls.hidden else super().find_spec(name, path, target)

    @classmethod
    def begin(cls) -> None:
        """From now on."""
        others = brought(metadata.metadata("scalarviz").get_all("Provides-Extra")) - brought(["test"])
        modules = metadata.packages_distributions().items()
        cls.hidden = frozenset(name for name, of in modules if {canonicalize_name(one) for one in of} <= others)
        there = [finder for finder in sys.meta_path if type(finder).__module__ != NUMBA_CUDA_FINDER]
        sys.meta_path[:] = [cls if finder is PathFinder else finder for finder in there]


def brought(extras: list[str]) -> set[str]:
    """The distributions that the package and some of its extras bring, and all that these bring."""
    found: dict[str, set[str]] = {}
    waiting = [("scalarviz", {"", *extras})]
    while waiting:
        name, asked = waiting.pop()
        new = asked - found.setdefault(name, set())
        found[name] |= new
        try:
            needs = map(Requirement, metadata.requires(name) or ()) if new else ()
        except metadata.PackageNotFoundError:
            continue
        waiting += [
            (canonicalize_name(need.name), {"", *need.extras}) for need in needs
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in new)
        ]  # fmt: skip
    return set(found)


# ---- a skip is a failure in CI


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI (SCALARVIZ_NO_SKIPS=1) a skipped test has failed, unless its reason says "no GPU".

    Nothing is collected meanwhile: a report parses the test's source, and what a finaliser parses inside of that makes
    a SystemError of it (gh-106905).
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _no_skip((yield))
    finally:
        if collecting:
            gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The same for a module that skips itself (``pytest.importorskip`` at its top)."""
    return _no_skip((yield))


def _no_skip(report):
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("SCALARVIZ_NO_SKIPS"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if ALLOWED_SKIP not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped where a skip is a failure: {reason}"
    return report


# ---- a test without a mark is quick


def _processor_seconds() -> float:
    """Of this process and of all that it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    before = _processor_seconds()
    try:
        return (yield)
    finally:
        item.stash[SPENT] = _processor_seconds() - before


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Run a test of the first tier; one that is too slow runs again, as the first of a kind loads what others share,
    and once more, as a busy machine takes more processor time."""
    if any(item.get_closest_marker(mark) for mark in ("ci", "hunt", "smoke")):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for _ in range(2):
        if _too_slow(item, reports):
            item._initrequest()
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if _too_slow(item, reports):
        reports[1].outcome = "failed"
        reports[1].longrepr = (
            f"{item.stash[SPENT]:.2f} s of processor time, three times; a test of the first tier may take"
            f" {MOST_SECONDS:g} s: make it smaller, or mark it with @pytest.mark.ci"
        )
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _too_slow(item, reports) -> bool:
    if not (all(report.passed for report in reports) and len(reports) == 3 and item.stash[SPENT] > MOST_SECONDS):
        return False
    begun = time.thread_time()
    sum(divmod(k, 7)[1] for k in range(200_000))
    return item.stash[SPENT] > MOST_SECONDS * max(1.0, (time.thread_time() - begun) / SUM_SECONDS)


# ---- what was left out


def pytest_sessionfinish(session: pytest.Session) -> None:
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
        why = f"{CUDA}=0" if has_numba_cuda() else "numba-cuda is not installed"
        terminalreporter.write_line(
            f"{count} test{'s' * (count > 1)} marked cuda left out: {why} (make test-all runs them)"
        )
