"""Two recordings side by side: three columns of one camera, a range for the two, one for the difference."""

import itertools

import numpy as np
import pytest

import scalarviz as sv
from kit.refusals import refusals
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.view import render
from scalarviz.view.comparison import card_box
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.workbench import Workbench

pytestmark = pytest.mark.gl
SIZES = [(1280, 720), (640, 360), (480, 844)]
SHORT = {"steps": 12, "every": 5}
ONE, WIDE = "no bias", "mlp"
"""Networks: of the second one there are rows of activations."""


@pytest.fixture
def pair(record):
    """Two recordings, of 20 steps each or of 20 and 12, every fifth."""

    def made(network=ONE, *, short=False, same=False):
        kept = {"gradients": True, "updates": True, "activations": network == WIDE}
        a = record(network, kept=kept, name="a")[1]
        if same:
            return a.compare(a)
        return a.compare(record(network, kept=kept, name="b", weights=2, **(SHORT if short else {}))[1])

    return made


@pytest.fixture
def hosted(pair, window):
    """A window of two recordings at their end."""

    def made(*network, size=(1280, 720), **options):
        host = window(pair(*network, **options), size=size)
        host.press("End")
        return host

    return made


def column(host, picture, number):
    """The pixels of a column's cubes."""
    x, y, wide, high = (round(part * host.bench.scale) for part in host.bench.compared.columns.scene)
    first, *_, last = (host.bench.compared.columns.boxes[k] for k in (number, -1))
    left, top = (round((one - other) * host.bench.scale) for one, other in zip(first[:2], last[:2], strict=True))
    return picture[y + top + 2 : y + top + high - 2, x + left + 3 : x + left + wide - 3]


def behind_by(host, at, count):
    """The same place so many columns before the last."""
    (x, y, *_), (left, top, *_) = (host.bench.compared.columns.boxes[k] for k in (2 - count, 2))
    return at[0] + x - left, at[1] + y - top


def differing(host, picture, number, other, of=None):
    """Share of a column's pixels that are more apart than the light behind the cubes."""
    one, two = column(host, picture, number)[:, 4:-4], column(host, picture if of is None else of, other)[:, 4:-4]
    return float((np.abs(one.astype(int) - two).max(axis=2) > 24).mean())


@pytest.mark.parametrize("size", SIZES)
def test_columns_of_one_recording_are_alike_their_difference_is_none_and_nothing_overlaps(size, hosted):
    host = hosted(same=True, size=size)
    picture = host.picture()
    assert not host.bench.colouring.drawn.any()
    assert differing(host, picture, 0, 1) < 0.01
    assert differing(host, picture, 0, 2) > 0.03
    assert any("no difference" in word for word in host.words())
    host.view.scroll((200.0, 200.0), (0.0, 2.0))  # turning one turns all
    host.pass_time()
    assert host.bench.camera is not host.bench.layout.camera
    turned = host.picture()
    assert differing(host, picture, 0, 0, turned) > 0.02
    assert differing(host, turned, 0, 1) < 0.01
    host.select(0)
    host.picture()
    found, box = host.bench.compared.columns, card_box(host.bench.compared.columns.legends)
    width, _ = (part / host.bench.scale for part in size)
    assert width - 3 < found.scene[0] + found.scene[2] <= width
    assert found.heads[-1][1] + found.heads[-1][3] <= found.scene[1] + 1e-6
    assert found.scene[1] + found.scene[3] <= min(legend[1] for legend in found.legends)
    places = np.array([host.bench.compared.in_layout((x + 1, y + 1)) for x, y, *_ in found.boxes])
    assert np.ptp(places, axis=0).max() < 1e-6
    along = int(size[1] > size[0])  # below each other in a standing picture
    for one, after in itertools.pairwise(found.boxes):
        assert one[along] + found.scene[along + 2] <= after[along] <= one[along] + one[2 + along]
    for head, own in zip(found.heads, found.boxes, strict=True):
        assert all(own[k] <= head[k] and head[k] + head[2 + k] <= own[k] + own[2 + k] for k in (0, 1))
    assert (box is None) == (size != SIZES[0])
    if box is not None:
        assert box[0] + box[2] <= found.legends[1][0]
        assert box[1] >= found.scene[1] + found.scene[3] - 4
        assert box[1] + box[3] <= host.bench.places.time[1]


def test_the_two_share_a_range_and_the_difference_has_its_own(hosted):
    host = hosted()
    bench, frame = host.bench, host.shown
    (high,) = {view.colouring.range.high for view in bench.views[:2]}
    assert high >= max(np.abs(frame.a.values).max(), np.abs(frame.b.values).max()) * 0.5
    assert bench.colouring.range.high != high
    for view, shown in zip(bench.views, (frame.a, frame.b, frame), strict=True):
        np.testing.assert_array_equal(view.colouring.flat, shown.values)
    assert {"weight", "weight, b − a", "a", "b", "b − a"} <= set(host.words())
    assert (bench.colouring.cmap.name, bench.views[0].colouring.cmap.name) == ("difference", "weight")


