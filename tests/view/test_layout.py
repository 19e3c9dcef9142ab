"""Where plates stand: chains, named arrays, convolutions, graphs, plates apart; elements on cells; any camera."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from kit.benches import again, bench_of, box_of, overlap, rgb, said, texts
from kit.networks import NETWORKS, mlp
from kit.plates import arrays, chain
from kit.runs import make_run
from kit.windows import live_hand
from scalarviz import nn, optim
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.run.core.tensors import Stage, Tensor
from scalarviz.run.questions.ranges import Range, extent
from scalarviz.view.cubes.picking import Picker
from scalarviz.view.cubes.scale import ActivationScale, rows_of
from scalarviz.view.ink.theme import DARK
from scalarviz.view.notes.labels import FlowLabels
from scalarviz.view.notes.placer import face_distances
from scalarviz.view.shown.names import who
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.arrangement import grid_for
from scalarviz.view.space.camera import camera_of, convex_hull, pose_of, turned
from scalarviz.view.space.chain import Turns
from scalarviz.view.space.layout import WIDER, Apart, layer_of, layers_of, layout_for

SIZE = (1280, 720)
CHAINS = [(1, 1), (3, 3), (5, 8), (2, 2, 1), (2, 8, 8, 1), (12, 64, 64, 64, 64, 3), (784, 30, 10), (4,) * 9,
          (3, *(12,) * 4, 3), (3, 500, 500, 3)]  # fmt: skip
LAYOUTS = {
    "a layer": chain(3, 3), "a chain": chain(3, 16, 16, 3), "a stack": chain(12, 64, 64, 3),
    "tiles": arrays((5, 3, 3, 3), (4, 2, 5)), "unequal": arrays((1,), (10,), (40, 3), (1, 6400)),
}  # fmt: skip
EVERY = {
    **LAYOUTS, **{str(widths): chain(*widths) for widths in CHAINS}, "no bias": chain(2, 8, 8, 1, bias=False),
    "many shapes": arrays((9, 9, 3, 3), (20, 40), (7,), (), (900,)),
}  # fmt: skip


def seen(layout, plates=None):
    return layout.camera.project(np.concatenate([p.corners for p in plates or layout.plates]))


def weights_of(layout):
    return [p for p in layout.plates if p.kind != "activation"]


def assert_stands(layout, tensors):
    """Every tensor has a plate inside the scene, its main face looks at the eye, and no two share space."""
    assert {p.name: (p.start, p.size) for p in weights_of(layout)} == {t.name: (t.start, t.size) for t in tensors}
    x0, y0, x1, y1 = layout.rect
    assert (seen(layout) >= [x0 - 1e-6, y0 - 1e-6]).all()
    assert (seen(layout) <= [x1 + 1e-6, y1 + 10]).all()  # a stack may reach the room above the legend
    for a, b in combinations(layout.plates, 2):
        assert np.maximum(a.bounds[0] - b.bounds[1], b.bounds[0] - a.bounds[1]).max() > -1e-9, f"{a.name}, {b.name}"
    for plate in layout.plates:
        for cell in ((0, 0), (plate.shape[0] - 1, plate.shape[1] - 1)):
            corners = plate.cell_corners(*cell)
            assert (corners >= plate.bounds[0] - 1e-9).all()
            assert (corners <= plate.bounds[1] + 1e-9).all()
            np.testing.assert_allclose(corners[4:].mean(0), plate.tops[plate.grid.element(*cell)])
        assert plate.axes[2] @ layout.camera.towards_eye(plate.tops[0]) > 0
        np.testing.assert_allclose(plate.axes @ plate.axes.T, np.eye(3) * plate.pitch**2, atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_every_tensor_has_a_plate_of_its_own_inside_the_scene(name):
    tensors, stages = EVERY[name]
    for size in (SIZE, (720, 1280), (160, 90), (40, 30), (2560, 1080)):
        layout = layout_for(tensors, stages, size)
        assert_stands(layout, tensors)
        if size == SIZE and name in ("a layer", "a chain", "(12, 64, 64, 64, 64, 3)"):
            assert np.prod(np.ptp(seen(layout), axis=0)) > 0.24 * prod(SIZE), "the largest thing of the picture"


@pytest.mark.parametrize("turns", [None, Turns(), Turns(rows=True)], ids=["straight", "turns", "turns with rows"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_of_the_registry_stands_with_the_rows_of_its_stages(name, turns):
    """Graphs, convolutions, encoders and layers that are used twice, too."""
    with make_run(name) as run:
        trained = [tensor for tensor in run.tensors if not tensor.name.endswith("num_batches_tracked")]
        for size in (SIZE, (640, 360), (720, 1280)):
            layout = layout_for(run.tensors, run.stages, size, turns=turns)
            assert_stands(layout, trained)
            rows = {plate.name: plate.size for plate in layout.plates if plate.kind == "activation"}
            outputs = {stage.name: stage.outputs for stage in run.stages} | {"input": prod(NETWORKS[name].shape)}
            assert rows.items() <= outputs.items()
            assert rows or layout.turns or name in ("one weight", "rgb")  # whose numbers stand on the cubes' edges


@pytest.mark.parametrize(
    "shape", [(), (1,), (7,), (500,), (1, 1), (3, 4), (1000, 2), (2, 1000), (4, 3, 5), (5, 3, 3, 3), (2, 2, 2, 3, 3)]
)
def test_every_element_has_a_cell_of_its_own_which_strides_address(shape):
    """By logical index, by number and by the shader's formula, against NumPy's own order of the elements."""
    grid, size = grid_for(shape), prod(shape)
    (period_row, period_col), s, numbers = grid.period, grid.strides, np.arange(size)
    if len(shape) > 2:
        kh, kw = 1 if len(shape) == 3 else shape[-2], shape[-1]
        inputs = shape[1] if len(shape) == 3 else shape[-3]
        numbers = numbers.reshape(-1, inputs, kh, kw).transpose(0, 2, 1, 3)
    numbers = numbers.reshape(grid.shape)
    cells = {grid.places(grid.element(i, j)): numbers[i, j] for i, j in np.ndindex(grid.shape)}
    assert len(cells) == size
    assert max(grid.cells) <= max(64 * min(grid.cells), 8)
    for (row, col), number in cells.items():
        assert 0 <= row < grid.cells[0]
        assert 0 <= col < grid.cells[1]
        (a, b), (c, d) = divmod(row, period_row), divmod(col, period_col)
        assert a * s[0] + b * s[1] + c * s[2] + d * s[3] == number
    places = zip(*(part.tolist() for part in grid.places(np.arange(size))), strict=True)
    assert list(places) == sorted(cells, key=lambda cell: cells[cell])


def test_arrays_of_no_stage_are_drawn_and_empty_ones_are_not_and_nothing_at_all_or_no_such_plate_is_an_error():
    tensors, stages = chain(3, 4, 2)
    extra = Tensor("scale", (5, 5), sum(t.size for t in tensors))
    names = {p.name: p.kind for p in layout_for([*tensors, extra], stages, SIZE).plates}
    assert names.keys() == {t.name for t in tensors} | {"scale", "input", *(s.name for s in stages)}
    layout = layout_for(*arrays((0, 3), (2, 2)), SIZE)
    assert [p.name for p in layout.plates] == ["t1"]
    for nothing in ([], [Tensor("w", (0,), 0)]):
        with pytest.raises(InputError, match="no weights"):
            layout_for(nothing, [], SIZE)
    with pytest.raises(UnknownNameError, match=r"'9.weight'.*t1"):
        layout.plate("9.weight")
    with pytest.raises(InputError, match="outside"):
        layout.plate("t1").cell_centre(3, 0)


# ---- Convolutions and graphs


def run_of(net, shape, outputs):
    data = np.zeros((12, *shape)), np.arange(12) % outputs
    return sv.Run(net, nn.CrossEntropyLoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy")


def usual(side=8):
    net = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 12, 3, padding=1), nn.ReLU(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(12 * (side // 4) ** 2, 10),
    )  # fmt: skip
    return run_of(net, (1, side, side), 10)


def test_of_large_pictures_the_maps_before_a_pool_are_left_out_and_a_map_shows_the_number_of_its_place():
    layout = layout_for((run := usual()).tensors, run.stages, SIZE)
    plate, (c, y, x) = layout.activation("2"), (4, 1, 3)
    tiles = (plate.grid.cells[1] + 1) // 5
    assert plate.grid.places(c * 16 + y * 4 + x) == (c // tiles * 5 + y, c % tiles * 5 + x)
    large = layout_for((run := usual(28)).tensors, run.stages, SIZE)
    assert (layout.activation("1") is None, large.activation("1") is None) == (False, True)
    assert large.activation("2").size == 6 * 14 * 14


@pytest.mark.parametrize("sheet", [False, True])
def test_the_maps_share_a_range_and_a_sheet_has_its_own(sheet):
    run, probe = usual(), np.linspace(0, 40, 64)
    scale, frame = ActivationScale(run.stages, DARK, sheet=sheet), run.frame(probe)
    scale.update(frame, None)
    drawn = [frame.activations[name] for name in ("1", "2", "4", "5")] + ([] if sheet else [probe])
    assert (scale.range.low, scale.range.high) == (0.0, pytest.approx(extent(np.concatenate(drawn)), rel=1e-12))
    assert scale.own == ({"input": Range(0.0, 1.0)} if sheet else {})
    assert set(rows_of(run.stages)) == {"input", "1", "2", "4", "5"}  # the logits are on another scale


# ---- One number, ten and a million in one picture


@pytest.mark.parametrize("size", [SIZE, (640, 360), (1920, 1080)])
def test_small_arrays_beside_a_million_numbers_are_seen_and_named(size):
    given = {"one": np.array(0.5), "ten": np.linspace(-1, 1, 10), "million": np.sin(np.arange(10**6) / 1e4)}
    bench, least = bench_of(given, size), 12 if size[0] < 1000 else 20
    names = {item.text: box_of(item) for item in texts(bench.sketches)}
    assert any(text.startswith("1,000,000 in rows of 1,000") for text in names)
    for name, array in given.items():
        plate = bench.layout.plate(name)
        corners = bench.project(plate.corners)
        low, high, (left, top, right, bottom) = corners.min(axis=0), corners.max(axis=0), names[name]
        assert np.hypot(*np.maximum(np.maximum(low - (right, bottom), (left, top) - high), 0.0)) < 90
        assert (high - low).max() > (0.45 * bench.places.size[1] if array.size > 1000 else least)
        for element in range(array.size) if array.size < 100 else ():
            assert np.ptp(bench.project(plate.corners_of(element)[4:])[:, 1]).min() > 0.7 * least


@pytest.mark.parametrize("size", [SIZE, (640, 360), (1920, 1080)])
@pytest.mark.parametrize("make", [lambda: sv.Weight(0.7, name="w"), lambda: {"w": np.array(0.7)}, lambda: {"w": 0.7}])
def test_a_single_number_is_one_cube_of_sensible_size_with_its_name_and_value(make, size):
    bench = bench_of(make(), size)
    (plate,) = bench.layout.plates
    assert np.ptp(bench.project(plate.corners), axis=0).max() < 0.45 * bench.places.size[1]  # a cube, not a wall
    assert np.ptp(bench.project(plate.corners_of(0)[4:]), axis=0).min() > 30
    assert {"w", "+0.70"} <= set(said(bench))


# ---- Plates apart, and one layer alone


@pytest.mark.parametrize("name", LAYOUTS)
def test_apart_the_same_plates_stand_further_from_each_other_and_one_layer_alone_fills_the_picture(name):
    whole = layout_for(*LAYOUTS[name], SIZE)
    wide = Apart(wide=True).apply_to(whole)
    middles = [np.array([p.bounds.mean(axis=0) for p in layout.plates]) for layout in (whole, wide)]
    spans = [middle - middle[0] for middle in middles]
    np.testing.assert_allclose(spans[1], WIDER * spans[0], atol=1e-9)
    for before, after in zip(whole.plates, wide.plates, strict=True):
        np.testing.assert_array_equal(before.axes, after.axes)
        assert (before.name, before.start, before.half) == (after.name, after.start, after.half)
    box = seen(whole)
    slack = 0.02 * np.ptp(box, axis=0)
    assert np.all(seen(wide) >= box.min(axis=0) - slack)
    assert np.all(seen(wide) <= box.max(axis=0) + slack)
    for layer in layers_of(whole):
        alone = Apart(layer=layer).apply_to(whole)
        assert [p.name for p in alone.plates] == [p.name for p in weights_of(whole) if layer_of(p) == layer]
        assert np.all(seen(alone) >= 0)
        assert np.all(seen(alone) <= np.maximum(SIZE, seen(whole).max(axis=0) + 1e-6))
        assert alone.pixels_per_cube() >= 0.9 * whole.pixels_per_cube()
    assert Apart(layer="nothing of that name").apply_to(whole) is whole


@pytest.mark.gl
def test_in_a_window_one_layer_is_shown_alone_and_an_opened_step_has_all_of_them():
    with live_hand(rgb(6, steps=0)) as hand:
        view, bench = hand.view, hand.view.bench

        def after(name):
            view.send(name)
            view.tick(0.2)
            return [p.name for p in weights_of(bench.layout)]

        whole = [p.name for p in weights_of(bench.layout)]
        bench.select(0)
        assert after("layer_before") == ["2.weight", "2.bias"]
        assert bench.selected is None, "its cube is not drawn"
        for plate in bench.layout.plates:
            for element in range(plate.size):
                assert bench.pick(hand.face(plate.start + element)) == plate.start + element
        assert sorted(after("micro_next")) == sorted(whole)
        assert after("escape") == ["2.weight", "2.bias"]
        assert [after("layer_before") for _ in range(2)] == [["0.weight", "0.bias"], whole]
        for apart in (Apart(wide=True), Apart()):
            assert (after("toggle_apart"), bench.apart) == (whole, apart)


# ---- Any graph of stages


@st.composite
def graphs(draw):
    """Stages with sources among all that came before."""
    stages, tensors, sizes, start = [], [], {"input": draw(st.integers(1, 9))}, 0
    for k in range(draw(st.integers(1, 9))):
        sources = tuple(sorted(draw(st.sets(st.sampled_from(sorted(sizes)), min_size=1, max_size=3))))
        outputs = draw(st.sampled_from([1, 2, 3, 8, 40]))
        weight = bias = None
        if draw(st.booleans()):
            weight = Tensor(f"m{k}.weight", (outputs, sum(sizes[s] for s in sources)), start)
            bias = Tensor(f"m{k}.bias", (outputs,), start + weight.size, "bias")
            start += weight.size + bias.size
            tensors += [weight, bias]
        first = (sizes["input"],) if k == 0 else ()
        kind = "linear" if weight else "function"
        stages.append(Stage(f"m{k}", kind, outputs, weight, bias, (outputs,), first, sources))
        sizes[f"m{k}"] = outputs
    return tensors or [Tensor("w", (), 0, "value")], stages, sizes


@given(graphs(), st.sampled_from([SIZE, (640, 360)]))
@settings(max_examples=60, deadline=None)
def test_every_tensor_and_row_of_a_graph_stands_once_and_apart(graph, size):
    tensors, stages, sizes = graph
    layout = layout_for(tensors, [*stages, Stage("end", "function", 2, sources=("input", "m0"))], size)
    assert_stands(layout, tensors)
    assert {p.name: p.size for p in layout.plates if p.kind == "activation"} == {**sizes, "end": 2}


def test_a_line_for_every_source_and_one_that_skips_goes_over_the_others():
    weight = Tensor("a.weight", (4, 4), 0)
    stages = [Stage("a", "linear", 4, weight, None, (4,), (4,), ("input",)), Stage("b", "tanh", 4, sources=("a",)),
              Stage("c", "add", 4, sources=("input", "b"))]  # fmt: skip
    layout = layout_for([weight], stages, SIZE)
    assert len(layout.flow) == 1 + 1 + 5 + 1  # input-a, a-b, input-c over both, b-c
    assert layout.flow[..., 2].max() > max(p.bounds[1][2] for p in layout.plates)


# ---- networks with branches


class Dense(nn.Module):
    """Two layers read the input; the next reads whole rows, one after the other; the last one a sum."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 2, seed=1), nn.Linear(3, 2, seed=2), nn.Linear(7, 2, seed=3)
        self.last, self.tanh = nn.Linear(2, 2, seed=4), nn.Tanh()

    def forward(self, x):
        a = self.a(x)
        return self.last([u + v for u, v in zip(a, self.c([*x, *a, *self.tanh(self.b(x))]), strict=True)])


