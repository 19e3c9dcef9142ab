"""What a file stores is what a loaded network computes with: tensors of every type, numbers beside the file, nodes in
any order, functions of the file's own."""

import re

import numpy as np
import onnx
import pytest
from onnx import helper

import scalarviz as sv
from kit.nested import numbers
from kit.onnx_files import FLOAT, Made, agrees, computed, drawn
from scalarviz import nn
from scalarviz.errors import InputError

TYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)], ids=str)
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("kind", [*TYPES, "bool"])
def test_tensors_of_every_type(tmp_path, kind, raw, shape):
    array = np.asarray(np.random.default_rng(1).integers(0, 100, shape)).astype(kind)
    code = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    made = Made("N", 2, 3)
    made.tensors.append(
        helper.make_tensor("t", code, shape, array.tobytes() if raw else array.ravel().tolist(), raw=raw)
    )
    stored = made.node("Cast", "t", kind=FLOAT)
    made.node("Add", "x", made.node("ReduceSum", stored, keepdims=0) if array.size == 0 else stored, to="y")
    net = sv.load_onnx(made.save(tmp_path))
    expected = np.broadcast_to(array.astype(float) if array.size else 0.0, (2, 3))
    assert numbers(net(np.zeros((2, 3)))).tolist() == expected.ravel().tolist()


def two_layers():
    return Made("N", 3).read("a = Gemm(x, w1:3x4, b1:4) @first\nb = Relu(a)\ny = MatMul(b, w2:4x2)")


def test_nodes_may_stand_in_any_order(tmp_path):
    made, x = two_layers(), drawn(5, 3)
    wanted = agrees(sv.load_onnx(made.save(tmp_path)), made.save(tmp_path), x)
    made.nodes.reverse()
    path = tmp_path / "turned.onnx"
    path.write_bytes(made.model().SerializeToString())  # onnx's checker and onnxruntime want them sorted
    found = [numbers(sv.load_onnx(path)(row)) for row in x]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("opset", [7, 9, 13, 18, 21])
def test_old_and_new_versions(tmp_path, opset):
    made = two_layers()
    made.opset = opset
    path = made.save(tmp_path)
    agrees(sv.load_onnx(path), path, drawn(4, 3))


def test_numbers_beside_the_file_are_read(tmp_path):
    made = two_layers()
    plain = sv.load_onnx(made.save(tmp_path)).state_dict()
    onnx.save(made.model(), tmp_path / "net.onnx", save_as_external_data=True, location="data", size_threshold=0)
    assert (tmp_path / "data").stat().st_size > 0
    found = sv.load_onnx(tmp_path / "net.onnx").state_dict()
    assert list(found) == list(plain)
    assert all(np.array_equal(found[name], array) for name, array in plain.items())


# ---- functions of a file's own


def function(name, inputs, outputs, nodes, defaults=()):
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs, outputs, nodes, opsets, [], list(defaults))


def call(name, inputs, outputs, node="", **attributes):
    return helper.make_node(name, inputs.split(), outputs.split(), name=node, domain="own", **attributes)


def leak():
    """LeakyRelu, whose slope is an attribute of the call."""
    node = helper.make_node("LeakyRelu", ["x"], ["y"])
    node.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    return function("Leak", ["x"], ["y"], [node], [helper.make_attribute("slope", 0.5)])


LAYER = function("Layer", ["x", "w", "b"], ["made", "raw"], [
    helper.make_node("Gemm", ["x", "w", "b"], ["raw"], name="gemm", transB=1),
    call("Leak", "raw", "inner"), call("Leak", "inner", "made", slope=0.25)])  # fmt: skip


def test_functions_are_written_out_where_they_are_called(tmp_path):
    made = Made("N", 4)
    made.weight("a.weight", 4, 4), made.weight("a.bias", 4), made.weight("b.weight", 4, 4)
    made.nodes += [call("Layer", "x a.weight a.bias", "h raw", "one"), call("Layer", "h b.weight", "skipped y", "two")]
    made.functions = [LAYER, leak(), function("Unused", ["x"], ["y"], [helper.make_node("Det", ["x"], ["y"])])]
    path = made.save(tmp_path)
    net = sv.load_onnx(path)
    assert list(net.state_dict()) == ["a.weight", "a.bias", "b.weight"]
    slopes = [part.negative_slope for part in net.modules() if isinstance(part, nn.LeakyReLU)]
    assert sorted(slopes)[-1] == 0.5
    agrees(net, path, drawn(3, 4))


