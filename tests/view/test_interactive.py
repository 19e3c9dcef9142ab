"""The picture answers: hovering, selecting, turning, restyling, hiding; and nothing of it touches the training."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import UnknownNameError
from scalarviz.run import panels as described
from scalarviz.run.core.frame import Frame
from scalarviz.run.core.gather import weight_name
from scalarviz.run.panels import ColourCube, LossCurve, Pictures
from scalarviz.run.scene.scene import Scene
from scalarviz.view.ink.overlay import banner, help_pages, help_panel, pointer_label, wrapped
from scalarviz.view.ink.sketch import Sketch, TextItem
from scalarviz.view.ink.text import CAP_HEIGHT, measure
from scalarviz.view.ink.theme import DARK, LIGHT, rgb
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.colour_cube import HINT, hexed
from scalarviz.view.screen.touch import plate_of
from scalarviz.view.shown.subject import arrays_subject, subject_of
from scalarviz.view.space.camera import between, camera_of, pose_of, turned
from scalarviz.view.watch.actions import ACTIONS, Here, help_lines
from scalarviz.view.watch.viewer import Viewer
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl

MINUS = "\N{MINUS SIGN}"
SIZES = [(1280, 720), (1920, 1080), (640, 360), (720, 1280), (960, 540), (400, 400), (300, 300), (160, 160)]
TURNS = [(1, 0), (60, 0), (-60, 0), (150, -60), (300, 40), (450, 0), (0, -150), (0, 130), (-200, 90)]
MESSAGE = (
    "DivergedError: the loss is no longer finite at step 1,234: first weight 0.weight[2][0] = nan; "
    "try a lower learning rate (now 4)"
)


def make_scene(*hidden: int, steps: int = 20) -> Scene:
    rng = np.random.default_rng(0)
    colours = rng.random((256, 3))
    sizes, layers = (3, *hidden, 3), []
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        layers += [nn.Linear(n_in, n_out), nn.Sigmoid() if k == len(hidden) else nn.Tanh()]
    net = nn.Sequential(*layers)
    net.initialize(nn.init.normal(0, 1), seed=0)
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), data=(colours, 1 - colours), batch_size=64,
                 engine="numpy")  # fmt: skip
    run.step(steps)
    side = np.linspace(0, 1, 16)
    cube = np.stack(np.meshgrid(side, side, side, indexing="ij"), -1).reshape(-1, 3)
    photo = rng.random((24, 36, 3))
    probe, names = np.array([0.92, 0.58, 0.18]), ("r", "g", "b")
    test = described.TestCurve("the photo", photo.reshape(-1, 3), 1 - photo.reshape(-1, 3))
    return Scene("rgb", run, probe, 1 - probe, names, names,
                 (Pictures(photo, 1 - photo), ColourCube(cube, 1 - cube), LossCurve("64 colours", test)))  # fmt: skip


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


@pytest.fixture(params=["single", "deep"])
def scene(request: pytest.FixtureRequest) -> Scene:
    found: Scene = request.getfixturevalue(request.param)
    return found


def bench_of(scene: Scene, size: tuple[int, int] = (1280, 720), **options: object) -> Workbench:
    with offscreen():
        bench = Workbench(scene, size, keys=[("Space", "run"), ("?", "all keys")], **options)  # type: ignore[arg-type]
        bench.update(scene.run.frame(scene.probe), "pace 1 step a frame  ·  60 frames/s  ·  numpy, 1 thread")
    return bench


def picture_of(bench: Workbench) -> np.ndarray:
    return offscreen().render(bench.draw, bench.size).astype(int)


def tick(bench: Workbench, frame: Frame, seconds: float = 1 / 60) -> None:
    with offscreen():
        bench.update(frame, "", seconds)


def words(sketches: list[Sketch]) -> list[str]:
    return [item.text for sketch in sketches for item in sketch.texts]


def said_above(bench: Workbench) -> list[str]:
    picture_of(bench)
    return [text for layer in bench.overlays for text in words(layer)]


def face_of(bench: Workbench, index: int) -> tuple[float, float]:
    """Device pixel of the middle of a cube's main face."""
    plate = plate_of(bench.layout, index)
    x, y = bench.project([plate.centre_of(index - plate.start) + plate.depth * plate.axes[2]])[0]
    return float(x) * bench.scale, float(y) * bench.scale


