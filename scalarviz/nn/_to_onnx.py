"""`ToOnnx`: a module as an ONNX file. What each layer writes stands with the layer, in ``write_onnx``."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from inspect import signature
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, one_of
from ..errors import InputError, MissingDependencyError, TypeMismatchError, shown
from ..io.atomic import StrPath, check_target, write_bytes
from ..onnx.graph import MISSING
from ..scalar import Weight

if TYPE_CHECKING:
    from ._module import Module

Shape = tuple[int, ...]
WIDEST = 1 << 32


class ToOnnx:
    """The part of a module that writes it for other programs."""

    __slots__ = ()

    if TYPE_CHECKING:

        def named_modules(self) -> Iterator[tuple[str, Module]]:
            """See :meth:`Module.named_modules`."""

        def state_dict(self) -> dict[str, NDArray[Any]]:
            """See :meth:`Module.state_dict`."""

    def to_onnx(self, path: StrPath, shape: Any = None, *, dtype: str = "float32") -> None:
        """Write the module, as it is in evaluation, to an ONNX file (opset 17, IR 8), whole or not at all.

        Parameters
        ----------
        path : path
            Any name; an old file there is replaced in one step.
        shape : tuple of int, or a list of them, optional
            Of one sample: ``(1, 28, 28)``, or ``()`` for a single number; of a module that is called with several
            things a list with the shape of each. Not needed where the module itself says it, as `Linear` does, or a
            Run trains it.
        dtype : {"float32", "float64"}
            Of all numbers. Weights by hand are float64, and rounded for float32; those of a Run in float32 are not.

        Raises
        ------
        MissingDependencyError
            The package `onnx` is not installed.
        InputError
            The shape is needed, or does not fit; the file cannot be written; or the module does what ONNX has not.
        TracingError
            Its forward asks a Value for its number, as ``if x > 0`` does.

        Notes
        -----
        The file takes N samples at once, each of that shape, as ``input``, and gives ``output``. Weights have the names
        of the state_dict. Layers become the nodes that ONNX has for them, whatever else a forward computes nodes that
        do the same for many numbers at once. Numbers that only choose rows of an :class:`Embedding` are int64. Dropout
        and the statistics of batches do what they do after ``net.eval()``.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from scalarviz import nn
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "net.onnx"
        ...     nn.Sequential(nn.Linear(2, 3, seed=0), nn.Tanh()).to_onnx(path)
        ...     path.stat().st_size > 100
        True
        """
        check_target(path)
        one_of(dtype, ("float32", "float64"), "to_onnx: dtype")
        shapes = self._shapes(shape)
        if find_spec("onnx") is None:
            raise MissingDependencyError(MISSING)
        from ..onnx.export.module import exported
        from ._state import entries

        numbers = self.state_dict()
        known: dict[Any, tuple[str, NDArray[Any]]] = {}
        for name, part in entries(self):  # type: ignore[arg-type]
            block = part._block if isinstance(part, Weight) else part
            if not isinstance(block, np.ndarray) and block.size == numbers[name].size:  # the user's are constants
                known.setdefault(block, (name, numbers[name]))
        names = {id(module): name for name, module in self.named_modules()}
        write_bytes(path, exported(self, shapes, known, names, dtype))

    def _shapes(self, given: Any) -> list[Shape]:
        """The shapes of what the module is called with."""
        if isinstance(given, list):
            shapes = [_checked(each) for each in given]
            try:
                signature(self.forward).bind(*shapes)  # type: ignore[attr-defined]
            except TypeError as error:
                raise InputError(
                    f"to_onnx: shape lists {len(shapes)} things that {type(self).__name__} is called with: {error}"
                ) from None
            return shapes
        if given is not None:
            return [_checked(given)]
        known = known_shape(self) or _trained_shape(self)
        if known is None:
            raise InputError(
                f"to_onnx: {type(self).__name__} does not say which samples it takes; give the shape of one, as "
                "shape=(3,) for three numbers or shape=(1, 28, 28) for a picture"
            )
        return [known]


def known_shape(module: Any) -> Shape | None:
    """The shape of the samples that a module takes, where it takes no others."""
    if hasattr(module, "in_features"):
        return (module.in_features,)
    if hasattr(module, "unflattened_size"):
        return (prod(module.unflattened_size),)
    if hasattr(module, "_items") and type(module).forward.__module__.startswith(f"{__package__}."):
        for part in module._items():
            if not getattr(part, "keeps_shape", False):
                return known_shape(part)
    return None


def _trained_shape(module: Any) -> Shape | None:
    """The shape of the samples of the Run that trains a module."""
    for part in module.parameters():
        block = part._block if isinstance(part, Weight) else part
        run: Any = None if block.store.owner is None else block.store.owner()
        if getattr(run, "model", None) is module:
            return tuple(run.sample_shape)
    return None


def _checked(given: Any) -> Shape:
    if not isinstance(given, tuple):
        raise TypeMismatchError(
            f"to_onnx: shape is a tuple such as (3,) or (1, 28, 28), or a list of those; got {shown(given)}"
        )
    return tuple(integer("to_onnx: a side of shape", side, 1, WIDEST) for side in given)
