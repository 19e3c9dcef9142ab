"""`MLP`: linear layers with an activation between them, in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from ..errors import InputError, TypeMismatchError, shown
from . import init as initialisers
from ._activations import Tanh
from ._linear import Linear, count
from ._module import Module
from ._sequential import Sequential


class MLP(Sequential):
    """Linear layers with an activation behind each but the last one.

    ``nn.MLP(2, [8, 8], 1)`` is ``nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8,
    1))``, its names too. PyTorch has none.

    Parameters
    ----------
    n_in : int
        Inputs.
    hidden : int or sequence of int
        Width of each hidden layer; none: a single linear layer.
    n_out : int
        Outputs.
    activation : callable
        Makes a module, as the class ``nn.ReLU``; called once a hidden layer.
    bias, init, seed
        As for :class:`Linear`.

    Raises
    ------
    InputError
        A size is below 1.
    TypeMismatchError
        `activation` makes no module.
    """

    def __init__(
        self,
        n_in: int,
        hidden: int | Sequence[int],
        n_out: int,
        activation: Callable[[], Module] = Tanh,
        bias: bool = True,
        init: initialisers.Function | None = None,
        seed: int | None = None,
    ) -> None:
        given: Any = hidden
        if isinstance(given, str) or (isinstance(given, Sequence) and any(isinstance(n, str) for n in given)):
            raise InputError(f"MLP: hidden must be a whole number or a list of them, got {shown(hidden)}")
        inner = [count(n, "MLP: hidden") for n in (given if isinstance(given, Sequence) else [given])]
        widths = [count(n_in, "MLP: n_in"), *inner, count(n_out, "MLP: n_out")]
        parts: list[Module] = []
        for k, (before, behind) in enumerate(pairwise(widths)):
            parts += [*([_made(activation)] if k else []), Linear(before, behind, bias=bias)]
        super().__init__(*parts)
        initialisers.apply(self, init, seed)


def _made(activation: Any) -> Module:
    made = activation() if callable(activation) and not isinstance(activation, Module) else activation
    if not isinstance(made, Module) or made is activation:
        raise TypeMismatchError(
            f"MLP: activation must make a module, as the class nn.ReLU or lambda: nn.ELU(0.5); got {shown(activation)}"
        )
    return made
