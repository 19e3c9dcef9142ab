"""Captions: every claim is read off the sentence and computed again from the numbers of the step."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import words
from kit.commands import SCENES, make_scene
from scalarviz import nn, optim
from scalarviz.run.opened import captions
from scalarviz.run.opened.captions import Caption, Cause
from scalarviz.view.micro.captions import caption_at_rest
from scalarviz.view.micro.walk import Walk, open_step, sides
from scalarviz.view.shown.names import tensor_of
from scalarviz.view.shown.subject import Subject, subject_of
from scalarviz.view.workbench import Workbench

NUMBER = r"(−?\d[\d,]*(?:\.\d+)?(?:e−?\d+)?)"
LOST = "A number of this step is infinite or no number: the run has diverged."


def value(text: str) -> Decimal:
    return Decimal(text.replace("−", "-").replace(",", ""))


def place(text: str) -> Decimal:
    """The worth of the last digit."""
    exponent = value(text).as_tuple().exponent
    assert isinstance(exponent, int)
    return Decimal(1).scaleb(exponent)


def is_rounded(text: str, exact: float, *, parts: Decimal = Decimal("0.5")) -> bool:
    """Whether a printed number is `exact`, rounded in its last digit."""
    return abs(value(text) - Decimal(float(exact))) <= (parts + Decimal("1e-6")) * place(text)


def one(pattern: str, text: str) -> tuple[str, ...] | None:
    found = re.search(pattern.replace("#", NUMBER), text)
    return found.groups() if found else None


def check_arithmetic(text: str) -> None:
    """What a reader can compute from the printed numbers alone."""
    if said := one(r"is #\. This weight, #, turns it into #", text):
        x, weight, made = said
        assert abs(value(x) * value(weight) - value(made)) <= place(made) / 2, text
        if sized := one(r"turns it into [^:]+: the sum of .* (rises|falls) by #\.", text):
            assert sized[0] == ("rises" if value(made) > 0 else "falls"), text
            assert value(sized[1]) == abs(value(made)), text
    if said := one(r" is #; its target is #\. It is too (high|low) by #", text):
        y, target, way, gap = said
        assert value(y) - value(target) == (1 if way == "high" else -1) * value(gap), text
    if said := one(r"(rises|falls) by #, from # to #", text):
        way, move, before, after = said
        by = value(after) - value(before)
        assert by == (1 if way == "rises" else -1) * value(move), text
        if rate := one(r": # \(the learning rate\) times #\.", text):
            assert abs(value(rate[0]) * value(rate[1]) - value(move)) <= place(move) / 2, text
    if said := one(r"was negative \(#\)(, so the other way round)", text):
        assert value(said[0]) < 0, text


# ---- captions of random numbers


def draws(seed: int, count: int):
    """Numbers of all sizes, whole ones, zeros and equal ones among them."""
    draw = np.random.default_rng(seed)
    kinds = (
        lambda: float(draw.normal()), lambda: float(draw.normal() * 10.0 ** draw.uniform(-7, 4)), lambda: 0.0,
        lambda: float(draw.integers(-3, 4)), lambda: float(np.round(draw.normal(), 2)),
    )  # fmt: skip
    for _ in range(count):
        yield draw, [kinds[int(draw.choice(5, p=[0.55, 0.25, 0.04, 0.1, 0.06]))]() for _ in range(4)]


def check_random(seed: int, count: int) -> None:
    for draw, (a, b, c, d) in draws(seed, count):
        said = captions.product("input x", a, b, "unit h1", mean=bool(draw.integers(2))).text
        check_arithmetic(said)
        if a * b and (makes := one(r"turns it into #", said)):
            assert is_rounded(makes[0], a * b), said
        said = captions.ways_missed("output y", a, b, farthest=False)[0].text
        check_arithmetic(said)
        assert ("exactly" in said) == (a == b)
        assert ("too high" in said) == (a > b)
        assert ("too low" in said) == (a < b)
        if gap := one(r"too (?:high|low) by (?:only )?#", said):
            assert is_rounded(gap[0], abs(a - b)), said
        rate = float(draw.choice([0.5, 0.1, 0.03, 0.01, 0.001]))
        moved = [b, b - rate * c, b + 0.1 * d][int(draw.integers(3))]
        plain = moved == b - rate * c
        said = captions.update(b, moved, c, rate if plain else None, "").text
        check_arithmetic(said)
        check_update(said, b, moved, c)
        source, x = ("input x", d) if draw.integers(2) else ("", 1.0)  # a bias is always multiplied by 1
        others = [c * x, *(float(x) for x in draw.normal(size=3) * abs(c * x) * draw.uniform(0, 3))]
        gap_or_none = (a, b) if draw.integers(2) else None
        said = captions.gradient(Cause(source, x, "output y", c, gap_or_none), np.array(others)).text
        check_gradient(said, c * x, others)
        if high := one(r"too (high|low) by #", said):
            check_way(high, a - b, said)
        said = captions.slope(c, np.array([c, a]), "over 9 samples").text
        check_gradient(said, c, [c, a])
        said = captions.delta("unit h1", a, summed=True, slope=b).text
        check_delta(said, a)


def check_way(said: tuple[str, str], exact: float, whole: str) -> None:
    """A word for the sign, and the number's size or the number itself."""
    word, shown = said
    assert (word == "high") == (exact > 0), whole
    assert is_rounded(shown.removeprefix("−"), abs(exact)), whole
    assert not shown.startswith("−") or exact < 0, whole


