"""Files as pictures: which numbers are shown and in which order, hover, histogram, and the difference of two."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import save_tensors
from scalarviz.run.panels import Histogram
from scalarviz.run.questions.ranges import extent
from scalarviz.run.sources.watched import Watched
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.histogram import BINS, counted
from scalarviz.view.show import bench_of
from scalarviz.view.shown.subject import Subject
from scalarviz.view.walls.stored import MOST_NUMBERS, stored_numbers, stored_subject
from scalarviz.view.watch.mirror import Mirror

SIZE = (960, 540)
SHAPES = {"fc2.weight": (3, 8), "fc2.bias": (3,), "conv.weight": (4, 1, 3, 3), "fc1.weight": (8, 36), "fc1.bias": (8,)}


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}


@pytest.fixture
def net(tmp_path, arrays):
    """An ONNX file whose nodes and tensors stand in another order than that in which they are used."""
    nodes = [
        helper.make_node("Gemm", ["c", "fc2.weight", "fc2.bias"], ["y"], transB=1),
        helper.make_node("Conv", ["x", "conv.weight"], ["a"]),
        helper.make_node("Gemm", ["b", "fc1.weight", "fc1.bias"], ["c"], transB=1),
        helper.make_node("Reshape", ["a", "shape"], ["b"]),
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    tensors.append(numpy_helper.from_array(np.array([0, -1]), "shape"))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], initializer=tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


@pytest.fixture
def weights(tmp_path, arrays):
    save_tensors(tmp_path / "other.safetensors", arrays)
    return tmp_path / "other.safetensors"


def test_onnx_stands_in_the_order_of_its_graph(net, arrays):
    found = stored_numbers(net)
    assert list(found) == ["conv.weight", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    assert all(np.array_equal(found[name], arrays[name]) for name in found)
    assert [tensor.name for tensor in stored_subject([net]).tensors] == list(found)


def save_onnx(path, nodes, stored=(), noted=""):
    """A file of nodes from x to y."""
    ports = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 2])] for name in "xy"]
    tensors = [numpy_helper.from_array(array, name) for name, array in dict(stored).items()]
    model = helper.make_model(helper.make_graph(nodes, "g", *ports, tensors), ir_version=8)
    model.opset_import[0].version = 17
    if noted:
        said = model.graph.metadata_props.add()
        said.key, said.value = "pkg.torch.export.ExportedProgram.graph_signature", noted
    onnx.save(model, path)
    return list(stored_numbers(path))


def test_single_numbers_of_a_formula_or_that_a_file_does_not_note_are_no_plates(tmp_path):
    """An exporter writes GELU's 0.5 as a node; PyTorch's new one stores it and notes parameters."""
    path, make = tmp_path / "n.onnx", helper.make_node
    half = make("Constant", [], ["half"], value_float=0.5)
    mask = make("Constant", [], ["mask"], value_floats=[0.0, 1.0])
    products = [
        make("Mul", ["x", "half"], ["a"]),
        make("Mul", ["a", "mask"], ["b"]),
        make("Mul", ["b", "scale"], ["y"]),
    ]
    assert save_onnx(path, [half, mask, *products], {"scale": np.full(1, 3.0, np.float32)}) == ["mask", "scale"]
    assert save_onnx(path, [half, make("Mul", ["x", "half"], ["y"])]) == ["half"]
    nodes = [make("Mul", ["x", "gate"], ["a"]), make("Mul", ["a", "val_3"], ["y"])]
    stored = {"gate": np.float32(1.5), "val_3": np.float32(0.5)}
    assert save_onnx(path, nodes, stored, "p_gate: PARAMETER target='gate'\nx: USER_INPUT\n") == ["gate"]


def test_names_are_sorted_as_numbers_chosen_by_patterns_and_as_many_as_can_be_shown(net, weights, tmp_path):
    save_tensors(tmp_path / "a.safetensors", {f"layers.{k}.w": np.ones(2) for k in (10, 2, 1)})
    assert list(stored_numbers(tmp_path / "a.safetensors")) == ["layers.1.w", "layers.2.w", "layers.10.w"]
    for path in (net, weights):
        assert set(stored_numbers(path, ["fc2.*"])) == {"fc2.weight", "fc2.bias"}
        assert set(stored_numbers(path, ["fc2.*", "*.weight"])) == {name for name in SHAPES if name != "fc1.bias"}
        with pytest.raises(InputError, match=r"none of its names fits 'fc9\.\*'; it has '"):
            stored_numbers(path, ["fc9.*"])
    big = tmp_path / "big.safetensors"
    save_tensors(big, {"layers.0.w": np.zeros(MOST_NUMBERS, np.int8), "layers.1.w": np.zeros(1, np.int8)})
    with pytest.raises(InputError, match=r"10,000,001 numbers in 2 tensors; .* as --only 'layers\.0\.\*'"):
        stored_numbers(big)
    assert stored_numbers(big, ["layers.0.*"])["layers.0.w"].size == MOST_NUMBERS
    save_tensors(big, {f"w{k}": np.zeros(1) for k in range(1_001)})
    with pytest.raises(InputError, match="1,001 tensors"):
        stored_numbers(big)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", b"hello", "files that are shown end in .onnx, .safetensors"),
        ("a.svz", b"hello", "scalarviz replay"),
        ("a.pt", b"PK\x03\x04", "holds a pickle"),
        ("a.onnx", b"", "empty"),
        ("a.safetensors", None, "holds no numbers"),
    ],
)
def test_other_files(tmp_path, name, content, says):
    if content is None:
        save_tensors(tmp_path / name, {"none": np.zeros((0, 3))})
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((FileFormatError, InputError), match=says):
        stored_numbers(tmp_path / name)


# ---- the histogram


def test_counts_are_numpys():
    numbers = np.random.default_rng(1).normal(size=1000)
    numbers[:5] = [50.0, -60.0, np.nan, np.inf, 0.0]
    real = numbers[np.isfinite(numbers)]
    reach = extent(real)
    of = counted(numbers)
    assert of.reach == reach
    assert of.beyond == np.count_nonzero(np.abs(real) > reach) >= 2
    inside = np.histogram(real, BINS, (-reach, reach))[0]
    assert np.array_equal(of.counts[1:-1], inside[1:-1])
    assert of.counts.sum() == real.size
    assert any("1 zero " in line for line in of.lines)
    assert any("2 NaN or infinite" in line for line in of.lines)
    assert any("most +50" in line for line in of.lines)


@pytest.mark.parametrize("numbers", [np.zeros(4), np.full(3, np.nan), np.array([np.inf]), np.array([1e308, -1e308])])
def test_odd_numbers_are_counted(numbers):
    of = counted(numbers)
    assert of.counts.sum() == np.isfinite(numbers).sum()
    assert of.lines


def words(bench):
    return [text.text for sketch in bench.sketches for text in sketch.texts]


def over(bench, name):
    """A point over a cube of a tensor, in device pixels."""
    tensor = next(t for t in bench.subject.tensors if t.name == name)
    points = ((x, y) for y in range(20, SIZE[1], 6) for x in range(5, SIZE[0], 6))
    return next(
        at for at in points if (index := bench.pick(at)) is not None and tensor.span.start <= index < tensor.span.stop
    )


def test_the_histogram_is_of_what_the_pointer_is_over(net, arrays):
    with offscreen():
        view = Mirror(stored_subject([net]), SIZE)
        bench, pictures = view.bench, []
        for at, said, not_said in (
            (None, {"all numbers", f"{sum(a.size for a in arrays.values()):,} numbers", *arrays}, {"288 numbers"}),
            ("fc1.weight", {"288 numbers"}, {"all numbers"}),
            (None, {"all numbers"}, {"288 numbers"}),
        ):
            bench.hover(at and over(bench, at))
            view.tick(0.1)
            pictures.append(offscreen().render(bench.draw, SIZE)[:, int(0.75 * SIZE[0]) :].astype(int))
            assert said <= set(words(bench))
            assert not not_said & set(words(bench))
        assert np.abs(pictures[0] - pictures[1]).sum() > 10_000
        bench.click(over(bench, "fc1.weight"))  # a number that is looked into has no course
        column = bench.touch.inspector.sketch((0, 0, 304, 500), DARK, view.frame())
        assert any(text.text.startswith("fc1.weight[") for text in column.texts)
        assert not any("since step" in text.text for text in column.texts)


def test_numbers_that_stay_look_as_those_that_may_change(net):
    """What is known of numbers that nobody can change is kept from frame to frame; nobody sees that."""
    stays = stored_subject([net])
    changes = Subject(Watched(stored_numbers(net)), panels=(Histogram(),))
    pictures = []
    with offscreen():
        for subject in (stays, changes):
            view = Mirror(subject, SIZE, bench=bench_of(subject, SIZE))
            view.tick(0.1)
            pictures.append([offscreen().render(view.bench.draw, SIZE)])
            view.bench.hover(over(view.bench, "fc1.weight"))
            view.bench.set_look(theme="light", cmap="viridis")
            view.bench.refit_range()
            view.tick(0.1)
            pictures[-1].append(offscreen().render(view.bench.draw, SIZE))
    assert all(np.array_equal(a, b) for a, b in zip(*pictures, strict=True))
    assert not np.array_equal(*pictures[0])


def test_two_files_and_their_difference(net, weights, arrays, tmp_path):
    other = {**arrays, "fc1.bias": arrays["fc1.bias"] + np.float32(0.25), "fc2.bias": np.zeros(4), "new": np.ones(1)}
    save_tensors(weights, other)
    subject = stored_subject([net, weights])
    pair = subject.source
    assert [tensor.name for tensor in subject.tensors] == ["conv.weight", "fc1.weight", "fc1.bias", "fc2.weight"]
    assert set(pair.left_out) == {"fc2.bias is 3 in net, 4 in other", "new is in other only"}
    frame = pair.frame()
    for tensor in subject.tensors:
        wanted = other[tensor.name].astype(float) - arrays[tensor.name]
        assert np.allclose(tensor.of(frame.values), wanted, atol=1e-7)
    with offscreen():
        view = Mirror(subject, SIZE, bench=bench_of(subject, SIZE))
        view.tick(0.1)
        offscreen().render(view.bench.draw, SIZE)
        said = words(view.bench)
        assert {"359 numbers in 5 tensors", "361 numbers in 6 tensors"} <= set(said)
        assert not any("step" in word for word in said)
        assert any(word.startswith("largest +0.25") for word in said)


def test_files_that_share_nothing_or_their_name(net, weights, tmp_path):
    for name in ("a", "b"):
        save_tensors(tmp_path / f"{name}.safetensors", {f"{name}{k}": np.ones(1) for k in range(100)})
    with pytest.raises(InputError, match="nothing to compare") as caught:
        stored_subject([tmp_path / "a.safetensors", tmp_path / "b.safetensors"])
    assert len(str(caught.value)) < 400
    same = net.with_suffix(".safetensors")
    weights.rename(same)
    assert stored_subject([net, same]).source.names == ("net.onnx", "net.safetensors")


NAMES = ["", "a\nb", "\x1b[31mred", "x" * 5000, "a b", "y" * 90 + "1", "y" * 90 + "2"]


def test_every_name_fits_on_a_line(tmp_path, arrays):
    save_file({name: np.full((2, 3), k, np.float32) for k, name in enumerate(NAMES)}, tmp_path / "odd.safetensors")
    tensors = stored_subject([tmp_path / "odd.safetensors"]).tensors
    names = [tensor.name for tensor in tensors]
    assert len({*names}) == len(NAMES)
    assert all(name.isprintable() and 0 < len(name) < 100 for name in names)
    assert {"(no name)", "a b", "a b (2)"} < {*names}
    assert sum(tensor.size for tensor in tensors) == 6 * len(NAMES)


def test_the_largest_numbers_have_the_colours_of_their_signs(tmp_path):
    """1 by twice the largest number is no normal number, which a shader takes for 0."""
    save_file({"w": np.array([[3.4e38, -3.4e38], [0.0, 1.0]], np.float32)}, tmp_path / "large.safetensors")
    with offscreen():
        view = Mirror(stored_subject([tmp_path / "large.safetensors"]), SIZE)
        bench = view.bench
        view.tick(0.1)
        image = offscreen().render(bench.draw, SIZE).astype(int)
        colours = {k: [] for k in range(4)}
        for x, y in ((x, y) for y in range(20, SIZE[1], 6) for x in range(5, SIZE[0], 6)):
            if (index := bench.pick((x, y))) is not None:
                colours[index].append(image[y, x])
    warmth = {k: np.median([r - b for r, _, b in seen]) for k, seen in colours.items()}
    assert warmth[0] < -40 < 40 < warmth[1]  # blue and orange
    assert abs(warmth[2]) < 30
    assert abs(warmth[3]) < 30
