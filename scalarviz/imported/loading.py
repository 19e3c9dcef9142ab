"""`load_onnx`: read a network from an ONNX file.

Loading checks for every node that shapes, axes and indices are known before the computation. An operator would refuse
such an input itself when it is called; but then the network would already exist, and the error would name one node
instead of all. Ids that a network gets as floats may be cast to whole numbers, but only to select rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from ..arguments import first_of
from ..checks import text
from ..errors import InputError, ScalarvizError, TypeMismatchError, listing, shown
from ..io.atomic import StrPath
from ..nn import Module
from ..nn._to_onnx import Origin
from ..onnx.graph import WEIGHED, Graph, Node, Port
from ..onnx.reading import read_graph
from .building import Builder, check_size, planned
from .facts import MOVED, Facts, FoundLayer
from .lanes import RemediedError, checked, entries, folded, output_axes, probe_sample
from .operators.arrays import Tensors
from .operators.table import SETTINGS, SIDES, supported

NO_DERIVATIVE = frozenset(("ArgMax", "ArgMin", "Ceil", "Floor", "Mod", "NonZero", "Round"))
"""Operators that work only on known numbers."""
CUT = frozenset(("Div", "Pow", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean"))
"""Operators that truncate their results for whole numbers."""
KNOWN: Mapping[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,), "CumSum": (1,), "Dropout": (1, 2), "Expand": (1,), "GatherElements": (1,),
    "GatherND": (1,), "OneHot": (1,), "Pad": (1, 3), "Range": (0, 1, 2), "ReduceL1": (1,), "ReduceL2": (1,),
    "ReduceLogSum": (1,), "ReduceLogSumExp": (1,), "ReduceMax": (1,), "ReduceMean": (1,), "ReduceMin": (1,),
    "ReduceProd": (1,), "ReduceSum": (1,), "ReduceSumSquare": (1,), "Reshape": (1,), "Resize": (1, 2, 3),
    "ScatterElements": (1,), "ScatterND": (1,), "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1,),
    "Trilu": (1,), "Unsqueeze": (1,), "Upsample": (1,),
}  # fmt: skip
"""The inputs of operators that must be known: they describe the result rather than supply its numbers."""
OF_SIDES = ("EyeLike", *SIDES)
"""Operators that need only the shape of a tensor, which is known even if its numbers are not."""


MOST_NAMED = 1000
"""The most nodes of one operator and reason that a message names."""


def _nodes_text(found: Iterable[tuple[Node, str]]) -> str:
    """Return words for nodes grouped by operator and reason, each with its name; empty if nothing is wrong."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for node, reason in found:
        if reason:
            reasons.setdefault((node.operator, reason), []).append(shown(node.name))
    return "; ".join(
        f"{shown(operator)[1:-1]} {first_of(names, MOST_NAMED)} ({reason})"
        for (operator, reason), names in reasons.items()
    )


def check_supported(graph: Graph) -> None:
    """Refuse a graph with unknown nodes; the error names all of them, with reasons."""
    found = [(node, supported(node, graph.opset)) for node in graph.nodes]
    if count := sum(bool(reason) for _, reason in found):
        said = f"{count:,} of {len(graph.nodes):,} nodes are not supported: {_nodes_text(found)}"
        raise RemediedError(f"{graph.name!r}: {said}", _parts(graph, [node for node, reason in found if reason]))


def check_known(order: Sequence[FoundLayer | Node], facts: Facts) -> None:
    """Refuse nodes whose settings or numbers must be known but are computed; the error names all of them."""
    moving, found = {port.name for port in facts.graph.inputs}, []
    for step in order:
        if isinstance(step, FoundLayer):
            moving.add(step.writes)
            continue
        places = [k for k, name in enumerate(step.inputs) if name in moving or _weight(step, k, facts)]
        found.append((step, _reason(step, places, facts)))
        if places and step.operator not in OF_SIDES:
            moving.update(step.outputs)
    if said := _nodes_text(found):
        raise RemediedError(
            f"{facts.graph.name!r}: some nodes need constants or shapes, but get numbers computed from data or "
            f"weights: {said}", _parts(facts.graph, [node for node, reason in found if reason]),
        )  # fmt: skip


