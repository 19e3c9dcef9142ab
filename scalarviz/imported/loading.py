"""`load_onnx`: a network out of an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from ..checks import text
from ..errors import InputError, TypeMismatchError, shown
from ..io.atomic import StrPath
from ..nn import Module
from ..nn._state import matching
from ..onnx.graph import Graph, Node
from ..onnx.reading import read_graph
from .building import Builder, check_size, planned
from .ids import uncut
from .lanes import alone, entries, output_axes
from .layers.table import Facts
from .needed import check_given, check_known
from .nodes import Tensors, folded
from .operators.table import supported
from .sides import checked

MOST_NAMED = 1000
"""Nodes that a message names."""


def load_onnx(
    path: StrPath,
    *,
    batch: str | int | Literal[False] | None = None,
    trained: Sequence[str] | None = None,
    sides: Mapping[str, Any] | None = None,
) -> Module:
    """The network in an ONNX file, as a Module that is called, trained and shown as any other.

    Where the graph is a row of our layers it is a Sequential of these, under the file's names. Else nodes with weights
    that are our layers are layers, and the other nodes are operations on Values. What the file computes for use
    (normalisation by running statistics, no dropout) is computed so: ``net.train()`` changes that.

    Parameters
    ----------
    path : path
    batch : str, int or False, optional
        Where the samples stand in the inputs: the name of that side in the file, or the number of the axis. False: the
        file computes one sample. Default: the first axis.
    trained : sequence of str, optional
        Names of the parameters that are trained, such as ``["fc*"]``; the others are frozen. Default: all are trained.
    sides : mapping of str, optional
        How large sides are that the file leaves open, by name: ``{"length": 16}``; or the shape of one sample, by the
        name of the input.

    Returns
    -------
    Module
        In `eval()`; its state_dict has the names of the file's tensors, where these are names of layers' parameters.

    Raises
    ------
    InputError
        There is no such file; nodes that are not known (all are named); samples are mixed; too many numbers outside
        layers; sides that are open, or that the file has not; `trained` names nothing.
    FileFormatError
        See :func:`scalarviz.onnx.reading.read_graph`.
    MissingDependencyError
        The package ``onnx`` is not there.

    Examples
    --------
    >>> import scalarviz as sv
    >>> net = sv.load_onnx("model.onnx", trained=["fc*"])  # doctest: +SKIP
    """
    batch, patterns = _axis_of(batch), _patterns(trained)
    net = loaded(read_graph(path), batch, sides).net
    if patterns is not None:
        train_only(net, patterns)
    return net


class Loaded(NamedTuple):
    """A network, the shape of one sample of each of its inputs, and how many numbers each output has of it."""

    net: Module
    shapes: tuple[tuple[int, ...], ...]
    makes: tuple[int, ...]


def train_only(net: Module, patterns: Sequence[str]) -> None:
    """Freeze all parameters but those whose names match.

    Raises
    ------
    InputError
        Nothing has such a name; all stay as they were.
    """
    for pattern in patterns:
        matching(net, pattern)
    if net.parameters():
        net.freeze()
    for pattern in patterns:
        net.unfreeze(pattern)


def loaded(
    graph: Graph, batch: str | int | Literal[False] | None = None, sides: Mapping[str, Any] | None = None
) -> Loaded:
    """The network of a graph that was read; see :func:`load_onnx`."""
    try:
        return _loaded(graph, batch, sides)
    except MemoryError:
        raise InputError(f"{graph.name}: the memory does not suffice to try it out; close other programs") from None


def _loaded(graph: Graph, batch: str | int | Literal[False] | None, sides: Mapping[str, Any] | None) -> Loaded:
    check_supported(graph)
    constants = folded(graph)
    read = {name for node in graph.nodes for name in node.inputs if name} | {port.name for port in graph.outputs}
    _check_masks(graph, constants, read)
    given = entries(graph, batch, checked(graph, sides))
    calm = replace(graph, nodes=tuple(step for node in graph.nodes for step in _in_use(node, read)))
    try:
        one = alone(calm, constants, given)
    except InputError:
        check_given(calm.nodes, graph)  # it says more than what drawn numbers did as a shape
        raise
    facts = Facts(uncut(graph, constants, one.dtypes), folded(graph, one.shapes), one.shapes, one.dtypes)
    plan = planned(facts)
    check_size(plan, facts)
    check_known(plan.order, facts)
    axes = output_axes(calm, constants, given, one)
    modes = [found.module for found in plan.layers if _trains(found.nodes[0], facts)]
    net = Builder(facts, plan, given, axes).build().eval()
    for module in modes:
        module.train()
    makes = tuple(prod(one.shapes[port.name]) for port in graph.outputs)
    return Loaded(net, tuple(entry.shape for entry in given), makes)


def check_supported(graph: Graph) -> None:
    """Refuse a graph with nodes that are not known: all of them, with the reason for each.

    Raises
    ------
    InputError
        There are some.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    for node in graph.nodes:
        reason = supported(node, graph.opset)
        if reason:
            reasons.setdefault((node.operator, reason), []).append(node.name)
    if not reasons:
        return
    count = sum(map(len, reasons.values()))
    said = "; ".join(
        f"{shown(operator)[1:-1]} {', '.join(map(shown, names[:MOST_NAMED]))}"
        f"{f' and {len(names) - MOST_NAMED:,} more' if len(names) > MOST_NAMED else ''} ({reason})"
        for (operator, reason), names in reasons.items()
    )
    raise InputError(f"{graph.name}: {count:,} of {len(graph.nodes):,} nodes cannot be computed here: {said}")