def test_where_a_weight_comes_from_is_where_its_layer_reads():
    subject = subject_of(run_of(Dense(), shape=(3,), outputs=2))

    def meanings(name):
        tensor = next(tensor for tensor in subject.tensors if tensor.name == name)
        return [who(subject, tensor.start + k).name for k in range(tensor.size)]

    assert meanings("a.weight")[2] == "from x2 to a, unit 1"
    assert meanings("b.weight")[4] == "from x1 to tanh, unit 2"
    assert meanings("b.bias")[1] == "bias of tanh, unit 2"
    rows = ["x0", "x1", "x2", *(f"{row}, unit {k}" for row in ("a", "tanh") for k in (1, 2))]
    assert meanings("c.weight")[:7] == [f"from {number} to c, unit 1" for number in rows]
    assert meanings("last.weight")[3] == "from input 2 of last to y1"  # a sum that no module made is no row


# ---- any camera: something stays in sight, and names of rows stand beside their own cubes


def boxes(bench, prefix):
    """Left, top, right, bottom of the names ``to y0``, by their number."""
    named = [t for t in texts(bench.sketches) if t.text.startswith(prefix) and t.text[len(prefix) :].isdigit()]
    return {int(t.text[len(prefix) :]): box_of(t) for t in named}


def faces(bench, name):
    """Points (N, 2) all over the faces of each row's cubes that are towards the camera, on screen."""
    plate = bench.layout.plate(name)
    steps = np.linspace(-1, 1, 17) * plate.half
    up = 1 if bench.camera.eye[2] > 0.0 else -1  # over the floor on which the cubes stand
    spread = np.array([a * plate.axes[0] + b * plate.axes[1] for a in steps for b in steps])
    spread += up * plate.depth * plate.axes[2]
    return [
        bench.project(np.concatenate([plate.cell_centre(i, j) + spread for j in range(plate.shape[1])]))
        for i in range(plate.shape[0])
    ]


