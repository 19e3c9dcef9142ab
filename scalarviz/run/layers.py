"""Hidden layers of a network as numbers that a hand may change: how many units each has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from .. import nn
from .controls import Reader
from .edits import Change, Edit
from .edits.change import ACTIVATIONS
from .frame import Stage, is_chain
from .own_controls import is_sequence

MOST_LAYERS = 6
MOST_UNITS = 512
USUAL_UNITS = 8


class Chain(NamedTuple):
    """Linear layers with activations between them.

    Attributes
    ----------
    sizes : tuple of int
        Inputs, units of each hidden layer, outputs.
    between, last : tuple of str
        Activations behind a hidden layer, and behind the last one.
    bias : bool
        Whether layers have one.
    """

    sizes: tuple[int, ...]
    between: tuple[str, ...]
    last: tuple[str, ...]
    bias: bool


def chain_of(reader: Reader) -> Chain | None:
    """The network of a moment as such a chain; None for any other."""
    stages = _from_first_layer(reader)
    if not stages or not is_chain(reader.stages) or not is_sequence(reader):
        return None
    layers = [k for k, stage in enumerate(stages) if _linear(stage)]
    if not layers or layers[0] != 0 or any(not _linear(s) and s.kind not in ACTIVATIONS for s in stages):
        return None
    bends = [tuple(s.kind for s in stages[a + 1 : b]) for a, b in pairwise([*layers, len(stages)])]
    biases = {stages[k].bias is not None for k in layers}
    if len(set(bends[:-1])) > 1 or len(biases) > 1:
        return None
    first = stages[0].weight
    assert first is not None
    sizes = (first.shape[1], *(stages[k].outputs for k in layers))
    return Chain(sizes, bends[0] if len(bends) > 1 else ("tanh",), bends[-1], biases.pop())


def _own_way(reader: Reader) -> Callable[[tuple[int, ...]], Edit] | None:
    """How a network with a mind of its own gets other hidden layers: its method ``hidden_edit(hidden)``."""
    own = getattr(getattr(getattr(reader.source, "run", None), "model", None), "hidden_edit", None)
    return own if callable(own) else None


def _from_first_layer(reader: Reader) -> Sequence[Stage]:
    """The stages; of a network with a way of its own without what it makes of a sample before the first layer."""
    stages = reader.stages
    if _own_way(reader) is None:
        return stages
    first = next((k for k, stage in enumerate(stages) if _linear(stage)), 0)
    return stages[first:]


def _linear(stage: Stage) -> bool:
    return stage.kind == "linear" and stage.weight is not None and len(stage.weight.shape) == 2


def hidden_of(reader: Reader) -> tuple[int, ...] | None:
    """Units of each hidden layer at a moment; None where layers cannot be changed by hand."""
    chain = chain_of(reader)
    return None if chain is None else chain.sizes[1:-1]


def hidden_edit(hidden: tuple[int, ...], reader: Reader) -> Edit | None:
    """Other hidden layers: those of equal shapes go on, the others begin as those of a new network of the run's seed.

    None where nothing changes, or layers cannot be changed.
    """
    chain = chain_of(reader)
    kept = tuple(min(max(int(units), 1), MOST_UNITS) for units in hidden[:MOST_LAYERS])
    if chain is None or kept == chain.sizes[1:-1]:
        return None
    own = _own_way(reader)
    if own is not None:
        return own(kept)
    parts: list[nn.Module] = []
    sizes = (chain.sizes[0], *kept, chain.sizes[-1])
    for n_in, n_out in pairwise(sizes):
        parts += [nn.Linear(n_in, n_out, bias=chain.bias), *(ACTIVATIONS[kind]() for kind in chain.between)]
    if chain.between:
        del parts[-len(chain.between) :]
    model = nn.Sequential(*parts, *(ACTIVATIONS[kind]() for kind in chain.last))
    seed = 0 if reader.settings is None else reader.settings.seed
    model.initialize(nn.init.pytorch_default(), seed=seed)
    return Change(model=model)


def more(units: int) -> int:
    """What a touch of + makes of a layer: one more, of many an eighth."""
    return min(units + max(1, units // 8), MOST_UNITS)


def fewer(units: int) -> int:
    """What a touch of - makes of it: the way back; 0 takes the layer away."""
    return next((k for k in range(units - 1, 0, -1) if more(k) <= units), 0)
