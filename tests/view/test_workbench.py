"""The composed picture: truth of every number on it, no overlap at any size, and that looking changes nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import UnknownNameError
from scalarviz.run import panels as described
from scalarviz.run.panels import ColourCube, LossCurve, Pictures
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.sketch import Sketch, TextItem
from scalarviz.view.ink.text import CAP_HEIGHT, measure, number
from scalarviz.view.ink.theme import DARK, rgb
from scalarviz.view.notes.layer import loss_line
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.screen.strip import Strip
from scalarviz.view.shown.subject import Sample
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl

SIZES = [
    (1280, 720),
    (1920, 1080),
    (640, 360),
    (720, 720),
    (1080, 1080),
    (720, 1280),
    (960, 540),
    (400, 400),
    (160, 160),
    (2000, 500),
    (300, 1000),
]
MINUS = "\N{MINUS SIGN}"


def make_scene(*hidden: int, steps: int = 20, seed: int = 0) -> Scene:
    """Inverted colours, trained a little by the NumPy tier."""
    rng = np.random.default_rng(seed)
    colours = rng.random((256, 3))
    sizes, layers = (3, *hidden, 3), []
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        layers += [nn.Linear(n_in, n_out), nn.Sigmoid() if k == len(hidden) else nn.Tanh()]
    net = nn.Sequential(*layers)
    net.initialize(nn.init.normal(0, 1), seed=seed)
    run = sv.Run(
        net,
        nn.MSELoss(),
        optim.SGD(net.parameters(), lr=0.5),
        data=(colours, 1 - colours),
        batch_size=64,
        engine="numpy",
    )
    run.step(steps)
    side = np.linspace(0, 1, 6)
    cube = np.stack(np.meshgrid(side, side, side, indexing="ij"), -1).reshape(-1, 3)
    photo = rng.random((24, 36, 3))
    probe = np.array([0.92, 0.58, 0.18])
    test = described.TestCurve("the photo", photo.reshape(-1, 3), 1 - photo.reshape(-1, 3))
    names = ("r", "g", "b")
    return Scene(
        "rgb",
        run,
        probe,
        1 - probe,
        names,
        names,
        (Pictures(photo, 1 - photo), ColourCube(cube, 1 - cube), LossCurve("64 colours", test)),
    )


def panel_of(scene: Scene, kind: type) -> Any:
    """The scene's panel of a kind."""
    return next(panel for panel in scene.panels if isinstance(panel, kind))


@pytest.fixture(scope="module")
def single() -> Iterator[Scene]:
    scene = make_scene()
    yield scene
    scene.run.close()


@pytest.fixture(scope="module")
def deep() -> Iterator[Scene]:
    scene = make_scene(16, 16)
    yield scene
    scene.run.close()


def bench_of(scene: Scene, size: tuple[int, int] = (1280, 720), **options: object) -> Workbench:
    with offscreen():
        bench = Workbench(scene, size, **options)  # type: ignore[arg-type]
        bench.update(scene.run.frame(scene.probe), "pace 1 step a frame  ·  60 frames/s  ·  numpy, 1 thread")
    return bench


def picture_of(bench: Workbench) -> np.ndarray:
    return offscreen().render(bench.draw, bench.size)


def texts(bench: Workbench) -> list[TextItem]:
    return [item for sketch in bench.sketches for item in sketch.texts]


def words(bench: Workbench) -> list[str]:
    return [item.text for item in texts(bench)]


