"""The rules that are written from the table are shown by `inspect`, by tracebacks and by a debugger.

Imports internals: the functions that a rule becomes, which only a debugger meets otherwise.
"""

from __future__ import annotations

import gc
import inspect
import linecache
import subprocess
import sys
import traceback
import tracemalloc
from types import SimpleNamespace

import pytest

import scalarviz as sv
from scalarviz.scalar import ops
from scalarviz.scalar.kernel import Kernel, kernel


@pytest.mark.parametrize("name", ops.METHODS)
def test_the_source_of_a_rule_can_be_read(name):
    op, entry = kernel(name), ops.get(name)
    assert op.source.startswith(f"# {name}({', '.join(entry.args)}) = {entry.value}\n")
    for partial in filter(None, entry.partials):
        assert f": {partial}\n" in op.source
    linecache.checkcache()  # as a debugger does: what is no file must not be forgotten
    for function in (op.value, op.pull):
        shown = inspect.getsource(function)
        assert shown in op.source
        assert shown.startswith(f"def {function.__name__}(")
        again = compile(shown, "again", "exec").co_consts[0]
        assert again.co_code == function.__code__.co_code  # what is shown is what runs


def test_a_rule_of_a_user_and_the_line_of_a_traceback_can_be_read():
    entry = ops.Op("test_source", ("a", "b"), "a * b + a", ("b + 1", None))
    source = Kernel(entry).source
    assert source.startswith("# test_source(a, b) = a * b + a\n")
    assert [line.count("derivative by") for line in source.splitlines()[1:3]] == [1, 1]
    assert "return (a * b) + a" in inspect.getsource(Kernel(entry).value)
    node = SimpleNamespace(_parents=(SimpleNamespace(data="x", grad=0.0),), data="y", grad=1.0)
    with pytest.raises(TypeError) as error:
        kernel("tanh").pull(node)
    assert "_p0.grad += _up * (1.0 - (y * y))" in "".join(traceback.format_exception(error.value))


@pytest.mark.ci
def test_a_debugger_walks_through_the_rule(tmp_path):
    script = tmp_path / "lesson.py"
    script.write_text("import scalarviz as sv\nx = sv.Value(0.5)\ny = x.tanh()\ny.backward()\nprint('grad', x.grad)\n")
    commands = [
        "next", "next", "from scalarviz.scalar.kernel import kernel", "break kernel('tanh').value",
        "break kernel('tanh').pull", "continue", "longlist", "continue", "longlist",
        *["next"] * 4, "print('so far', _p0.grad)", "clear 1 2", "continue", "quit",
    ]  # fmt: skip
    given = {"input": "\n".join(commands), "capture_output": True, "text": True, "timeout": 60}
    said = subprocess.run([sys.executable, "-m", "pdb", script], check=False, **given).stdout
    forward, backward = (said.index(text) for text in ("return _tanh(a)", "_p0.grad += _up * (1.0 - (y * y))"))
    assert forward < backward < said.index("so far 0.786")
    assert "<scalarviz tanh>" in said
    assert "grad 0.786" in said


@pytest.mark.ci
def test_memory_does_not_grow_with_an_operation_that_is_made_again():
    entry = ops.Op("test_again", ("a",), "a * a + a * a * a", ("2 * a + 3 * a * a",))

    def make(times):
        for _ in range(times):
            Kernel(entry)
            with pytest.raises(sv.ScalarvizError):
                sv.register("tanh", "a", "tanh(a)", ("1 - y * y",))
        gc.collect()  # a function and the names it sees hold each other
        return tracemalloc.get_traced_memory()[0]

    make(20)
    files = set(linecache.cache)
    tracemalloc.start()
    try:
        grown = make(20) - make(120)
    finally:
        tracemalloc.stop()
    assert abs(grown) < 20_000
    assert set(linecache.cache) == files
