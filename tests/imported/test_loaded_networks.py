"""Models as PyTorch and others write them, loaded: onnxruntime's numbers, the file's names, layers where there are any;
they train on every engine."""

import numpy as np
import pytest
from onnx import helper

import scalarviz as sv
from kit.exported import NETWORKS, SCOPES, batch_norm
from kit.nested import numbers
from kit.onnx_files import Made, agrees, assert_near, computed, drawn
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.io import save_tensors
from scalarviz.view.walls.stored import stored_subject


def loaded(folder, name, **options):
    path = NETWORKS[name].made().save(folder)
    return sv.load_onnx(path, **options), path


@pytest.mark.parametrize("name", NETWORKS)
def test_onnxruntime_computes_the_same_and_names_and_layers_are_the_files(tmp_path, name):
    row = NETWORKS[name]
    net, path = loaded(tmp_path, name)
    agrees(net, path, x := row.x())
    for batch in (x[:1], x[:2]):  # a batch of one stays one
        assert np.shape(net(batch)) == (len(batch), *np.shape(net(x[0])))
    assert tuple(net.state_dict()) == row.weights
    if row.layers is not None:
        leaves = [str(part) for _, part in net.named_modules() if not list(part.named_children())]
        assert [part for part in leaves if "Imported" not in part] == [*map(str, row.layers)]
    if row.operators is not None:
        assert [*(net.operators() if hasattr(net, "operators") else ())] == list(row.operators)
    stored = {tensor.name: tuple(tensor.dims) for tensor in row.made().tensors}
    for key in net.state_dict().keys() & stored.keys():
        if key not in ("norm.weight", "norm.bias"):  # a group norm's are written as C x 1 x 1
            assert sorted(net.state_dict()[key].shape) == sorted(stored[key])  # some are stored turned


@pytest.mark.parametrize("name", [name for name, row in NETWORKS.items() if row.weights])
def test_its_file_and_that_of_its_weights_are_compared_tensor_by_tensor(tmp_path, name):
    """What is loaded of a file is what the file holds, to the bit, whatever its exporter called or turned.

    Left out are only weights of equal numbers, which a file may hold once for several modules.
    """
    net, path = loaded(tmp_path, name)
    state = {f"model.{key}": array for key, array in net.state_dict().items() if not key.endswith("batches_tracked")}
    save_tensors(tmp_path / "net.safetensors", state)
    pair = stored_subject([path, tmp_path / "net.safetensors"]).source
    assert not pair.frame_at(0).values.any()
    absent = [line.partition(" ")[0] for line in pair.left_out if line.startswith("model.")]
    assert len(absent) < len(state)
    for key in absent:
        others = [array for other, array in state.items() if other not in absent]
        assert any(np.array_equal(state[key], way) for array in others for way in (array, array.T)), key


TRAINED = (
    "mlp", "shortcut", "cnn", "residual", "transformer", "words", "single numbers", "a weight of weights",
    "a running sum", "group norm 2 True", "rows as long as channels", "rows that are no weights",
)  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
def test_every_engine_trains_it_alike_and_moves_every_weight(tmp_path, name):
    x, found = NETWORKS[name].x(), []
    for engine in ("objects", "numpy", "numba"):
        net, path = loaded(tmp_path, name)
        before, wanted = net.state_dict(), computed(path, x)[0].reshape(len(x), -1)
        rule = optim.SGD(net.parameters(), 0.05)
        with sv.Run(net, nn.MSELoss(), rule, (x, wanted + 1), engine=engine, dtype="float64") as run:
            assert_near(run.predict(x), wanted)
            run.step(2)
            found.append((run.history.loss.copy(), run.values.copy()))
        moved = {key for key, array in net.state_dict().items() if (array != before[key]).any()}
        assert moved >= {key for key, part in net.named_parameters() if not part.frozen} - {"attn.k.bias"}
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_layers_have_the_files_names_and_can_be_replaced(tmp_path):
    net, _ = loaded(tmp_path, "cnn")
    assert [path for path, _ in net.named_modules()] == [
        "", "features", *(f"features.{k}" for k in range(8)), "head", "softmax"]  # fmt: skip
    net, _ = loaded(tmp_path, "counted names")
    assert [path for path, _ in net.named_modules()] == ["", "features", "features.0", "features.1", "features.2"]
    for name, part, count in (("mlp", "fc2", 3), ("shortcut", "out", 4)):
        net, _ = loaded(tmp_path, name)
        setattr(net, part, nn.Linear(4, 5, seed=3))
        assert len(net(drawn(count))) == 5
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.1), (drawn(4, 4), drawn(4, 5))) as run:
        assert {stage.name for stage in run.stages} >= {"model.into", "out"}


