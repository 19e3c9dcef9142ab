"""Initialisers: the first values of a parameter, as a pure function of the seed and of its place in the network.

An initialiser is called ``(shape, fan_in, fan_out, draw)`` and returns an array of that shape; `draw` returns random
numbers. The initialisers here also have ``bias(shape, fan_in, fan_out, draw)``; with a plain function biases are 0.

A layer without a seed takes the next place of a process-wide counter. So two layers never share numbers, and a program
draws the same ones in every run. :func:`manual_seed` restarts the counter.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import rng
from ..arguments import no_name
from ..errors import InputError, TypeMismatchError, shown, typed
from ..scalar import Weight, mask
from ..scalar.number import as_number, positive
from ._draws import Counter, Draw, Shape, next_draw
from ._parameter import FloatArray, Parameter, fitted

if TYPE_CHECKING:
    from ._module import Module

__all__ = [
    "Draw", "Initializer", "apply", "drawn", "kaiming_uniform", "manual_seed", "normal", "pytorch_default", "uniform",
    "xavier_uniform",
]  # fmt: skip

Function = Callable[[Shape, int, int, Draw], Any]


@dataclass(frozen=True)
class Initializer:
    """An initialiser: functions ``(shape, fan_in, fan_out, draw) -> ndarray`` for weights and biases, and a title."""

    weight: Function
    bias: Function
    title: str

    def __call__(self, shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> Any:
        """Return values for a weight array."""
        return self.weight(shape, fan_in, fan_out, draw)

    def __repr__(self) -> str:
        return self.title


def _zeros(shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> FloatArray:
    return np.zeros(shape)


def _between(low: float, high: float, shape: Shape, draw: Draw) -> FloatArray:
    return low + (high - low) * draw.uniform(shape)


def _within(bound: Callable[[int, int], float]) -> Function:
    """Return a rule that draws uniformly between ``-b`` and ``b``, where b is ``bound(fan_in, fan_out)``."""

    def filled(shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> FloatArray:
        most = bound(fan_in, fan_out)
        return _between(-most, most, shape, draw)

    return filled


def uniform(a: float = 0.0, b: float = 1.0) -> Initializer:
    """Draw weights uniformly in ``[a, b)``; biases are 0.

    Raises
    ------
    InputError
        A bound is not finite, or ``a > b``.
    """
    low, high = as_number(a, "uniform: 'a'"), as_number(b, "uniform: 'b'")
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise InputError(f"uniform needs finite numbers a <= b, got a={shown(a)}, b={shown(b)}")

    def weight(shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> FloatArray:
        return _between(low, high, shape, draw)

    return Initializer(weight, _zeros, f"uniform({low:g}, {high:g})")


def normal(mean: float = 0.0, std: float = 1.0) -> Initializer:
    """Draw weights from a normal distribution; biases are 0.

    Raises
    ------
    InputError
        `mean` is not finite, or `std` is negative or not finite.
    """
    centre, width = as_number(mean, "normal: mean"), as_number(std, "normal: std")
    if not (math.isfinite(centre) and math.isfinite(width) and width >= 0):
        raise InputError(f"normal needs a finite mean and a finite std >= 0, got mean={shown(mean)}, std={shown(std)}")

    def weight(shape: Shape, fan_in: int, fan_out: int, draw: Draw) -> FloatArray:
        return centre + width * draw.normal(shape)

    return Initializer(weight, _zeros, f"normal({centre:g}, {width:g})")


def pytorch_default() -> Initializer:
    """Draw as ``torch.nn.Linear`` does: weights and biases uniform within ``1 / sqrt(fan_in)``."""
    both = _within(lambda fan_in, fan_out: 1.0 / math.sqrt(fan_in))
    return Initializer(both, both, "pytorch_default()")


def xavier_uniform(gain: float = 1.0) -> Initializer:
    """Draw weights uniformly within ``gain * sqrt(6 / (fan_in + fan_out))``; biases are 0 (Glorot and Bengio, 2010).

    Raises
    ------
    InputError
        `gain` is not positive and finite.
    """
    factor = positive(gain, "xavier_uniform: gain")
    weight = _within(lambda fan_in, fan_out: factor * math.sqrt(6.0 / (fan_in + fan_out)))
    return Initializer(weight, _zeros, f"xavier_uniform(gain={factor:g})")


def kaiming_uniform(gain: float = math.sqrt(2.0)) -> Initializer:
    """Draw weights uniformly within ``gain * sqrt(3 / fan_in)``, biases within ``gain * sqrt(3 / fan_out)``.

    The default gain is the one for ReLU (He et al., 2015).

    Raises
    ------
    InputError
        `gain` is not positive and finite.
    """
    factor = positive(gain, "kaiming_uniform: gain")
    weight = _within(lambda fan_in, fan_out: factor * math.sqrt(3.0 / fan_in))
    bias = _within(lambda fan_in, fan_out: factor * math.sqrt(3.0 / fan_out))
    return Initializer(weight, bias, f"kaiming_uniform(gain={factor:g})")


def manual_seed(seed: int) -> None:
    """Restart the counter of layers without a seed, with this seed.

    A network built right afterwards has the values of ``net.initialize(seed=seed)``.

    Raises
    ------
    InputError
        `seed` is not a whole number in ``0 .. 2**64 - 1``.
    """
    rng.split(seed)
    Counter.seed, Counter.place = seed, 0
    mask.begin(seed)


def apply(module: Module, initializer: Function | None = None, seed: int | None = 0) -> None:
    """Re-initialise every parameter of `module` and of all modules below it.

    Parameters
    ----------
    module : Module
    initializer : Initializer or function, optional
        Default: :func:`pytorch_default`. A plain function ``(shape, fan_in, fan_out, draw) -> array`` fills the
        weights, and the biases become 0. Parts with a :meth:`Module.constant_start`, as in normalisations, take that
        number.
    seed : int or None
        None: the next places of the process-wide counter.

    Raises
    ------
    TypeMismatchError
        `initializer` is not a function.
    InputError
        `seed` is no valid seed, or the initialiser returned an array of another shape.
    """
    rule = pytorch_default() if initializer is None else initializer
    if not callable(rule):
        raise TypeMismatchError(
            f"an initialiser must be a function (shape, fan_in, fan_out, draw), got {shown(initializer)}"
        )
    given: Any = module
    if isinstance(given, type) or not callable(getattr(given, "named_modules", None)):
        raise TypeMismatchError(f"init.apply: the module must be a Module, got {typed(given)}")
    for _, owner, part, values in _values(module, lambda _: rule, seed):
        part.data = values if isinstance(part, Parameter) else float(values)
        _rules[owner] = rule


_rules: weakref.WeakKeyDictionary[Module, Function] = weakref.WeakKeyDictionary()
"""The initialiser that last drew each module's own parameters; pickling forgets it."""