def check(bench, named, *names):
    rows = [np.concatenate(parts) for parts in zip(*(faces(bench, name) for name in names), strict=True)]
    for row, box in named.items():
        low, high = np.array(box[:2]), np.array(box[2:])
        beside = [np.maximum(np.maximum(low - points, points - high), 0) for points in rows]
        away = [float(np.hypot(*gaps.T).min()) for gaps in beside]
        assert int(np.argmin(away)) == row, (row, away)
        assert 0 < away[row] < 60
        spots = [(x, y) for x in np.linspace(box[0], box[2], 5) for y in np.linspace(box[1], box[3], 3)]
        assert not any(bench.pick((x * bench.scale, y * bench.scale)) is not None for x, y in spots)


@pytest.mark.gl
@pytest.mark.parametrize(
    ("widths", "prefix", "plates", "most"),
    [((3, 3), "to y", ("0.weight", "0.bias"), 60), ((3, 4, 2), "x", ("input",), 40)],
)
def test_from_every_camera_the_nearest_row_is_its_own(widths, prefix, plates, most):
    net = mlp(*widths, last="Identity")(nn)
    net.initialize(seed=3)
    bench = bench_of(run_of(net, (widths[0],), widths[-1]))
    rng, shown = np.random.default_rng(0), 0
    named = boxes(bench, prefix)
    assert sorted(named) == [0, 1, 2]
    check(bench, named, *plates)
    for _ in range(most):
        bench.orbit(*(rng.uniform(-300, 300, 2) * (1.0, 0.4)))
        named = boxes(again(bench, 0.02), prefix)
        assert sorted(named) in ([], [0, 1, 2])  # all or none: one alone would be a riddle
        check(bench, named, *plates)
        shown += bool(named)
    assert shown > most / 4


