"""Hidden layers of a network as numbers that a hand may change: how many units each has."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from .. import nn
from ..nn.init import Initializer, rule_of
from .controls import MOST_LAYERS, MOST_UNITS, Layers, Reader
from .edits import Change, Edit

Parts = tuple[nn.Module, ...]


class Chain(NamedTuple):
    """Linear layers with the same activations behind each hidden one.

    Attributes
    ----------
    sizes : tuple of int
        Inputs of the first layer, units of each hidden one, outputs.
    first, between, last : tuple of Module
        What stands before the first layer, behind each hidden one, and behind the last one; none has weights.
    bias : bool
        Whether layers have one.
    rule : object
        What drew the weights, None where that is not known.
    """

    sizes: tuple[int, ...]
    first: Parts
    between: Parts
    last: Parts
    bias: bool
    rule: object


def chain_of(reader: Reader) -> Chain | None:
    """The network of a moment as such a chain; None for any other.

    A class of one's own that derives from nn.Sequential is none: who wrote it knows what it is made of, and
    lists a control of its own.
    """
    model = _model(reader)
    if type(model) is not nn.Sequential:
        return None
    parts = tuple(model)
    at = [k for k, part in enumerate(parts) if type(part) is nn.Linear]
    layers = [part for part in parts if type(part) is nn.Linear]
    others = [part for part in parts if type(part) is not nn.Linear]
    if not layers or any(True for part in others for _ in part.parameters()):
        return None
    bends = [parts[a + 1 : b] for a, b in pairwise(at)]
    alike = len({tuple(type(part) for part in bend) for bend in bends}) <= 1
    if not alike or any(not isinstance(part, nn.Activation) for bend in bends for part in bend):
        return None
    shapes = [layer.weight.shape for layer in layers]
    drawn = [tensor.shape for tensor in reader.tensors if len(tensor.shape) == 2]
    biases = {layer.bias is not None for layer in layers}
    if shapes != drawn or len(biases) > 1:  # drawn: of the moment that is shown, where the run may have another one
        return None
    sizes = (shapes[0][1], *(shape[0] for shape in shapes))
    between = bends[0] if bends else (nn.Tanh(),)
    return Chain(sizes, parts[: at[0]], between, parts[at[-1] + 1 :], biases.pop(), rule_of(layers[0]))


def _model(reader: Reader) -> Any:
    return getattr(getattr(reader.source, "run", None), "model", None)  # a source of arrays or weights has none


def hidden_of(reader: Reader) -> tuple[int, ...] | None:
    """Units of each hidden layer at a moment; None where layers cannot be changed by hand."""
    chain = chain_of(reader)
    return None if chain is None else chain.sizes[1:-1]


def hidden_edit(
    hidden: tuple[int, ...], reader: Reader, begin: Callable[[Sequence[int]], Initializer] | None = None
) -> Edit | None:
    """Other hidden layers: those of equal shapes go on, the others begin as those of a new network of the run's seed.

    `begin` says of hidden layers what draws the weights; None: what drew those that there are. None is returned where
    nothing changes, or layers cannot be changed.
    """
    kept = tuple(min(max(int(units), 1), MOST_UNITS) for units in hidden[:MOST_LAYERS])
    chain = chain_of(reader)
    if chain is None or kept == chain.sizes[1:-1]:
        return None
    parts: list[nn.Module] = [*chain.first]
    for n_in, n_out in pairwise((chain.sizes[0], *kept, chain.sizes[-1])):
        parts += [nn.Linear(n_in, n_out, bias=chain.bias), *(copy.deepcopy(part) for part in chain.between)]
    del parts[len(parts) - len(chain.between) :]
    model = nn.Sequential(*parts, *chain.last)
    seed = 0 if reader.settings is None else reader.settings.seed
    model.initialize(chain.rule if begin is None else begin(kept), seed=seed)  # type: ignore[arg-type] # None: as usual
    return Change(model=model)


LAYERS = Layers(
    "layers", "--hidden", "Units between input and output: what one layer cannot tell apart, two may.",
    anew=True, value=hidden_of, change=hidden_edit,
)  # fmt: skip
"""Those of a network of plain layers."""


def layers_begun(begin: Callable[[Sequence[int]], Initializer]) -> Layers:
    """The same where what draws the first weights hangs on the hidden layers: ``begin(hidden)``."""
    return replace(LAYERS, change=lambda value, reader: hidden_edit(value, reader, begin))