@pytest.mark.parametrize(
    ("trained", "wanted"),
    [(["fc2.*"], {"fc2.weight", "fc2.bias"}), ([], set()), (["*.bias"], {"fc1.bias", "fc2.bias"})],
)
def test_some_are_trained_and_the_others_frozen(tmp_path, trained, wanted):
    net, _ = loaded(tmp_path, "mlp", trained=trained)
    assert {name for name, part in net.named_parameters() if not part.frozen} == wanted


def test_a_file_in_training_is_loaded_in_training(tmp_path):
    made = Made("N", 4, opset=15).read(f"""
a = Gemm(x, fc.weight:4x4, fc.bias:4, transB=1) @/fc/Gemm
b mean var = {batch_norm("a", "bn", 4, ", training_mode=1, momentum=0.8")} @/bn/BatchNormalization
drop mask = Dropout(b, ratio:=0.25, on:=True)
y = Relu(drop)""")
    net = sv.load_onnx(made.save(tmp_path))
    modes = {type(part).__name__: part.training for part in net}
    assert modes == {"Linear": False, "BatchNorm1d": True, "Dropout": True, "ReLU": False}
    assert (net.bn.momentum, list(net)[2].p) == (0.2, 0.25)


# ---- where the samples stand


@pytest.mark.parametrize(("batch", "sides", "sample"), [
    (None, {"L": 4}, (4, 3)), (None, {"x": (4, 3)}, (4, 3)), (None, {"x": [np.int64(4), 3]}, (4, 3)),
    ("L", {"N": 2}, (2, 3)), ("L", {"x": (2, 3)}, (2, 3)), (1, {"x": (2, 3)}, (2, 3)), (-2, {"N": 2}, (2, 3)),
    (False, {"x": (2, 4, 3)}, (2, 4, 3)), (False, {"N": 2, "L": 4}, (2, 4, 3)),
])  # fmt: skip
def test_a_sample_has_the_sides_that_are_told_wherever_the_samples_stand(tmp_path, batch, sides, sample):
    path = Made("N", "L", 3).read("t = Tanh(x)\ny = Mul(t, scale:3)").save(tmp_path)
    net, x = sv.load_onnx(path, batch=batch, sides=sides), drawn(2, 4, 3)
    wanted, axis = computed(path, x)[0], (batch and 1) or 0
    chosen = [(x, wanted)] if batch is False else [(np.take(x, k, axis), np.take(wanted, k, axis)) for k in range(2)]
    for one, result in chosen:
        assert one.shape == sample
        found = net(one)
        assert np.array(found, object).shape == result.shape
        assert_near(numbers(found), result)


# ---- PyTorch's new exporter notes which tensors were parameters

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
KINDS = {"gate": "PARAMETER", "cos": "BUFFER", "directions": "BUFFER", "fc.weight": "PARAMETER", "fc.bias": "PARAMETER"}


def rotated(turned=False):
    """A gate of one number, a table that no step may change, a matrix that is a buffer, what an exponent made."""
    made = Made("N", 4).read(f"""
a = Mul(x, gate:=0.5)
b = Mul(a, cos:4)
c = MatMul(b, directions:4x3)
d = Mul(c, exp:3)
e = MatMul(d, {"val_3" if turned else "fc.weight"}:3x2) @node_MatMul""")
    made.note(SCOPES, str(["", "fc", "op"]))
    return made.read("f = Add(e, fc.bias:2)\ny = Tanh(f)")


def signature(kinds):
    lines = [f"x_{k}: {kind} target='{name}' persistent=True\n" for k, (name, kind) in enumerate(kinds.items())]
    return f"\n# inputs\n{''.join(lines)}x: USER_INPUT\n\n# outputs\ny: USER_OUTPUT\n"


def noted(folder, made, key, text):
    model = made.model()
    said = (model.graph if key == SIGNATURE else model.graph.node[0]).metadata_props.add()
    said.key, said.value = key, text
    (folder / "noted.onnx").write_bytes(model.SerializeToString())
    return folder / "noted.onnx"


