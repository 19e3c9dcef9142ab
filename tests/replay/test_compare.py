"""Two recordings side by side: three columns of one camera, a range for the two, one for the difference."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Run, nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run.recorded_pair import RecordedPair
from scalarviz.run.recorded_source import RecordedSource
from scalarviz.view.benches import bench_of
from scalarviz.view.compare.columns import columns_of
from scalarviz.view.draw.places import arrange
from scalarviz.view.draw.text import figure
from scalarviz.view.touched.who import who
from scalarviz.view.watch.actions import ACTIONS
from scalarviz.view.watch.replay import Replay
from scalarviz.view.window.unseen import Unseen

pytestmark = pytest.mark.gl
X = np.random.default_rng(0).random((16, 3))
SIZES = [(1280, 720), (1920, 1080), (640, 360), (700, 900)]


def run(seed, hidden):
    net = nn.Sequential(nn.Linear(3, hidden, seed=seed), nn.Tanh(), nn.Linear(hidden, 2, seed=seed))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.3), (X, X[:, :2]), engine="numpy")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Recordings by name: two of one shape, one of another, one with fewer steps."""
    folder, found = tmp_path_factory.mktemp("compare"), {}
    for name, seed, hidden, steps, every in (("a", 1, 3, 20, 1), ("b", 2, 3, 20, 1), ("wide", 2, 5, 20, 1),
                                             ("short", 3, 3, 12, 5), ("rows", 1, 6, 9, 1),
                                             ("other", 2, 6, 9, 2)):  # fmt: skip
        done, rows = run(seed, hidden), name in ("rows", "other")
        with sv.Recording(
            done, every=every, gradients=True, updates=True, activations=rows, path=folder / f"{name}.svz"
        ):
            done.step(steps)
        found[name] = sv.load_recording(folder / f"{name}.svz")
    yield found
    for file in found.values():
        file.close()


def hosted(files, a="a", b="b", size=(1280, 720)):
    pair = RecordedPair(RecordedSource(files[a]), RecordedSource(files[b]), (a, b))
    host = Unseen(lambda size: Replay(bench_of(pair, size, hands=True)), size)
    host.pass_time()
    return host, pair


def press(host, *keys):
    for key in keys:
        host.view.key(key)
        host.pass_time()


def column(host, picture, number):
    """The pixels of a column's cubes."""
    bench = host.view.bench
    _, y, wide, high = (round(part * bench.scale) for part in bench.columns.scene)
    left = round(number * bench.columns.wide * bench.scale)
    return picture[y + 2 : y + high - 2, left + 3 : left + wide - 3]


def differing(one, other):
    """Share of pixels that are more apart than the light behind the cubes is from place to place."""
    inner = slice(4, -4)
    apart = np.abs(one[:, inner].astype(int) - other[:, inner]).max(axis=2)
    return float((apart > 24).mean())


def words(host):
    return [text.text for sketch in host.view.bench.sketches for text in sketch.texts]


@pytest.mark.parametrize("size", SIZES)
def test_places_do_not_overlap(size):
    for shown in (True, False):
        found, places = columns_of(arrange(size, keys=True, time=True, hud=False), shown)
        width, height = places.size
        assert width - 3 < found.scene[0] + found.scene[2] <= width
        assert found.heads[0][3] <= found.scene[1] + 1e-6
        assert found.scene[1] + found.scene[3] <= min([box[1] for box in found.legends], default=height)
        assert [found.column(x) for x in (0, width / 3 + 1, width - 1)] == [0, 1, 2]
        ends = [box[0] + box[2] for box in found.heads]
        assert all(end <= box[0] for end, box in zip(ends, found.heads[1:], strict=False))


@pytest.mark.parametrize("size", SIZES)
def test_columns_of_one_recording_are_alike_and_their_difference_is_none(files, size):
    host, _ = hosted(files, "a", "a", size)
    press(host, "End")
    picture = host.picture()
    first, second, third = (column(host, picture, k) for k in range(3))
    bench = host.view.bench
    flat = bench.colouring.drawn
    assert not flat.any()
    assert differing(first, second) < 0.01
    assert differing(first, third) > 0.03
    assert any("no difference" in word for word in words(host))