def in_sight(bench):
    """Whether a cube is seen somewhere in its place: looked for at the middle of every cube, and everywhere."""
    x, y, width, height = bench.places.scene
    everywhere = [
        (x + a * width, y + b * height) for a in np.linspace(0.01, 0.99, 40) for b in np.linspace(0, 0.99, 30)
    ]
    plates = [plate for plate in bench.layout.plates if plate.kind != "activation"]
    middles = bench.project([plate.centre_of(k) for plate in plates for k in range(plate.size)])
    return any(bench.pick(at) is not None for at in np.concatenate([middles, everywhere]) * bench.scale)


@pytest.mark.gl
@pytest.mark.parametrize("size", [(1280, 720), (400, 600)])
@pytest.mark.parametrize("hidden", [(), (16, 16), (8, 8, 8, 8)], ids=str)
def test_no_hand_moves_the_picture_out_of_sight(hidden, size):
    bench = bench_of(rgb(*hidden, steps=0), size)
    rng = np.random.default_rng(len(hidden))
    for round_ in range(12):
        for _ in range(rng.integers(1, 12)):
            kind = rng.integers(3)
            if kind == 0:
                bench.pan(*rng.normal(0, 800, 2))
            elif kind == 1:
                bench.zoom(float(1.15 ** rng.integers(-12, 12)), tuple(rng.uniform((0, 0), size)))
            else:
                bench.orbit(*rng.normal(0, 150, 2))
        assert in_sight(bench), round_


