"""A graph in a window and in a scene's panel: zoom, drag, clicks that unfold, numbers that follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.benches import again, bench_of, middle
from kit.runs import make_run
from kit.unseen import Unseen
from scalarviz import nn
from scalarviz.run.panels import GraphPanel, LossCurve, Made
from scalarviz.view.drawing import GraphView
from scalarviz.view.ink.figure import LEAST, MOST, SEEN, View
from scalarviz.view.ink.sketch import Rect, TextItem
from scalarviz.view.ink.theme import get_map, hexed
from scalarviz.view.panels.image import GraphDrawer
from scalarviz.view.workbench import Workbench

NET = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))


@pytest.fixture
def host():
    """A window that nobody sees, on a folded network."""
    loss = nn.MSELoss()(NET([0.1, 0.2, 0.3]), [0.0, 1.0])
    loss.backward()
    return Unseen(lambda size: GraphView(sv.draw(loss, theme="dark"), size), (960, 600))


def place(view: GraphView, box) -> tuple[float, float]:
    """A point on a node, in the window."""
    return view.view.left + (box.x + 8) * view.view.scale, view.view.top + (box.y + 8) * view.view.scale


def node(view: GraphView, true):
    return next(box for box in view.ink.layout.boxes if true(box.item))


def click(view: GraphView, at: tuple[float, float], by=(0.0, 0.0)) -> None:
    there = at[0] + by[0], at[1] + by[1]
    view.press(at)
    view.move(there)
    view.release(there)


def whole(view: GraphView) -> bool:
    return view.view == View.whole(view.view.figure, view.room)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(-900, 900), st.floats(-900, 900)), max_size=12))
def test_the_graph_never_leaves_the_window_and_what_is_under_the_pointer_stays_there(steps):
    view = View.whole((500.0, 300.0), (960.0, 570.0))
    for zoom, one, two in steps:
        before, at = view, (abs(one), abs(two) / 2)
        view = view.zoomed(1.15 ** (two / 100), at) if zoom else view.moved((one, two))
        assert LEAST <= view.scale <= MOST
        for corner, side, room in zip((view.left, view.top), view.figure, view.window, strict=True):
            seen = min(corner + side * view.scale, room) - max(corner, 0.0)
            assert seen >= min(SEEN, side * view.scale, room) - 1e-6
            if zoom and (seen <= SEEN + 1 or not LEAST < view.scale < MOST):
                break
        else:
            assert not zoom or view.to_figure(at) == pytest.approx(before.to_figure(at), abs=1e-6)


def test_the_wheel_enlarges_clicks_or_a_key_show_all_of_it_and_pointing_tells_the_derivative(host):
    view = host.view
    at = place(view, node(view, lambda item: not item.unfolds))
    before = view.view.to_figure(at)
    for way_back in ("Home", "clicks"):
        view.scroll(at, (0.0, 3.0))
        assert view.view.scale > 1.4
        assert view.view.to_figure(at) == pytest.approx(before)
        if way_back == "Home":
            view.key("Home")
        else:
            click(view, at)
            view.pass_time(1.0)
            click(view, at)  # too late: a first one again
            assert not whole(view)
            click(view, at)
        assert whole(view)
    view.leave()
    without, at = host.picture(), place(view, node(view, lambda item: item.op == "square"))
    view.move(at)
    assert {"square of 1", "d/da: 2 * a"} <= set(view.ink.spot(view.view.to_figure(at)).tip.splitlines())
    assert (host.picture() != without).any()
    view.leave()
    assert (host.picture() == without).all()
    for size in ((320, 240), (2560, 1440)):
        view.resize(size)
        assert whole(view)
        assert all((np.array(place(view, box)) <= size).all() for box in view.ink.layout.boxes)


def test_a_drag_moves_a_click_unfolds_a_module_and_backspace_folds_it(host):
    view = host.view
    few, before, picture = len(view.ink.layout.boxes), view.view, host.picture()
    click(view, place(view, node(view, lambda item: item.name == "1")), (60, 10))
    assert (view.unfolded, view.view.left - before.left) == ([], pytest.approx(60))
    view.key("Right")
    assert view.view.left - before.left == pytest.approx(-20)
    view.key("Home")
    click(view, place(view, node(view, lambda item: item.name == "1")))
    assert view.unfolded == ["1"]
    unfolded = np.array([place(view, box) for box in view.ink.layout.boxes if box.item.op == "tanh"])
    assert len(unfolded) == 8
    assert ((unfolded > 0) & (unfolded < (960, 570))).all()  # all that was asked for is to be seen
    assert (host.picture() != picture).any()
    for _ in range(2):  # there is nothing left to fold
        view.key("Backspace")
        host.pass_time()
        assert len(view.ink.layout.boxes) == few


def test_the_window_follows_the_objects():
    a, w = sv.Value(2.0, "a"), sv.Weight(0.5, name="w")
    z = (a * w).tanh()
    host = Unseen(lambda size: GraphView(sv.draw(z), size), (640, 400))

    def said_later() -> list[str]:
        for _ in range(20):
            host.pass_time(0.05)
        return [shape.text for shape in host.view.ink if isinstance(shape, TextItem)]

    drawings = host.drawings
    assert "no gradient yet" in said_later()
    assert host.drawings <= drawings + 1  # nothing changed: nothing is drawn
    z.backward()
    assert "gradient of z" in said_later()
    w.data = -3.0
    assert "\N{MINUS SIGN}3.00" in said_later()


def test_keys_do_what_the_table_says_and_others_say_so(host):
    view, dark = host.view, host.picture()
    assert view.key("l")
    assert host.picture().mean() > dark.mean() + 100
    for key in ("?", "Escape", "s", "=", "-"):
        assert view.key(key, key)
    assert len(host.shots) == 1
    assert not view.key("x", "x")
    for closed in (False, True):  # twice closes
        view.key("Escape")
        host.pass_time()
        assert host.closed == closed


def test_a_window_on_the_desktop_shows_it_and_closes(screen):
    from scalarviz.view.out.desktop import Window
    from scalarviz.view.show import Handle

    drawing = sv.draw(NET, [0.1, 0.2, 0.3])
    with Handle(Window(lambda size: GraphView(drawing, size), "graph", (640, 400))) as handle:
        handle.begin()
        assert all(handle.update() for _ in range(5))
        handle.window.view.key("q", "", ctrl=True)
        handle.update()
        assert handle.closed


# ---- in a scene's panel


def line_of(moment):
    """One of two weights, and what it makes."""
    w = sv.Weight(float(moment.tensor("0.weight").ravel()[0]), "w")
    y = w * sv.Value(0.5, "x")
    y.label = "y"
    y.backward()
    return Made([y], f"step {moment.step}")


def panel(make) -> tuple[Workbench, GraphDrawer]:
    bench = bench_of(sv.Scene("line", make_run(), panels=(GraphPanel("graph", make, place="above"), LossCurve())))
    return bench, next(d for d in bench.side.drawers.values() if isinstance(d, GraphDrawer))


def test_a_panel_shows_the_graph_of_the_frame_and_a_weight_has_one_colour_as_cube_and_as_node():
    """The graph holds one of the weights, and the range of the cubes has grown beyond it."""
    bench, drawer = panel(line_of)
    run = bench.subject.source.run
    first = run.frame()
    run.step(5)
    for frame in (first, run.frame()):
        for quantity in ("weight", "gradient"):  # a graph shows values whatever the cubes show
            bench.set_look(quantity=quantity)
            bench.update(frame, "", seconds=1 / 60)
            values = {b.item.name: b.item.value for b in drawer._ink.layout.boxes}
            assert (values["w"], values["y"]) == (float(frame.values[0]), float(frame.values[0]) * 0.5)
            place = float(np.clip(frame.values[0] / bench.extent_of(0), -1, 1))
            shapes = (shape for part in drawer._ink.parts for shape in part.shapes)
            fills = {shape.fill for shape in shapes if isinstance(shape, Rect)}
            assert hexed(get_map("weight", bench.theme)(place)) in fills


def test_the_wheel_enlarges_a_panel_a_drag_moves_it_and_two_clicks_or_the_fit_key_put_it_back():
    def long_line(moment):
        """A chain that no panel shows whole in letters that can be read."""
        y = sv.Weight(float(moment.tensor("0.weight").ravel()[0]), "w")
        for k in range(20):
            y = (y * sv.Value(float(k), f"x{k}")).tanh()
        return y

    bench, drawer = panel(long_line)
    side, first = bench.side, drawer._view
    at = middle(drawer.box)
    for way_back in ("clicks", "fit"):
        assert side.zoom(at, 1.5)
        again(bench)
        assert drawer._view.scale == pytest.approx(1.5 * first.scale)
        assert not side.press(at, "left")  # a click on it is one: it may unfold
        assert side.drag(at, (-200.0, 0.0), "left")
        again(bench)
        assert drawer._view.left < first.left
        assert side.fit() is None if way_back == "fit" else side.double_click(at)
        again(bench)
        assert drawer._view == first
        assert not side.double_click(at)  # nothing to put back
    assert not side.zoom((2.0, 2.0), 2.0)  # no panel is there: the wheel is the scene's


def test_what_make_makes_of_no_graph_stands_in_its_place_and_a_panel_refuses_what_it_cannot_use():
    for made in ("a", [], Made([sv.Value(1.0)], 3)):
        bench, _ = panel(lambda moment, made=made: made)
        assert [note for note in bench.side.shared.notes if "graph" in note], made
    for bad in ({"title": 3}, {"make": 3}, {"chains": "yes"}, {"place": "below"}):
        with pytest.raises(sv.ScalarvizError):
            GraphPanel(**{"title": "graph", "make": line_of, **bad})