def box_of(item: TextItem) -> tuple[float, float, float, float]:
    wide = measure(item.text, item.size, item.bold)
    left = item.x - {"left": 0.0, "middle": 0.5, "right": 1.0}[item.anchor] * wide
    return left, item.y - CAP_HEIGHT * item.size, left + wide, item.y


def assert_no_overlap(sketches: list[Sketch], size: tuple[float, float]) -> None:
    seen: list[tuple[str, tuple[float, float, float, float]]] = []
    for sketch in sketches:
        for item in sketch.texts:
            box = left, top, right, bottom = box_of(item)
            assert item.size >= 13
            assert left >= 0, item.text
            assert top >= 0, item.text
            assert right <= size[0], item.text
            assert bottom <= size[1], item.text
            for text, other in seen:
                apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
                assert apart, f"{item.text!r} and {text!r}"
            seen.append((item.text, box))


# hovering


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (640, 360)])
def test_hovering_names_the_cube_under_the_pointer(scene: Scene, size: tuple[int, int]) -> None:
    bench = bench_of(scene, size)
    values = scene.run.frame().values
    for index in range(0, scene.run.n_weights, max(1, scene.run.n_weights // 9)):
        spot = face_of(bench, index)
        found = bench.pick(spot)
        if found != index:
            continue  # behind another plate
        assert bench.hover(spot) or bench.hover((spot[0] + 0.5, spot[1]))
        said = said_above(bench)
        assert weight_name(scene.run.tensors, index) in said
        assert any(text.endswith(f"{abs(values[index]):.4f}") for text in said)


def test_hovering_nothing_changes_nothing(single: Scene) -> None:
    bench = bench_of(single)
    before = picture_of(bench)
    assert not bench.hover((640.0, 20.0))
    assert bench.hover(face_of(bench, 4))
    assert np.any(picture_of(bench) != before)
    assert not bench.hover(face_of(bench, 4))
    assert bench.hover(None)
    assert not bench.hover(None)
    assert np.array_equal(picture_of(bench), before)


def test_the_hovered_value_follows_the_training() -> None:
    scene = make_scene()
    bench = bench_of(scene, text_hz=10.0)
    bench.hover(face_of(bench, 4))
    for _ in range(3):
        scene.run.step(5)
        frame = scene.run.frame(scene.probe)
        tick(bench, frame, 0.1)
        assert f"{frame.values[4]:+.4f}".replace("-", MINUS) in words(bench.overlays[1])
    scene.run.close()


def test_hovering_says_what_the_cubes_show(single: Scene) -> None:
    bench = bench_of(single)
    with offscreen():
        bench.set_look(quantity="gradient")
    bench.hover(face_of(bench, 4))
    assert any(text.startswith("gradient ") for text in said_above(bench))


def test_a_gradient_that_was_not_computed_is_no_number_on_the_cube() -> None:
    scene = make_scene(steps=0)
    bench = bench_of(scene, quantity="gradient")
    values = scene.run.frame().values
    said = words(bench._on_cubes[:1])
    assert said == [f"w {v:+.2f}".replace("-", MINUS).replace("w +0.00", "w 0.00") for v in values]
    scene.run.step(1)
    tick(bench, scene.run.frame(scene.probe), 1.0)
    assert not any(text.startswith("w") for text in words(bench._on_cubes[:1]))
    scene.run.close()


@pytest.mark.parametrize("at", [(2.0, 2.0), (638.0, 2.0), (2.0, 358.0), (638.0, 358.0), (320.0, 180.0)])
def test_the_label_stays_inside(at: tuple[float, float]) -> None:
    label = pointer_label(at, (640, 360), "2.weight[11][40]", "+0.9522", ["from tanh 40 to tanh 11"], DARK)
    assert_no_overlap([label], (640, 360))


# selecting


def test_the_selected_cube_is_outlined_and_inspected(scene: Scene) -> None:
    bench = bench_of(scene)
    before = picture_of(bench)
    bench.select(5)
    assert bench.selected == 5
    after = picture_of(bench)
    moved = np.abs(after - before).max(axis=2) > 40
    x, y = face_of(bench, 5)
    assert moved[int(y) - 90 : int(y) + 90, int(x) - 90 : int(x) + 90].any()
    assert moved[:, 940:].mean() > 0.02  # it stands in the side column
    assert weight_name(scene.run.tensors, 5) in said_above(bench)
    bench.select(None)
    assert bench.selected is None
    assert np.array_equal(picture_of(bench), before)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_inspector_covers_no_text_and_is_not_cut(scene: Scene, size: tuple[int, int], theme: str) -> None:
    bench = bench_of(scene, size, theme=theme)
    bench.select(3)
    said_above(bench)
    panels = [s for s in bench.overlays[0] if s.texts]
    assert_no_overlap(panels, bench.places.size)
    if bench.places.strip is not None:  # the scene's own names may lie below the panel, the strip's may not
        legends = [s for s in bench._numbers if any(t.y > bench.places.strip[1] for t in s.texts)]
        assert_no_overlap([*panels, *legends, *bench._key_line], bench.places.size)


def test_the_curve_grows_with_the_training() -> None:
    scene = make_scene()
    bench = bench_of(scene)
    bench.select(2)
    inspector = bench.touch.inspector
    assert inspector is not None
    for _ in range(5):
        scene.run.step(2)
        tick(bench, scene.run.frame(scene.probe), 1.0)
    assert inspector._history.steps == [20, 22, 24, 26, 28, 30]
    assert inspector._history.values[-1] == scene.run.values[2]
    scene.run.close()


def test_an_edit_is_answered_at_the_next_update() -> None:
    scene = make_scene()
    bench = bench_of(scene, text_hz=1.0)
    bench.select(2)
    tick(bench, scene.run.frame(scene.probe), 0.001)
    before = picture_of(bench)
    scene.run.set_weights(2, [float(scene.run.values[2]) + bench.extent_of(2)])
    frame = scene.run.frame(scene.probe)
    tick(bench, frame, 0.001)
    assert any(f"{frame.values[2]:+.4f}".replace("-", MINUS) == text for text in words(bench.overlays[0]))
    x, y = face_of(bench, 2)
    assert np.abs(picture_of(bench) - before)[int(y) - 15 : int(y) + 15, int(x) - 40 : int(x) + 40].max() > 30
    scene.run.close()


def test_the_extent_is_that_of_the_values_whatever_is_shown(single: Scene) -> None:
    bench = bench_of(single)
    v = bench.colouring.range.high
    assert bench.extent_of(0) == v
    with offscreen():
        bench.set_look(quantity="gradient")
        bench.update(single.run.frame(single.probe))
    assert bench.extent_of(0) == pytest.approx(v)


# turning


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (720, 1280)])
def test_no_angle_garbles_the_text(scene: Scene, turn: tuple[float, float], size: tuple[int, int]) -> None:
    bench = bench_of(scene, size)
    bench.orbit(turn[0] * bench.scale, turn[1] * bench.scale)
    picture_of(bench)
    assert_no_overlap(bench.sketches, bench.places.size)