# ---- Nets of one to eight layers, 1 to 64 wide: no plate, name or line lies over another, at any size of window


SIZES = [(1280, 720), (640, 360), (720, 1280), (1576, 1000)]
# Widths spread evenly over their decades: layers of one and of sixty side by side.
nets = st.lists(st.floats(0, 1).map(lambda u: round(64**u)), min_size=2, max_size=9)
EXAMPLES = [[8] * 7, [3, 16, 16, 3], [64] * 9, [3, 64, 2, 33, 1, 8], [4, 24, 24, 10, 2], [49, 30, 1, 36, 1, 21, 2]]


def into(a, b):
    """How far two convex rings reach into each other, by separating axes; 0 or less where they are apart."""
    edges = np.concatenate([np.roll(ring, -1, axis=0) - ring for ring in (a, b)])
    normals, lengths = np.stack([edges[:, 1], -edges[:, 0]], axis=1), np.hypot(*edges.T)
    normals = normals[lengths > 1e-9] / lengths[lengths > 1e-9][:, None]
    here, there = normals @ a.T, normals @ b.T
    return np.minimum(here.max(axis=1) - there.min(axis=1), there.max(axis=1) - here.min(axis=1)).min()


def depths(points, ring):
    """How deep points (N, 2) lie inside a convex ring; negative outside."""
    edges = np.roll(ring, -1, axis=0) - ring
    cross = edges[:, 0] * (points[:, None, 1] - ring[:, 1]) - edges[:, 1] * (points[:, None, 0] - ring[:, 0])
    turn = np.sign((edges[:, 0] * np.roll(edges[:, 1], -1) - edges[:, 1] * np.roll(edges[:, 0], -1)).sum())
    return (turn * cross / np.maximum(np.hypot(*edges.T), 1e-9)).min(axis=1)


