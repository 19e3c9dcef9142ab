"""Who computes with the digits on the screen gets the result on the screen: equations, cubes, and the table of δ."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import make_scene
from scalarviz import nn, optim
from scalarviz.lessons.shelf import scene_of
from scalarviz.run import Scene
from scalarviz.run.opened.digits import MINUS, delta_column, read, rounds_to
from scalarviz.view.micro.equations import EQUATIONS
from scalarviz.view.micro.walk import Walk, open_step, sides
from scalarviz.view.shown.subject import subject_of

SCENES = ("rgb", "xor", "digits", "microgpt", "uinn", "neuron", "playground", "texture", "expression")
LESSONS = ("01", "01b", *(f"{number:02d}" for number in (*range(2, 12), 13, 14)))
FUNCTIONS = {
    "tanh": math.tanh, "relu": lambda x: max(x, 0.0), "leaky": lambda x: x if x > 0 else 0.01 * x, "sin": math.sin,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "sqrt": math.sqrt, "ln": math.log, "exp": math.exp, "max": max,
    "cos": math.cos, "pi": math.pi, "bump": lambda x: math.exp(-x * x),
}  # fmt: skip
SIGNS = {
    MINUS: "-", "×": "*", "·": "*", "²": "**2", "√": " sqrt ", "σ": "sigmoid", "leaky ReLU": "leaky", "ReLU": "relu",
    "π": "pi", "e^": "exp", "^": "**", "rest": "", ",": "", "lesson bump": "bump",
}  # fmt: skip


def computed(text: str) -> float:
    """What a printed expression is, in double precision."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    commas = text.startswith("max")
    for sign, plain in SIGNS.items():
        text = text if commas and sign == "," else text.replace(sign, plain)
    text = re.sub(r"\b(sqrt|ln) +([\d.]+(?:e-?\d+)?)", r"\1(\2)", text)
    return float(eval(text, {"__builtins__": {}}, FUNCTIONS))  # of our own texts


def is_true(line: str) -> bool:
    """Whether the printed result is what the printed numbers give, to half of its last digit."""
    left, _, made = line.rpartition(" = ")
    left = re.sub(r"^mean of [\d,]+ = ", "", left)
    if not left or left.startswith("mean of"):
        return True
    found, shown = computed(left), read(made.replace(",", ""))
    return abs(found - float(shown.value)) <= 0.5 * float(shown.place) * (1 + 1e-9) + 1e-13 * abs(found)


def lines_of(step) -> list[str]:
    """The equations of a micro-step that claim to be exact: its line, and those on its cubes."""
    short = step.sentence.short
    formulas = [*step.sentence.formulas, *step.rule, *(() if short is None else (short,))]
    said = ["".join(word.text for word in formula.numbers) for formula in formulas]
    faces = [f"{face.above} {face.below}" for face in step.cube_texts.values() if face.below.startswith("= ")]
    faces = [face for face in faces if " × " in face]
    return [line.lstrip("+") for line in (*said, *faces) if " = " in line and "≈" not in line and "→" not in line]


def false_columns(step) -> list[object]:
    """Columns of the table of δ in which a row does not follow from those above it."""
    wrong, rows = [], dict(step.table)
    above = next((words for words in rows if words.endswith((f"(y {MINUS} t)", f"(output {MINUS} target)"))), None)
    if "δ, their product" not in rows:
        return []
    (slope,) = (words for words in rows if words.startswith("slope of"))
    outer = above or "δ of output"
    for k, delta in enumerate(rows["δ, their product"]):
        if not delta or "NaN" in (rows[slope][k], delta):
            continue
        d, s, made = (read(text) for text in (rows[outer][k], rows[slope][k], delta))
        good = rounds_to(d.value * s.value, made)
        if above is not None:
            times = Fraction(above.partition(" · ")[0]) if " · " in above else Fraction(1)
            y, t = (read(rows[words][k]).value for words in list(rows)[:2])
            good &= abs(Fraction(y - t) * times - Fraction(d.value)) * 2 <= Fraction(d.place)
        if not good:
            wrong.append((rows, k))
    return wrong


