"""The scene `playground` after other points: whose way is drawn, the words of the batch, the names of a table."""

from __future__ import annotations

import numpy as np
import pytest

from scalarviz.run.controls import Reader
from scalarviz.run.panels import PlaneMap
from scalarviz.view.out.offscreen import offscreen

from .test_playground_view import HOURS, THREE, Watched

pytestmark = pytest.mark.gl


@pytest.fixture
def watch():
    with offscreen():
        opened = Watched()
        opened.rest()
        yield opened
        opened.close()


def settled(watch: Watched) -> None:
    """All that was asked for is done and drawn."""
    watch.view.worker.settle()
    watch.rest()


def paste(watch: Watched, text: str) -> None:
    watch.host.clipboard = text
    watch.view.key("V", "v", ctrl=True)
    settled(watch)


def probed(watch: Watched) -> tuple[np.ndarray, float]:
    subject = watch.view.bench.subject
    return subject.probe.copy(), float(subject.target[0])


def is_shown(watch: Watched) -> bool:
    """Whether the sample whose way is drawn is a point of the data of the run, its target that of the point."""
    points = watch.scene.first.of(watch.scene.run.frame().data)
    place, wanted = probed(watch)
    away = np.abs(points.inputs - place).max(axis=1) + np.abs(points.targets - wanted)
    rows = watch.view.frame().activations["input"]
    return away.min() < 1e-5 and np.allclose(rows, place, atol=1e-6)


def change(watch: Watched, label: str, value: object) -> None:
    """What a hand does at the panel of controls."""
    control = next(one for one in watch.scene.controls if one.label == label)
    source = watch.view.bench.subject.source
    source.edit(control.change(value, Reader(watch.view.shown, source, watch.scene.options)))
    settled(watch)


@pytest.mark.parametrize(
    "other",
    [
        lambda watch: paste(watch, THREE),
        lambda watch: paste(watch, HOURS),
        lambda watch: change(watch, "data", "spiral"),
        lambda watch: change(watch, "new points", None),
        lambda watch: change(watch, "learnt from", 0.9),
    ],
    ids=["three classes", "one input", "spiral", "new points", "ratio"],
)
def test_the_way_that_is_drawn_is_that_of_a_point_that_is_shown(watch, other):
    before = probed(watch)
    other(watch)
    assert is_shown(watch)
    drawer = watch.drawer(PlaneMap)
    assert drawer is None or drawer._ring()
    watch.view.send("undo")
    settled(watch)
    assert is_shown(watch)
    np.testing.assert_array_equal(probed(watch)[0], before[0])
    assert probed(watch)[1] == before[1]
    watch.view.send("redo")
    settled(watch)
    assert is_shown(watch)


def test_a_point_that_a_hand_chose_comes_back_with_its_data(watch):
    points = watch.scene.first
    place = tuple(watch.at(points.inputs[points.learnt + 3]))  # one that is held back
    watch.view.move(place)
    watch.view.press(place, "left")
    watch.view.release(place)
    settled(watch)
    chosen = probed(watch)
    change(watch, "data", "spiral")
    assert is_shown(watch)
    assert not np.array_equal(probed(watch)[0], chosen[0])
    watch.view.send("undo")
    settled(watch)
    np.testing.assert_array_equal(probed(watch)[0], chosen[0])


def test_the_point_stays_while_others_come_and_go_and_leaves_with_its_own(watch):
    before = probed(watch)[0]
    hand = watch.drawer(PlaneMap).panel.edits
    for edit in (hand.add((0.1, 0.2)), hand.remove(4)):
        watch.view.bench.subject.source.edit(edit)
        settled(watch)
        np.testing.assert_array_equal(probed(watch)[0], before)
    watch.view.bench.subject.source.edit(hand.remove(0))
    settled(watch)
    assert is_shown(watch)
    assert not np.array_equal(probed(watch)[0], before)


def test_the_curve_and_the_head_say_the_same_batch(watch):
    """A table of few rows makes the batch smaller, and one of three classes the picture anew."""

    def said():
        sketches = watch.view.bench.side._drawn["loss"]
        return [item.text for sketch in sketches for item in sketch.texts if item.text.endswith("a step")]

    def head():
        return next(word for sketch in watch.view.bench._numbers for item in sketch.texts
                    for word in item.text.split("  ·  ") if word.startswith("batch"))  # fmt: skip

    watch.view.send("step", 2)
    watch.rest(lambda: watch.view.shown.step == 2)
    assert (said(), head()) == (["10 points a step"], "batch 10")
    paste(watch, "\n".join(THREE.splitlines()[:13]) + "\n")
    assert (said(), head()) == (["6 points a step"], "batch 6")
    watch.view.send("undo")
    settled(watch)
    assert (said(), head()) == (["10 points a step"], "batch 10")


@pytest.mark.parametrize("count", [2, 3])
def test_of_two_tables_with_the_same_numbers_each_has_its_own_names(watch, count):

    def table(names, column):
        rows = "".join(f"{k}\t{k * k % 7}\t{names[k % count]}\n" for k in range(24))
        return f"{column}\tb\tkind\n{rows}"

    def names():
        panel = watch.drawer(PlaneMap).panel
        return panel.across.name, panel.classes or panel.says

    first, second = ("Ara", "cat", "dog")[:count], ("ash", "elm", "oak")[:count]
    paste(watch, table(first, "tail"))
    assert names() == ("tail (x)", first)
    values = watch.scene.run.values.copy()
    paste(watch, table(second, "leaf"))
    assert names() == ("leaf (x)", second)
    np.testing.assert_array_equal(watch.scene.run.values, values)  # what was learnt stays
    watch.view.send("undo")
    settled(watch)
    assert names() == ("tail (x)", first)
    watch.view.send("redo")
    settled(watch)
    assert names() == ("leaf (x)", second)
    hand = watch.drawer(PlaneMap).panel.edits
    watch.view.bench.subject.source.edit(hand.add((0.1, 0.2)))
    settled(watch)
    assert names() == ("leaf (x)", second)