def check_update(said: str, before: float, after: float, gradient: float) -> None:
    if after == before:
        assert said.startswith("It stays at "), said
        assert ("its gradient is 0" in said) <= (gradient == 0), said
        return
    way, move = one(r"(rises|falls) by #", said)
    assert (way == "rises") == (after > before), said
    assert is_rounded(move, abs(after - before)), said
    for pattern, exact in ((r"from #", before), (r" to #[,.:]?", after)):
        if found := one(pattern, said):
            assert is_rounded(found[0], exact), said
    if "although its gradient of now asks" in said:
        assert (after - before) * gradient > 0, said
        assert said.endswith("rise." if gradient < 0 else "fall."), said
    else:
        assert (after - before) * gradient <= 0, said
    if "through zero" in said:
        assert before * after < 0, said
    if found := one(r"times its gradient #", said):  # rate times gradient goes down, minus rate times gradient up
        assert is_rounded(found[0], gradient), said
        assert ("minus" in said) == (way == "rises"), said


def check_gradient(said: str, gradient: float, others: list[float]) -> None:
    if gradient == 0:
        assert "0" in said, said
        assert "must" not in said, said
        return
    assert re.search(r"(this weight|this bias|it) must (\w+)", said)[2] == ("fall" if gradient > 0 else "rise"), said
    largest = max(map(abs, others))
    share = abs(gradient) / largest
    words = {"the most of its layer": 0.999, "strongly": 0.5, "a little": 0.01, "but hardly": 0.0}
    upper = {"strongly": 1.0, "a little": 0.1, "but hardly": 0.01}
    for word, least in words.items():
        if f", {word}." in said:
            assert least <= share <= upper.get(word, 1.0), said
    if grows := one(r"a larger \w+ (raises|lowers) the loss \(g = #\)", said):
        check_way((grows[0].replace("raises", "high"), grows[1]), gradient, said)


def check_delta(said: str, delta: float) -> None:
    if delta == 0:
        assert "does not change" in said, said
        return
    grows, shown = one(r"(?i)the loss (grows|falls) when .* rises \(δ = #\)", said)
    check_way((grows.replace("grows", "high"), shown), delta, said)
    if must := one(r"so that (?:sum|number) must (fall|rise)", said):
        assert (must[0] == "fall") == (delta > 0), said


def test_captions_of_random_numbers_are_true():
    check_random(0, 300)


@pytest.mark.hunt
@pytest.mark.parametrize("seed", range(1, 11))
def test_captions_of_many_random_numbers_are_true(seed):
    check_random(seed, 2000)  # five captions each: 100,000 in all


def test_a_number_that_is_lost_is_said():
    for lost in (float("nan"), float("inf")):
        for made in (
            captions.product("x", lost, 1.0, "y", mean=False), captions.added("y", 2, lost, bias=True, mean=False),
            captions.bent("y", "tanh", 1.0, lost), captions.number("y", lost),
            captions.ways_missed("y", lost, 0.0, farthest=True)[0],
            captions.voted("y", lost), captions.whole_loss(lost, "colour", ""),
            captions.delta("y", lost, summed=True), captions.gradient(Cause("x", lost, "y", 1.0), np.zeros(0)),
            captions.slope(lost, np.zeros(0), "over 2"), captions.update(0.0, lost, 1.0, 0.1, ""),
        ):  # fmt: skip
            assert made.text == LOST