@pytest.mark.parametrize("zoom", [1.0, 2.5])
@pytest.mark.parametrize("turn", [*TURNS, (0, -60), (-90, -75), (200, -70), (450, -55)])
def test_a_number_on_a_cube_stands_on_that_cube(single: Scene, turn: tuple[float, float], zoom: float) -> None:
    bench = bench_of(single)
    bench.orbit(*turn)
    bench.zoom(zoom, (400.0, 300.0))
    found = numbers_on_their_cubes(bench, single.run.frame().values)
    assert found >= (3 if abs(turn[1]) < 100 and zoom == 1.0 else 0)


def numbers_on_their_cubes(bench: Workbench, values: np.ndarray) -> int:
    """Every number that is printed is that of the cube picked at its place, at both its ends; returns how many."""
    picture_of(bench)
    size = bench.scenery._values.size
    printed = [item for sketch in bench._on_cubes[:1] for item in sketch.texts]
    for item in printed:
        wide = measure(item.text, item.size, item.bold) / 2 - 2
        for dx in (-wide, 0.0, wide):
            index = bench.pick(((item.x + dx) * bench.scale, (item.y - 0.357 * size) * bench.scale))
            assert index is not None
            assert item.text.lstrip("+").replace(MINUS, "-") == f"{values[index]:.2f}".replace("-0.00", "0.00")
    return len(printed)


