"""The composed picture: every number on it is true, what stays is kept, and pixels are what the list says."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import scalarviz as sv
from kit.benches import KEYS, again, assert_readable, bench_of, pixels_of, rgb, said, signed, texts
from scalarviz.run.panels import LossCurve, Pictures
from scalarviz.view.ink.text import number
from scalarviz.view.ink.theme import DARK
from scalarviz.view.ink.theme import rgb as colour
from scalarviz.view.notes.layer import loss_line
from scalarviz.view.shown.subject import Sample


@pytest.fixture(scope="module")
def single():
    with (made := rgb()).run:
        yield made


@pytest.fixture(scope="module")
def deep():
    with (made := rgb(16, 16)).run:
        yield made


# ---- truth


def test_every_number_is_that_of_the_frame(single):
    frame, words = single.run.frame(single.probe), said(bench_of(single))
    assert {f"{frame.step:,}", f"{frame.loss:.4f}", "lr 0.5", "SGD", "batch 64", "weight"} <= set(words)
    assert {signed(value) for value in frame.values} <= set(words)
    weight, bias = (t.of(frame.values).astype(float) for t in single.run.tensors)
    sums = weight @ single.probe + bias
    outputs = 1 / (1 + np.exp(-sums))
    loss = np.mean((outputs - single.probe_target) ** 2)
    assert {*map(signed, sums), *(f"{n:.2f}" for n in [*outputs, *single.probe_target])} <= set(words)
    assert f"loss of this colour {loss:.4f}" in words
    assert loss_line(Sample((), (), colours=True), 2.9e-5) == "loss of this colour 2.9e−5"  # never a rounded 0.0000


@pytest.mark.parametrize("hidden", [(1,), (4, 4)])
def test_every_cube_of_a_small_network_carries_its_value(hidden):
    with (scene := rgb(*hidden, steps=0)).run as run:
        wanted = Counter(number(v, signed=True) if v else "0" for v in run.values)
        assert not wanted - Counter(said(bench_of(scene)))  # the legend's ends may repeat one
        fresh = bench_of(scene, quantity="gradient")  # not computed yet: it has no number and no colour
        assert fresh.slab.atlas.flags.any()
        assert any(word.startswith("w ") for word in said(fresh)) == (hidden == (1,))
        run.step(1)
        assert not any(word.startswith("w ") for word in said(again(fresh)))
        assert any(re.fullmatch(r"mean of [\w ,]+ · (log · )?[\d.]+ % clipped", word) for word in said(fresh))


def test_a_deeper_network_shows_names_shapes_ranges_and_what_becomes_of_the_sample(deep):
    frame, bench = deep.run.frame(deep.probe), bench_of(deep)
    words = set(said(bench))

    def most(block):
        return min(np.abs(block).max(), 3 * np.sqrt(np.mean(block.astype(float) ** 2)))

    for tensor in (tensor for tensor in deep.run.tensors if tensor.role == "weight"):
        v = most(tensor.of(frame.values))
        assert {tensor.name, f"{tensor.shape[0]}×{tensor.shape[1]}   ±{v:.2f}"} <= words
    assert {"input", "output", "tanh", "activation"} <= words
    output = deep.run.predict(deep.probe[None], frame.values)[0]
    assert f"loss of this colour {np.mean((output - deep.probe_target) ** 2):.4f}" in words
    share = 100 * np.mean(np.abs(frame.values) > most(frame.values))
    assert f"range of the network · {share:.2g} % clipped" in words


def test_the_networks_pictures_are_its_own(single):
    photo, frame = np.random.default_rng(0).random((24, 36, 3)), single.run.frame(single.probe)
    bench = bench_of(sv.Scene("photo", single.run, panels=(Pictures(photo, 1 - photo),)))
    _, now, wanted = [i.pixels for s in bench.sketches for i in s.images if i.pixels.shape == photo.shape]
    made = single.run.predict(photo.reshape(-1, 3), frame.values).reshape(photo.shape)
    assert np.abs(now - 255 * made).max() <= 0.51
    assert np.abs(wanted - 255 * (1 - photo)).max() <= 0.51


# ---- time


def test_the_dashed_curve_is_measured_as_the_run_goes_and_survives_a_new_size():
    with (scene := rgb(steps=0)).run as run:
        bench, test, wanted = bench_of(scene), next(p for p in scene.panels if isinstance(p, LossCurve)).test, []
        for _ in range(4):
            values = run.frame().values
            wanted.append(np.mean((run.predict(test.inputs, values) - test.targets) ** 2))
            again(bench, 0.1)
            run.step(2)
        bench.resize((960, 540), 2)
        drawer = bench.side.drawer(LossCurve)
        assert np.allclose(drawer.losses, wanted, rtol=1e-5)
        assert (drawer.steps, bench.size) == ([0, 2, 4, 6], (1920, 1080))


def test_what_did_not_change_is_not_built_again(single):
    bench, frame = bench_of(single), single.run.frame(single.probe)
    bench.update(frame, "", 0.01)
    layout, before = bench.layout, {name: bench.side.drawn(name) for name in bench.side.drawers}
    static = texts(bench.scenery.static)
    bench.update(frame, "", 0.01)
    assert any(before.values())
    assert all(bench.side.drawn(name) is drawn for name, drawn in before.items())
    again(bench, 0.1)
    assert bench.layout is layout
    assert texts(bench.scenery.static) == static


@pytest.mark.parametrize("size", [(1080, 1080), (160, 160)])
def test_with_keys_too_no_text_covers_another_and_legends_are_no_wider_than_they_need(deep, size):
    bench = bench_of(deep, size, keys=KEYS)
    assert_readable(bench.sketches, bench.places.size)
    assert size[0] < 300 or {"Space", "run"} <= set(said(bench))
    bench = bench_of(deep, (640, 360))
    sketches = bench.strip.sketches(bench.places.strip, bench.subject.frame())
    bars = [image.rect[2] for sketch in sketches for image in sketch.images]
    assert bars[-1] == 290.0  # the note beside the title still has room
    assert sum(bars) <= 290.0 + 220.0


# ---- pixels


@pytest.mark.gl
def test_the_corner_is_background_a_fifth_is_not_and_twice_the_resolution_is_the_same_picture(single):
    picture = pixels_of(bench_of(single))
    ground, glow = (np.array([round(255 * c) for c in colour(name)]) for name in (DARK.background, DARK.glow))
    assert all(np.array_equal(picture[y, x], ground) for y in (0, -1) for x in (0, -1))
    assert (np.abs(picture - ground).max(axis=2) > np.abs(glow - ground).max() + 2).mean() > 0.2
    large, small = (
        pixels_of(bench_of(single, supersample=k)).reshape(90, 8 * k, 160, 8 * k, 3).mean(axis=(1, 3)) for k in (1, 2)
    )
    assert np.abs(small - large).mean() < 2
    assert (np.abs(small - large).max(axis=2) < 25).mean() > 0.97


@pytest.mark.gl
def test_swatches_have_the_samples_colours(deep):
    bench = bench_of(deep)
    picture, words = pixels_of(bench), texts(bench.sketches)
    output = deep.run.predict(deep.probe[None], deep.run.frame().values)[0]
    for name, wanted in (("input", deep.probe), ("output", output), ("target", deep.probe_target)):
        label = [t for t in words if t.text == name][-1]  # the row of cubes has its own, placed before
        assert np.abs(picture[round(label.y) + 30, round(label.x)] - 255 * np.asarray(wanted)).max() <= 2
