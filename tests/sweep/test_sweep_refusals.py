"""What would stop every run of a sweep is said before any is computed; the grammar of values and seeds."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sweep_made import small

import scalarviz as sv
from kit.refusals import refusals
from scalarviz.errors import ScalarvizError


def swept(grid=None, build=small, **more):
    return sv.sweep(build, grid, **{"seeds": 1, "steps": 1, "workers": 0, **more})


def values(text, seeds=1):
    """What is tried of a text, as texts."""

    def build(seed, x):
        return small(seed)

    with swept({"x": text}, build, seeds=seeds) as going:
        return list(going.about.grid["x"])


VALUES = {
    "0.1 0.5 1": [0.1, 0.5, 1], "  8   16,16 ": [8, "16,16"], "1..4": [1, 2, 3, 4], "-1..1": [-1, 0, 1],
    "3..3": [3], "0..1:5": [0, 0.25, 0.5, 0.75, 1], "1..0:3": [1, 0.5, 0], "0.1..0.5:5": [0.1, 0.2, 0.3, 0.4, 0.5],
    "1e-3..1:log4": [0.001, 0.01, 0.1, 1], "1..1024:log11": [2**k for k in range(11)], "1..3 8": [1, 2, 3, 8],
    "'' 8": ["", 8], "'loss < 0.1' tanh": ["loss < 0.1", "tanh"], "../a.png ..": ["../a.png", ".."],
    r"C:\a\b.png 1:2": [r"C:\a\b.png", "1:2"], "#ff8800:#0044cc": ["#ff8800:#0044cc"],
    "a:5 .5 5.": ["a:5", 0.5, 5],
}  # fmt: skip


def test_values():
    assert {text: values(text) for text in VALUES} == VALUES


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 50), st.booleans())
def test_ranges_are_numpys(first, last, count, logs):
    if abs(first - last) < 1e-3 * max(first, last):  # they would be told alike
        last = 2 * first
    found = values(f"{first!r}..{last!r}:{'log' if logs else ''}{count}")
    np.testing.assert_allclose(found, (np.geomspace if logs else np.linspace)(first, last, count), rtol=1e-9)


def test_seeds():
    seeds = {"3": [0, 1, 2], "5..8": [5, 6, 7, 8], "7..7": [7], "7 0": [7, 0], f"1 {2**64 - 1}": [1, 2**64 - 1]}
    for text, wanted in seeds.items():
        with swept(seeds=text) as going:
            assert list(going.about.seeds) == wanted


MANY = " ".join(map(str, range(9_999)))
LR = "lr"
ROWS = {
    "how many": ("0.1..1", "has no count", "0.1..1:5"), "downwards": ("5..1", "go up"),
    "one": ("0..1:1", 2, "10,000"), "log of 0": ("0..1:log3", "above 0"), "twice": ("1 1", "'1'", "twice"),
    "in a range": ("1..3 2", "'2'", "twice"), "an open quotation": ("'a", "quotation mark"),
    "too many": ("1..100000", "10,000"), "none": ([], LR, "0 values"),
    "too many in all": ("0..1:6000 2..3:6000", "10,000"),
    "twice among many": (MANY + " 9998", "'9998'", "twice"),
    "a number": (3, LR, "list of values"), "equal": ([1, 1], "the same text"), "bytes": (b"ab", "list of values"),
    "a mapping": ({0.1: 1}, "list of values"), "no end": (itertools.count(), "10,000"),
}  # fmt: skip
CALLS = {
    "no such argument": ("swept({'width': [1]})", "small", "width"),
    "swept and given": ("swept({'lr': [1]}, options={'lr': 2})", "both in the grid", "options"),
    "the seed": ("swept({'seed': [1, 2]})", "small", "seeds="),
    "keyframes": ("swept(keyframes=-1)", "keyframes"),
    "no seed": ("swept(seeds=0)", "seeds", ">= 1"), "equal seeds": ("swept(seeds=[1, 1])", "seeds", "differ"),
    **{f"seeds {text}": (f"swept(seeds={text!r})", "seeds") for text in
       ("", "0", "x", "-1", "1.5", f"1 {2**64}", "1 1", "99999", "1..2:5", b"ab")},
    "a wrong option": ("swept({'lr': ['0.1', '-1']}, 'xor')", "lr", "greater than 0", "'-1'"),
    "no such option": ("swept({'colour': [1]}, 'xor')", "xor", "'colour'", "engine"),
    "a file for all": ("swept({'save': ['a.safetensors']}, 'xor')", "save", "every run"),
    "a scene's seed": ("swept({'seed': [1]}, 'xor')", "seeds"),
        "a theme": ("swept({'theme': ['dark']}, 'xor')", "pictures"),
    "no such scene": ("swept({}, 'nor')", "'nor'"), "no function": ("swept({}, 3)", "build", "function"),
    "no file of results": ("swept(results='runs.db')", "runs.svs"),
}  # fmt: skip


@refusals({
    **{name: (lambda it, row=row: swept({LR: row[0]}), ScalarvizError, *row[1:]) for name, row in ROWS.items()},
    **{name: (lambda it, row=row: eval(row[0]), ScalarvizError, *row[1:]) for name, row in CALLS.items()},
})  # fmt: skip
def test_what_would_stop_every_run_is_said_before(tmp_path, monkeypatch, refusal):
    monkeypatch.chdir(tmp_path)
    refusal.check(tmp_path)
    assert list(tmp_path.iterdir()) == []
