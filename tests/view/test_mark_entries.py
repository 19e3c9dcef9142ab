"""Every mark that a cube shows has an entry below the legends, and none has one that no cube shows."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import KEYS, bench_of, box_of, overlap, rgb
from scalarviz import nn, optim
from scalarviz.view.cubes.scale import share_text
from scalarviz.view.ink.text import measure
from scalarviz.view.ink.theme import DARK, LIGHT
from scalarviz.view.screen.strip import ICONS, WORDS, marks_line

ENTRIES = {word for pair in WORDS.values() for word in pair}


def entries(bench):
    low = bench.places.strip[1] + bench.places.strip[3]
    return {t.text for sketch in bench.sketches for t in sketch.texts if t.y > low and t.text in ENTRIES}


def marked(run):
    """A run with every mark that numbers make, and a frozen weight."""
    run.set_weights(0, [np.nan, np.inf, -np.inf])
    run.model[0].weight[1][0].frozen = True


@pytest.mark.parametrize(("numbers", "wanted"), [
    ([], set()), ([np.nan], {"NaN"}), ([np.inf], {"+∞"}), ([-np.inf, np.inf], {"+∞", "\N{MINUS SIGN}∞"}),
])  # fmt: skip
def test_a_mark_has_its_entry_while_it_is_on_screen(numbers, wanted):
    with (scene := rgb(steps=0)).run as run:
        before = run.values[: len(numbers)].copy()
        run.set_weights(0, numbers) if numbers else None
        bench = bench_of(scene)
        assert entries(bench) == wanted
        run.set_weights(0, before) if numbers else None
        run.model[0].weight[1][0].frozen = True
        bench.update(bench.subject.frame())
        assert entries(bench) == {"frozen"}
        run.model[0].weight[1][0].frozen = False
        bench.set_look(quantity="gradient")
        bench.update(bench.subject.frame())
        assert entries(bench) == {"not computed yet"}
        run.step(1)
        bench.update(bench.subject.frame())
        assert entries(bench) == set()


def test_one_weight_far_out_is_clipped_and_dead_units_are_said():
    with (scene := rgb(16)).run as run:  # of few weights none lies beyond three times their root mean square
        run.set_weights(0, [90.0])
        assert entries(bench_of(scene)) == {"clipped: beyond the range"}
        small = bench_of(scene, (400, 250))
        assert small.places.strip is None or not entries(small)  # cubes of five pixels have no teeth
    net = nn.Sequential(nn.Linear(3, 8, seed=0), nn.ReLU(), nn.Linear(8, 2, seed=1))
    rng = np.random.default_rng(0)
    data = rng.random((32, 3)), rng.random((32, 2))
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy") as run:
        run.set_weights(next(t for t in run.tensors if t.name == "0.bias").start, [-9.0] * 3)
        assert "dead: 0 for every sample" in entries(bench_of(run))


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (720, 1280), (960, 540), (640, 480)])
@pytest.mark.parametrize("keys", [(), KEYS])
def test_entries_cover_nothing_and_stand_clear_of_the_time_bar(size, keys):
    with (scene := rgb(steps=3)).run as run:
        marked(run)
        bench = bench_of(scene, size, keys=keys)
        for index in (None, 4):
            bench.select(index)
            bench.update(bench.subject.frame())
            texts = [t for sketch in [*bench.sketches, *bench.overlays[0]] for t in sketch.texts]
            for entry in (t for t in texts if t.text in ENTRIES):
                box = box_of(entry)
                assert box[3] < bench.places.size[1] - 2
                assert bench.places.time is None or entry.y + 2 <= bench.places.time[1] - 2  # its icon ends there
                assert [t.text for t in texts if t.text != entry.text and overlap(box, box_of(t))] == []


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_each_icon_is_drawn_and_the_line_fits(theme):
    assert set(ICONS) == set(WORDS)
    for width in (344.0, 200.0, 60.0, 10.0):
        sketch = marks_line((100.0, 700.0, width, 0.0), theme, tuple(WORDS))
        assert all(100.0 <= t.x <= t.x + measure(t.text, t.size) <= 100.0 + width + 1e-6 for t in sketch.texts)
        assert (len(sketch.triangles) > 0) == bool(sketch.texts)
    full = marks_line((0.0, 700.0, 2000.0, 0.0), theme, tuple(WORDS))
    assert [t.text for t in full.texts] == [long for long, _ in WORDS.values()]


def test_a_share_is_said_without_a_power_of_ten():
    said = {0.0: "0 %", 0.0001: "<0.1 %", 0.026: "2.6 %", 0.996: "100 %", 1.0: "100 %"}
    assert {share: share_text(share) for share in said} == said
