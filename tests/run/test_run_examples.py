"""`Run` has few public names, and each has an example that runs."""

import doctest
import inspect

import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim

MOST = 46
NAMES = [name for name in dir(Run) if name[0] != "_"]
BEFORE = {
    "take": "before = run.state(); run.step(2)", "load": "run.save('run.safetensors')", "log": "run.lr = 0.2",
    "undo": "run.lr = 0.2", "redo": "run.lr = 0.2; run.undo()",
}  # fmt: skip
"""What has to be done before the example of a name makes sense, where that is more than 60 steps."""

NEEDS_ONNX = {"to_onnx"}


def documented(name):
    member = inspect.getattr_static(Run, name)
    return inspect.getdoc(member.fget if isinstance(member, property) else member) or ""


def examples(text):
    return [example.source for example in doctest.DocTestParser().get_examples(text)]


def test_there_are_no_more_names_than_users_need():
    assert len(NAMES) <= MOST


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.ci) if name in NEEDS_ONNX else name for name in NAMES]
)
def test_the_example_of_a_name_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    known = {"sv": sv, "nn": nn, "optim": optim}
    for source in examples(inspect.getdoc(Run)):
        exec(source, known)
    assert isinstance(known["run"], Run)
    known["run"].step(60)
    exec(BEFORE.get(name, ""), known)
    own = examples(documented(name))
    assert any(f"run.{name}" in line for line in own)
    for source in own:
        exec(source, known)
