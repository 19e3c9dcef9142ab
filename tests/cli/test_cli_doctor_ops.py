"""``scalarviz doctor --ops``: every operation, a user's own too, has a form in every engine, found by making it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalarviz import scenes
from scalarviz.engine import forms
from scalarviz.engine.table import ENGINES
from scalarviz.errors import InputError
from scalarviz.scalar import ops

SCENES = sorted(p.stem for p in Path(scenes.__file__).parent.glob("[a-z]*.py") if p.stem != "options")


def rows(result):
    assert result.code == 0
    lines = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in result.out.splitlines()]
    assert lines[0] == ["operation", *ENGINES]
    assert len(lines[1]) == len(lines[0])
    return {line[0]: line[1:] for line in lines[2:]}


@pytest.fixture
def own():
    """An operation of the user's with three derivatives, one of which is none."""
    op = ops.register("own_of_test", "a b c", "a * b + sin(c)", ("b", None, "cos(c)"))
    yield op
    del ops.TABLE["own_of_test"]


def test_every_operation_has_a_form_in_every_engine(cli, own):
    found = rows(cli("doctor", "--ops"))
    assert list(found) == list(ops.TABLE)
    for name, cells in found.items():
        flowing = sum(partial is not None for partial in ops.get(name).partials)
        joint = f"1 + {min(flowing, 1)}"  # one function hands on to all operands
        assert cells == [joint, f"1 + {flowing}", f"1 + {flowing}", joint], name


def test_what_cannot_be_made_is_said(cli, monkeypatch, own):
    def refuses(op):
        if op is own:
            raise InputError("no such word")
        return "def forward(): pass\n"

    monkeypatch.setattr("scalarviz.engine.cuda.source.ops.forward_source", refuses)
    monkeypatch.setattr("scalarviz.engine.cpu.source.rows.module_source", lambda *_: "def forward(:")
    found = rows(cli("doctor", "--ops"))
    assert found[own.name][3] == "none: no such word"
    assert found[own.name][2].startswith("none: ")
    assert found["add"][3] == "1 + 1"
    assert forms.CUDA.of(ops.get("add")) == "1 + 1"


def test_a_scene_that_is_named_brings_its_operations(cli, tmp_path):
    scene = tmp_path / "wavy.py"
    scene.write_text(
        '"""A scene."""\nimport scalarviz as sv\nfrom scalarviz.scalar import ops\n'
        'ops.register("wavy_of_test", "a", "sin(a) * a", ("cos(a) * a + sin(a)",))\ndef build(options): ...\n'
    )
    try:
        assert rows(cli("doctor", "--ops", str(scene)))["wavy_of_test"] == ["1 + 1"] * 4
    finally:
        ops.TABLE.pop("wavy_of_test", None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rgb"], "doctor examines this machine; 'rgb' goes with --ops: scalarviz doctor --ops rgb"),
        (["--ops", "rbg"], f"no scene 'rbg'; name a file, as my_scene.py, or one of {', '.join(SCENES)}"),
        ([""], "doctor examines this machine; '' goes with --ops"),
        (["--ops", ""], "no scene ''; name a file"),
        (["--ops", "--report"], "--report and --ops are two answers; ask for one of them"),
        (["--ops", "gone.py"], "there is no scene file gone.py"),
        (["--ops", "rgb", "digits"], "unexpected extra argument"),
    ],
)
def test_bad_use_is_one_line(cli, arguments, says):
    result = cli("doctor", *arguments)
    assert result.code == 2
    assert says in result.err
    assert result.out == ""