def test_a_small_turn_moves_labels_and_chips_a_little(single: Scene) -> None:
    bench = bench_of(single)
    before = words(bench.sketches)
    places = {t.text: (t.x, t.y) for s in bench.sketches for t in s.texts}
    bench.orbit(2.0, 0.0)
    picture_of(bench)
    assert sorted(words(bench.sketches)) == sorted(before)
    moved = [
        np.hypot(t.x - places[t.text][0], t.y - places[t.text][1])
        for s in bench.sketches
        for t in s.texts
        if before.count(t.text) == 1
    ]
    assert 0 < max(moved) < 12


@pytest.mark.parametrize("kind", ["orthographic", "perspective"])
def test_turning_keeps_the_middle_and_the_planes_enclose_the_scene(single: Scene, deep: Scene, kind: str) -> None:
    bench = bench_of(deep if kind == "orthographic" else single)
    assert bench.camera.orthographic == (kind == "orthographic")
    centre = bench.layout.bounds.mean(axis=0)
    place = bench.camera.project(centre)
    corners = np.concatenate([p.corners for p in bench.layout.plates])
    for turn in TURNS:
        bench.orbit(*turn)
        assert np.allclose(bench.camera.project(centre), place)
        clip = np.c_[corners, np.ones(len(corners))] @ bench.camera.matrix.T
        depth = clip[:, 2] / clip[:, 3]
        assert depth.min() > -1
        assert depth.max() < 1
        assert np.ptp(depth) > 0.3  # of 2: the 16 bits are not wasted


def test_a_pose_gives_back_its_camera(single: Scene, deep: Scene) -> None:
    for scene in (single, deep):
        layout = bench_of(scene).layout
        points = np.concatenate([p.corners for p in layout.plates] + list(layout.trays))
        again = camera_of(pose_of(layout.camera, layout.bounds.mean(axis=0)), layout.camera.size, points)
        assert np.allclose(again.project(points), layout.camera.project(points))
        assert np.allclose(again.eye, layout.camera.eye)


def test_dragging_follows_the_pointer(single: Scene) -> None:
    """A drag to the right takes the near side to the right; down tilts the scene towards the eye."""
    bench = bench_of(single)
    near = bench.layout.plate("0.weight").cell_centre_top(2, 1)
    before = bench.project(near)[0]
    bench.orbit(20.0, 0.0)
    assert bench.project(near)[0][0] > before[0] + 2
    elevation = bench.camera.elevation
    bench.orbit(0.0, 20.0)
    assert bench.camera.elevation == elevation + 8
    bench.pan(30.0, -10.0)
    bench.orbit(0.0, 10_000.0)
    assert bench.camera.elevation == 89


def test_zooming_keeps_the_point_under_the_pointer(deep: Scene) -> None:
    bench = bench_of(deep)
    spot = face_of(bench, 150)
    index = bench.pick(spot)
    assert index is not None
    for _ in range(10):
        bench.zoom(1.15, spot)
    assert bench.pick(spot) == index


