"""The playground's picture: features that are switched, and layers that are changed, on the picture itself."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from scalarviz.errors import InputError
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.neuron_maps import NeuronMapsDrawer
from scalarviz.view.watch.live import LiveView

pytestmark = pytest.mark.gl
playground = importlib.import_module("scalarviz.scenes.playground")
maps = importlib.import_module("scalarviz.scenes.playground.panels")


@pytest.fixture
def view():
    with offscreen():
        made = LiveView(playground.build(playground.Options(engine="numpy")), (1280, 720), playing=False)
        made.send("step")
        made.worker.settle()
        made.tick(0.02)
        yield made
        made.close()


def click(view, box):
    x, y, wide, high = box
    at = (x + wide / 2) * view.bench.scale, (y + high / 2) * view.bench.scale
    view.move(at)
    view.press(at)
    view.release(at)
    view.worker.settle()
    view.tick(0.02)


def neurons(view) -> NeuronMapsDrawer:
    return view.bench.side.drawers["neurons"]


def test_a_feature_is_switched_on_the_picture_and_undone(view):
    column = view.bench.side.drawers["features"]
    assert column._on == (True, True, *[False] * 5)
    before = view.worker.latest.step
    click(view, column.boxes[2])
    column = view.bench.side.drawers["features"]
    assert column._on[:3] == (True, True, True)
    assert column._rows[:3] == [0, 1, 2]
    assert next(t for t in view.bench.subject.tensors if t.role == "weight").shape == (4, 3)
    assert view.worker.latest.step == before  # a run that stands goes on standing
    click(view, column.boxes[0])
    column = view.bench.side.drawers["features"]
    assert column._on[:3] == (False, True, True)
    assert column._rows[:3] == [0, 1, 2]  # its column stays, frozen
    assert view.worker.latest.frozen[:12].reshape(4, 3)[:, 0].all()
    moment = neurons(view)._moment
    assert np.all(moment.rows(np.array([[0.5, 0.5]]), "0")["0"][0, 0] == 0.0)
    for _ in range(2):
        view.send("undo")
        view.worker.settle()
        view.tick(0.02)
    assert view.bench.side.drawers["features"]._on == (True, True, *[False] * 5)


def test_what_the_maps_show_is_what_the_units_make_of_the_plane(view):
    drawer = neurons(view)
    rows = view.bench.subject.source.rows(drawer.work.points, [each.row for each in drawer.layers])
    expected = np.concatenate([rows[each.row] for each in drawer.layers], axis=1)
    np.testing.assert_allclose(drawer.work.rows.reshape(expected.shape), expected, rtol=1e-6, atol=1e-9)


def test_a_neuron_more_and_a_layer_less(view):
    hidden = [each.units for each in neurons(view).layers]
    assert hidden == [4, 2]
    neurons(view)._layer = 0
    click(view, neurons(view)._buttons(0)[1].box)
    assert [each.units for each in neurons(view).layers] == [5, 2]
    neurons(view)._layer = 1
    click(view, neurons(view)._buttons(1)[2].box)
    assert [each.units for each in neurons(view).layers] == [5]


def test_more_than_there_may_be_is_refused_in_words():
    for hidden in ((65,), (1,) * 7):
        with pytest.raises(InputError, match="at most 6 hidden layers of at most 64 neurons"):
            maps.other_layers(hidden)
    assert maps.other_layers((64, 1)).words() == "hidden layers 64, 1"


@pytest.mark.parametrize("hidden", [(), (40, 3)])
def test_features_stand_left_of_cubes_that_do_not_turn(hidden):
    with offscreen():
        view = LiveView(playground.build(playground.Options(engine="numpy", hidden=hidden)), (1280, 720), playing=False)
        view.tick(0.02)
        bench = view.bench
        assert not bench.layout.turns
        column = bench.side.drawers["features"].boxes
        assert len(column) == 7
        right = max(x + wide for x, _, wide, _ in column.values())
        left = min(bench.project(plate.corners)[:, 0].min() for plate in bench.layout.plates)
        assert right < left
        click(view, column[2])
        assert bench.side.drawers["features"]._on[:3] == (True, True, True)
        view.close()


def test_one_feature_alone_is_what_the_first_layer_reads():
    scene = playground.build(playground.Options(engine="numpy", features=("y",)))
    with offscreen():
        view = LiveView(scene, (1280, 720), playing=False)
        view.tick(0.02)
        assert view.bench.layout.turns
        assert view.bench.layout.plate("1.weight").shape == (4, 1)
        assert view.bench.side.drawers["features"]._on[:2] == (False, True)
        view.close()