def check(scene: Scene, steps: int, seed: int = 0) -> int:
    """Read all equations of a scene's next step off the screen's words; return how many they are."""
    scene.run.step(steps)
    subject, count = subject_of(scene), 0
    if subject.source.facts is not None and subject.probe is not None and subject.of_data:
        subject.probe[:] = subject.source.sample(seed % subject.source.facts.samples)[0]
    frame = subject.frame()
    for alone in sides(subject):
        walk = Walk(open_step(subject, alone=alone), subject, frame)
        places = range(1, len(walk) + 1)
        for at in (
            places if len(walk) <= 200 else np.random.default_rng(seed).choice(places, 200, replace=False).tolist()
        ):
            step = walk.micro_step_at(at)
            lines = lines_of(step)
            assert not [line for line in lines if not is_true(line)], (scene.name, steps, at)
            assert not false_columns(step), (scene.name, steps, at)
            count += len(lines)
    scene.run.close()
    return count


@pytest.mark.parametrize("name", [*SCENES[:2], *(pytest.param(one, marks=pytest.mark.ci) for one in SCENES[2:])])
def test_equations_of_scenes_are_true_as_printed(name):
    assert check(make_scene(name), 7) > 10


@pytest.mark.parametrize("number", ["12", *(pytest.param(one, marks=pytest.mark.ci) for one in LESSONS)])
def test_equations_of_lessons_are_true_as_printed(number):
    assert check(scene_of(number), 2) > 3


TWO = {
    "x + f": lambda x, f: x + f(x), f"x {MINUS} f": lambda x, f: x - f(x), f"f {MINUS} x": lambda x, f: f(x) - x,
    f"2 {MINUS} x": lambda x, f: 2 - x, "x / 2": lambda x, f: x / 2, "2 / x": lambda x, f: 2 / x,
    "x f": lambda x, f: x * f(x), "x x": lambda x, f: x * x, "x + x": lambda x, f: x + x, "x²": lambda x, f: x**2,
    "x³": lambda x, f: x**3, "x > 0": lambda x, f: x * (x > 0), "f f": lambda x, f: f(x) * f(x),
}  # fmt: skip


class OfTwo(nn.Module):
    """An operation on its input and a layer's output."""

    def __init__(self, made):
        super().__init__()
        self.made, self.inner = made, nn.Linear(2, 2, seed=3)

    def forward(self, x):
        return self.made(x, self.inner)


@pytest.mark.parametrize("made", TWO.values(), ids=[*TWO])
@pytest.mark.parametrize("activation", [nn.Tanh, nn.Identity])
def test_equations_of_an_operation_within_a_network_are_true_as_printed(made, activation):
    net = nn.Sequential(nn.Linear(2, 2, seed=1), activation(), OfTwo(made), nn.Linear(2, 1, seed=2))
    x, y = np.array([[0.3, 0.7], [0.2, -0.4]]), np.array([[1.0], [0.0]])
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (x, y), engine="numpy")
    assert check(Scene("two", run, x[0], y[0]), 1) > 10


@pytest.mark.hunt
@pytest.mark.parametrize("seed", range(500))
def test_equations_of_scenes_at_random_moments_are_true_as_printed(seed):
    random = np.random.default_rng(seed)
    assert check(make_scene(str(random.choice(SCENES))), int(random.integers(0, 400)), seed) > 10


def test_the_column_of_a_delta_has_enough_digits():
    random, false = np.random.default_rng(0), 0
    for _ in range(2000):
        y, t = random.random(2)
        slope, times = y * (1 - y), Fraction(2, 3)
        d = float(times) * (y - t)
        delta = f"{d * slope:+.4f}".replace("-", MINUS)
        texts = [read(text) for text in delta_column(y, t, times, d, slope, delta)]
        apart = Fraction(texts[0].value - texts[1].value) * times - Fraction(texts[2].value)
        false += abs(apart) * 2 > Fraction(texts[2].place) or not rounds_to(
            texts[2].value * texts[3].value, read(delta)
        )
    assert not false


def test_a_false_equation_would_be_found():
    assert is_true("0.0342 × 0.58 = 0.0198")
    assert not is_true("0.1487 × 0.2296 = 0.0342")
    assert not is_true(f"0.3333 {MINUS} 0.5 × 0.0232 = 0.3218")
    assert is_true(f"({MINUS}0.05524 {MINUS} 1)² / 2 = 0.5568")


def test_from_where_to_where_a_weight_goes_has_the_digits_of_its_move():
    rng = np.random.default_rng(0)
    for before, move in zip(
        rng.normal(size=500), 10 ** rng.uniform(-5, 1, 500) * rng.choice([-1, 1], 500), strict=True
    ):
        start, _, end = EQUATIONS["move"](before, before + move)
        said = float(read(end).value) - float(read(start).value)
        assert abs(said - move) <= 0.05 * abs(move), (before, move)