def _weight(node: Node, place: int, facts: Facts) -> bool:
    return place not in SETTINGS.get(node.operator, ()) and facts.trained(node.inputs[place])


def _reason(node: Node, places: Iterable[int], facts: Facts) -> str:
    """Return why a node cannot be computed if these inputs are computed; empty if it can."""
    places = [*places]
    if places and node.operator in NO_DERIVATIVE:
        return "it has no derivative"
    asked = [k for k in places if k in KNOWN.get(node.operator, ())]
    if asked:
        return f"its input {asked[0]} must be a constant or a shape"
    if places and node.operator == "Cast" and _rounds(node, facts):
        return "rounding has no derivative; give integers, or remove the rounding"
    if places and node.operator in CUT and _cuts(node, facts):
        return "it truncates integers, which has no derivative; cast the integers to floats first"
    return ""


def _rounds(node: Node, facts: Facts) -> bool:
    before, behind = (facts.dtypes.get(name) for name in (node.inputs[0], node.outputs[0]))
    return before is not None and behind is not None and before.kind == "f" and behind.kind in "iu"


def _cuts(node: Node, facts: Facts) -> bool:
    """Return whether a node makes whole numbers, except for a power with a known whole exponent."""
    made = facts.dtypes.get(node.outputs[0])
    exponent = facts.constants.get(node.inputs[1]) if node.operator == "Pow" else None
    whole = exponent is not None and bool((exponent >= 0).all() and (exponent == np.floor(exponent)).all())
    return made is not None and made.kind in "iu" and not whole


CHOOSES = {"Gather": 1, "OneHot": 0}
"""Operators that select by ids, and the input with the ids."""
CARRIES = MOVED | {"Cast", "Split"}
"""Operators that keep the numbers of their first input."""


def uncut(facts: Facts) -> Facts:
    """Replace each ``Cast`` of float ids to whole numbers by `Identity`.

    Truncation has no derivative and is refused elsewhere. An operator that selects by ids refuses an id that is not
    whole, or truncates it as the cast does.
    """
    ids: set[str] = set()  # tensors that are read only as ids; outputs of the graph are not among them
    for node in reversed(facts.graph.nodes):
        for name in node.outputs:
            reading = facts.readers.get(name, [])
            if reading and name not in facts.results and all(_as_ids(other, name, ids) for other in reading):
                ids.add(name)

    def plain(node: Node) -> Node:
        cuts = node.operator == "Cast" and facts.is_computed(node.inputs[0]) and node.outputs[0] in ids
        return replace(node, operator="Identity", attributes={}) if cuts and _rounds(node, facts) else node

    return replace(facts, graph=replace(facts.graph, nodes=tuple(map(plain, facts.graph.nodes))))


def _as_ids(node: Node, name: str, found: set[str]) -> bool:
    """Return whether a node reads a tensor only as ids, or passes it on only to such nodes."""
    places = [k for k, given in enumerate(node.inputs) if given == name]
    if node.operator in CHOOSES:
        return places == [CHOOSES[node.operator]]
    return node.operator in CARRIES and places == [0] and found.issuperset(filter(None, node.outputs))