@pytest.mark.parametrize(("turned", "kinds", "wanted"), [
    (False, KINDS, {"gate", "fc.weight", "fc.bias"}), (True, KINDS, {"gate", "fc.weight", "fc.bias"}),
    (False, KINDS | {"temperature": "PARAMETER"}, {"gate", "fc.weight", "fc.bias", "exp"}),  # folded into a tensor
    (False, {}, {"cos", "MatMul_2.weight", "exp", "fc.weight", "fc.bias"}),  # names decide
])  # fmt: skip
def test_parameters_are_trained_and_nothing_else(tmp_path, turned, kinds, wanted):
    path, x = noted(tmp_path, rotated(turned), SIGNATURE, signature(kinds)), drawn(5, 4)
    net = sv.load_onnx(path)
    agrees(net, path, x)
    before = {name: np.array(array) for name, array in net.state_dict().items()}
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.1), (x, np.ones((5, 2)))) as run:
        run.step(1)
    assert {name for name, array in net.state_dict().items() if (array != before[name]).any()} == wanted


@pytest.mark.parametrize("key", [SIGNATURE, SCOPES])
def test_notes_that_are_no_text_say_nothing(tmp_path, key):
    path = noted(tmp_path, rotated(), key, "Q" * 20)
    for text in (b"Q" * 20, key.encode()):
        path.write_bytes(path.read_bytes().replace(text, b"\xff" * len(text)))
        assert len(sv.load_onnx(path).state_dict()) == 5


def test_names_are_free_and_stand_below_no_layer(tmp_path):
    """Of weights that a user could not reach: names of methods, of layers above them, none at all."""
    made, h = Made("N", 3), "x"
    given = ("fc", "fc.weight", "a.b", "a", "forward", "x/y:0", "a.b.c", "..", "_orig_mod.fc", "(a b)!", "__")
    for name in given:
        h = made.node("Mul", h, made.weight(name, 3, shift=1.0))
    made.node("Tanh", h, to="y")
    path = made.save(tmp_path)
    net = sv.load_onnx(path)
    names = [*net.state_dict()]
    assert len(names) == len(set(names)) == len(given)
    assert all(part.isidentifier() and not hasattr(nn.Module, part) for name in names for part in name.split("."))
    agrees(net, path, drawn(4, 3))


def test_all_are_named_at_once(tmp_path):
    made = Made("N", 4).read("""
h = Gemm(x, fc.weight:4x4, transB=1)
a = Round(h) @rounds
b = Floor(h) @falls
c = Floor(x) @falls too
d = ArgMax(x, axis=1, keepdims=1) @finds
e = Cast(d, kind=1)
f = Cast(h, kind=7) @cuts
g = Cast(f, kind=1)
i = Cast(a, kind=7) @cuts again
j = GatherElements(h, i, axis=1) @picks
y = Sum(a, b, c, e, g, j)""")
    with pytest.raises(InputError) as caught:
        sv.load_onnx(made.save(tmp_path))
    said = str(caught.value)
    for name in ("rounds", "falls", "falls too", "finds", "cuts", "cuts again", "picks"):
        assert f"'{name}'" in said
    assert "Gemm" not in said
    assert "\n" not in said


@pytest.mark.parametrize("operator", ["Div", "Pow", "ReduceL2", "ReduceMean"])
def test_whole_numbers_are_not_cut_off_in_silence(tmp_path, operator):
    """5 // 2 is 2 in ONNX, and has no derivative; of floats all of them are taken."""
    more = {"Div": [2], "Pow": [0.5]}.get(operator, [])
    for dtype in (np.int64, np.float32):
        made = Made("N", 4, dtype=dtype)
        operands = [made.constant("c", np.array(v, np.float32 if operator == "Pow" else dtype)) for v in more]
        made.node(operator, "x", *operands, name="cuts", to="t", **({} if operands else {"axes": [1]}))
        made.node("Cast", "t", kind=1, to="y")
        path = made.save(tmp_path)
        if dtype is np.int64:
            with pytest.raises(InputError, match=f"{operator} 'cuts'.*truncates.*cast the integers"):
                sv.load_onnx(path)
        else:
            agrees(sv.load_onnx(path), path, np.array([[5, 2, 7, 1]], dtype))


def test_scales_that_are_an_input_are_named_as_such(tmp_path):
    """Tried out with drawn numbers they gave sides below 0."""
    made = Made(1, 1, 3, 4)
    made.inputs.append(helper.make_tensor_value_info("scales", 1, (4,)))
    made.node("Resize", "x", "", "scales", name="stretches", to="y")
    with pytest.raises(InputError, match=r"Resize 'stretches' \(its input 2 must be a constant or a shape"):
        sv.load_onnx(made.save(tmp_path), batch=False)