@pytest.mark.parametrize("opset", [13, 15, 17, 18, 21])
def test_names_opset_and_shape_survive_a_round_trip(tmp_path, opset):
    net = Made("N", 2, 6, 6, opset=opset)
    net.read("a = Conv(x, w:3x2x3x3)\nb = Relu(a)\nshares = Flatten(b)")
    x, before = drawn(5, 2, 6, 6), net.save(tmp_path, "shares")
    loaded = sv.load_onnx(before)
    loaded.to_onnx(tmp_path / "again.onnx")  # needs no shape
    again = onnx.load(tmp_path / "again.onnx")
    assert [port.name for port in (*again.graph.input, *again.graph.output)] == ["x", "shares"]
    assert again.opset_import[0].version == opset
    np.testing.assert_array_equal(computed(tmp_path / "again.onnx", x)[0], computed(before, x)[0])
    assert sv.load_onnx(tmp_path / "again.onnx").state_dict().keys() == loaded.state_dict().keys()


def classifier(folder):
    """As scikit-learn's are written: a label, and probabilities as a list of dicts."""
    made = Made("N", 4).read("a = Gemm(x, w:4x3)\nshares = Softmax(a)\nk = ArgMax(shares, axis=1, keepdims=0)")
    made.nodes += [
        helper.make_node(
            "ArrayFeatureExtractor", [made.constant("names", np.arange(3)), "k"], ["label"], domain="ai.onnx.ml"
        ),
        helper.make_node("ZipMap", ["shares"], ["probabilities"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]),
    ]
    model = made.model("label", "probabilities")
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    onnx.save(model, folder / "classifier.onnx")
    return folder / "classifier.onnx"


def test_a_classifier_says_how_to_choose_its_output(tmp_path):
    path = classifier(tmp_path)
    with pytest.raises(InputError, match=r"ZipMap.*load_onnx\(path, output='shares'\) loads only 'shares'"):
        sv.load_onnx(path)
    net = sv.load_onnx(path, output="shares")
    assert [type(part) for part in net] == [nn.Linear, nn.Softmax]
    for asked, quoted in (("share", "'share'"), ("s" * 99, f"'{'s' * 55}'...")):
        with pytest.raises(InputError, match=rf"no node computes {quoted}; the outputs are label, probabilities"):
            sv.load_onnx(path, output=asked)


ADVISED = {
    "a label first": (Made("N", 2).read("a = MatMul(x, w:2x3)\ns = Softmax(a)\nk = ArgMax(s, axis=1, keepdims=0)"),
        ("k", "s"), "output='s'"),
    "two sides": (Made("N", 3, "H", "W").read("y = Conv(x, w:2x3x5x5)"), ("y",), "sides={'H': 16, 'W': 16}"),
    "large ones": (Made("N", 3, "H", "W").read("y = Conv(x, w:2x3x33x33)"), ("y",), "sides={'H': 64, 'W': 64}"),
    "none that is usual": (Made("N", "W").read("y = MatMul(x, w:7x3)"), ("y",), ""),
    "a part that is refused, too": (
        Made("N", 2).read("a = MatMul(x, w:2x3)\nb = ReduceSum(a)\nk = ArgMax(b)"), ("b", "k"), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ADVISED)
def test_what_a_refusal_suggests_works(tmp_path, name):
    made, ends, advice = ADVISED[name]
    onnx.save(made.model(*ends), tmp_path / "net.onnx")
    with pytest.raises(InputError) as caught:
        sv.load_onnx(tmp_path / "net.onnx")
    said = re.search(r"(output='\w+'|sides={.*})", str(caught.value))
    assert (said[1] if said else "") == advice
    if advice:
        assert eval(f"sv.load_onnx(path, {advice})", {"sv": sv, "path": tmp_path / "net.onnx"})
