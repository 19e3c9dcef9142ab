"""A network file as a picture: each tensor once, each wire one of the graph's, nothing on anything else."""

import re
from itertools import combinations

import numpy as np
import onnx
import pytest

from kit.exported import NETWORKS
from kit.onnx_files import Made
from scalarviz.run.core.tensors import Tensor
from scalarviz.view.ink.boxes import CHANNEL, LABEL
from scalarviz.view.ink.text import measure
from scalarviz.view.space.blocks import Item, blocks
from scalarviz.view.space.layout import layout_for
from scalarviz.view.walls.stored import block_of, stored_subject

SIZE = (1280, 720)


def boxes(layout):
    """What each plate takes of the picture, by its tensor."""
    seen = {plate.name: layout.camera.project(plate.corners) for plate in layout.plates}
    return {name: (*points.min(axis=0), *points.max(axis=0)) for name, points in seen.items()}


def apart(one, other):
    return one[2] <= other[0] + 1 or other[2] <= one[0] + 1 or one[3] <= other[1] + 1 or other[3] <= one[1] + 1


def texts(sheet):
    """What is written, and the boxes of its capitals."""
    found = [(note.text, note.x, note.y, note.size, note.bold) for note in sheet.notes]
    for caption in sheet.captions:
        found.append((caption.title, caption.x, caption.y + 17, CHANNEL, True))
        found.append((caption.shape, caption.x, caption.y + 33, LABEL, False))
    return [(text, (x, y - 0.7 * size, x + measure(text, size, bold), y)) for text, x, y, size, bold in found]


def decides(path):
    """By the file alone: the stored tensors that the outputs depend on."""
    graph = onnx.load(path).graph
    makers = {name: node for node in graph.node for name in node.output}
    todo, seen = [port.name for port in graph.output], set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += makers[name].input if name in makers and makers[name].op_type != "Shape" else ()
    return {tensor.name for tensor in graph.initializer if tensor.name in seen}


@pytest.mark.parametrize("name", [name for name, row in NETWORKS.items() if row.weights])
def test_each_tensor_stands_once_where_it_hides_none_and_wires_lead_from_all_that_decides(name, tmp_path):
    path = NETWORKS[name].made().save(tmp_path, "y")
    subject = stored_subject([path])
    tensors, items = subject.tensors, subject.items
    drawn = [part for item in items for part in item.tensors]
    assert sorted(drawn) == sorted(tensor.name for tensor in tensors)
    assert all(source < k for k, item in enumerate(items) for source, _ in item.sources)
    todo, seen = [k for k, item in enumerate(items) if item.operator == "output"], set()
    while todo:
        k = todo.pop()
        seen.add(k)
        todo += [source for source, _ in items[k].sources]
    reached = {part for k in seen for part in items[k].tensors}
    read = {item.operator for item in items if not {*item.tensors} <= reached}
    own = {tensor.name for tensor in tensors} & decides(path)  # others have lost their names in the file
    assert own <= reached
    assert read <= {"not read"}
    layout = layout_for(tensors, (), SIZE, plan=items)
    found = boxes(layout)
    assert found.keys() == {tensor.name for tensor in tensors}
    x0, y0, x1, y1 = layout.rect
    for name, box in found.items():
        assert x0 <= min(box[::2]) <= max(box[::2]) <= x1, name
        assert y0 <= min(box[1::2]) <= max(box[1::2]) <= y1, name
    for (one, here), (other, there) in combinations([*found.items(), *texts(layout.blueprint)], 2):
        assert apart(here, there), (one, other)
    for plate in layout.plates:
        rows, columns = plate.grid.places(np.arange(plate.size))
        assert (rows.max() + 1, columns.max() + 1) == plate.grid.cells, plate.name


def net_of(blocks, tmp_path):
    """Residual blocks of two layers, and an output."""
    made = Made("N", 4)
    x = "x"
    for k in range(blocks):
        inner = made.node("MatMul", x, made.weight(f"h.{k}.up.weight", 4, 8), name=f"/h.{k}/up/MatMul")
        outer = made.node("MatMul", made.node("Relu", inner), made.weight(f"h.{k}.down.weight", 8, 4))
        x = made.node("Add", x, outer, name=f"/h.{k}/Add")
    made.node("MatMul", x, made.weight("head.weight", 4, 2), to="y")
    return made.save(tmp_path, "y")


def test_blocks_with_the_same_layers_stand_closer_without_names(tmp_path):
    """The one above them has names, wires and a sum, and the operator between its layers; the first has the input."""
    subject = stored_subject([net_of(6, tmp_path)])
    layout = layout_for(subject.tensors, (), (400, 1400), (0, 0, 400, 1400), subject.items)  # a single column
    sheet, found = layout.blueprint, boxes(layout)
    said = [note.text for note in sheet.notes]
    assert [text for text in said if re.fullmatch(r"h\.\d", text)] == [f"h.{k}" for k in range(6)]
    titles = [(caption.tensor, caption.title, caption.shape.split()[-1]) for caption in sheet.captions]
    named = [(f"h.{k}.{name}.weight", name, sides) for k in range(2)
             for name, sides in (("up", "4×8"), ("down", "8×4"))]  # fmt: skip
    assert titles == [*named, ("head.weight", "head", "4×2")]
    assert len(sheet.pluses) == 2
    assert said.count("input") == said.count("output") == 1
    lefts = np.array([found[f"h.{k}.up.weight"][0] for k in range(1, 6)])
    assert np.ptp(lefts) < 0.5


def test_a_wire_goes_from_the_middle_of_what_makes_an_array_to_what_reads_it(tmp_path):
    """Of a block that adds what it was given to what it makes: two straight wires meet at the sum, one goes below."""
    subject = stored_subject([net_of(1, tmp_path)])
    layout = layout_for(subject.tensors, (), SIZE, plan=subject.items)
    found, sheet = boxes(layout), layout.blueprint
    (relu,) = [box for text, box in texts(sheet) if text == "Relu"]
    up, down = found["h.0.up.weight"], found["h.0.down.weight"]
    assert up[2] <= relu[0] < relu[2] <= down[0]
    assert max(up[1], down[1]) < relu[3] < min(up[3], down[3])
    (plus,) = sheet.pluses
    ends = [tuple(wire.points[-1]) for wire in sheet.wires]
    into = [wire for wire, end in zip(sheet.wires, ends, strict=True) if np.hypot(*np.subtract(end, plus)) < 14]
    assert len(into) == 2
    assert max(wire.points[:, 1].max() for wire in into) > found["h.0.up.weight"][3]
    assert any(len(wire.points) == 2 and wire.points[0, 0] >= found["h.0.down.weight"][2] - 1 for wire in into)


def test_a_network_that_does_not_fit_has_no_such_picture_and_is_shown_all_the_same():
    tensors = [Tensor(f"w{k}", (3, 3), 9 * k) for k in range(600)]
    items = [Item(f"b.{k}", "w", f"Op{k}", (f"w{k}",)) for k in range(600)]
    assert blocks(tensors, items, (320, 240), (0, 0, 300, 200), few=False) is None
    assert len(layout_for(tensors, (), (320, 240), plan=items).plates) == 600


@pytest.mark.parametrize(
    ("path", "block"),
    [("h.0.attn.out_proj", "h.0"), ("layer1.0.down.0", "layer1.0"), ("mlp.0", "mlp"), ("conv1", ""), ("2", ""),
     ("encoder.layers.3.norm", "encoder.layers.3"), ("features.block.conv", "features.block")],
)  # fmt: skip
def test_a_layer_stands_in_the_block_down_to_the_first_number_above_it(path, block):
    assert block_of(path) == block
