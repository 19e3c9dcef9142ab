"""Write a module to an ONNX file; its nodes are those of :mod:`scalarviz.onnx.export`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, one_of
from ..errors import InputError, MissingDependencyError, TypeMismatchError, shown
from ..io.atomic import StrPath, check_target, write_bytes
from ..onnx.graph import MISSING
from ..scalar import Weight

Shape = tuple[int, ...]
WIDEST = 1 << 32


@dataclass(frozen=True, slots=True)
class Origin:
    """Facts about the ONNX file of a loaded network, used when it is written again."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]  # of one sample of each input
    opset: int


def write(module: Any, path: StrPath, shape: Any, dtype: str) -> None:
    """Write a module as ONNX; see :meth:`Module.to_onnx`."""
    check_target(path)
    one_of(dtype, ("float32", "float64"), "to_onnx: dtype")
    shapes = _shapes(module, shape)
    if find_spec("onnx") is None:
        raise MissingDependencyError(MISSING)
    from ..onnx.export.module import exported

    numbers = module.state_dict()
    known: dict[Any, tuple[str, NDArray[Any]]] = {}
    for name, part in module._entries():
        block = part._block if isinstance(part, Weight) else part
        if not isinstance(block, np.ndarray) and block.size == numbers[name].size:  # user arrays are constants
            known.setdefault(block, (name, numbers[name]))
    names = {id(module): name for name, module in module.named_modules()}
    write_bytes(path, exported(module, shapes, known, names, dtype, origin_of(module)))


def origin_of(module: Any) -> Origin | None:
    """Return the facts that the module stores about the ONNX file from which it was loaded."""
    found = vars(module).get("onnx_origin")
    return found if isinstance(found, Origin) else None


def _shapes(module: Any, given: Any) -> list[Shape]:
    """Return the shapes of the module's inputs."""
    if isinstance(given, list):
        shapes = [_checked(each) for each in given]
        try:
            signature(module.forward).bind(*shapes)
        except TypeError as error:
            raise InputError(f"to_onnx: shape does not fit the inputs of {type(module).__name__}: {error}") from None
        return shapes
    if given is not None:
        return [_checked(given)]
    if (origin := origin_of(module)) is not None:
        return list(origin.shapes)
    known = first_sides(module) or trained_shape(module)
    if known is None or None in known:
        raise InputError(
            f"to_onnx: {type(module).__name__} does not fix the shape of a sample; give it, such as shape=(3,) for "
            "three numbers or shape=(1, 28, 28) for a picture"
        )
    return [tuple(side for side in known if side is not None)]


def first_sides(module: Any) -> tuple[int | None, ...] | None:
    """Return the sides of the sample that the first layer requires, or None; a side of None may have any length."""
    if hasattr(module, "in_features"):
        return (module.in_features,)
    if hasattr(module, "unflattened_size"):
        return (prod(module.unflattened_size),)
    if hasattr(module, "normalized_shape"):
        return tuple(module.normalized_shape)
    if hasattr(module, "dimensions"):
        return (getattr(module, "in_channels", None), *(None,) * module.dimensions)
    if list(getattr(module, "layouts", ())) == [3]:  # BatchNorm2d
        return (module.num_features, None, None)
    if hasattr(module, "_chain") and type(module).forward.__module__.startswith(f"{__package__}."):
        for part in module._chain().values():
            if not getattr(part, "keeps_shape", False):
                return first_sides(part)
    return None


def trained_shape(module: Any) -> Shape | None:
    """Return the sample shape of the Run that trains a module."""
    for _, part in module.named_parameters():  # the Run has all of them, so the first one tells
        block = part._block if isinstance(part, Weight) else part
        run: Any = None if block.store.owner is None else block.store.owner()
        return tuple(run._shapes[0]) if getattr(run, "model", None) is module else None
    return None


def _checked(given: Any) -> Shape:
    if not isinstance(given, tuple):
        raise TypeMismatchError(
            f"to_onnx: shape must be a tuple such as (3,) or (1, 28, 28), or a list of tuples; got {shown(given)}"
        )
    return tuple(integer("to_onnx: each number of shape", side, 1, WIDEST) for side in given)