def along(layout):
    """60 points of each line on screen (S, 60, 2), and how many pitches each is from the line's nearer end (S, 60)."""
    starts, ends = layout.flow[:, :1], layout.flow[:, 1:]
    points = starts + np.linspace(0, 1, 60)[:, None] * (ends - starts)
    away = np.minimum(np.linalg.norm(points - starts, axis=2), np.linalg.norm(points - ends, axis=2))
    return layout.camera.project(points.reshape(-1, 3)).reshape(-1, 60, 2), away


@given(nets, st.sampled_from(SIZES), st.booleans())
@settings(max_examples=80, deadline=None)
@example([8] * 7, (1280, 720), True)
def test_every_cube_shows_its_main_face_and_plates_lines_and_names_are_apart(widths, size, bias):
    tensors, stages = chain(*widths, bias=bias)
    layout = layout_for(tensors, stages, size)
    picker, rng = Picker(layout), np.random.default_rng(len(widths))
    for index, plate in enumerate(layout.plates):
        some = range(plate.size) if plate.size < 30 else rng.choice(plate.size, 30, replace=False)
        for element in map(int, some):
            x, y = layout.camera.project(plate.tops[element])[0]
            hit = picker.pick(layout.camera, (float(x), float(y)))
            assert hit is not None
            assert hit[:2] == (index, element), (plate.name, element, layout.plates[hit.plate].name)
    hulls = [convex_hull(layout.camera.project(plate.corners)) for plate in layout.plates]
    if not len(layout.trays):  # lying cubes hide each other's sides, as in every picture from above
        for first, second in combinations(hulls, 2):
            assert into(first, second) < 1.5
    lines, away = along(layout) if len(layout.flow) else (np.zeros((0, 60, 2)), np.zeros((0, 60)))
    if len(lines) and not len(layout.trays):  # along an edge they may come as near as the side of a cube
        near, lengths = max(3.0, 0.75 * layout.pixels_per_cube()), np.hypot(*(lines[:, -1] - lines[:, 0]).T)
        for ring in hulls:
            covered = (depths(lines.reshape(-1, 2), ring).reshape(away.shape) > near) & (away > 1.3)
            assert (covered.mean(axis=1) * lengths).max() < 10.0
    x0, y0, x1, y1 = layout.rect
    shapes = {t.name: t.shape for t in tensors if t.role == "weight"}
    kinds = {"input": "input", **{s.name: s.kind for s in stages if s.weight is None}}
    labels = FlowLabels(layout, shapes, kinds, layout.camera.project, (x0, y0, x1 - x0, y1 - y0))
    boxes = [
        box_of(t)
        for t in [*labels.static_sketch(DARK).texts, *labels.moving(DARK, {}, dict.fromkeys(shapes, 0.5)).texts]
    ]
    for left, top, right, bottom in boxes:
        corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
        assert all(into(corners, ring) < 1.0 for ring in hulls)
        assert not ((lines > (left, top)) & (lines < (right, bottom))).all(axis=2).any()
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))


