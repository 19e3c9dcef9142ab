"""Files as pictures: which numbers are shown and in which order, hover, histogram, and the difference of two."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from safetensors.numpy import save_file

import scalarviz as sv
from kit.benches import pixels_of, said
from kit.onnx_files import Made, drawn
from scalarviz.errors import FileFormatError, InputError
from scalarviz.imported.weights_file import MOST_NUMBERS, read_stored
from scalarviz.io import save_tensors
from scalarviz.run.panels import Histogram
from scalarviz.run.questions.ranges import extent
from scalarviz.run.sources.watched import Watched
from scalarviz.view.ink.text import share_text
from scalarviz.view.ink.theme import DARK
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.panels.table import BINS, counted
from scalarviz.view.show import bench_of as made_bench
from scalarviz.view.shown.subject import Subject
from scalarviz.view.walls.stored import stored_subject
from scalarviz.view.watch.viewer import Viewer

SIZE = (960, 540)
SHAPES = {"fc2.weight": (3, 8), "fc2.bias": (3,), "conv.weight": (4, 1, 3, 3), "fc1.weight": (8, 36), "fc1.bias": (8,)}
NODES = """
y = Gemm(c, fc2.weight, fc2.bias, transB=1)
a = Conv(x, conv.weight)
c = Gemm(b, fc1.weight, fc1.bias, transB=1)
b = Reshape(a, shape)
"""
NUMBERED = """
a = Mul(x, val_1) @/l/scale/Mul
b = BatchNormalization(a, val_2, val_3, val_4, val_5) @/l/bn/BatchNormalization
c = Gemm(b, val_6, val_7) @/l/fc/Gemm
y = Add(c, val_8) @/l/shift/Add
"""
FORMULAS = (  # nodes, stored numbers, the parameters that are noted, and what is shown
    ("a = Mul(x, {0.5})\nb = Mul(a, {[0.0, 1.0]})\ny = Mul(b, scale)", {"scale": [3.0]}, "", ["t2", "scale"]),
    ("y = Mul(x, {0.5})", {}, "", ["t0"]),
    ("a = Mul(x, gate)\ny = Mul(a, val_3)", {"gate": 1.5, "val_3": 0.5},
     "p_gate: PARAMETER target='gate'\nx: USER_INPUT\n", ["gate"]),
)  # fmt: skip
"""An exporter writes GELU's 0.5 as a node; PyTorch's new one stores it and notes parameters."""


def stored_numbers(path, only=()):
    return read_stored(path, only).arrays


@pytest.fixture
def arrays():
    return {name: drawn(*shape, seed=k) for k, (name, shape) in enumerate(SHAPES.items())}


def save_onnx(path, nodes, stored, noted=""):
    """A file of nodes from x to y."""
    made = Made("N", 2)
    for name, array in stored.items():
        made.constant(name, array)
    model = made.read(nodes).model()
    if noted:
        said = model.graph.metadata_props.add()
        said.key, said.value = "pkg.torch.export.ExportedProgram.graph_signature", noted
    onnx.save(model, path)
    return path


@pytest.fixture
def net(tmp_path, arrays):
    """An ONNX file whose nodes and tensors stand in another order than that in which they are used."""
    return save_onnx(tmp_path / "net.onnx", NODES, {**arrays, "shape": np.array([0, -1])})


@pytest.fixture
def weights(tmp_path, arrays):
    save_tensors(tmp_path / "other.safetensors", arrays)
    return tmp_path / "other.safetensors"


def test_onnx_stands_in_the_order_of_its_graph_without_single_numbers_of_formulas(net, arrays, tmp_path):
    found = stored_numbers(net)
    assert list(found) == ["conv.weight", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    assert all(np.array_equal(found[name], arrays[name]) for name in found)
    for nodes, stored, noted, names in FORMULAS:
        numbers = {name: np.asarray(array, np.float32) for name, array in stored.items()}
        assert list(stored_numbers(save_onnx(tmp_path / "n.onnx", nodes, numbers, noted))) == names


def test_numbered_tensors_are_called_as_the_modules_of_their_nodes_call_them(tmp_path):
    stored = {f"val_{k}": drawn(2, *([2] if k == 6 else [])) for k in range(1, 9)}
    found = stored_numbers(save_onnx(tmp_path / "n.onnx", NUMBERED, stored))
    assert list(found) == ["l.scale.weight", "l.bn.weight", "l.bn.bias", "l.bn.running_mean", "l.bn.running_var",
                           "l.fc.weight", "l.fc.bias", "l.shift.bias"]  # fmt: skip
    assert all(np.array_equal(mine, wrote) for mine, wrote in zip(found.values(), stored.values(), strict=True))


@pytest.mark.parametrize("names", ["/fc{}/MatMul /fc{}/Add", "_dense_{} Add{}", "MatMul_{} /fc{}/Add", "a.b.{} c.d.{}"])
def test_view_names_tensors_as_a_loaded_network_does(tmp_path, names):
    first, second = names.split()
    nodes = "\n".join(f"m{k} = MatMul({x}, W{k}) @{first.format(k)}\n{y} = Add(m{k}, B{k}) @{second.format(k)}"
                      for k, x, y in ((0, "x", "h"), (1, "h", "y")))  # fmt: skip
    stored = {"W0": drawn(2, 3), "B0": drawn(3), "W1": drawn(3, 1), "B1": drawn(1)}
    path = save_onnx(tmp_path / "n.onnx", nodes, stored)
    assert list(stored_numbers(path)) == list(sv.load_onnx(path).state_dict())


def test_a_tensor_that_a_node_copies_has_both_names_and_a_node_without_inputs_none(tmp_path):
    path = save_onnx(tmp_path / "n.onnx", "b.weight = Identity(a.weight)\ny = Mul(x, b.weight)", {"a.weight": drawn(2)})
    assert list(stored_numbers(path)) == ["a.weight", "b.weight"]
    model = onnx.load(path)
    del model.graph.node[0].input[:]
    onnx.save(model, path)
    assert list(stored_numbers(path)) == ["a.weight"]


def test_names_are_sorted_as_numbers_chosen_by_patterns_and_as_many_as_can_be_shown(net, weights, tmp_path):
    save_tensors(tmp_path / "a.safetensors", {f"layers.{k}.w": np.ones(2) for k in (10, 2, 1)})
    assert list(stored_numbers(tmp_path / "a.safetensors")) == ["layers.1.w", "layers.2.w", "layers.10.w"]
    for path in (net, weights):
        assert set(stored_numbers(path, ["fc2.*", "*.weight"])) == {name for name in SHAPES if name != "fc1.bias"}
        with pytest.raises(InputError, match=r"none of its names matches 'fc9\.\*'; it has '"):
            stored_numbers(path, ["fc9.*"])
    big = tmp_path / "big.safetensors"
    save_tensors(big, {"layers.0.w": np.zeros(MOST_NUMBERS, np.int8), "layers.1.w": np.zeros(1, np.int8)})
    with pytest.raises(InputError, match=r"32,000,001 numbers in 2 tensors; .* as --only 'layers\.0\.\*'"):
        stored_numbers(big)
    assert stored_numbers(big, ["layers.0.*"])["layers.0.w"].size == MOST_NUMBERS
    save_tensors(big, {f"w{k}": np.zeros(1) for k in range(1_001)})
    with pytest.raises(InputError, match="1,001 tensors"):
        stored_numbers(big)


WHOLE = {"int64": [5000, [[7, 900]]], "int32": [5000, [3, 4]], "uint16": [5000], "bool": [[[True, False]]]}


@pytest.mark.parametrize("dtype", WHOLE)
def test_counts_and_tables_of_indices_are_no_weights(tmp_path, dtype):
    weights = {"a.weight": drawn(2, 2), "b.weight": drawn(2).astype(np.float16), "c.weight": np.ones((2, 2), np.int8)}
    others = {f"{k}.number": np.array(x, dtype) for k, x in enumerate(WHOLE[dtype])}
    save_tensors(tmp_path / "a.safetensors", weights | others)
    assert list(stored_numbers(tmp_path / "a.safetensors")) == list(weights)
    assert stored_numbers(tmp_path / "a.safetensors", ["0.*"])["0.number"].dtype == dtype  # asked for
    net = save_onnx(tmp_path / "a.onnx", "y = MatMul(x, a.weight)", {"a.weight": weights["a.weight"]} | others)
    assert list(stored_numbers(net)) == ["a.weight"]
    save_tensors(tmp_path / "b.safetensors", others)
    assert list(stored_numbers(tmp_path / "b.safetensors")) == list(others)  # nothing else is there


def branch(name, *nodes, **held):
    """A branch that makes y; `held` are its initializers."""
    ends = [helper.make_tensor_value_info(f"{name}_y", onnx.TensorProto.FLOAT, None)]
    return helper.make_graph(list(nodes), name, [], ends, [numpy_helper.from_array(x, n) for n, x in held.items()])


def chosen(name, weight, **held):
    return branch(name, helper.make_node("MatMul", ["x", weight], [f"{name}_y"]), **held)


ONE, TWO = drawn(2, 3), drawn(2, 3, seed=1)
CONSTANT = helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(ONE))
INSIDE = {  # a node from x and c to y, and the numbers that are in it or that it alone reads
    "names outside": (("If", {"then_branch": chosen("a", "one"), "else_branch": chosen("b", "two")}),
        {"two": TWO, "one": ONE}),
    "initializers": (("If", {"then_branch": chosen("a", "w", w=ONE), "else_branch": chosen("b", "w", w=TWO)}),
        {"n.else_branch.w": TWO, "n.then_branch.w": ONE}),
    "a branch in a branch": (("If", {"then_branch": branch("a", CONSTANT, helper.make_node(
        "If", ["c"], ["a_y"], then_branch=chosen("d", "k"), else_branch=chosen("e", "two"))),
        "else_branch": chosen("b", "two")}), {"two": TWO, "n.then_branch.k": ONE}),
    "a classifier": (("LinearClassifier", {"coefficients": ONE.ravel().tolist(), "intercepts": [0.5, 0.25],
        "classlabels_ints": [0, 1]}), {"n.coefficients": ONE.ravel(), "n.intercepts": np.array([0.5, 0.25])}),
    "trees": (("TreeEnsembleRegressor", {"nodes_values": [0.5, 0.0], "nodes_featureids": [0, 1]}),
        {"n.nodes_values": np.array([0.5, 0.0])}),
}  # fmt: skip


@pytest.mark.parametrize("kind", INSIDE)
def test_numbers_in_branches_and_attributes_are_named_and_read(tmp_path, kind):
    (operator, attributes), numbers = INSIDE[kind]
    domain = "" if operator == "If" else "ai.onnx.ml"
    made = Made("N", 2)
    made.nodes.append(helper.make_node(operator, ["c" if not domain else "x"], ["y"], "n", domain=domain, **attributes))
    model = made.model()
    model.graph.input.append(helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []))
    model.graph.initializer.extend(numpy_helper.from_array(numbers[n], n) for n in ("one", "two") if n in numbers)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    onnx.save(model, tmp_path / "n.onnx")
    found = stored_numbers(tmp_path / "n.onnx")
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.astype(np.float32).tolist() for name, array in numbers.items()
    }
    items = stored_subject([tmp_path / "n.onnx"]).items
    assert [item.operator for item in items if item.tensors] == [operator]


def test_other_files_are_refused(tmp_path):
    save_tensors(tmp_path / "a.safetensors", {"none": np.zeros((0, 3))})
    for name, content, says in (("txt", b"hello", "cannot show this file; allowed: .onnx, .safetensors"),
                                ("svz", b"", "scalarviz replay"), ("pt", b"PK\x03\x04", "holds a pickle"),
                                ("onnx", b"", "empty"), ("safetensors", None, "holds no numbers")):  # fmt: skip
        if content is not None:
            (tmp_path / f"a.{name}").write_bytes(content)
        with pytest.raises((FileFormatError, InputError), match=says):
            stored_numbers(tmp_path / f"a.{name}")


# ---- the histogram


def test_counts_are_numpys():
    for numbers in (np.zeros(4), np.full(3, np.nan), np.array([np.inf]), np.array([1e308, -1e308])):
        of = counted(numbers)
        assert of.counts.sum() == np.isfinite(numbers).sum()
        assert of.lines
    odd = np.append(drawn(995), [50.0, -60.0, np.nan, np.inf, 0.0])
    of, real = counted(odd), odd[np.isfinite(odd)]
    reach = extent(real)
    assert (of.counts.sum(), of.reach) == (real.size, reach)
    assert of.beyond == np.count_nonzero(np.abs(real) > reach) >= 2
    assert np.array_equal(of.counts[1:-1], np.histogram(real, BINS, (-reach, reach))[0][1:-1])
    for words in ("1 zero ", "2 NaN or infinite", "most +50"):
        assert any(words in line for line in of.lines)


def shown(subject):
    """Such numbers in a window, which is drawn."""
    view = Viewer(made_bench(subject, SIZE))
    view.tick(0.1)
    return view


def picture(view):
    view.tick(0.1)
    return pixels_of(view.bench)


def cubes(bench):
    """Points of the picture, in device pixels, and the number whose cube is there."""
    points = ((x, y) for y in range(20, SIZE[1], 6) for x in range(5, SIZE[0], 6))
    return ((at, index) for at in points if (index := bench.pick(at)) is not None)


def over(bench, name):
    """A point over a cube of a tensor."""
    span = next(t for t in bench.subject.tensors if t.name == name).span
    return next(at for at, index in cubes(bench) if span.start <= index < span.stop)


NAMES = ("conv", "fc1", "fc2")


def test_the_histogram_is_of_what_the_pointer_is_over(net, arrays):
    """What is known of numbers that nobody can change is kept from frame to frame; nobody sees that."""
    subject = stored_subject([net])
    changes = Subject(Watched(stored_numbers(net)), panels=(Histogram(),), items=subject.items)
    everything = {"all numbers", f"{sum(a.size for a in arrays.values()):,} numbers", *NAMES}
    with offscreen():
        views = [shown(subject), shown(changes)]
        bench, found = views[0].bench, []
        for name, here, away in ((None, everything, "288 numbers"), ("fc1.weight", {"288 numbers"}, "all numbers")):
            for view in views:
                view.bench.hover(name and over(view.bench, name))
                found.append(picture(view))
            assert here <= set(said(bench))
            assert away not in said(bench)
        for view in views:
            view.bench.set_look(theme="light", cmap="viridis")
            view.bench.refit_range()
            found.append(picture(view))
        assert all(np.array_equal(*found[k : k + 2]) for k in (0, 2, 4))
        assert np.abs(found[0] - found[2])[:, int(0.75 * SIZE[0]) :].sum() > 10_000
        bench.click(over(bench, "fc1.weight"))  # a number that is looked into has no course
        column = [
            text.text for text in bench.interaction.inspector.sketch((0, 0, 304, 500), DARK, views[0].frame()).texts
        ]
        assert any(text.startswith("fc1.weight[") for text in column)
        assert not any("since step" in text for text in column)


def test_two_files_and_their_difference(net, weights, arrays):
    other = {**arrays, "fc1.bias": arrays["fc1.bias"] + np.float32(0.25), "fc2.bias": np.zeros(4), "new": np.ones(1)}
    save_tensors(weights, other)
    subject = stored_subject([net, weights])
    assert [tensor.name for tensor in subject.tensors] == ["conv.weight", "fc1.weight", "fc1.bias", "fc2.weight"]
    assert set(subject.source.left_out) == {"fc2.bias is 3 in net, 4 in other", "new is in other only"}
    frame = subject.source.frame()
    for tensor in subject.tensors:
        wanted = other[tensor.name].astype(float) - arrays[tensor.name]
        assert np.allclose(tensor.of(frame.values), wanted, atol=1e-7)
    with offscreen():
        view = shown(subject)
        picture(view)
    assert {"359 numbers in 5 tensors", "361 numbers in 6 tensors"} <= set(said(view.bench))
    assert not any("step" in word for word in said(view.bench))
    assert any(word.startswith("largest +0.25") for word in said(view.bench))


def test_files_that_share_nothing_or_their_name(net, weights, tmp_path):
    for name in ("a", "bb"):
        save_tensors(tmp_path / f"{name[0]}.safetensors", {f"{name}{k}": np.ones(len(name)) for k in range(100)})
    with pytest.raises(InputError, match="nothing to compare") as caught:
        stored_subject([tmp_path / "a.safetensors", tmp_path / "b.safetensors"])
    assert len(str(caught.value)) < 400
    same = net.with_suffix(".safetensors")
    weights.rename(same)
    assert stored_subject([net, same]).source.names == ("net.onnx", "net.safetensors")


def test_every_name_fits_on_a_line(tmp_path):
    odd = ["", "a\nb", "\x1b[31mred", "x" * 5000, "a b", "y" * 90 + "1", "y" * 90 + "2"]
    save_file({name: np.full((2, 3), k, np.float32) for k, name in enumerate(odd)}, tmp_path / "odd.safetensors")
    names = [tensor.name for tensor in stored_subject([tmp_path / "odd.safetensors"]).tensors]
    assert len({*names}) == len(odd)
    assert all(name.isprintable() and 0 < len(name) < 100 for name in names)
    assert {"(no name)", "a b", "a b (2)"} < {*names}


def test_a_mask_leaves_weights_their_colours_and_the_legend_says_how_far_it_is(tmp_path):
    weights = np.random.default_rng(2).normal(0.0, 0.1, (8, 8)).astype(np.float32)
    save_file({"w": weights, "mask": np.array([-3.4e38], np.float32)}, tmp_path / "masked.safetensors")
    with offscreen():
        bench = shown(stored_subject([tmp_path / "masked.safetensors"])).bench
    assert bench.colouring.range.high == pytest.approx(extent(weights))
    assert bench.colouring.legend().note == f"{share_text(1 / 65)} clipped, up to −3.4e38"
