"""Laws of every picture: each scene in each state at each size, read off its display list, which needs no OpenGL."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise, product

import numpy as np
import pytest

from scalarviz.run.questions.ranges import weight_extent
from scalarviz.view.ink.sketch import Bound, Box, Rect, Sketch, TextItem, meet, rgba
from scalarviz.view.ink.text import CAP_HEIGHT
from scalarviz.view.screen.hud import state_of
from scalarviz.view.watch import live
from tests.frozen import make

SIZES = [(1280, 720), (640, 360), (390, 844), (1920, 1080), (720, 720), (400, 400), (300, 1000), (2000, 500)]
STATES = tuple(state for state in make.STATES if state != "end")
SMALLEST = 6.5
"""Pixels: a graph that has little room is drawn at half its size."""
HIDES = 14.0
"""Pixels from which on a filled box of a layer above hides what lies under it."""
SIGNS = {"\N{MINUS SIGN}": "-", "·": "*", "×": "*", "÷": "/", "²": "**2", "√": "sqrt", "^": "**", ",": ""}
NUMERIC = re.compile(r"(?:[\d.\s+\-*/()]|sqrt|(?<=\d)e(?=[\d+-]))+")


def ink(text: TextItem) -> Box:
    """The box of a text without what hangs below its line."""
    return text.left, text.y - CAP_HEIGHT * text.size, text.width, CAP_HEIGHT * text.size


def covers(layer: list[Sketch]) -> list[Box]:
    """What a layer hides of those below it."""
    boxes = [shape for sketch in layer for shape in sketch.shapes if isinstance(shape, Rect) and shape.fill is not None]
    return [(b.x, b.y, b.width, b.height) for b in boxes if rgba(b.fill)[3] > 0.9 and min(b.width, b.height) > HIDES]


def seen(bench) -> Iterator[TextItem]:
    """The texts that nothing lies over."""
    layers = [bench.sketches, *bench.overlays]
    for number, layer in enumerate(layers):
        above = [box for upper in layers[number + 1 :] for box in covers(upper)]
        for text in (text for sketch in layer for text in sketch.texts):
            if not any(meet(ink(text), box, -2.0) for box in above):
                yield text


@pytest.fixture
def scene(request, tmp_path):
    numbers, name = make.Numbers(tmp_path), request.param
    given = {flag: numbers._place(value) for flag, value in make.BEGUN.get(name, {}).items()}
    loaded = make.load_scene(name)
    made = loaded.build_loaded(loaded.options(engine="numpy", dtype="float64", threads=1, **given))
    yield made
    made.run.close()


@pytest.fixture
def view(scene, request):
    state = request.param
    scene.run.step(0 if state == "start" else make.DONE)
    with make.viewer(scene, SIZES[0], playing=state == "start", wait=None) as view:
        make.settle(view)
        for what in make.STATES[state]:
            view.bench.select(min(what, len(scene.run.values) - 1)) if isinstance(what, int) else view.send(what)
            make.settle(view)
        yield view


def at_sizes(view, first: int) -> Iterator[tuple[tuple[int, int], list[TextItem]]]:
    """A picture at every second size."""
    for size in SIZES[first % 2 :: 2]:
        view.resize(size)
        make.settle(view)
        yield size, list(seen(view.bench))


def value_of(text: str) -> float | None:
    """A side of an equation as a number; None where letters stand in it."""
    for sign, python in SIGNS.items():
        text = text.replace(sign, python)
    text = re.sub(r"sqrt\s*(\d[\d.e-]*)", r"sqrt(\1)", text.strip())
    if not text or not re.search(r"\d", text) or not NUMERIC.fullmatch(text):
        return None
    try:
        return float(eval(text, {"__builtins__": {}, "sqrt": math.sqrt}))
    except (SyntaxError, TypeError, ZeroDivisionError):
        return None  # a part of one that goes on in the next line


def printed_digit(text: str) -> float:
    """What one more of the last printed digit is worth."""
    digits, _, power = text.replace("\N{MINUS SIGN}", "-").strip().lstrip("+-( ").rstrip(")").partition("e")
    places = len(digits.partition(".")[2])
    return 10.0 ** (int(power or 0) - places)


def written(bound: Bound, value: float) -> str:
    """What a browser writes for a number: a choice of words by its sign, or its digits."""
    if bound.form == "either":
        return bound.before.split("|")[1 + (value > 0) - (value < 0)]
    return bound.text(value)


def lines(texts: list[TextItem]) -> Iterator[str]:
    """What stands on one line, from left to right, where the gap is that of a space."""
    rows: dict[tuple[float, float], list[TextItem]] = {}
    for text in texts:
        rows.setdefault((round(text.y, 1), text.size), []).append(text)
    for row in rows.values():
        row.sort(key=lambda text: text.left)
        line, right = "", -math.inf
        for text in row:
            if text.left - right > 0.6 * text.size:
                yield line
                line = ""
            line, right = line + text.text, text.left + text.width
        yield line


EVERY = [*enumerate(product(make.scene_names(), STATES))]
"""Each scene in each state, and its number."""


@pytest.mark.parametrize(
    ("scene", "view", "case"),
    [(*pair, case) for case, pair in EVERY if case % 3 < 2],
    indirect=["scene", "view"],
)
def test_every_text_can_be_read_and_is_true(view, case):
    wrong = []
    for size, texts in at_sizes(view, case // 3):
        width, height = view.bench.places.size
        boxes = [ink(text) for text in texts]
        for number, (text, box) in enumerate(zip(texts, boxes, strict=True)):
            if min(box[0], box[1], width - box[0] - box[2], height - box[1] - box[3]) < -0.5:
                wrong.append(f"{size}: {text.text!r} leaves the picture: {box}")
            over = [other for other, its in zip(texts[:number], boxes[:number], strict=True) if meet(box, its, -0.5)]
            wrong += [f"{size}: {text.text!r} lies over {other.text!r} at {box}" for other in over]
            if text.size < SMALLEST:
                wrong.append(f"{size}: {text.text!r} is {text.size} pixels high")
        rows = sorted((round(text.left, 1), text.y, text.size, text.text) for text in texts)
        wrong += [f"{size}: {two[3]!r} is close below {one[3]!r}" for one, two in pairwise(rows)
                  if one[0] == two[0] and two[1] - one[1] < 1.2 * min(one[2], two[2])]  # fmt: skip
        for line in lines(texts):
            left, equals, right = line.removeprefix("= ").rpartition(" = ")
            of, to = value_of(left.rpartition(" = ")[2]), value_of(right)
            # goes on from the row above: test_inspector and test_why have the whole of it
            if line.startswith("   ") or re.match(r"[+\N{MINUS SIGN}/] ", line):
                continue
            if equals and of is not None and to is not None and abs(of - to) > 0.5001 * printed_digit(right):
                wrong.append(f"{size}: {line!r} is {of}")
        frame, shows = view.bench._frame, view.bench.colouring
        # texts of the moment alone name no number; pieces of equations have a law of their own
        known = (text for text in texts if text.bound is not None and text.bound.name is not None)
        for text in (text for text in known if not text.bound.more and ":" not in text.bound.form):
            here = {"step": [frame.step], shows.quantity: shows.shows.numbers(frame)}
            here |= {name: [most] for name, most in shows.extents().items()}
            state = state_of(view.bench.subject, frame, "", shows.shows)
            here["run loss"], here["rate"] = [view.bench.step_drawing.hud_state(state).loss], [frame.lr]
            high = weight_extent(frame.values) if shows.dark else shows.range.high
            numbers = frame.values if shows.dark else shows.shows.numbers(frame)
            here["clipped"] = [float(np.mean(np.abs(numbers) > high))]
            here["tick"] = {k * sign: sign * high * 10.0 ** (1 - k) for k in range(1, 9) for sign in (1, -1)} | {0: 0.0}
            here |= {"loss": [view.bench.step_drawing.loss(frame)], "target": view.bench.subject.sample.target_values}
            if (told := view.bench.step_drawing.micro_step) is not None and view.bench.scenery.flow is not None:
                here["delta"] = told.deltas[next(s.name for s in view.bench.subject.stages if s.weight is not None)]
            rows = [
                here | dict(one.activations) for one in (frame, view.bench.step_drawing.rows_frame(frame))
            ]  # or their deltas
            if told is not None:
                moved = [told.frame.values, told.frame.values + np.nan_to_num(told.frame.state.get("change", 0.0))]
                opened = view.micro.walk.opened
                here = {"its gradient": opened.gradient, "rate": [opened.lr]}
                rows = [
                    row | here | {f"δ of {name}": row_of for name, row_of in deltas.items()}
                    | ({"weight": now} if shows.quantity != "weight" else {})
                    for row in rows
                    for now in moved
                    for deltas in (told.deltas, opened.delta_sums)
                ]  # fmt: skip
            known = [one[text.bound.name] for one in rows if text.bound.name in one]
            wanted = [written(text.bound, float(row[text.bound.index])) for row in known]
            if text.text not in (*wanted, text.bound.before.rstrip()):
                wrong.append(f"{size}: {text.text!r} is {text.bound}, which is {wanted!r} at this moment")
        wrong += [f"{size}: {text.text!r}, the picture is of {frame.step}" for text in texts
                  if (said := re.fullmatch(r"(?:paused at )?step ([\d,]+)", text.text))
                  and int(said[1].replace(",", "")) != frame.step]  # fmt: skip
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("scene", make.scene_names(), indirect=True)
def test_a_picture_in_another_look_is_the_one_that_is_made_in_it(scene):
    """Its texts, in their places and colours; nothing was trained in between."""
    scene.run.step(make.DONE)
    found = []
    for look in ("dark", "light"):
        with make.viewer(scene, SIZES[0], wait=None, theme=look) as view:
            make.settle(view)
            if look == "dark":
                view.send("toggle_theme")
                make.settle(view)
            texts = [text for sketch in view.bench.sketches for text in sketch.texts]
            found.append({(text.text, round(text.left), round(text.y), text.colour) for text in texts})
    assert found[0] == found[1]


@pytest.mark.parametrize("scene", make.scene_names(), indirect=True)
def test_a_window_pauses_first_where_its_scene_does(scene):
    with closing(live.LiveView(scene, SIZES[0], playing=False)) as view:
        assert view.playback.end == scene.options.steps