def box_of(item: TextItem) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the ink of a text without descenders."""
    wide = measure(item.text, item.size, item.bold)
    left = item.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor] * wide
    return left, item.y - CAP_HEIGHT * item.size, left + wide, item.y


# layout


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["single", "deep"])
def test_no_text_is_cut_covers_another_or_is_too_small(
    size: tuple[int, int], kind: str, request: pytest.FixtureRequest
) -> None:
    bench = bench_of(request.getfixturevalue(kind), size)
    width, height = bench.places.size
    pictures = [image.rect for sketch in bench.sketches for image in sketch.images]
    seen: list[tuple[TextItem, tuple[float, float, float, float]]] = []
    for item in texts(bench):
        left, top, right, bottom = box_of(item)
        assert item.size >= 13
        assert left >= 0, item.text
        assert top >= 0, item.text
        assert right <= width, item.text
        assert bottom <= height, item.text
        for x, y, w, h in pictures:
            assert right <= x or x + w <= left or bottom <= y or y + h <= top, item.text
        for other, (ol, ot, oright, ob) in seen:
            apart = right <= ol or oright <= left or bottom <= ot or ob <= top
            assert apart, f"{item.text!r} and {other.text!r}"
        seen.append((item, (left, top, right, bottom)))


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (720, 1280)])
def test_the_corner_is_background_and_a_fifth_is_not(single: Scene, size: tuple[int, int]) -> None:
    picture = picture_of(bench_of(single, size)).astype(int)
    ground = np.array([round(255 * c) for c in rgb(DARK.background)])
    for corner in (picture[0, 0], picture[0, -1], picture[-1, 0], picture[-1, -1]):
        assert np.array_equal(corner, ground)
    glow = np.array([round(255 * c) for c in rgb(DARK.glow)])
    drawn = (np.abs(picture - ground).max(axis=2) > np.abs(glow - ground).max() + 2).mean()
    assert drawn > (0.2 if size[0] > size[1] * 1.5 and size[0] > 1000 else 0.1)


def test_the_frame_of_the_picture_never_moves(single: Scene) -> None:
    bench = bench_of(single)
    labels, before = bench._static, bench.layout
    with offscreen():
        bench.update(single.run.frame(single.probe), "", 0.1)
    assert bench._static is labels
    assert bench.layout is before


def test_keys_stand_at_the_bottom_only_when_given(single: Scene) -> None:
    assert "Space" not in words(bench_of(single))
    assert {"Space", "run"} <= set(words(bench_of(single, keys=[("Space", "run")])))


# truth


def test_the_hud_says_what_the_frame_holds(single: Scene) -> None:
    frame, said = single.run.frame(single.probe), words(bench_of(single))
    assert f"{frame.step:,}" in said
    assert f"{frame.loss:.4f}" in said
    assert {"lr 0.5", "SGD", "batch 64", "weight"} <= set(said)


def test_the_flow_shows_sum_output_target_and_loss_of_the_probe(single: Scene) -> None:
    frame, said = single.run.frame(single.probe), words(bench_of(single))
    weight, bias = (t.of(frame.values).astype(float) for t in single.run.tensors)
    assert single.probe is not None
    assert single.probe_target is not None
    sums = weight @ single.probe + bias
    outputs = 1 / (1 + np.exp(-sums))
    loss = np.mean((outputs - single.probe_target) ** 2)
    for total, output, target in zip(sums, outputs, single.probe_target, strict=True):
        assert f"{total:+.2f}".replace("-", MINUS) in said
        assert f"{output:.2f}" in said
        assert f"{target:.2f}" in said
    assert f"loss of this colour {loss:.4f}" in said


def test_every_cube_carries_its_value(single: Scene) -> None:
    frame, said = single.run.frame(single.probe), words(bench_of(single))
    for value in frame.values:
        assert f"{value:+.2f}".replace("-", MINUS) in said


@pytest.mark.parametrize("hidden", [(1,), (4, 4), (5, 3), (8,)])
def test_so_does_every_cube_of_a_small_deeper_network(hidden: tuple[int, ...]) -> None:
    scene = make_scene(*hidden, steps=0)
    assert len(scene.run.values) <= 64
    shown = Counter(words(bench_of(scene)))
    wanted = Counter(number(v, signed=True) if v else "0" for v in scene.run.values)
    assert not wanted - shown  # the legend's ends may repeat one


def half_a_digit(text: str) -> Decimal:
    """Half of what the last printed digit is worth."""
    return Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent)) / 2


@pytest.mark.parametrize("steps", [0, 1, 7, 40, 250])
def test_the_formulas_are_true_as_printed(steps: int) -> None:
    scene = make_scene(steps=steps)
    lines = [w for w in words(bench_of(scene)) if w.startswith(("r =", "g =", "b ="))]
    assert len(lines) == 3
    for line in lines:
        text = line.replace(MINUS, "-")
        body, total, out = re.fullmatch(r"\w = σ\((.*)\) = σ\((.*)\) = (.*)", text).groups()  # type: ignore[union-attr]
        value = Decimal(0)
        for term in re.split(r" (?=[+-] )", body):
            value += prod(Decimal(f) for f in term.replace("+ ", "").replace("- ", "-").split("·"))
        assert abs(value - Decimal(total)) <= half_a_digit(total)
        assert abs(Decimal(1 / (1 + np.exp(-float(total)))) - Decimal(out)) <= half_a_digit(out)


@pytest.mark.parametrize("cmap", [None, "grey"])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_cube_has_the_colour_that_the_legend_has_for_its_value(single: Scene, theme: str, cmap: str | None) -> None:
    bench = bench_of(single, theme=theme, cmap=cmap)
    picture = picture_of(bench)
    bar = next(i for s in bench.sketches for i in s.images if i.pixels.shape[0] == 1)
    v = bench.colouring.range.high
    frame = single.run.frame(single.probe)
    for tensor in single.run.tensors:
        plate = bench.layout.plate(tensor.name)
        for k, value in enumerate(tensor.of(frame.values).ravel()):
            # A third of the way from the middle of the main face to its rear left corner: beside the number.
            spot = plate.cell_centre_top(*divmod(k, plate.shape[1])) - plate.half * (
                0.6 * plate.axes[0] + 0.6 * plate.axes[1]
            )
            x, y = bench.project([spot])[0]
            place = (value / v * 0.5 + 0.5) * bar.pixels.shape[1]
            expected = bar.pixels[0, int(np.clip(place, 0, bar.pixels.shape[1] - 1))].astype(int)
            assert np.abs(picture[int(y), int(x)] - expected).max() <= 4, (tensor.name, k)


def test_the_mlp_shows_names_shapes_and_ranges(deep: Scene) -> None:
    frame, said = deep.run.frame(deep.probe), words(bench_of(deep))
    for tensor in deep.run.tensors:
        if tensor.role == "weight":
            block = tensor.of(frame.values)
            v = min(np.abs(block).max(), 3 * np.sqrt(np.mean(block**2)))
            assert tensor.name in said
            assert f"{tensor.shape[0]}×{tensor.shape[1]}   ±{v:.2f}" in said
    assert {"input", "output", "tanh", "activation"} <= set(said)


def test_a_deeper_network_shows_the_probes_outcome(deep: Scene) -> None:
    frame, bench = deep.run.frame(deep.probe), bench_of(deep)
    assert deep.probe is not None
    assert deep.probe_target is not None
    output = deep.run.predict(deep.probe[None], frame.values)[0]
    assert f"loss of this colour {np.mean((output - deep.probe_target) ** 2):.4f}" in words(bench)
    assert loss_line(Sample((), (), colours=True), 2.9e-5) == "loss of this colour 2.9e−5"  # never a rounded 0.0000
    picture = picture_of(bench).astype(float)
    for name, colour in (("input", deep.probe), ("output", output), ("target", deep.probe_target)):
        label = [t for t in texts(bench) if t.text == name][-1]  # the row of cubes has its own, placed before
        assert np.abs(picture[round(label.y) + 30, round(label.x)] - 255 * np.asarray(colour)).max() <= 2


def test_steady_growth_is_never_clipped_by_a_late_range() -> None:
    scene = make_scene()
    bench = bench_of(scene)
    frame = scene.run.frame(scene.probe)
    with offscreen():
        for _ in range(20):
            frame.values[:] *= 1.05
            bench.update(frame, "", 1 / 30)
            assert any("· 0 % clipped" in w for w in words(bench))
    scene.run.close()


def test_the_clipped_share_is_that_of_the_cubes(deep: Scene) -> None:
    values = deep.run.frame(deep.probe).values
    v = min(np.abs(values).max(), 3 * np.sqrt(np.mean(values.astype(float) ** 2)))
    share = 100 * np.mean(np.abs(values) > v)
    note = next(w for w in words(bench_of(deep)) if "clipped" in w)
    assert note == f"range of the network · {share:.2g} % clipped"


def test_pictures_and_colours_are_the_networks_own(single: Scene) -> None:
    bench = bench_of(single)
    frame = single.run.frame(single.probe)
    images = [i for s in bench.sketches for i in s.images if i.pixels.shape[0] > 1]
    pictures = panel_of(single, Pictures)
    made = single.run.predict(pictures.source.reshape(-1, 3), frame.values).reshape(24, 36, 3)
    assert np.abs(images[1].pixels - 255 * made).max() <= 0.51
    assert np.abs(images[2].pixels - 255 * pictures.target).max() <= 0.51
    painted = {tuple(np.round(c, 3)) for s in bench.sketches for p in s.points for c in p.colours}
    corner = single.run.predict(np.ones((1, 3)), frame.values)[0]  # white, the nearest corner
    assert tuple(np.round(corner.astype(np.float32), 3)) in painted


def test_gradients_have_a_logarithmic_legend_and_no_gradient_no_colour(single: Scene) -> None:
    said = words(bench_of(single, quantity="gradient"))
    assert any(re.fullmatch(r"mean of [\w ,]+ · (log · )?[\d.]+ % clipped", w) for w in said)
    fresh = make_scene(steps=0)
    bench = bench_of(fresh, quantity="gradient")
    assert bench.slab.atlas.flags.any()
    fresh.run.close()


# time


def test_looking_changes_no_bit() -> None:
    seen, unseen = make_scene(8), make_scene(8)
    bench = bench_of(seen)
    for _ in range(5):
        seen.run.step(3)
        unseen.run.step(3)
        with offscreen():
            bench.update(seen.run.frame(seen.probe), "", 1 / 30)
        picture_of(bench)
    assert np.array_equal(seen.run.frame().values, unseen.run.frame().values)
    assert np.array_equal(seen.run.history.loss, unseen.run.history.loss)
    seen.run.close()
    unseen.run.close()


def test_text_waits_in_a_window_and_is_exact_in_a_film() -> None:
    scene = make_scene()
    film, window = bench_of(scene), bench_of(scene, text_hz=5.0)
    with offscreen():
        for wanted, seconds in (("20", 0.1), ("22", 0.11)):
            scene.run.step(1)
            frame = scene.run.frame(scene.probe)
            for bench in (film, window):
                bench.update(frame, "", seconds)
            assert str(frame.step) in words(film)
            assert wanted in words(window)
    scene.run.close()


def test_colour_ranges_grow_slowly_and_fit_at_once_without_a_clock() -> None:
    scene = make_scene()
    bench = bench_of(scene)
    before = bench.colouring.range.high
    frame = scene.run.frame(scene.probe)
    frame.values[:] *= 3
    with offscreen():
        bench.update(frame, "", 0.1)
        slow = bench.colouring.range.high
        bench.update(frame, "")
    assert before < slow < 1.6 * before
    assert bench.colouring.range.high == pytest.approx(3 * before, rel=1e-5)
    scene.run.close()


def test_the_dashed_curve_is_measured_as_the_run_goes_and_survives_a_new_size() -> None:
    scene = make_scene(steps=0)
    bench = bench_of(scene)
    test, wanted = panel_of(scene, LossCurve).test, []
    for _ in range(4):
        frame = scene.run.frame(scene.probe)
        wanted.append(np.mean((scene.run.predict(test.inputs, frame.values) - test.targets) ** 2))
        with offscreen():
            bench.update(frame, "", 0.1)
        scene.run.step(2)
    with offscreen():
        bench.resize((960, 540), 2)
    assert np.allclose(bench.side.drawer(LossCurve).losses, wanted, rtol=1e-5)
    assert bench.side.drawer(LossCurve).steps == [0, 2, 4, 6]
    assert picture_of(bench).shape == (1080, 1920, 3)
    scene.run.close()


def test_what_did_not_change_is_not_built_again(single: Scene) -> None:
    bench = bench_of(single)
    frame = single.run.frame(single.probe)
    with offscreen():
        bench.update(frame, "", 0.01)
        before: list[Sketch] = bench._moving
        bench.update(frame, "", 0.01)
    assert all(a is b for a, b in zip(before, bench._moving, strict=True))


def test_twice_the_resolution_is_the_same_picture(single: Scene) -> None:
    once, twice = picture_of(bench_of(single)), picture_of(bench_of(single, supersample=2))
    small = twice.reshape(90, 16, 160, 16, 3).mean(axis=(1, 3))
    large = once.reshape(90, 8, 160, 8, 3).mean(axis=(1, 3))
    assert np.abs(small - large).mean() < 2
    assert (np.abs(small - large).max(axis=2) < 25).mean() > 0.97


def test_unknown_names_are_refused(single: Scene) -> None:
    for options in ({"theme": "pink"}, {"cmap": "nope"}, {"quantity": "mood"}):
        with pytest.raises(UnknownNameError, match="allowed"), offscreen():
            Workbench(single, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [(640, 360), (720, 1280)])
def test_the_legends_of_a_narrow_picture_are_no_wider_than_they_need(single: Scene, size: tuple[int, int]) -> None:
    bench = bench_of(single, size)
    assert bench.places.strip is not None
    for rows in (False, True):
        strip = Strip(
            bench.subject, bench.theme, bench.colouring, bench.activations, rows=rows, single=False, density=1.0
        )
        bars = [
            image.rect[2]
            for s in strip.sketches(bench.places.strip, single.run.frame(single.probe))
            for image in s.images
        ]
        assert bars[-1] == 290.0  # the note beside the title still has room
        assert sum(bars) <= 290.0 + 220.0