def test_the_two_share_a_range_and_the_difference_has_its_own(files):
    host, pair = hosted(files)
    press(host, "End")
    bench = host.view.bench
    frame = pair.frame()
    highs = {two.range.high for two in bench._two}
    assert len(highs) == 1
    assert highs.pop() >= max(np.abs(frame.a.values).max(), np.abs(frame.b.values).max()) * 0.5
    assert bench.colouring.range.high != bench._two[0].range.high
    np.testing.assert_array_equal(bench.colouring.flat, frame.values)
    np.testing.assert_array_equal(bench._two[0].flat, frame.a.values)
    np.testing.assert_array_equal(bench._two[1].flat, frame.b.values)
    titles = words(host)
    assert {"weight", "weight, b − a", "a", "b", "b − a"} <= set(titles)
    assert (bench.colouring.cmap.name, bench._two[0].cmap.name) == ("difference", "weight")


def test_what_is_pointed_at_in_one_column_is_said_of_all(files):
    host, pair = hosted(files)
    press(host, "End")
    bench = host.view.bench
    plate = bench.layout.plates[0]
    x, y = bench.project(plate.cell_centre_top(1, 1)[None])[0]
    frame, index = pair.frame(), plate.start + plate.shape[1] + 1
    for behind in range(3):
        at = (x - behind * bench.columns.wide) * bench.scale, y * bench.scale
        assert bench.pick(at) == index
        host.view.move(at)
        host.pass_time()
        assert bench.touch.hovered == index
        said = [text.text for layer in bench.overlays for sketch in layer for text in sketch.texts]
        for name, value in (("a", frame.a), ("b", frame.b), ("b − a", frame)):
            assert any(line.startswith(f"{name}: ") and f"{abs(value.values[index]):.4f}" in line for line in said)


def test_a_clicked_cube_tells_its_numbers_in_both_and_how_they_came_there(files):
    host, pair = hosted(files, "a", "short")
    pair.to(13)
    host.view.refresh()
    host.pass_time()
    bench, frame = host.view.bench, pair.frame()
    plate = bench.layout.plates[0]
    x, y = bench.project(plate.cell_centre_top(1, 1)[None])[0]
    index = plate.start + plate.shape[1] + 1
    before = host.picture()
    at = (x - bench.columns.wide) * bench.scale, y * bench.scale
    host.view.press(at)
    host.view.release(at)
    host.pass_time()
    assert bench.selected == index
    said = words(host)
    for one in (frame.a, frame.b, frame):
        for part in ("values", "gradient", "update"):
            assert figure(float(getattr(one, part)[index])) in said, part
    assert {"a", "b at 12", "b − a", "value", "gradient", "last update", "from x1 to tanh 1"} <= set(said)
    for name, one in zip("ab", pair.pair, strict=True):
        found = pair.weight_records(index)["ab".index(name)]
        wanted = [one.record.frame(k).values[index] for k in range(len(one.record))]
        np.testing.assert_array_equal(found.values, wanted)
    assert all(differing(column(host, before, k), column(host, host.picture(), k)) > 0.002 for k in range(3))
    press(host, "A", "V", "K")  # what is said of one network is refused in words
    press(host, "Escape")
    assert bench.selected is None
    assert "b at 12" not in words(host)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_rows_of_activations_are_compared_where_both_have_them(files, theme):
    host, pair = hosted(files, "rows", "other")
    bench = host.view.bench
    bench.set_look(theme=theme)
    pair.to(7)
    host.view.refresh()
    host.pass_time()
    frame, (a, b) = pair.frame(), (files["rows"].frame(7), files["other"].frame(files["other"].at(7)))
    assert (frame.a.step, frame.b.step) == (7, 6)
    drawn = [plate.name for plate in bench.layout.plates if plate.kind == "activation"]
    assert drawn == ["input", "1", "2"]
    for name in drawn:
        np.testing.assert_array_equal(frame.activations[name], b.activations[name].astype(float) - a.activations[name])
    largest = max(np.abs(row).max() for row in frame.activations.values())
    assert 0.3 * largest <= bench.activations.range.high <= largest
    assert bench.activations.range.low == -bench.activations.range.high
    assert bench._rows.range.low <= -1
    assert bench._rows.range.high >= max(1, np.abs(a.activations["2"]).max() * 0.3)
    assert {"activation", "activation, b − a"} <= set(words(host))
    picture = host.picture()
    assert differing(*(column(host, picture, k) for k in (0, 2))) > 0.02
    bench.select(0)
    host.picture()
    assert who(bench.subject, 0).meaning in words(host)
    once = sv.view.render(files["rows"].compare(files["other"]), (640, 360), step=7, theme=theme).astype(int)
    for left in (0, 213):  # what is drawn for the first time has its colours too
        assert (np.ptp(once[60:260, left : left + 213], axis=2) > 60).mean() > 0.01
    assert hosted(files, "a", "rows")[1].stages == ()


