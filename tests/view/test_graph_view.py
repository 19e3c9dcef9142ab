"""A graph in a window: zoom to the pointer, drag, clicks that unfold, numbers that follow; and in a scene's panel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Moment
from scalarviz.run.panels import GraphPanel, LossCurve, Made
from scalarviz.view.graph.layout import MARGIN
from scalarviz.view.graph_view import GraphView
from scalarviz.view.ink.figure import LEAST, MOST, SEEN, Figure, View
from scalarviz.view.ink.maps import get_map
from scalarviz.view.ink.sketch import Rect, TextItem
from scalarviz.view.out.unseen import Unseen
from scalarviz.view.panels.graph import SMALLEST, GraphDrawer
from scalarviz.view.workbench import Workbench

NET = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))


def network() -> sv.Value:
    loss = nn.MSELoss()(NET([0.1, 0.2, 0.3]), [0.0, 1.0])
    loss.backward()
    return loss


@pytest.fixture
def host():
    """A window that nobody sees, on a folded network."""
    loss = network()
    return Unseen(lambda size: GraphView(sv.draw(loss), size), (960, 600))


def place(view: GraphView, box) -> tuple[float, float]:
    """A point on a node, in the window."""
    return view.view.left + (box.x + 8) * view.view.scale, view.view.top + (box.y + 8) * view.view.scale


def fold(view: GraphView, name: str):
    return next(box for box in view.layout.boxes if box.item.name == name)


def click(view: GraphView, at: tuple[float, float]) -> None:
    view.move(at)
    view.press(at)
    view.release(at)


# ---- moving


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(-900, 900), st.floats(-900, 900)), max_size=12))
def test_the_graph_never_leaves_the_window(steps):
    view = View.whole((500.0, 300.0), (960.0, 570.0))
    for zoom, one, two in steps:
        before = view
        if zoom:
            at = abs(one), abs(two) / 2
            view = view.zoomed(1.15 ** (two / 100), at)
            if LEAST < view.scale < MOST:
                corner = view.left, view.top
                free = all(c + s * view.scale > SEEN + 1 and c < r - SEEN - 1
                           for c, s, r in zip(corner, view.figure, view.window, strict=True))  # fmt: skip
                if free and view != before:
                    np.testing.assert_allclose(view.on(at), before.on(at), atol=1e-6)
        else:
            view = view.moved((one, two))
        assert LEAST <= view.scale <= MOST
        for corner, side, room in zip((view.left, view.top), view.figure, view.window, strict=True):
            seen = min(corner + side * view.scale, room) - max(corner, 0.0)
            assert seen >= min(SEEN, side * view.scale, room) - 1e-6


def test_the_wheel_enlarges_what_is_under_the_pointer(host):
    view = host.view
    at = place(view, view.layout.boxes[3])
    before = view.view.on(at)
    view.scroll(at, (0.0, 3.0))
    assert view.view.scale > 1.4
    np.testing.assert_allclose(view.view.on(at), before)
    view.key("Home")
    assert view.view == View.whole(view.view.figure, view.room)


def test_two_clicks_on_no_fold_show_all_of_it_again(host):
    view = host.view
    at = place(view, next(box for box in view.layout.boxes if not box.item.unfolds))
    view.scroll(at, (0.0, 3.0))
    enlarged = view.view
    click(view, at)
    view.pass_time(1.0)
    click(view, at)  # too late: a first one again
    assert view.view == enlarged
    click(view, at)
    assert view.view == View.whole(view.view.figure, view.room)


def test_a_drag_moves_and_does_not_unfold(host):
    view = host.view
    at = place(view, fold(view, "0"))
    before = view.view
    view.move(at)
    view.press(at)
    view.move((at[0] + 60, at[1] + 10))
    view.release((at[0] + 60, at[1] + 10))
    assert view.unfolded == []
    assert view.view.left - before.left == pytest.approx(60)
    view.key("Right")
    assert view.view.left - before.left == pytest.approx(-20)


# ---- folding


def test_a_click_unfolds_a_module_and_backspace_folds_it(host):
    view = host.view
    few = len(view.layout.boxes)
    before = host.picture()
    click(view, place(view, fold(view, "1")))
    assert view.unfolded == ["1"]
    assert sum(box.item.node.op == "tanh" for box in view.layout.boxes if not box.item.folded) == 8
    unfolded = [box for box in view.layout.boxes if box.item.node.op == "tanh"]
    for box in unfolded:  # all that was asked for is to be seen
        x, y = place(view, box)
        assert 0 < x < 960
        assert 0 < y < 570
    host.pass_time()
    assert (host.picture() != before).any()
    view.key("Backspace")
    assert len(view.layout.boxes) == few
    view.key("Backspace")
    host.pass_time()
    assert len(view.layout.boxes) == few


def test_pointing_says_operation_numbers_and_derivative(host):
    view = host.view
    without = host.picture()
    box = next(box for box in view.layout.boxes if box.item.node.op == "square")
    view.move(place(view, box))
    host.pass_time()
    shown = host.picture()
    x, y = (int(v) for v in place(view, box))
    assert (shown[y + 20 : y + 120, x + 20 : x + 160] != without[y + 20 : y + 120, x + 20 : x + 160]).any()
    from scalarviz.view.graph.cards import said_of

    said = said_of(box.item)
    assert "square of 1" in said
    assert "d/da: 2 * a" in said
    view.leave()
    host.pass_time()
    assert (host.picture() == without).all()


# ---- the numbers of now


def test_the_window_follows_the_objects():
    a, w = sv.Value(2.0, "a"), sv.Weight(0.5, name="w")
    z = (a * w).tanh()
    host = Unseen(lambda size: GraphView(sv.draw(z), size), (640, 400))

    def said() -> list[str]:
        return [shape.text for shape in host.view.ink if isinstance(shape, TextItem)]

    assert "no gradient yet" in said()
    drawings = host.drawings
    for _ in range(30):
        host.pass_time(0.05)
    assert host.drawings <= drawings + 1  # nothing changed: nothing is drawn
    z.backward()
    for _ in range(10):
        host.pass_time(0.05)
    assert "gradient of z" in said()
    assert host.drawings > drawings
    w.data = -3.0
    for _ in range(10):
        host.pass_time(0.05)
    assert "\N{MINUS SIGN}3.00" in said()


# ---- keys and sizes


def test_keys_do_what_the_table_says_and_others_say_so(host):
    view = host.view
    dark = host.picture()
    assert view.key("l")
    assert view.theme.name == "light"
    host.pass_time()
    assert host.picture().mean() > dark.mean() + 100
    assert view.key("?", "?")
    host.pass_time()
    assert view.key("Escape")
    assert view.key("s")
    assert len(host.shots) == 1
    assert not view.key("x", "x")
    assert view.key("=", "=")
    assert view.key("-", "-")
    assert view.key("Escape")
    assert not host.closed
    view.key("Escape")
    host.pass_time()
    assert host.closed


@pytest.mark.parametrize("size", [(320, 240), (640, 360), (2560, 1440)])
def test_any_size_shows_all_of_it(size):
    loss = network()
    host = Unseen(lambda given: GraphView(sv.draw(loss, theme="light"), given), size)
    view = host.view
    for box in view.layout.boxes:
        x, y = place(view, box)
        assert 0 <= x <= size[0]
        assert 0 <= y <= size[1]
    assert host.picture().std() > 3
    view.resize((400, 300))
    assert view.view == View.whole(view.view.figure, view.room)


def test_a_window_on_the_desktop_shows_it_and_closes(screen):
    from scalarviz.view.out.desktop import Window
    from scalarviz.view.show import Handle

    loss = network()
    drawing = sv.draw(loss)
    with Handle(Window(lambda size: GraphView(drawing, size), "graph", (640, 400))) as handle:
        handle.begin()
        for _ in range(5):
            assert handle.update()
        handle.window.view.key("q", "", ctrl=True)
        handle.update()
        assert handle.closed


# ---- in a scene's panel


def scene(make, place="above") -> sv.Scene:
    net = nn.Sequential(nn.Linear(1, 1))
    x = np.linspace(-1, 1, 8)[:, None]
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=(x, 2 * x), engine="numpy", seed=0)
    return sv.Scene("line", run, panels=(GraphPanel("graph", make, place=place), LossCurve()))


def line_of(moment):
    w = sv.Weight(float(moment.tensor("0.weight").ravel()[0]), "w")
    b = sv.Weight(float(moment.tensor("0.bias")[0]), "b")
    y = w * sv.Value(0.5, "x") + b
    y.label = "y"
    y.backward()
    return Made([y], f"step {moment.step}")


def drawer_in(bench: Workbench) -> GraphDrawer:
    return next(drawer for drawer in bench.side.drawers.values() if isinstance(drawer, GraphDrawer))


def test_a_panel_shows_the_graph_of_the_frame():
    from scalarviz.view.out.offscreen import offscreen
    from scalarviz.view.shown.subject import subject_of

    shown = scene(line_of)
    early = shown.run.frame()
    shown.run.step(5)
    with offscreen():
        bench = Workbench(subject_of(shown), (1280, 720), "dark", None, "weight")
        for frame in (early, shown.run.frame()):
            bench.update(frame, "")
            drawer = drawer_in(bench)
            values = {b.item.node.name: b.item.node.value for b in drawer._layout.boxes}
            assert values["w"] == float(frame.values[0])
            assert values["y"] == float(frame.values[0]) * 0.5 + float(frame.values[1])


def test_a_weight_has_one_colour_as_cube_and_as_node():
    """The graph holds one of two weights, and the range of the cubes has grown beyond both."""
    from scalarviz.view.out.offscreen import offscreen
    from scalarviz.view.shown.subject import subject_of

    def only_w(moment):
        w = sv.Weight(float(moment.tensor("0.weight").ravel()[0]), "w")
        return Made([w * sv.Value(0.5, "x")], "")

    shown = scene(only_w)
    first = shown.run.frame()
    shown.run.step(5)
    with offscreen():
        bench = Workbench(subject_of(shown), (1280, 720), "dark", None, "weight")
        for frame in (first, shown.run.frame()):
            for quantity in ("weight", "gradient"):  # a graph shows values whatever the cubes show
                bench.set_look(quantity=quantity)
                bench.update(frame, "", seconds=1 / 60)
                place = float(np.clip(frame.values[0] / bench.extent_of(0), -1, 1))
                red, green, blue = (round(255 * part) for part in get_map("weight", bench.theme)(place)[:3])
                fills = {shape.fill for part in drawer_in(bench)._ink.parts for shape in part.shapes
                         if isinstance(shape, Rect)}  # fmt: skip
                assert f"#{red:02x}{green:02x}{blue:02x}" in fills


@pytest.mark.parametrize("place", ["column", "overlay", "above"])
@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (2560, 1440)])
def test_a_panel_stands_where_it_has_room(place, size):
    assert sv.render(scene(line_of, place), size).std() > 3


def long_line(moment):
    """A chain that no panel shows whole in letters that can be read."""
    y = sv.Weight(float(moment.tensor("0.weight").ravel()[0]), "w")
    for k in range(20):
        y = (y * sv.Value(float(k), f"x{k}")).tanh()
    y.label = "y"
    return y


@pytest.fixture
def bench_of():
    from scalarviz.view.out.offscreen import offscreen
    from scalarviz.view.shown.subject import subject_of

    def made(make, size=(1280, 720)) -> Workbench:
        shown = scene(make)
        with offscreen():
            bench = Workbench(subject_of(shown), size, "dark", None, "weight")
            bench.update(shown.run.frame(), "")
        return bench

    return made


def middle_of(drawer: GraphDrawer) -> tuple[float, float]:
    x, y, wide, high = drawer.box
    return x + wide / 2, y + high / 2 + 11


def redrawn(drawer: GraphDrawer, bench: Workbench) -> None:
    frame = bench.subject.source.frame()
    drawer.draw(Moment(frame, bench.subject.source), drawer.box, None)


def test_the_wheel_enlarges_a_panel_about_the_pointer_and_two_clicks_put_it_back(bench_of):
    bench = bench_of(long_line)
    drawer = drawer_in(bench)
    first, at = drawer._view, middle_of(drawer)
    below = first.on(drawer._in_room(at))
    assert bench.side.zoom(at, 1.5)
    redrawn(drawer, bench)
    assert drawer._view.scale == pytest.approx(1.5 * first.scale)
    assert drawer._view.on(drawer._in_room(at)) == pytest.approx(below)  # what was under it still is
    assert not bench.side.press(at, "left")  # a click on it is one: it may unfold
    assert bench.side.drag(at, (-200.0, 0.0), "left")
    redrawn(drawer, bench)
    moved = drawer._view
    assert moved.left < first.left
    assert moved.left + moved.figure[0] * moved.scale >= moved.window[0] - 1e-6
    assert bench.side.double_click(at)
    redrawn(drawer, bench)
    assert drawer._view == first
    assert not bench.side.double_click(at)  # nothing to put back


def test_the_wheel_makes_a_panel_no_smaller_than_all_of_its_graph(bench_of):
    bench = bench_of(long_line)
    drawer = drawer_in(bench)
    for _ in range(60):
        bench.side.zoom(middle_of(drawer), 1 / 1.15)
    redrawn(drawer, bench)
    assert drawer._view.scale == pytest.approx(drawer._view.fitting)
    assert not bench.side.zoom((2.0, 2.0), 2.0)  # no panel is there: the wheel is the scene's


def test_a_legend_is_seen_whole_or_not_at_all():
    ink = sv.draw(sv.Value(2.0, label="a") * sv.Value(3.0, label="b")).ink("dark")
    nodes = Figure(ink.width, ink.height, ink.parts[:-1])
    for missing in (3.0, 60.0):  # of the picture's right edge, where the legend ends
        window = 0.0, 0.0, ink.width - MARGIN - missing, ink.height
        cut, rest = (one.placed(window=window, ground=False) for one in (ink, nodes))
        np.testing.assert_array_equal(cut.triangles, rest.triangles)
        assert len(cut.texts) == len(rest.texts)
    whole = ink.placed(window=(0.0, 0.0, ink.width, ink.height), ground=False)
    assert len(whole.texts) == len(nodes.placed(ground=False).texts) + 2


def test_in_a_hall_a_graph_is_whole_as_long_as_it_can_be_read(bench_of):
    from scalarviz.view.ink.theme import presenting
    from scalarviz.view.out.offscreen import offscreen
    from scalarviz.view.shown.subject import subject_of

    shown = scene(line_of)
    with offscreen():
        bench = Workbench(subject_of(shown), (1280, 720), presenting("dark"), None, "weight")
        bench.update(shown.run.frame(), "")
    drawer = drawer_in(bench)
    assert drawer._view.scale == min(1.0, drawer._view.fitting)
    assert drawer._least == pytest.approx(SMALLEST / 1.5)


def test_the_fit_key_puts_a_panel_back(bench_of):
    bench = bench_of(long_line)
    drawer = drawer_in(bench)
    first = drawer._view
    bench.side.zoom(middle_of(drawer), 2.0)
    bench.side.fit()
    redrawn(drawer, bench)
    assert drawer._view == first


def test_a_graph_without_room_above_the_cubes_is_a_page_beside_them(bench_of):
    from scalarviz.view.out.offscreen import offscreen

    bench = bench_of(line_of, (640, 360))
    drawer = drawer_in(bench)
    for _ in range(2):
        if drawer.box is not None:
            break
        x, y = bench.side.column._more[:2]
        with offscreen():
            bench.click((x + 4, y + 10))
    assert drawer.box is not None
    x, y, wide, high = drawer.box
    assert x >= 0
    assert y >= 0
    assert x + wide <= 640
    assert y + high <= 360
    assert wide > 0.4 * 640
    with offscreen():
        bench.resize((1280, 720))
    assert drawer.box[0] < 100
    assert drawer.box[2] > 800


def test_what_goes_wrong_in_make_stands_in_its_place():
    def broken(moment):
        raise ValueError("no such thing")

    for make in (broken, lambda moment: "a", lambda moment: [], lambda moment: Made([sv.Value(1.0)], 3)):
        assert sv.render(scene(make)).std() > 3


@pytest.mark.parametrize("bad", [{"title": 3}, {"make": 3}, {"chains": "yes"}, {"place": "below"}])
def test_a_panel_refuses_what_it_cannot_use(bad):
    with pytest.raises(sv.ScalarvizError):
        GraphPanel(**{"title": "graph", "make": line_of, **bad})
