"""Probing a graph: it is computed once of drawn numbers, which tells the shape and the type of every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..onnx.graph import Graph, Port
from .allowance import Allowance
from .nodes import Array, Tensors, compute, last_uses

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Probe:
    """What was found.

    Attributes
    ----------
    shapes, dtypes : mapping by tensor
        Of all tensors that were computed, and of the inputs and constants.
    outputs : mapping of str to ndarray
        The tensors that were to be kept.
    """

    shapes: Mapping[str, Shape]
    dtypes: Mapping[str, np.dtype[Any]]
    outputs: Mapping[str, Array]


def probed(
    graph: Graph, constants: Tensors, inputs: Mapping[str, Array], kept: Sequence[str], samples: int = 1
) -> Probe:
    """Compute the graph of numbers; tensors that nobody reads any more are dropped on the way.

    Parameters
    ----------
    graph : Graph
    constants : dict of str to ndarray
        Its constants and what is made of them alone.
    inputs : mapping of str to ndarray
    kept : sequence of str
        Tensors whose numbers are wanted.
    samples : int
        How many there are in the inputs.

    Raises
    ------
    InputError
        See :func:`.nodes.compute` and :class:`.allowance.Allowance`.
    """
    tensors = {**constants, **inputs}
    shapes = {name: array.shape for name, array in tensors.items()}
    dtypes = {name: array.dtype for name, array in tensors.items()}
    allowance = Allowance(samples)
    for node, over in zip(graph.nodes, last_uses(graph.nodes, {*kept}), strict=True):
        if not all(name in constants for name in node.outputs if name):
            compute(node, tensors, graph.opset, dtypes)
            allowance.made(node, tensors)
            for name in node.outputs:
                if name in tensors:
                    shapes[name], dtypes[name] = tensors[name].shape, tensors[name].dtype
        allowance.dropped(over)
        for name in over:
            if name not in constants:
                tensors.pop(name, None)
    return Probe(shapes, dtypes, {name: tensors[name] for name in kept})


def drawn(port: Port, shape: Shape, seed: int) -> Array:
    """Numbers for an input: normal ones; of whole numbers and truth values 0 and 1, which every table of rows has."""
    dtype = port.dtype or np.dtype(np.float32)
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        return np.asarray(rng.normal(size=shape), dtype)
    return np.asarray(rng.integers(0, 2, shape), dtype)