def load_onnx(
    path: StrPath,
    *,
    batch: str | int | Literal[False] | None = None,
    trained: Sequence[str] | None = None,
    sides: Mapping[str, Any] | None = None,
    output: str | None = None,
) -> Module:
    """Return the network of an ONNX file as a Module that you can call, train and show like any other.

    If the graph is a chain of this package's layers, the result is a Sequential of them, under the file's names.
    Otherwise nodes that match a layer become layers, and the others become operations on Values. The network computes
    as for inference (normalisation by running statistics, no dropout); ``net.train()`` changes that.

    Parameters
    ----------
    path : path
    batch : str, int or False, optional
        The sample axis of the inputs: its name in the file, or its index. False: the file computes one sample. Default:
        the first axis.
    trained : sequence of str, optional
        Names of the parameters to train, such as ``["fc*"]``; the others are frozen. Default: train all.
    sides : mapping of str, optional
        Sizes of open dimensions by name: ``{"length": 16}``; or the shape of one sample, by the name of the input.
    output : str, optional
        The name of one tensor that becomes the only output, such as the probabilities of a scikit-learn classifier.
        Default: all outputs of the file.

    Returns
    -------
    Module
        In `eval()`. Its state_dict has the file's tensor names if they are names of layer parameters.

    Raises
    ------
    InputError
        There is no such file; nodes are unknown (all are named); samples are mixed; there are too many numbers outside
        layers; dimensions are open, or unknown names are given; `trained` matches nothing.
    FileFormatError
        The file is no ONNX file, is damaged, or is inconsistent: a cycle, a missing or duplicate tensor, a shape that
        does not fit its numbers, numbers in a file outside the folder.
    MissingDependencyError
        The package ``onnx`` is not installed.

    Examples
    --------
    >>> import scalarviz as sv
    >>> net = sv.load_onnx("model.onnx", trained=["fc*"])  # doctest: +SKIP
    """
    batch, patterns = _axis_of(batch), _patterns(trained)
    graph = read_graph(path)
    net = loaded(graph if output is None else only(graph, text(output, "load_onnx: output")), batch, sides).net
    if patterns is not None:
        train_only(net, patterns)
    return net


def only(graph: Graph, output: str) -> Graph:
    """Return the part of a graph that computes one tensor."""
    made = [name for node in graph.nodes for name in node.outputs if name]
    if output not in made:
        outputs = listing([port.name for port in graph.outputs])
        raise InputError(f"{graph.name!r}: no node computes {shown(output)}; the outputs are {outputs}")
    nodes, needed = list[Node](), {output}
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            nodes.append(node)
            needed.update(node.inputs)
    port = next((port for port in graph.outputs if port.name == output), Port(output))
    inputs = tuple(port for port in graph.inputs if port.name in needed)
    return replace(graph, nodes=tuple(nodes[::-1]), inputs=inputs, outputs=(port,))


def _parts(graph: Graph, refused: Sequence[Node]) -> Iterator[tuple[str, Graph, None]]:
    """Yield the parts of a graph without refused nodes that have weights, as remedies."""
    names = [*(port.name for port in graph.outputs), *(name for node in refused for name in node.inputs)]
    for name in names:
        if any(name in node.outputs for node in graph.nodes):
            part = only(graph, name)
            if not any(node in refused for node in part.nodes) and any(node.operator in WEIGHED for node in part.nodes):
                said = f"; load_onnx(path, output={name!r}) loads only {shown(name)}, which does not need these nodes"
                yield said, part, None


class Loaded(NamedTuple):
    """A network, the sample shape of each input, and the number of values in each output of a sample."""

    net: Module
    shapes: tuple[tuple[int, ...], ...]
    output_sizes: tuple[int, ...]


def train_only(net: Module, patterns: Sequence[str]) -> None:
    """Freeze all parameters except those whose names match."""
    for pattern in patterns:
        net._matching(pattern)
    if net.parameters():
        net.freeze()
    for pattern in patterns:
        net.unfreeze(pattern)


def loaded(
    graph: Graph, batch: str | int | Literal[False] | None = None, sides: Mapping[str, Any] | None = None
) -> Loaded:
    """Return the network of a graph in memory; see :func:`load_onnx`."""
    try:
        return _loaded(graph, batch, sides)
    except MemoryError:
        raise InputError(f"{graph.name!r}: too little memory for the network; close other programs") from None
    except RemediedError as error:
        works = (words for words, part, whole in error.remedies if _loads(part, batch, whole or sides))
        raise InputError(f"{error}{next(works, '')}") from None


def _loads(graph: Graph, batch: str | int | Literal[False] | None, sides: Mapping[str, Any] | None) -> bool:
    with suppress(ScalarvizError, MemoryError):
        return bool(_loaded(graph, batch, sides))
    return False