def test_shares_are_never_rounded_to_all_or_nothing():
    said = [captions.percent(share).text for share in (0.0, 1e-9, 0.004, 0.0051, 0.5, 0.9949, 0.996, 1 - 1e-9, 1.0)]
    few, many = "less than 1 %", "more than 99 %"
    assert said == ["0 %", few, few, "1 %", "50 %", "99 %", many, many, "100 %"]


def test_names_with_braces_and_long_names():
    made = captions.delta("{0}{target}" * 30, 1.0, summed=True)
    assert "{0}{target}" in made.text
    assert len(captions.named("x" * 300)) == captions.LONGEST


# ---- captions of all scenes, and of random networks


def subjects_of(seed: int):
    """A random network as a subject."""
    draw = np.random.default_rng(seed)
    widths = [
        int(draw.integers(1, 4)),
        *draw.integers(1, 5, int(draw.integers(0, 3))).tolist(),
        int(draw.integers(1, 4)),
    ]
    acts = [nn.Tanh, nn.Sigmoid, nn.ReLU, nn.GELU]
    layers: list[nn.Module] = []
    for k, (wide, after) in enumerate(itertools.pairwise(widths)):
        layers.append(nn.Linear(int(wide), int(after), bias=bool(draw.integers(2))))
        if k < len(widths) - 2 or draw.integers(2):
            layers.append(acts[int(draw.integers(4))]())
    net = nn.Sequential(*layers)
    classes = widths[-1] > 1 and bool(draw.integers(2))
    count = int(draw.integers(2, 9))
    x = draw.normal(size=(count, widths[0])).round(int(draw.integers(0, 4)))
    y = draw.integers(0, widths[-1], count) if classes else draw.normal(size=(count, widths[-1]))
    rules = [
        lambda p: optim.SGD(p, lr=0.1), lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: optim.Adam(p, lr=0.01), lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.3),
    ]  # fmt: skip
    rule = rules[int(draw.integers(4))](net.parameters())
    loss = nn.CrossEntropyLoss() if classes else nn.MSELoss()
    run = sv.Run(net, loss, rule, data=(x, y), batch_size=int(draw.integers(1, count + 1)), dtype="float64")
    run.step(int(draw.integers(0, 5)))
    return subject_of(run)


def check_walk(subject: Subject, *, alone: bool, some: int = 40) -> int:
    """Check the captions of micro-steps of an opened step; return how many."""
    opened = open_step(subject, alone=alone)
    walk = Walk(opened, subject, subject.frame())
    chosen = sorted({*np.linspace(1, len(walk), min(some, len(walk))).round().astype(int).tolist()})
    for at in chosen:
        step, told = walk.steps[at - 1], walk.micro_step_at(at).sentence
        said = told.caption.text
        assert re.fullmatch(r"[^a-z].*\.", said), (step.words, said)
        assert len(said) <= captions.MOST, said
        if said == LOST:
            assert not np.isfinite(opened.gradient).all() or not np.isfinite(opened.loss), said
            continue
        check_arithmetic(said)
        if step.phase == "gradients" and step.kind != "clear" and told.index >= 0:
            tensor = tensor_of(subject, told.index)
            layer = [s for s in subject.stages if tensor in (s.weight, s.bias)][:1]
            tensors = [tensor] if not layer else [t for t in (layer[0].weight, layer[0].bias) if t is not None]
            others = np.concatenate([opened.gradient[t.start : t.start + t.size] for t in tensors])
            check_gradient(said, float(opened.gradient[told.index]), others.tolist())
        elif step.phase == "update" and told.index >= 0 and not opened.update(told.index).why:
            found = opened.update(told.index)
            check_update(said, found.before, found.after, found.gradient)
        elif step.phase == "backward" and step.value == step.value and one(r"\(δ = #\)", said):
            check_delta(said, step.value)
        elif step.phase == "loss" and alone and (gap := one(r"too (high|low) by #", said)):
            made = opened.rows[opened.stages[-1].name][:, 0]
            gaps = made - opened.targets[:, 0]
            worst = int(np.argmax(np.abs(gaps)))
            check_way(gap, gaps[worst], said)
        elif step.phase == "loss" and (share := one(r"got # % of the votes", said)):
            made = opened.rows[opened.stages[-1].name][:, 0]
            wanted = np.exp(made - made.max())[int(opened.targets[0, 0])] / np.exp(made - made.max()).sum()
            assert is_rounded(share[0], 100 * wanted), said
        elif step.phase == "loss" and (loss := one(r"is #\. Training makes it smaller", said)):
            assert is_rounded(loss[0], opened.loss), said
        elif step.phase == "forward" and step.kind in ("stage", "node") and step.value == step.value:
            made = None if "%" in said else one(r" is #(?:[,.:]|$)", said)
            assert made is None or is_rounded(made[0], step.value), said
    return len(chosen)