def test_fitting_glides_back_to_the_very_picture(scene: Scene) -> None:
    bench = bench_of(scene)
    frame = scene.run.frame(scene.probe)
    tick(bench, frame)
    before = picture_of(bench)
    assert not bench.moving
    bench.orbit(200.0, 30.0)
    tick(bench, frame)
    assert not bench.moving
    bench.fit_camera()
    assert bench.moving
    azimuths = []
    for _ in range(40):
        tick(bench, frame, 0.01)
        azimuths.append(bench.camera.azimuth)
        if not bench.moving:
            break
    assert 28 <= len(azimuths) <= 32
    steps = np.diff(azimuths)
    assert np.all(steps > 0)
    assert steps[0] > 4 * steps[-2]  # ease-out
    assert bench.camera is bench.layout.camera
    assert np.array_equal(picture_of(bench), before)


def test_the_way_back_is_the_shorter_one(single: Scene) -> None:
    layout = bench_of(single).layout
    pose = pose_of(layout.camera, layout.bounds.mean(axis=0))
    far = turned(pose, -850.0, 0.0)  # 340 degrees
    assert between(far, pose, 0.0).azimuth % 360 == pytest.approx(far.azimuth % 360)
    assert between(far, pose, 0.5).azimuth == pytest.approx(pose.azimuth - 10)


def test_resizing_keeps_a_turned_camera(scene: Scene) -> None:
    bench = bench_of(scene)
    bench.orbit(50.0, 10.0)
    angles = bench.camera.azimuth, bench.camera.elevation
    with offscreen():
        bench.resize((1600, 900))
    assert (bench.camera.azimuth, bench.camera.elevation) == pytest.approx(angles)
    centre = bench.layout.bounds.mean(axis=0)
    assert np.allclose(bench.camera.project(centre), bench.layout.camera.project(centre))
    picture_of(bench)


def test_cubes_never_lie_under_the_panels(deep: Scene) -> None:
    bench = bench_of(deep)
    before = picture_of(bench)
    spot = face_of(bench, 150)
    for _ in range(20):
        bench.zoom(1.15, spot)
    after = picture_of(bench)
    x, y, width, height = (int(v) for v in bench.places.scene)
    assert np.array_equal(after[:, x + width + 2 :], before[:, x + width + 2 :])
    assert bench.pick((1100.0, 300.0)) is None
    below = after[y + height + 3 :, :900] != before[y + height + 3 :, :900]
    assert not below.any()


# looks


def test_a_look_keeps_camera_selection_and_test_curve(scene: Scene) -> None:
    bench = bench_of(scene)
    bench.orbit(20.0, 0.0)
    bench.select(3)
    camera, losses = bench.camera, list(bench.side.drawer(LossCurve).losses)
    with offscreen():
        bench.set_look(theme="light", cmap="viridis")
    picture = picture_of(bench)
    assert bench.camera is camera
    assert bench.selected == 3
    assert bench.cmap_name == "viridis"
    assert bench.side.drawer(LossCurve).losses == losses
    assert np.array_equal(picture[0, 0], [round(255 * c) for c in rgb(LIGHT.background)])
    with offscreen():
        bench.set_look(theme="dark", cmap="")
    assert bench.cmap_name == ""


@pytest.mark.parametrize(
    "look",
    [
        {"theme": "light"},
        {"quantity": "gradient"},
        {"quantity": "update"},
        {"cmap": "grey"},
        {"theme": "light", "cmap": "viridis", "quantity": "gradient"},
    ],
)
def test_a_changed_look_is_that_of_a_fresh_picture(scene: Scene, look: dict[str, str]) -> None:
    bench = bench_of(scene)
    with offscreen():
        bench.set_look(**look)  # type: ignore[arg-type]
    fresh = bench_of(scene, **look)
    changed = picture_of(bench)
    with offscreen():
        fresh.update(scene.run.frame(scene.probe), bench._pace)
    assert np.array_equal(changed, picture_of(fresh))


def test_an_unknown_look_changes_nothing(single: Scene) -> None:
    bench = bench_of(single)
    before = picture_of(bench)
    for look in ({"theme": "pink"}, {"cmap": "rainbow"}, {"quantity": "mass"}):
        with pytest.raises(UnknownNameError):
            bench.set_look(**look)  # type: ignore[arg-type]
    assert np.array_equal(picture_of(bench), before)


