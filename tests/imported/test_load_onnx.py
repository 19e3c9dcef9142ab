"""`sv.load_onnx`: what it makes of a file, beside onnxruntime; names, frozen weights, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from onnx_models import Made, agrees

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.imported.network import Chain, Imported


def drawn(*shape, seed=5):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def mlp(made=None):
    """As PyTorch writes it: weights transposed by the node, names of modules in those of tensors and nodes."""
    made = made or Made(("batch_size", 3))
    h = made.node("Gemm", "x", made.weight("fc1.weight", 4, 3), made.weight("fc1.bias", 4), transB=1, name="/fc1/Gemm")
    h = made.node("Relu", h, name="/act/Relu")
    made.node("Gemm", h, made.weight("fc2.weight", 2, 4), made.weight("fc2.bias", 2), transB=1, to="y")
    return made


def residual():
    made = Made(("N", 4))
    h = made.node("MatMul", "x", made.weight("into/w", 4, 4), name="model/into/MatMul")
    h = made.node("Add", h, made.weight("into/b", 4))
    h = made.node("Tanh", h)
    h = made.node("Add", h, "x", name="shortcut")
    h = made.node("Mul", h, made.weight("scale", 4))
    made.node("Gemm", h, made.weight("out.weight", 4, 2), to="y")
    return made


def test_a_row_of_layers_is_a_chain_with_the_files_names(tmp_path):
    path = mlp().save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert isinstance(net, Chain)
    assert [(name, type(part).__name__) for name, part in net.named_children()] == [
        ("fc1", "Linear"), ("act", "ReLU"), ("fc2", "Linear"),
    ]  # fmt: skip
    assert list(net.state_dict()) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    assert net[0] is net.fc1
    for tensor in mlp().tensors:
        np.testing.assert_array_equal(net.state_dict()[tensor.name], np.frombuffer(tensor.raw_data, np.float32).reshape(
            tuple(tensor.dims)))  # fmt: skip
    agrees(net, path, drawn(7, 3))


def test_numbered_layers_are_a_sequential_and_one_layer_is_itself(tmp_path):
    for net in (nn.Sequential(*nn.MLP(3, [4, 4], 2, nn.Tanh, seed=1)), nn.Linear(3, 2, seed=1)):
        net.to_onnx(tmp_path / "net.onnx")
        back = sv.load_onnx(tmp_path / "net.onnx")
        assert (type(back), repr(back)) == (type(net), repr(net))
        assert list(back.state_dict()) == list(net.state_dict())
        for name, array in net.state_dict().items():
            np.testing.assert_array_equal(back.state_dict()[name], array.astype(np.float32))


def test_another_graph_has_layers_and_operators(tmp_path):
    path = residual().save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert isinstance(net, Imported)
    assert list(net.state_dict()) == ["scale", "model.into.weight", "model.into.bias", "out.weight"]
    assert list(net.operators()) == ["shortcut", "Mul_4"]
    agrees(net, path, drawn(7, 4))
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        agrees(twin, path, drawn(7, 4))
        assert list(twin.state_dict()) == list(net.state_dict())


@pytest.mark.parametrize("engine", ["numpy", "objects"])
@pytest.mark.parametrize("make", [mlp, residual])
def test_it_trains_and_every_stage_has_its_name(tmp_path, engine, make):
    path = make().save(tmp_path, "y")
    net = sv.load_onnx(path)
    before = net.state_dict()
    x, y = drawn(16, len(before["fc1.weight"][0]) if make is mlp else 4), drawn(16, 2, seed=6)
    with sv.Run(
        net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (x, y), engine=engine, dtype="float64"
    ) as run:
        first = run.evaluate(x, y)
        run.step(20)
        assert run.evaluate(x, y) < 0.8 * first
        assert {stage.name for stage in run.stages} >= ({"fc1", "fc2"} if make is mlp else {"model.into", "out"})
    assert all((net.state_dict()[name] != array).any() for name, array in before.items())


def test_a_layer_can_be_replaced(tmp_path):
    for make, name in ((mlp, "fc2"), (residual, "out")):
        net = sv.load_onnx(make().save(tmp_path, "y"))
        setattr(net, name, nn.Linear(4, 5, seed=3))
        assert len(net(drawn(4 if make is residual else 3))) == 5


def test_some_are_trained_and_the_others_frozen(tmp_path):
    path = mlp().save(tmp_path, "y")
    net = sv.load_onnx(path, trained=["fc2.*"])
    assert {name: part.frozen for name, part in net.named_parameters()} == {
        "fc1.weight": True, "fc1.bias": True, "fc2.weight": False, "fc2.bias": False,
    }  # fmt: skip
    assert all(part.frozen for part in sv.load_onnx(path, trained=[]).parameters())
    with pytest.raises(sv.ScalarvizError, match=r"no parameter of Chain is called 'conv\*'; there are fc1.weight"):
        sv.load_onnx(path, trained=["conv*"])


def test_a_weight_that_the_file_holds_once_is_one_parameter(tmp_path):
    made = Made(("N", 3))
    w = made.weight("tied.weight", 3, 3)
    h = made.node("Tanh", made.node("Gemm", "x", w, transB=1))
    made.node("Gemm", h, w, transB=1, to="y")
    path = made.save(tmp_path, "y")
    net = sv.load_onnx(path)
    assert len(net.parameters()) == 1
    agrees(net, path, drawn(5, 3))


def test_nodes_that_are_not_known_are_all_named(tmp_path):
    import onnx

    made = Made(("N", 3))
    h = made.node("Relu", "x", name="fine")
    for k, operator in enumerate(("LSTM", "LSTM", "Det")):
        made.node(operator, h, name=f"bad{k}")
    made.nodes.append(onnx.helper.make_node("FusedMatMul", [h, h], ["y"], name="other", domain="com.microsoft"))
    graph = onnx.helper.make_graph(made.nodes, "g", made.inputs, [onnx.helper.make_tensor_value_info("y", 1, None)])
    onnx.save(onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)]),
              tmp_path / "bad.onnx")  # fmt: skip
    with pytest.raises(sv.ScalarvizError) as caught:
        sv.load_onnx(tmp_path / "bad.onnx")
    said = str(caught.value)
    assert said.startswith("bad: 4 of 5 nodes cannot be computed here: LSTM 'bad0', 'bad1' (there is no such")
    assert "Det 'bad2' (" in said
    assert "FusedMatMul 'other' (it is of the domain 'com.microsoft'" in said
    assert "fine" not in said


def mixing():
    made = Made(("N", 3))
    turned = made.node("Transpose", "x", perm=[1, 0])
    made.node("MatMul", "x", turned, to="y", name="all_pairs")
    return made


def static(batch):
    made = mlp(Made((batch, 3)))
    made.node("Reshape", "y", made.constant("shape", np.array([batch, 1, 2])), to="z", name="hard")
    return made


def test_where_the_samples_stand(tmp_path):
    path = static(1).save(tmp_path, "z")
    net = sv.load_onnx(path)
    assert np.shape(net(drawn(3))) == (1, 2)
    swapped = Made((4, "N"))
    swapped.node("Transpose", "x", perm=[1, 0], to="t")
    swapped.node("Gemm", "t", swapped.weight("w", 4, 2), to="y")
    path = swapped.save(tmp_path, "y")
    for batch in (None, "N", 1, -1):
        assert len(sv.load_onnx(path, batch=batch)(drawn(4))) == 2
    whole = sv.load_onnx(path, batch=False, sides={"N": 5})
    assert np.shape(whole(drawn(4, 5))) == (5, 2)


REFUSED = [
    (lambda p: sv.load_onnx(mixing().save(p, "y")), "made: MatMul 'all_pairs' mixes samples .*x axis 0.*batch=False"),
    (lambda p: sv.load_onnx(static(4).save(p, "z")), "made for 4 samples at once, .*Reshape 'hard'.*dynamic_axes"),
    (lambda p: sv.load_onnx(mlp().save(p, "y"), batch="M"), r"batch='M': no input has such a side; .*x \('batch_size'"),
    (lambda p: sv.load_onnx(mlp().save(p, "y"), batch=2), r"batch=2: the input 'x' of shape .* has no such axis"),
    (lambda p: sv.load_onnx(mlp().save(p, "y"), batch=1.5), "batch is the name of a side, .*got 1.5"),
    (lambda p: sv.load_onnx(mlp().save(p, "y"), batch=True), "batch is the name of a side"),
    (lambda p: sv.load_onnx(mlp().save(p, "y"), trained="fc1"), r"a list of names such as \['fc\*'\], got 'fc1'"),
    (lambda p: sv.load_onnx(mlp().save(p, "y"), trained=[3]), "a name in trained must be a text"),
    (lambda p: sv.load_onnx(mlp().save(p, "y"), sides=3), "sides must be a mapping"),
    (lambda p: sv.load_onnx(mlp(Made(("N", "width"))).save(p, "y")), r"how large width is.*sides=\{'width': 16\}"),
    (lambda p: sv.load_onnx(mlp().save(p, "y"))(drawn(4)), r"Linear\(3, 4\) 'fc1' takes 3 inputs, got 4"),
    (lambda p: sv.load_onnx(residual().save(p, "y"))(drawn(2, 2, 2)), r"'x' takes a sample of the shape \(4,\), got"),
    (lambda p: sv.load_onnx(residual().save(p, "y"))(drawn(4), drawn(4)), r"takes 1 inputs \(x\), got 2"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), REFUSED)
def test_what_is_refused_says_what_to_do(tmp_path, call, said):
    with pytest.raises(sv.ScalarvizError, match=said) as caught:
        call(tmp_path)
    assert "\n" not in str(caught.value)


def test_too_many_numbers_outside_layers_are_refused(tmp_path):
    made = Made(("N", 1500, 1500))
    made.node("Abs", "x", to="y", name="large")
    with pytest.raises(sv.ScalarvizError, match=r"makes 2,250,000 numbers of one sample outside layers.*Abs 'large'"):
        sv.load_onnx(made.save(tmp_path, "y"))