def rule_of(module: Module) -> Function | None:
    return _rules.get(module)


def drawn(module: Module, seed: int) -> dict[Parameter | Weight, FloatArray]:
    """Return new numbers for every parameter, from the initialiser that drew it last; nothing is changed.

    If that is unknown (after pickling, or for hand-made weights), :func:`pytorch_default` draws.
    """
    usual = pytorch_default()
    return {part: values for _, _, part, values in _values(module, lambda owner: _rules.get(owner, usual), seed)}


def without_rule(module: Module) -> list[Parameter | Weight]:
    """Return the parameters that no initialiser drew and that have no :meth:`Module.constant_start`."""
    found = {
        id(part): part
        for _, owner in module.named_modules()
        for _, part in owner._members()
        if isinstance(part, Parameter | Weight) and owner not in _rules and owner.constant_start(part) is None
    }
    return list(found.values())


def keep_rule(module: Module, of: Module) -> None:
    rule = _rules.get(of)
    if rule is not None:
        _rules[module] = rule


def _values(
    module: Module, rule_of: Callable[[Module], Function], seed: int | None
) -> Iterator[tuple[str, Module, Parameter | Weight, FloatArray]]:
    done: set[int] = set()
    for path, owner in module.named_modules():
        rule = rule_of(owner)
        for name, part in owner._members():
            if not isinstance(part, Parameter | Weight) or id(part) in done:
                continue
            draw = next_draw(seed, len(done))
            done.add(id(part))
            shape = part.shape if isinstance(part, Parameter) else ()
            fill = getattr(rule, "bias", _zeros) if name == "bias" else rule
            constant = owner.constant_start(part)
            made = np.full(shape, constant) if constant is not None else fill(shape, *owner.fans(part), draw)
            values = fitted(made, shape, f"the initial value of {f'{path}.{name}'.lstrip('.')}")
            if (padding := getattr(owner, "padding_idx", None)) is not None:
                values = values.copy()
                values[padding] = 0.0
            yield path, owner, part, values


if not TYPE_CHECKING:

    def __dir__() -> list[str]:
        return __all__

    def __getattr__(name: str) -> Any:
        """Raise an error that names the replacement for PyTorch's in-place functions."""
        own = name.removesuffix("_")
        how = own if own in __all__ else "normal"
        said = f"net.initialize(nn.init.{how}()) re-initialises all weights; parameter.data = array sets one parameter"
        raise no_name(__name__, name, __all__, {name: said} if name != own else {})