def test_what_is_pointed_at_or_clicked_in_one_column_is_said_of_all(hosted):
    host = hosted(short=True)
    host.go(13)
    (x, y), index = host.cube()
    frame, before = host.shown, host.picture()
    for behind in range(3):
        at = behind_by(host, (x, y), behind)
        assert host.bench.pick(host.pixel(at)) == index
        host.point(at)
        assert host.bench.interaction.hovered == index
        for name, one in (("a", frame.a), ("b", frame.b), ("b − a", frame)):
            value = f"{abs(one.values[index]):.4f}"
            assert any(line.startswith(f"{name}: ") and value in line for line in host.words())
    host.click(behind_by(host, (x, y), 1))
    assert host.bench.selected == index
    said = set(host.words())
    for one in (frame.a, frame.b, frame):
        for part in ("values", "gradient", "update"):
            value = float(getattr(one, part)[index])
            assert any(word.lstrip("+−").startswith(f"{abs(value):.3g}"[:4]) for word in said), part
    assert {"a", "b at 12", "b − a", "value", "gradient", "last update"} <= said
    for one, found in zip(host.source.pair, host.source.weight_records(index), strict=True):
        wanted = [one.record.frame(k).values[index] for k in range(len(one.record))]
        np.testing.assert_array_equal(found.values, wanted)
    picture = host.picture()
    assert all(differing(host, before, k, k, picture) > 0.002 for k in range(3))


def test_rows_of_activations_are_compared_where_both_have_them(hosted):
    host = hosted(WIDE, short=True)
    bench = host.bench
    host.go(7)
    frame = host.shown
    assert (frame.step, frame.a.step, frame.b.step) == (7, 7, 5)
    drawn = [plate.name for plate in bench.layout.plates if plate.kind == "activation"]
    assert drawn == ["input", "1", "3"]
    for name in drawn:
        wanted = frame.b.activations[name].astype(float) - frame.a.activations[name]
        np.testing.assert_array_equal(frame.activations[name], wanted)
    largest = max(np.abs(row).max() for row in frame.activations.values())
    assert 0.3 * largest <= bench.activations.range.high == -bench.activations.range.low <= largest
    assert bench.views[0].activations.range.low <= -1
    assert bench.views[0].activations.range.high >= max(1, np.abs(frame.a.activations["3"]).max() * 0.3)
    assert {"activation", "activation, b − a"} <= set(host.words())
    assert differing(host, host.picture(), 0, 2) > 0.02


def test_what_differs_is_said_and_one_time_bar_leads_and_plays_both(record, hosted, window):
    host = hosted(short=True)
    assert {"20", "12", "its last before 20"} <= set(host.words())
    assert host.bench.bar.other is not None
    host.point(host.time_bar(10))
    (label,) = [sketch for sketch in host.bench.bar.label(host.bench.places.size) if sketch.texts]
    said = " ".join(text.text for text in label.texts)
    for name, one in zip("ab", host.source.pair, strict=True):
        assert f"{name}: loss {one.record.loss[one.record.at(10)]:.4f}" in said
    host.press("Home", "Space")
    for _ in range(30 * 60):
        host.pass_time(1 / 60)
    assert (host.shown.step, host.view.playback.running) == (20, False)
    wide = window(record("dropout", name="mine")[1].compare(record("relu", name="its")[1]))
    assert any("left out: layer 1 is 6×3 in mine, 8×3 in its" in word for word in wide.words())
    assert not [word for word in wide.words() if ".weight" in word or ".bias" in word]  # what is shared has names too


def test_every_action_works_or_says_why_not(hosted):
    host = hosted(WIDE, size=(640, 360))
    for action in host.actions:
        if action.name in ("close", "escape", "toggle_help"):
            continue
        host.view.say("")
        reason = action.missing(host.view.action_context())
        assert host.view.send(action.name) == (not reason)
        host.pass_time()
        host.picture()
    host.press("W", "L", "L", "F")


@refusals({
    "share": (lambda both: render(both, quantity="update/value"), InputError, "a difference has no update"),
    "a name": (lambda both: both.pair[0].record.compare("b.svz"), TypeMismatchError, "got str"),
})  # fmt: skip
def test_refused(refusal, pair):
    refusal.check(pair(same=True))


def test_a_weight_is_named_as_in_a_window_though_the_networks_differ_and_no_letter_stands_twice(tmp_path):
    for name, wide in (("a", 4), ("b", 5)):
        net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, wide), nn.Tanh(), nn.Linear(wide, 1))
        run = sv.Run(
            net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (np.ones((4, 2)), np.ones((4, 1))), engine="numpy"
        )
        with sv.Recording(run, gradients=True, updates=True, path=tmp_path / f"{name}.svz"):
            run.step(2)
    with sv.load_recording(tmp_path / "a.svz") as a, sv.load_recording(tmp_path / "b.svz") as b, offscreen():
        bench = Workbench(a.compare(b), (1280, 720))
        bench.update(bench.subject.frame())
        said = []
        for index in (1, int(np.argmax(np.abs(bench.subject.frame().values)))):
            bench.select(index)
            bench.update(bench.subject.frame())
            said.append([item.text for sketch in bench.sketches for item in sketch.texts])
    words, of_largest = said
    assert {"0.weight[0][1]", "from x1 to h1"} <= set(words)
    (head,) = [word for word in of_largest if word.startswith("largest")]
    name = head.rpartition("  \N{MIDDLE DOT}  ")[2]
    assert name in of_largest  # on its card, where the name in code stands too
    assert "[" not in name
    assert words.count("a") == words.count("b") == 2  # above its column, and on the card
