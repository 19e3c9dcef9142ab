"""PyTorch's new exporter notes which tensors were parameters: these are trained, buffers and constants are not."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_models import Made, agrees

import scalarviz as sv
from scalarviz import nn, optim

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
SCOPES = "pkg.torch.onnx.name_scopes"


def drawn(*shape):
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


def in_module(made, path):
    said = made.nodes[-1].metadata_props.add()
    said.key, said.value = SCOPES, str(["", path, "op"])


def saved(made, folder, **kinds):
    """The model with a signature; dots in names are written as two lines."""
    model = made.model("y")
    lines = [f"x_{k}: {kind} target='{name.replace('__', '.')}' persistent=True\n" for k, (name, kind) in
             enumerate(kinds.items())]  # fmt: skip
    note = model.graph.metadata_props.add()
    note.key, note.value = SIGNATURE, f"\n# inputs\n{''.join(lines)}x: USER_INPUT\n\n# outputs\ny: USER_OUTPUT\n"
    onnx.save(model, folder / "noted.onnx")
    return folder / "noted.onnx"


def rotated(turned=False):
    """A gate of one number, a table that no step may change, a matrix that is a buffer, what an exponent made."""
    made = Made(("N", 4))
    h = made.node("Mul", "x", made.constant("gate", np.float32(0.5)))
    h = made.node("Mul", h, made.weight("cos", 4))
    h = made.node("MatMul", h, made.weight("directions", 4, 3))
    h = made.node("Mul", h, made.weight("exp", 3))
    h = made.node("MatMul", h, made.weight("val_3" if turned else "fc.weight", 3, 2), name="node_MatMul")
    in_module(made, "fc")
    h = made.node("Add", h, made.weight("fc.bias", 2))
    made.node("Tanh", h, to="y")
    return made


KINDS = {"gate": "PARAMETER", "cos": "BUFFER", "directions": "BUFFER", "fc__weight": "PARAMETER",
         "fc__bias": "PARAMETER"}  # fmt: skip


def moved(path, x):
    """Names of what a step changes."""
    net = sv.load_onnx(path)
    agrees(net, path, x)
    before = {name: np.array(array) for name, array in net.state_dict().items()}
    with sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), 0.1), (x, np.ones((len(x), 2)))) as run:
        run.step(1)
    return {name for name, array in net.state_dict().items() if (array != before[name]).any()}


@pytest.mark.parametrize("turned", [False, True])
def test_parameters_are_trained_and_nothing_else(tmp_path, turned):
    """A matrix that is stored turned round has another name, but its node is its module's."""
    path = saved(rotated(turned), tmp_path, **KINDS)
    assert moved(path, drawn(5, 4)) == {"gate", "fc.weight", "fc.bias"}


def test_what_parameters_were_computed_into_is_trained(tmp_path):
    """A parameter that is not in the file was folded by the exporter: into which tensor is not said."""
    path = saved(rotated(), tmp_path, **KINDS, temperature="PARAMETER")
    assert moved(path, drawn(5, 4)) == {"gate", "fc.weight", "fc.bias", "exp"}


def test_without_a_signature_names_decide(tmp_path):
    path = saved(rotated(), tmp_path)
    found = moved(path, drawn(5, 4))
    assert "gate" not in found
    assert found > {"cos", "exp", "fc.weight", "fc.bias"}


def test_weights_that_a_module_holds_by_hand_are_trained(tmp_path):
    """As books write them: ``self.w = torch.normal(..., requires_grad=True)``, a constant for the exporter."""
    path = saved(rotated(), tmp_path, fc__weight="CONSTANT_TENSOR", fc__bias="CONSTANT_TENSOR", cos="BUFFER")
    assert moved(path, drawn(5, 4)) >= {"fc.weight", "fc.bias"}


@pytest.mark.parametrize("note", ["", "x: PARAMETER", "x: PARAMETER target='", "\0'\n: PARAMETER target=''" * 1000])
def test_a_signature_that_says_nothing_is_none(tmp_path, note):
    model = rotated().model("y")
    said = model.graph.metadata_props.add()
    said.key, said.value = SIGNATURE, note
    onnx.save(model, tmp_path / "odd.onnx")
    assert len(sv.load_onnx(tmp_path / "odd.onnx").state_dict()) == 5


@pytest.mark.parametrize("key", [SIGNATURE, SCOPES])
def test_notes_that_are_no_text_say_nothing(tmp_path, key):
    model = rotated().model("y")
    said = (model.graph if key == SIGNATURE else model.graph.node[0]).metadata_props.add()
    said.key, said.value = key, "Q" * 20
    for text in (b"Q" * 20, key.encode()):
        (tmp_path / "odd.onnx").write_bytes(model.SerializeToString().replace(text, b"\xff" * len(text)))
        assert len(sv.load_onnx(tmp_path / "odd.onnx").state_dict()) == 5


def test_the_layer_whose_weights_are_called_so_has_the_name(tmp_path):
    """Attention's first matrix is its module's own, the second that of a layer inside."""
    made = Made(("N", 4))
    h = made.node("MatMul", "x", made.weight("val_1", 4, 4), name="node_MatMul")
    in_module(made, "attn")
    h = made.node("Gemm", h, made.weight("attn.out.weight", 4, 4), made.weight("attn.out.bias", 4), transB=1)
    in_module(made, "attn")
    made.node("Exp", h, to="y")
    names = list(sv.load_onnx(made.save(tmp_path, "y")).state_dict())
    assert names == ["attn_.weight", "attn.out.weight", "attn.out.bias"]