def test_a_refit_fits_the_range_to_the_frame() -> None:
    scene = make_scene()
    bench = bench_of(scene)
    frame = scene.run.frame(scene.probe)
    v = bench.colouring.range.high
    frame.values[:] *= 0.1
    tick(bench, frame)
    assert bench.colouring.range.high == v
    bench.refit_range()
    tick(bench, frame)
    assert bench.colouring.range.high == pytest.approx(0.1 * v)
    scene.run.close()


def test_moving_ends_when_the_range_has_grown() -> None:
    scene = make_scene()
    bench = bench_of(scene)
    frame = scene.run.frame(scene.probe)
    frame.values[:] *= 3.0
    tick(bench, frame)
    assert bench.moving
    ticks = 0
    while bench.moving:
        tick(bench, frame, 0.05)
        ticks += 1
        assert ticks < 100
    assert ticks > 5
    scene.run.close()


def test_late_text_is_caught_up() -> None:
    scene = make_scene()
    bench = bench_of(scene, text_hz=10.0)
    scene.run.step(7)
    frame = scene.run.frame(scene.probe)
    tick(bench, frame, 0.02)
    assert bench.moving
    assert "20" in words(bench.sketches)
    for _ in range(5):
        tick(bench, frame, 0.02)
    assert not bench.moving
    assert "27" in words(bench.sketches)
    scene.run.close()


# panels, help, message


def test_without_panels_there_are_only_cubes(scene: Scene) -> None:
    bench = bench_of(scene)
    before = picture_of(bench)
    with offscreen():
        bench.show_panels(False)
    picture_of(bench)
    said = words(bench.sketches)
    assert not {"step", "loss", "network", "Space"} & set(said)
    assert not any("lr" in text or "clipped" in text for text in said)
    corners = bench.project(np.concatenate([p.corners for p in bench.layout.plates]))
    assert np.ptp(corners[:, 0]) > 0.6 * 1280 or np.ptp(corners[:, 1]) > 0.6 * 720
    bench.select(2)
    assert weight_name(scene.run.tensors, 2) not in said_above(bench)
    bench.select(None)
    with offscreen():
        bench.show_panels(True)
    assert np.array_equal(picture_of(bench), before)


def test_help_lists_every_key_on_a_dimmed_picture(single: Scene) -> None:
    bench = bench_of(single)
    lines = bench.touch.table = help_lines(Here(bench.subject))
    before = picture_of(bench)
    bench.help = True
    said = said_above(bench)
    for key, does in lines:
        assert key in said
        assert does in said
    ink = before[:, :165].max(axis=2) > 120  # beside the list
    assert picture_of(bench)[:, :165][ink].mean() < 0.5 * before[:, :165][ink].mean()
    bench.help = False
    assert np.array_equal(picture_of(bench), before)


@pytest.mark.parametrize("size", SIZES)
def test_help_fits_every_size(single: Scene, size: tuple[int, int]) -> None:
    here = Here(subject_of(single))
    lines = help_lines(here)
    pages = [help_panel(size, lines, DARK, page) for page in range(1, len(help_pages(size, lines)) + 1)]
    for sketch in pages:
        assert_no_overlap([sketch], size)
    keys = {action.keys[0] for action in ACTIONS if not action.missing(here)}
    absent = {action.name for action in ACTIONS if action.missing(here)}
    # no word is read in this scene, no table learnt, and plain descent keeps nothing of a weight
    assert absent == {"type_word", "cooler", "warmer", "paste", "show_moment"}
    if min(size) >= 360:
        assert keys <= {text.partition(" or ")[0].partition(" to ")[0] for text in words(pages)}


@pytest.mark.parametrize("size", [(1280, 720), (960, 540), (640, 480)])
def test_no_sentence_of_the_help_is_cut_in_a_picture_of_common_size(single: Scene, size: tuple[int, int]) -> None:
    lines = help_lines(Here(subject_of(single)))
    pages = help_pages(size, lines)
    assert [line for page in pages for line in page.lines] == list(lines)
    said = words([help_panel(size, lines, DARK, page) for page in range(1, len(pages) + 1)])
    assert all(does in said for _, does in lines)