@pytest.mark.parametrize("turn", [(0, 0), (40, 20), (-60, 5), (90, 0)])
def test_the_middle_of_a_name_is_nearest_to_its_own_plate(turn):
    tensors, stages = chain(12, 64, 64, 64, 64, 3)
    layout, shapes = layout_for(tensors, stages, (1280, 720)), {t.name: t.shape for t in tensors if t.role == "weight"}
    pose = turned(pose_of(layout.camera, layout.bounds.mean(axis=0)), *turn)
    camera, (x0, y0, x1, y1) = camera_of(pose, layout.size, layout.outline), layout.rect
    labels = FlowLabels(layout, shapes, {}, camera.project, (x0, y0, x1 - x0, y1 - y0))
    faces = {p.name: camera.project(p.corners[4:]) for p in layout.plates if p.name in shapes}
    names = [name for name in labels.names if name.text in shapes]
    assert len(names) == len(shapes)
    for name in names:
        left, top, wide, high = name.box
        away = dict(
            zip(
                faces, face_distances((left + wide / 2, top + high / 2, 0, 0), np.array([*faces.values()])), strict=True
            )
        )
        assert min(away, key=away.get) == name.text


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (1576, 1000)])
@pytest.mark.parametrize("widths", EXAMPLES)
def test_there_are_lines_where_they_have_room(widths, size):
    layout = layout_for(*chain(*widths), size)
    assert len(layout.flow) or layout.pixels_per_cube() < 9.0, "without lines, and yet the cubes are large"
    if len(layout.flow):
        assert np.hypot(*np.diff(along(layout)[0][:, 30], axis=0).T).max() > 3.0
    if widths == [8] * 7:  # into each row, and out of each into the next plate
        assert layout.mode == "mlp"
        assert len(layout.flow) >= 8 * (6 + 5)
