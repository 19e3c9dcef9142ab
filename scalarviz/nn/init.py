"""Initialisers: the first values of a parameter, as a pure function of the seed and of its place in the network.

An initialiser is called ``(shape, fan_in, fan_out, draw)`` and returns an array of that shape; `draw` returns random
numbers. The initialisers here also have ``bias(shape, fan_in, fan_out, draw)``; with a plain function biases are 0.

A layer without a seed takes the next place of a process-wide counter. So two layers never share numbers, and a program
draws the same ones in every run. :func:`manual_seed` restarts the counter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import rng
from ..arguments import no_name
from ..checks import one_of
from ..errors import InputError, TypeMismatchError, shown, typed
from ..scalar import Weight, mask
from ..scalar.number import as_number, positive
from ._draws import (
    Counter,
    Draw,
    Function,
    Initializer,
    LevelDraw,
    between,
    kaiming_uniform,
    next_draw,
    normal,
    pytorch_default,
    uniform,
    xavier_uniform,
)
from ._module import Module
from ._parameter import FloatArray, Parameter, Span

__all__ = [
    "Draw", "Initializer", "apply", "calculate_gain", "constant_", "drawn", "eye_", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "manual_seed", "normal", "normal_", "ones_", "orthogonal_",
    "pytorch_default", "trunc_normal_", "uniform", "uniform_", "xavier_normal_", "xavier_uniform", "xavier_uniform_",
    "zeros_",
]  # fmt: skip


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
    if not isinstance(module, Module):
        raise TypeMismatchError(f"init.apply: the module must be a Module, got {typed(module)}")
    module.initialize(initializer, seed)


def rule_of(module: Module) -> Function | None:
    return module._books.rule


def drawn(module: Module, seed: int) -> dict[Parameter | Weight, FloatArray]:
    """Return new numbers for every parameter, from the initialiser that drew it last; nothing is changed.

    If that is unknown (after pickling, or for hand-made weights), :func:`pytorch_default` draws.
    """
    usual = pytorch_default()
    return {part: values for _, part, values in module._drawn(lambda owner: owner._books.rule or usual, seed)}


class Law(NamedTuple):
    """How the first numbers of a parameter follow from its draws: ``low + span * draw``, number by number."""

    kind: str  # of the draws: "uniform", "normal", or "" for none
    place: int  # of the parameter in its network
    low: FloatArray
    span: FloatArray


def laws(module: Module) -> dict[Parameter | Weight, Law]:
    """Return the law of each parameter; those whose initialiser does something else with its draws are missing."""
    usual, found, draws = pytorch_default(), list[dict[Parameter | Weight, FloatArray]](), list[LevelDraw]()
    for level in (0.0, 1.0, 0.5):

        def draw_of(seed: int | None, place: int, level: float = level) -> LevelDraw:
            draws.append(LevelDraw(place, level))
            return draws[-1]

        drawn = module._drawn(lambda owner: owner._books.rule or usual, 0, draw_of)
        found.append({part: values for _, part, values in drawn})
    made = dict[Parameter | Weight, Law]()
    for (part, low), draw in zip(found[0].items(), draws, strict=False):
        span = found[1][part] - low
        if len(draw.kinds) < 2 and np.allclose(found[2][part], low + 0.5 * span):
            made[part] = Law("".join(draw.kinds), draw.place, low, span)
    return made


def without_rule(module: Module) -> list[Parameter | Weight]:
    """Return the parameters that no initialiser drew and that have no :meth:`Module.constant_start`."""
    found = {
        id(part): part
        for _, owner in module.named_modules()
        for _, part in owner._members()
        if isinstance(part, Parameter | Weight) and owner._books.rule is None and owner.constant_start(part) is None
    }
    return list(found.values())


# ---- PyTorch's functions, which fill one parameter


def _fill(tensor: Any, name: str, make: Callable[[FloatArray, Draw], Any]) -> Any:
    array = tensor.data if isinstance(tensor, Span) else tensor
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise TypeMismatchError(f"{name}: the first argument must be a Parameter or its data, got {typed(tensor)}")
    array[...] = make(array, next_draw())
    return tensor


def _fans(array: FloatArray, name: str) -> tuple[int, int]:
    if array.ndim < 2:
        raise InputError(
            f"{name} needs the numbers of inputs and outputs, so two dimensions or more; got {array.shape}"
        )
    each = math.prod(array.shape[2:])
    return array.shape[1] * each, array.shape[0] * each


def constant_(tensor: Any, val: float) -> Any:
    """Set every number of a Parameter to `val`, in place, and return it; so do `zeros_` and `ones_`."""
    number = as_number(val, "constant_: val")
    return _fill(tensor, "constant_", lambda array, draw: number)


def zeros_(tensor: Any) -> Any:
    """See `constant_`."""
    return constant_(tensor, 0.0)


def ones_(tensor: Any) -> Any:
    """See `constant_`."""
    return constant_(tensor, 1.0)


def eye_(tensor: Any) -> Any:
    """Set a matrix to 1 on its diagonal and 0 elsewhere."""

    def filled(array: FloatArray, draw: Draw) -> FloatArray:
        if array.ndim != 2:
            raise InputError(f"eye_ needs two dimensions, got the shape {array.shape}")
        return np.eye(*array.shape)

    return _fill(tensor, "eye_", filled)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """Draw the numbers of a Parameter as `normal` does."""
    rule = normal(mean, std)
    return _fill(tensor, "normal_", lambda array, draw: rule(array.shape, 1, 1, draw))


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0) -> Any:
    """Draw the numbers of a Parameter as `uniform` does."""
    rule = uniform(a, b)
    return _fill(tensor, "uniform_", lambda array, draw: rule(array.shape, 1, 1, draw))


def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Any:
    """Draw the numbers of a Parameter as `normal` does, again and again until they lie between `a` and `b`."""
    rule = normal(mean, std)
    if not (a < b and a < mean + 8 * std and b > mean - 8 * std):
        raise InputError(f"trunc_normal_: no number lies between a={shown(a)} and b={shown(b)}")

    def filled(array: FloatArray, draw: Draw) -> Any:
        found = rule(array.shape, 1, 1, draw)
        while (outside := (found < a) | (found > b)).any():
            found[outside] = rule((int(outside.sum()),), 1, 1, draw)
        return found

    return _fill(tensor, "trunc_normal_", filled)


def xavier_uniform_(tensor: Any, gain: float = 1.0) -> Any:
    """Draw the numbers of a Parameter as `xavier_uniform` does."""
    rule = xavier_uniform(gain)
    return _fill(tensor, "xavier_uniform_", lambda x, draw: rule(x.shape, *_fans(x, "xavier_uniform_"), draw))


def xavier_normal_(tensor: Any, gain: float = 1.0) -> Any:
    """Draw the numbers of a Parameter with the standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``."""
    factor = positive(gain, "xavier_normal_: gain") * math.sqrt(2.0)
    return _fill(
        tensor,
        "xavier_normal_",
        lambda x, draw: factor / math.sqrt(sum(_fans(x, "xavier_normal_"))) * draw.normal(x.shape),
    )


def kaiming_uniform_(tensor: Any, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Any:
    """Draw the numbers of a Parameter uniformly within ``sqrt(3) * gain / sqrt(fan)``, with `calculate_gain`."""
    spread = _spread("kaiming_uniform_", a, mode, nonlinearity)
    return _fill(tensor, "kaiming_uniform_", lambda x, draw: between(-1, 1, x.shape, draw) * spread(x) * math.sqrt(3.0))


def kaiming_normal_(tensor: Any, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Any:
    """Draw the numbers of a Parameter with the standard deviation ``gain / sqrt(fan)``, with `calculate_gain`."""
    spread = _spread("kaiming_normal_", a, mode, nonlinearity)
    return _fill(tensor, "kaiming_normal_", lambda x, draw: draw.normal(x.shape) * spread(x))


def _spread(name: str, a: float, mode: str, nonlinearity: str) -> Callable[[FloatArray], float]:
    """Return a function of an array: the standard deviation with which its layer keeps the size of its inputs."""
    side = one_of(mode, ("fan_in", "fan_out"), f"{name}: mode") == "fan_out"
    gain = calculate_gain(nonlinearity, a)
    return lambda array: gain / math.sqrt(_fans(array, name)[side])


def orthogonal_(tensor: Any, gain: float = 1.0) -> Any:
    """Set a Parameter to `gain` times a random matrix with orthogonal rows or columns (Saxe et al., 2013)."""
    factor = as_number(gain, "orthogonal_: gain")

    def filled(array: FloatArray, draw: Draw) -> Any:
        _fans(array, "orthogonal_")
        drawn = draw.normal((len(array), array.size // len(array)))
        wide = drawn.shape[0] < drawn.shape[1]
        q, r = np.linalg.qr(drawn.T if wide else drawn)
        q = q * np.sign(np.diag(r))
        return factor * (q.T if wide else q).reshape(array.shape)

    return _fill(tensor, "orthogonal_", filled)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which weights before this activation are larger; `param` is the slope of leaky_relu."""
    slope = 0.01 if param is None else as_number(param, "calculate_gain: param")
    gains = {
        "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "leaky_relu": math.sqrt(2.0 / (1.0 + slope**2)), "selu": 0.75,
        **dict.fromkeys(("linear", "sigmoid", "conv1d", "conv2d"), 1.0),
    }  # fmt: skip
    return gains[one_of(nonlinearity, tuple(gains), "calculate_gain: nonlinearity")]


if not TYPE_CHECKING:

    def __dir__() -> list[str]:
        return __all__

    def __getattr__(name: str) -> Any:
        """Raise an error that names what to use for PyTorch's functions that are not here."""
        near = next((own for own in (name + "_", name.removesuffix("_")) if own in __all__), "")
        said = f"use nn.init.{near}" if near else "assign an array: parameter.data = array"
        raise no_name(
            __name__, name, __all__, {name: said} if near or name.removesuffix("_") in ("dirac", "sparse") else {}
        )