@pytest.mark.parametrize("size", SIZES)
def test_the_card_has_a_place_of_its_own_or_none(files, size):
    host, _ = hosted(files, "a", "a", size)
    bench = host.view.bench
    bench.select(0)
    host.pass_time()
    host.picture()
    box = bench._card_box
    if box is not None:
        assert box[0] + box[2] <= bench.columns.legends[1][0]
        assert box[1] >= bench.columns.scene[1] + bench.columns.scene[3] - 4
        assert bench.places.time is None or box[1] + box[3] <= bench.places.time[1]
    assert (box is None) == (size in SIZES[2:])


def test_steps_that_one_of_them_has_not_are_said(files):
    host, pair = hosted(files, "a", "short")
    pair.to(20)
    host.view.refresh()
    host.pass_time()
    assert {"20", "12", "its last before 20"} <= set(words(host))


def test_shapes_that_differ_are_said(files):
    host, _ = hosted(files, "a", "wide")
    assert any("left out: 0.weight is 3×3 in a, 5×3 in wide" in word for word in words(host))


@pytest.mark.parametrize("names", [("a", "b"), ("rows", "other")])
def test_every_action_works_or_says_why_not(files, names):
    host, _ = hosted(files, *names)
    for action in ACTIONS:
        if action.name in ("close", "escape", "toggle_help"):
            continue
        host.view.say("")
        reason = action.missing(host.view.here())
        assert host.view.send(action.name) == (not reason)
        host.pass_time()
        host.picture()
    press(host, "W", "L", "L", "F")
    host.close_soon()


def test_turning_one_turns_all(files):
    host, _ = hosted(files, "a", "a")
    before = host.picture()
    host.view.press((200.0, 300.0))
    host.view.move((260.0, 320.0))
    host.view.release((260.0, 320.0))
    host.view.scroll((200.0, 300.0), (0.0, 2.0))
    host.pass_time()
    picture = host.picture()
    bench = host.view.bench
    assert bench.camera is not bench.layout.camera
    assert differing(column(host, before, 0), column(host, picture, 0)) > 0.05
    assert differing(*(column(host, picture, k) for k in (0, 1))) < 0.01


def test_the_time_bar_says_both_losses(files):
    host, pair = hosted(files)
    bench = host.view.bench
    plan = bench.bar._plan
    host.view.move((plan.scale.at(10) * bench.scale, plan.rail * bench.scale))
    host.pass_time()
    (label,) = [s for s in bench.bar.label(bench.places.size) if s.texts]
    said = " ".join(text.text for text in label.texts)
    for name, one in zip("ab", pair.pair, strict=True):
        assert f"{name}: loss {one.record.loss[10]:.4f}" in said


def test_it_plays_by_one_time_bar(files):
    host, pair = hosted(files, "a", "short")
    assert host.view.bench.bar.other is not None
    press(host, "Space")
    for _ in range(30 * 60):
        host.pass_time(1 / 60)
    assert pair.steps[pair.place] == 20
    assert not host.view.playback.running


def test_a_picture_in_python_is_that_of_the_window(files):
    pair = files["a"].compare(files["short"])
    assert pair.names == ("a", "short")
    picture = sv.view.render(pair, (640, 360), step=13)
    assert picture.shape == (360, 640, 3)
    assert pair.place == 0
    other = sv.view.render(pair, (640, 360), step=13, quantity="gradient", theme="light")
    assert (picture != other).any(axis=2).mean() > 0.5
    with pytest.raises(InputError, match="a difference has no share"):
        sv.view.render(pair, quantity="update/value")
    with pytest.raises(TypeMismatchError, match="got str"):
        files["a"].compare("b.svz")
