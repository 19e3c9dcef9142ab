"""Which functions of the product each test calls, and how many processor seconds the test takes.

A pytest plugin: ``PYTHONPATH=tests/kit CALLED=folder pytest -p called ...`` writes a file of JSON lines for each
process into the folder, and :func:`merged` joins them. Each function of the product says its name when it is called: a
statement is added to it on import (``sys.settrace`` makes calls six times as slow). Child processes take part: they
inherit the variables, and a ``sitecustomize`` in the folder loads this file in each of them, so it imports little.
"""

import ast
import builtins
import json
import marshal
import os
from collections import defaultdict
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path

FOLDER, ROOT, TEST = "CALLED", "CALLED_ROOT", "CALLED_TEST"
"""Environment variables: where the files go, the checkout, and the test that started a child process."""
ROOMS = ("scalarviz/", "scenes/")
COMPILED = (
    "scalarviz/engine/cpu/compiled/", "scalarviz/engine/cpu/vector/", "scalarviz/engine/cuda/kernels/",
    "scalarviz/engine/cuda/jit.py",
    "scalarviz/rng.py", "scalarviz/scalar/erf.py",
)  # fmt: skip
"""What numba compiles: it knows no such statement."""


def say_names(node, file, prefix="", outer=None):
    """Let each function below a node say ``file::function``; nested functions say the outer one's name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = outer or prefix + child.name
            say_names(child, file, outer=name)
            said = ast.Expr(ast.Call(ast.Name("__called__", ast.Load()), [ast.Constant(f"{file}::{name}")], []))
            first = child.body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            child.body.insert(int(documented), ast.fix_missing_locations(ast.copy_location(said, first)))
        else:
            inside = f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix
            say_names(child, file, inside, outer)


def get_code(loader, module, unchanged=SourceFileLoader.get_code):
    """Takes the place of the loader's method, and reads what `prepare` compiled.

    It parses nothing: an import may happen while garbage is collected, that in the middle of another parsing, and
    Python up to 3.11.8 and 3.12.2 then raises a SystemError in the outer one (gh-106905).
    """
    try:
        return marshal.loads(Path(os.environ[FOLDER], "code", kept_name(loader.path)).read_bytes())
    except OSError:  # another file
        return unchanged(loader, module)


def kept_name(path):
    """What the code of a file of the product is called in the folder."""
    return path.removeprefix(f"{os.environ[ROOT]}/").replace("scalarviz/scenes/", "scenes/", 1).replace("/", ".")


def prepare(folder, root):
    """Compile all files of the product with the statements in them."""
    for room in ROOMS:
        for path in sorted(Path(root, room).rglob("*.py")):
            file = path.relative_to(root).as_posix()
            if not file.startswith(COMPILED):
                tree = ast.parse(path.read_bytes())
                say_names(tree, file)
                code = compile(tree, path, "exec", dont_inherit=True)
                Path(folder, "code", kept_name(str(path))).write_bytes(marshal.dumps(code))


def lines_file(kind):
    """A new file's descriptor: of an open file object a child process would be warned at its end."""
    name = f"{kind}-{os.getpid()}-{os.urandom(4).hex()}.jsonl"
    return os.open(Path(os.environ[FOLDER], name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def listen_in_child():
    """Write what this process calls, which a test started: at once, as it may be killed at any time."""
    file, said = lines_file("child"), set()

    def write(value):
        with suppress(OSError):
            os.write(file, f"{json.dumps(value)}\n".encode())

    write({"test": os.environ.get(TEST, "")})

    def called(name):
        if name not in said:
            said.add(name)
            write(name)

    builtins.__called__ = called
    SourceFileLoader.get_code = get_code


def pytest_configure(config):
    """Listen in this process; xdist's controller compiles, and runs no tests."""
    folder = Path(os.environ[FOLDER]).resolve()
    for made in ("starter", "code"):
        (folder / made).mkdir(parents=True, exist_ok=True)
    os.environ[ROOT] = str(config.rootpath)
    if not hasattr(config, "workerinput"):
        prepare(folder, config.rootpath)
        if getattr(config.option, "numprocesses", None):
            return
    start = f"import runpy\nrunpy.run_path({__file__!r})['listen_in_child']()\n"
    (folder / "starter/sitecustomize.py").write_text(start, encoding="utf-8")
    os.environ |= {
        FOLDER: str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder / "starter"), os.environ.get("PYTHONPATH", "")])),
    }  # fmt: skip
    config.pluginmanager.register(Recorder(), "called-recorder")


class Recorder:
    """Writes a line for each test: its functions, its seconds, whether it passed, and what it needs."""

    def __init__(self):
        self.file, self.said = os.fdopen(lines_file("tests"), "a", encoding="utf-8", buffering=1), set()
        self.failed = self.gl = False
        builtins.__called__ = self.said.add
        SourceFileLoader.get_code = get_code
        os.register_at_fork(after_in_child=listen_in_child)

    def pytest_runtest_logstart(self, nodeid, location):
        self.said.clear()
        self.failed = self.gl = False
        os.environ[TEST] = nodeid
        self.before = os.times()

    def pytest_runtest_setup(self, item):
        self.gl = item.get_closest_marker("gl") is not None

    def pytest_runtest_logreport(self, report):
        self.failed |= report.failed

    def pytest_runtest_logfinish(self, nodeid, location):
        line = {
            "test": nodeid, "seconds": round(sum(os.times()[:4]) - sum(self.before[:4]), 3), "passed": not self.failed,
            "kind": "browser" if "/browser/" in nodeid else "gl" if self.gl else "other",
            "functions": sorted(self.said),
        }  # fmt: skip
        self.file.write(json.dumps(line) + "\n")


def merged(folder):
    """All files of a folder as one value: names of functions, and of each test its seconds, kind, and their numbers."""
    functions, tests, children = {}, {}, defaultdict(set)

    def numbers(names):
        return {functions.setdefault(name, len(functions)) for name in names}

    for path in sorted(Path(folder).glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        whole = [json.loads(line) for line in lines if line.endswith(("}", '"'))]  # the last one may be cut
        if path.name.startswith("child") and whole:
            children[whole[0]["test"]] |= numbers(whole[1:])
            continue
        for line in whole:
            known = tests.setdefault(line["test"], line | {"functions": set()})
            known["functions"] |= numbers(line["functions"])
            known["passed"] &= line["passed"]
    for name, test in tests.items():
        test["functions"] = sorted(test["functions"] | children[name])
    return {"functions": list(functions), "tests": list(tests.values())}