def _check_masks(graph: Graph, constants: Tensors, read: set[str]) -> None:
    """Refuse a dropout in training whose mask is used: each step of a run draws another one, and keeps none."""
    for node in graph.nodes:
        ratio, training = (*node.inputs[1:], "", "")[:2]
        used = node.operator == "Dropout" and not read.isdisjoint(node.outputs[1:])
        if used and np.any(constants.get(training, False)) and np.any(constants.get(ratio, 0.5)):
            raise InputError(
                f"{graph.name}: Dropout {shown(node.name)} is in training and its mask {shown(node.outputs[1])} is "
                "used; a mask is drawn anew in each step and cannot be kept: write the file with training_mode false, "
                "or use the first output alone"
            )


def _in_use(node: Node, read: set[str]) -> list[Node]:
    """A node that trains as it computes in use: samples are tried out one by one."""
    if node.operator == "BatchNormalization" and node.attributes.get("training_mode"):
        statistics = zip(node.inputs[3:], node.outputs[1:], strict=False)  # in use they stay what they are
        return [
            replace(node, attributes={**node.attributes, "training_mode": 0}, outputs=node.outputs[:1]),
            *(Node("Identity", (given,), (same,), name=node.name) for given, same in statistics if same),
        ]
    if node.operator == "Dropout" and len(node.inputs) > 2 and read.isdisjoint(node.outputs[1:]):
        return [replace(node, inputs=node.inputs[:2], outputs=node.outputs[:1])]
    return [node]


def _trains(node: Node, facts: Facts) -> bool:
    """Whether the file has a layer in training."""
    if node.operator == "BatchNormalization":
        return bool(node.attributes.get("training_mode", 0))
    return node.operator == "Dropout" and bool(facts.number(node, 2, 0.0))


def _axis_of(batch: Any) -> Any:
    if batch is None or batch is False or isinstance(batch, str):
        return batch
    if isinstance(batch, bool) or not isinstance(batch, int):
        raise TypeMismatchError(
            f"load_onnx: batch is the name of a side, the number of an axis, or False; got {shown(batch)}"
        )
    return batch


def _patterns(trained: Any) -> list[str] | None:
    if trained is None:
        return None
    if isinstance(trained, str) or not isinstance(trained, Sequence):
        raise TypeMismatchError(f"load_onnx: trained is a list of names such as ['fc*'], got {shown(trained)}")
    return [text(name, "load_onnx: a name in trained") for name in trained]