@pytest.mark.parametrize("name", SCENES)
def test_captions_of_scenes_are_true(name):
    scene = make_scene(name)
    scene.run.step(int(np.random.default_rng(len(name)).integers(1, 30)))
    subject = subject_of(scene)
    counts = [check_walk(subject, alone=alone, some=25) for alone in sides(subject)]
    scene.run.close()
    assert all(counts)


@pytest.mark.parametrize("name", SCENES)
def test_at_rest_a_picture_says_what_is_wrong_with_its_outputs(name):
    scene = make_scene(name)
    for _ in range(3):
        scene.run.step(5)
        subject = subject_of(scene)
        frame = subject.frame()
        caption = caption_at_rest(subject, frame)
        said = "" if caption is None else caption.ways[0]
        if subject.target is None or not subject.stages:
            assert not said
            continue
        check_arithmetic(said)
        made = np.asarray(frame.activations[subject.stages[-1].name], float)
        if gap := one(r"too (high|low) by #", said):
            gaps = made - np.asarray(subject.target, float)
            check_way(gap, gaps[int(np.argmax(np.abs(gaps)))], said)
        elif share := one(r"^Class (\d+) is the right answer and got # % of the votes", said):
            wanted = np.exp(made[int(subject.target[0])]) / np.exp(made).sum()
            assert is_rounded(share[1], 100 * wanted), said
        else:
            assert said == "" or "exactly" in said or "than" in said, said
        shown = words(Workbench(subject, (1280, 720))._texts(frame, "")) if said else []
        assert said in " ".join(shown), (said, shown)
    scene.run.close()


@pytest.mark.parametrize("seed", range(4))
def test_captions_of_random_networks_are_true(seed):
    subject = subjects_of(seed)
    for alone in sides(subject):
        check_walk(subject, alone=alone)


@pytest.mark.hunt
@pytest.mark.parametrize("seed", range(100, 200))
def test_captions_of_many_random_networks_are_true(seed):
    subject = subjects_of(seed)
    for alone in sides(subject):
        check_walk(subject, alone=alone, some=1000)


def test_a_template_can_be_filled_with_other_numbers():
    """A page fills it for frames that it computes."""
    made = captions.ways_missed("output y", 0.57, 0.08, farthest=False)[0]
    other = Caption(made.template, captions.gap_of(0.7, 0.1), made.names)
    assert other.text == "Output y is 0.70; its target is 0.10. It is too high by 0.60."
    assert Fraction(made.numbers["gap"].value) == Fraction(49, 100)


@pytest.mark.parametrize("gap", [4.4e-16, 3e-10, 4e-7, 6e-7, 1e-3])
def test_an_output_beside_its_target_is_said_in_digits_that_can_be_read(gap):
    said = captions.ways_missed("output y", 4.0 - gap, 4.0, farthest=False)[0].text
    assert not re.search(r"\d\.\d{8}", said), said
    check_way(one(r"too (high|low) by (?:only )?#", said), (4.0 - gap) - 4.0, said)


@pytest.mark.parametrize("norm", [lambda: nn.BatchNorm2d(2), lambda: nn.GroupNorm(1, 2)])
def test_a_norm_of_maps_has_captions_at_each_micro_step_and_pictures(norm):
    draw = np.random.default_rng(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), norm(), nn.Flatten(), nn.Linear(32, 2))
    run = sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1),
                 data=(draw.normal(size=(8, 1, 6, 6)), np.arange(8) % 2))  # fmt: skip
    run.step(2)
    subject = subject_of(run)
    for alone in sides(subject):
        for at in range(1, check_walk(subject, alone=alone, some=1000) + 1, 4):
            assert sv.render(run, (320, 200), inside=at, whole_batch=not alone).any()
