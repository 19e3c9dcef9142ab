"""Which functions of the product each test calls, and how many processor seconds the test takes.

A pytest plugin: ``PYTHONPATH=tests/kit CALLED=folder pytest -p called ...`` writes a file of JSON lines for each
process into the folder, and :func:`merged` joins them. Child processes take part: they inherit the variables, and a
``sitecustomize`` in the folder starts the tracer in each of them. Each of them loads this file, so it imports little.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from pathlib import Path

FOLDER, TEST = "CALLED", "CALLED_TEST"
"""Environment variables: where the files go, and the test that started a child process."""
ROOMS = ("scalarviz", "scenes")
KINDS = ("browser", "simulator", "gl", "subprocess", "pure")
STARTS = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.forkpty"}


class Tracer:
    """Notes each code object that a Python function runs, once until the next :meth:`clear`.

    Parameters
    ----------
    root : str
        The checkout; code of other places is left out.
    first : callable, optional
        Told the name of each function of the product when it is called for the first time.
    """

    def __init__(self, root, first=None):
        self.rooms = tuple(f"{root}/{room}/" for room in ROOMS)
        self.start = len(root) + 1
        self.codes, self.names, self.first = {}, {}, first

    def install(self):
        threading.settrace(self)
        sys.settrace(self)

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if id(code) not in self.codes:
            self.codes[id(code)] = code  # kept, so that no other code gets its id
            if self.first and (name := self.name(code)):
                self.first(name)

    def name(self, code):
        """``file::function`` of a code object of the product, nested functions as part of the outer one; else None."""
        if id(code) not in self.names:
            path = code.co_filename.replace("/scalarviz/scenes/", "/scenes/")
            known = path.startswith(self.rooms) and not code.co_qualname.startswith("<")
            self.names[id(code)] = (
                (code, f"{path[self.start :]}::{code.co_qualname.split('.<')[0]}") if known else (code, None)
            )
        return self.names[id(code)][1]

    def called(self):
        return {name for code in list(self.codes.values()) if (name := self.name(code))}

    def clear(self):
        self.codes = {}


def lines_file(folder, kind):
    return open(Path(folder) / f"{kind}-{os.getpid()}-{os.urandom(4).hex()}.jsonl", "a", encoding="utf-8", buffering=1)


def trace_child():
    """Trace this process, which a test started; called by ``sitecustomize``, and after a fork.

    Each function is written when it is first called: a child may be killed at any time.
    """
    file = lines_file(os.environ[FOLDER], "child")
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
    file.write(json.dumps({"test": os.environ.get(TEST, ""), "simulator": simulated}) + "\n")
    Tracer(os.environ["CALLED_ROOT"], first=lambda name: file.write(json.dumps(name) + "\n")).install()


def pytest_configure(config):
    """Trace this process; xdist's controller runs no tests."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        return
    folder = Path(os.environ[FOLDER])
    starter = folder / "starter"
    starter.mkdir(parents=True, exist_ok=True)
    start = f"import runpy\nrunpy.run_path({__file__!r})['trace_child']()\n"
    (starter / "sitecustomize.py").write_text(start, encoding="utf-8")
    os.environ["CALLED_ROOT"] = str(config.rootpath)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(starter), os.environ.get("PYTHONPATH", "")]))
    config.pluginmanager.register(Recorder(str(config.rootpath), folder), "called-recorder")


class Recorder:
    """Writes a line for each test: its functions, its seconds, whether it passed, and what it needs."""

    def __init__(self, root, folder):
        self.tracer, self.file = Tracer(root), lines_file(folder, "tests")
        self.started = self.failed = self.gl = False
        sys.addaudithook(self.audit)
        os.register_at_fork(after_in_child=trace_child)

    def audit(self, event, arguments, starts=STARTS):
        if event in starts:  # an argument: module variables are gone when the interpreter ends
            self.started = True

    def pytest_runtest_logstart(self, nodeid, location):
        self.tracer.clear()
        self.tracer.install()  # each time: a test of debuggers may have taken it away
        self.started = self.failed = self.gl = False
        os.environ[TEST] = nodeid
        self.before = os.times()

    def pytest_runtest_setup(self, item):
        self.gl = item.get_closest_marker("gl") is not None

    def pytest_runtest_logreport(self, report):
        self.failed |= report.failed

    def pytest_runtest_logfinish(self, nodeid, location):
        if os.environ.get(TEST) == nodeid:
            seconds = sum(os.times()[:4]) - sum(self.before[:4])
            self.write(nodeid, seconds, self.kind(nodeid), not self.failed)

    def kind(self, test):
        if "/browser/" in test:
            return "browser"
        if self.gl:
            return "gl"
        return "subprocess" if self.started else "pure"

    def write(self, test, seconds, kind, passed):
        line = {"test": test, "seconds": round(seconds, 3), "kind": kind, "passed": passed}
        self.file.write(json.dumps(line | {"functions": sorted(self.tracer.called())}) + "\n")


def merged(folder):
    """All files of a folder as one value: names of functions, and of each test its seconds, kind, and their numbers."""
    functions, tests, children = {}, {}, defaultdict(set)

    def numbers(names):
        return {functions.setdefault(name, len(functions)) for name in names}

    simulated = set()
    for path in sorted(Path(folder).glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        whole = [json.loads(line) for line in lines if line.endswith(("}", '"'))]  # the last one may be cut
        if path.name.startswith("child"):
            children[whole[0]["test"]] |= numbers(whole[1:])
            if whole[0]["simulator"]:
                simulated.add(whole[0]["test"])
            continue
        for line in whole:
            known = tests.setdefault(line["test"], line | {"functions": set()})
            known["functions"] |= numbers(line["functions"])
            known["passed"] &= line["passed"]
    for test, called in children.items():
        if test in tests:
            tests[test]["functions"] |= called
            tests[test]["kind"] = "simulator" if test in simulated else tests[test]["kind"]
    for test in tests.values():
        test["functions"] = sorted(test["functions"])
    return {"functions": list(functions), "tests": list(tests.values())}
