"""Every mark that a cube shows has an entry below the legends, and none has one that no cube shows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run.scene.scene import Scene
from scalarviz.view.cubes.scale import share_text
from scalarviz.view.ink.text import CAP_HEIGHT, measure
from scalarviz.view.ink.theme import DARK, LIGHT
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.screen.strip import ICONS, WORDS, marks_line
from scalarviz.view.workbench import Workbench

from .test_first_sample import own_scene

pytestmark = pytest.mark.gl
ENTRIES = {word for pair in WORDS.values() for word in pair}


def bench_of(scene: Scene, quantity: str = "weight", size: tuple[int, int] = (1280, 720)) -> Workbench:
    with offscreen():
        bench = Workbench(scene, size, quantity=quantity)
        bench.update(bench.subject.frame())
    return bench


def entries(bench: Workbench) -> set[str]:
    strip = bench.places.strip
    assert strip is not None
    low = strip[1] + strip[3]
    return {t.text for sketch in bench.sketches for t in sketch.texts if t.y > low and t.text in ENTRIES}


def nothing(scene: Scene) -> None:
    pass


def freeze(scene: Scene) -> None:
    scene.run.model[0].weight[1][0].frozen = True


def put(*numbers: float) -> Callable[[Scene], None]:
    return lambda scene: scene.run.set_weights(0, list(numbers))


CASES: list[tuple[Callable[[Scene], None], str, set[str]]] = [
    (nothing, "weight", set()),
    (freeze, "weight", {"frozen"}),
    (put(np.nan), "weight", {"NaN"}),
    (put(np.inf), "weight", {"+∞"}),
    (put(-np.inf, np.inf), "weight", {"+∞", "\N{MINUS SIGN}∞"}),
    (nothing, "gradient", {"not computed yet"}),
]


@pytest.mark.parametrize(("change", "quantity", "wanted"), CASES)
def test_a_mark_has_its_entry_while_it_is_on_screen(
    change: Callable[[Scene], None], quantity: str, wanted: set[str]
) -> None:
    scene = own_scene(3, 3)
    change(scene)
    assert entries(bench_of(scene, quantity)) == wanted
    scene.run.close()


def test_an_entry_goes_with_its_mark() -> None:
    scene = own_scene(3, 3)
    bench = bench_of(scene, "gradient")
    assert entries(bench) == {"not computed yet"}
    scene.run.step(1)
    with offscreen():
        bench.update(bench.subject.frame())
    assert entries(bench) == set()
    scene.run.close()


def test_one_weight_far_out_is_clipped_and_said_so() -> None:
    scene = own_scene(5, 16, 3)  # of few weights none lies beyond three times their root mean square
    scene.run.set_weights(0, [90.0])
    bench = bench_of(scene)
    assert entries(bench) == {"clipped: beyond the range"}
    small = bench_of(scene, size=(400, 250))
    if small.places.strip is not None:  # cubes of five pixels have no teeth
        assert not entries(small)
    scene.run.close()


def test_dead_units_are_said() -> None:
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    net.initialize(nn.init.pytorch_default(), seed=0)
    rng = np.random.default_rng(0)
    data = rng.random((32, 3)), rng.random((32, 2))
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy")
    bias = next(t for t in run.tensors if t.name == "0.bias")
    run.set_weights(bias.start, [-9.0] * 3)
    bench = bench_of(Scene("dead", run))
    assert "dead: 0 for every sample" in entries(bench)
    run.close()


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (720, 1280), (960, 540)])
@pytest.mark.parametrize("keys", [(), (("Space", "run"), ("?", "all keys"))])
def test_entries_cover_no_other_text_and_stay_in_the_picture(
    size: tuple[int, int], keys: tuple[tuple[str, str], ...]
) -> None:
    scene = own_scene(3, 3)
    put(np.nan, np.inf, -np.inf)(scene)
    freeze(scene)
    with offscreen():
        bench = Workbench(scene, size, keys=keys)
        for index in (None, 4):
            bench.select(index)
            bench.update(bench.subject.frame())
            boxes = []
            panels = [s for layer in bench.overlays[:1] for s in layer]
            for t in [t for s in [*bench.sketches, *panels] for t in s.texts]:
                wide = measure(t.text, t.size, t.bold)
                left = t.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[t.anchor] * wide
                boxes.append((t.text, left, t.y - CAP_HEIGHT * t.size, left + wide, t.y))
            for text, left, top, right, bottom in boxes:
                if text in ENTRIES:
                    assert bottom < bench.places.size[1] - 2
                    for other, a, b, c, d in boxes:
                        apart = right <= a or c <= left or bottom <= b or d <= top
                        assert other == text or apart, (text, other)
    scene.run.close()


@pytest.mark.parametrize("size", [(1280, 720), (640, 480), (960, 540)])
def test_entries_stand_clear_of_the_time_bar_and_of_the_legends_numbers(size: tuple[int, int]) -> None:
    scene = own_scene(3, 3)
    scene.run.step(3)
    freeze(scene)
    with offscreen():
        bench = Workbench(scene, size, keys=(("Space", "run"),))
        bench.update(bench.subject.frame())
    (entry,) = [t for sketch in bench.sketches for t in sketch.texts if t.text in ENTRIES]
    numbers = [
        t for sketch in bench.sketches for t in sketch.texts if t.text.startswith(("+", "−")) and t.size == entry.size
    ]
    assert bench.places.time is not None
    assert entry.y + 2 <= bench.places.time[1] - 2  # its icon ends there
    assert all(t.y <= entry.y - 11 - 2 for t in numbers if t.y > bench.places.strip[1] + 30)  # type: ignore[index]
    scene.run.close()


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_each_icon_is_drawn_and_the_line_fits(theme: object) -> None:
    assert set(ICONS) == set(WORDS)
    for width in (344.0, 200.0, 60.0, 10.0):
        sketch = marks_line((100.0, 700.0, width, 0.0), theme, tuple(WORDS))  # type: ignore[arg-type]
        ends = [t.x + measure(t.text, t.size) for t in sketch.texts]
        assert all(end <= 100.0 + width + 1e-6 for end in ends)
        assert all(t.x >= 100.0 for t in sketch.texts)
        assert (len(sketch.triangles) > 0) == bool(sketch.texts)
    full = marks_line((0.0, 700.0, 2000.0, 0.0), theme, tuple(WORDS))  # type: ignore[arg-type]
    assert [t.text for t in full.texts] == [long for long, _ in WORDS.values()]


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.0001, "<0.1 %"), (0.026, "2.6 %"), (0.996, "100 %"), (1.0, "100 %")]
)
def test_a_share_is_said_without_a_power_of_ten(share: float, text: str) -> None:
    assert share_text(share) == text