def _loaded(graph: Graph, batch: str | int | Literal[False] | None, sides: Mapping[str, Any] | None) -> Loaded:
    check_supported(graph)
    constants = folded(graph)
    read = {name for node in graph.nodes for name in node.inputs if name} | {port.name for port in graph.outputs}
    _check_masks(graph, constants, read)
    given = entries(graph, batch, checked(graph, sides))
    calm = replace(graph, nodes=tuple(step for node in graph.nodes for step in _as_evaluated(node, read)))
    try:
        one = probe_sample(calm, constants, given)
    except InputError:
        check_known(calm.nodes, Facts(calm, constants, {}, {}))  # says more than random numbers as a shape
        raise
    facts = uncut(Facts(graph, folded(graph, one.shapes), one.shapes, one.dtypes))
    plan = planned(facts)
    check_size(plan, facts)
    check_known(plan.order, facts)
    axes = output_axes(calm, constants, given, one)
    modes = [found.module for found in plan.layers if _trains(found.nodes[0], facts)]
    net = Builder(facts, plan, given, axes).build().eval()
    for module in modes:
        module.train()
    shapes = tuple(entry.shape for entry in given)
    inputs, outputs = (tuple(port.name for port in ports) for ports in (graph.inputs, graph.outputs))
    vars(net)["onnx_origin"] = Origin(inputs, outputs, shapes, graph.opset)
    makes = tuple(prod(one.shapes[port.name]) for port in graph.outputs)
    return Loaded(net, shapes, makes)


def _check_masks(graph: Graph, constants: Tensors, read: set[str]) -> None:
    """Refuse a dropout in training whose mask is an output: each step of a run draws a new one and keeps none."""
    for node in graph.nodes:
        ratio, training = (*node.inputs[1:], "", "")[:2]
        used = node.operator == "Dropout" and not read.isdisjoint(node.outputs[1:])
        if used and np.any(constants.get(training, False)) and np.any(constants.get(ratio, 0.5)):
            raise InputError(
                f"{graph.name!r}: Dropout {shown(node.name)} is in training mode and its mask {shown(node.outputs[1])} "
                "is used, but each step draws a new mask; write the file with training_mode false, "
                "or use the first output alone"
            )


def _as_evaluated(node: Node, read: set[str]) -> list[Node]:
    """Return a training node in its inference form, since samples are tested one by one."""
    if node.operator == "BatchNormalization" and node.attributes.get("training_mode"):
        statistics = zip(node.inputs[3:], node.outputs[1:], strict=False)  # in inference the statistics do not change
        return [
            replace(node, attributes={**node.attributes, "training_mode": 0}, outputs=node.outputs[:1]),
            *(Node("Identity", (given,), (same,), name=node.name) for given, same in statistics if same),
        ]
    if node.operator == "Dropout" and len(node.inputs) > 2 and read.isdisjoint(node.outputs[1:]):
        return [replace(node, inputs=node.inputs[:2], outputs=node.outputs[:1])]
    return [node]


def _trains(node: Node, facts: Facts) -> bool:
    """Return whether the file has a layer in training."""
    if node.operator == "BatchNormalization":
        return bool(node.attributes.get("training_mode", 0))
    return node.operator == "Dropout" and bool(facts.number(node, 2, 0.0))


def _axis_of(batch: Any) -> Any:
    if batch is True or not (batch is None or isinstance(batch, str | int)):
        raise TypeMismatchError(
            f"load_onnx: batch must be the name or the index of a dimension, or False, got {shown(batch)}"
        )
    return batch


def _patterns(trained: Any) -> list[str] | None:
    if trained is None:
        return None
    if isinstance(trained, str) or not isinstance(trained, Sequence):
        raise TypeMismatchError(f"load_onnx: trained must be a list of names such as ['fc*'], got {shown(trained)}")
    return [text(name, "load_onnx: a name in trained") for name in trained]