def test_the_help_turns_its_pages_and_closes_after_the_last(single: Scene) -> None:
    bench = bench_of(single, (640, 480))
    view = Viewer(bench)
    bench.touch.table = help_lines(Here(bench.subject))
    count = len(help_pages((640, 480), bench.touch.table))
    assert count > 1
    shown = []
    for _ in range(count + 1):
        view.send("toggle_help")
        shown.append(bench.help)
    assert shown == [*range(1, count + 1), 0]


def test_a_sentence_that_begins_with_a_bracket_has_a_beginning() -> None:
    lines = [
        ("=", "(or +) a little more of the clicked cube"),
        *[(str(k), f"what {k} does, {'long ' * 20}") for k in range(40)],
    ]
    (page,) = help_pages((960, 540), lines)
    assert page.lines[0] == ("=", "a little more of the clicked cube")


@pytest.mark.parametrize("size", SIZES)
def test_a_message_is_whole_in_every_size(single: Scene, size: tuple[int, int]) -> None:
    bench = bench_of(single, size)
    bench.message = MESSAGE
    assert bench.message == MESSAGE
    assert " ".join(said_above(bench)).removeprefix("! ") == MESSAGE
    assert_no_overlap(bench.overlays[1], bench.places.size)


def test_long_words_are_broken_not_cut() -> None:
    lines = wrapped("a " + "x" * 200 + " b", 100.0)
    assert "".join(lines).replace(" ", "") == "a" + "x" * 200 + "b"
    assert all(measure(line, 13) <= 100 for line in lines)
    assert not banner("", (640, 360), 70.0, 600.0, DARK).texts


# the colour cube


def colour_at(bench: Workbench, x: float, y: float) -> tuple[str, tuple[float, float, float]] | None:
    """The disc at a point: its input, in the other cube its target."""
    disc = bench.side.drawer(ColourCube).under((x, y))
    return None if disc is None else (disc.which, disc.source if disc.which == "source" else disc.target)


def test_discs_are_found_where_they_are_seen(single: Scene) -> None:
    bench = bench_of(single)
    picture = picture_of(bench)
    cube = bench.side.drawer(ColourCube)
    box = bench.places.panels["colours"]
    rng, found = np.random.default_rng(0), 0
    low, high = (int(box[0]), int(box[1]) + 24), (int(box[0] + box[2]), int(box[1] + box[3]))
    for x, y in rng.integers(low, high, (800, 2)) + 0.5:
        seen = colour_at(bench, x, y)
        if seen is None or any(colour_at(bench, x + a, y + b) != seen for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))):
            continue  # at an edge, where colours are mixed
        which, colour = seen
        if which == "target":  # painted as it is; the disc's edge is darker
            found += 1
            drawn = picture[int(y), int(x)] / 255
            assert np.all(drawn <= np.array(colour) + 0.02)
            assert np.all(drawn >= 0.8 * np.array(colour) - 0.02)
        else:
            assert np.abs(cube.inputs - colour).max(axis=1).min() < 1e-9
    assert found > 60
    assert colour_at(bench, box[0] - 20, box[1]) is None


def test_hovering_a_colour_says_what_it_is_to_become(single: Scene) -> None:
    bench = bench_of(single)
    before = picture_of(bench)
    for x, which in ((1020.0, "source"), (1180.0, "target")):
        seen = colour_at(bench, x, 250.0)
        assert seen is not None
        assert seen[0] == which
        assert bench.hover((x, 250.0))
        said = said_above(bench)
        assert hexed(seen[1]) in said
        other = tuple(1 - c for c in seen[1])
        if which == "source":
            output = single.run.predict(np.array([seen[1]]))[0]
            assert f"is now {hexed(tuple(float(c) for c in output))}" in said  # type: ignore[arg-type]
            assert f"wanted: {hexed(other)}" in said  # type: ignore[arg-type]
        else:
            assert f"wanted for {hexed(other)}" in said  # type: ignore[arg-type]
        assert np.abs(picture_of(bench) - before).max() > 100
    bench.hover(None)
    assert np.array_equal(picture_of(bench), before)
    assert hexed((0.0, 0.5, 1.0)) == "#0080ff"


def test_a_marked_colour_is_ringed_in_both_cubes(single: Scene) -> None:
    bench = bench_of(single)
    before = picture_of(bench)
    cube = bench.side.drawer(ColourCube)
    cube.marked = (1.0, 1.0, 1.0)
    bench.update(bench._frame, bench._pace)
    assert HINT in said_above(bench)
    moved = np.abs(picture_of(bench) - before).max(axis=2) > 60
    for x, y, diameter in cube.rings((1.0, 1.0, 1.0)):
        reach = int(diameter / 2 + 5)
        assert moved[int(y) - reach : int(y) + reach, int(x) - reach : int(x) + reach].any()
    assert bench.let_go()
    assert not bench.let_go()
    assert np.array_equal(picture_of(bench), before)


def test_changed_targets_are_painted(single: Scene) -> None:
    bench = bench_of(single)
    cube, run = bench.side.drawer(ColourCube), single.run
    before, data = picture_of(bench), run.samples()[1]
    cube.retarget((1.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    bench.update(bench._frame, bench._pace)
    after = picture_of(bench)
    x, y, _, height = (int(n) for n in bench.places.panels["colours"])
    moved = np.any(after != before, axis=2)[y : y + height]
    assert moved[:, x + 158 :].any()
    assert not moved[:, x : x + 150].any()
    scene_cube = next(panel for panel in single.panels if isinstance(panel, ColourCube))
    np.testing.assert_array_equal(scene_cube.targets, 1 - scene_cube.inputs)  # a description stays what it says
    assert not np.array_equal(run.samples()[1], data)
    run.set_targets(data)


# nothing of it touches the training


def test_a_touched_run_ends_in_the_same_bits() -> None:
    quiet, watched = make_scene(8, steps=0), make_scene(8, steps=0)
    quiet.run.step(30)
    bench = bench_of(watched)
    for k in range(30):
        watched.run.step(1)
        bench.hover((300.0 + 9 * k, 300.0))
        bench.select(k)
        bench.orbit(5.0, 1.0)
        if k == 10:
            with offscreen():
                bench.set_look(quantity="gradient", theme="light")
        tick(bench, watched.run.frame(watched.probe))
        picture_of(bench)
    assert np.array_equal(quiet.run.values, watched.run.values)
    assert np.array_equal(quiet.run.history.loss, watched.run.history.loss)
    quiet.run.close()
    watched.run.close()


# what is no run


def test_plain_arrays_can_be_touched_too() -> None:
    rng = np.random.default_rng(0)
    subject, frame = arrays_subject({"a": rng.normal(size=(3, 4)), "k": rng.normal(size=(2, 3, 3, 3)), "c": 1.5})
    with offscreen():
        bench = Workbench(subject, (1280, 720))
        bench.update(frame)
    for index in (0, 7, 30, len(frame.values) - 1):
        spot = face_of(bench, index)
        assert bench.pick(spot) == index
        bench.hover(spot)
        bench.select(index)
        said = said_above(bench)
        assert said.count(f"{frame.values[index]:+.4f}".replace("-", MINUS)) == 2
        assert not {"gradient", "last update"} & set(said)
    bench.orbit(80.0, 10.0)
    picture_of(bench)
    assert_no_overlap(bench.sketches, bench.places.size)


def test_names_stay_on_their_side_while_the_scene_turns(deep: Scene) -> None:
    bench = bench_of(deep)
    frame, jumps, turns = deep.run.frame(deep.probe), 0, 40
    for _ in range(turns):
        labels = bench.scenery._labels
        assert labels is not None
        before = labels.chosen
        bench.orbit(2.0, 0.0)
        tick(bench, frame)
        after = bench.scenery._labels
        assert after is not None
        jumps += sum(after.chosen[key] != place for key, place in before.items() if key in after.chosen)
    assert jumps < 0.05 * turns * len(before)
