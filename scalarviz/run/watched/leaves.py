"""One array of another library, read where it lies: a view wherever NumPy has its type, no copy."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

Numbers = NDArray[Any]
NARROW = ("bfloat16", "float8_", "float6_", "float4_", "int4", "uint4", "int2", "uint2")
"""Beginnings of types that NumPy does not have: these are widened, which is a copy."""


def is_tensor(x: object) -> bool:
    """Whether it is a tensor as PyTorch has them: one that can be let out of its graph."""
    return callable(getattr(x, "detach", None)) and callable(getattr(x, "numpy", None))


def is_array(x: object) -> bool:
    """Whether it holds numbers in a shape."""
    return is_tensor(x) or ((hasattr(x, "__array__") or hasattr(x, "__dlpack__")) and hasattr(x, "shape"))


def numbers(name: str, leaf: Any) -> Numbers:
    """The numbers of an array, in their own shape; of the memory it has, where NumPy has its type.

    Complex ones get another axis: real and imaginary part.

    Parameters
    ----------
    name : str
        For messages.
    leaf : array_like or tensor

    Raises
    ------
    InputError
        It is on a GPU, was given away, or holds no real numbers.
    """
    if is_tensor(leaf):
        return _tensor(name, leaf)
    try:
        array = np.asarray(leaf)
    except RuntimeError as error:  # JAX: its memory was donated to a step
        why = str(error).partition("\n")[0]
        raise InputError(f"{name}: {why}; try update(params) with the arrays that the step returned") from None
    except (TypeError, ValueError) as error:
        raise _no_numbers(name, leaf, error) from error
    return _real(name, leaf, array.astype(np.float32) if array.dtype.name.startswith(NARROW) else array)


def is_kept(name: str, leaf: Any) -> bool:
    """Whether nobody can change the numbers of an array: JAX makes new ones instead.

    Raises
    ------
    InputError
        As :func:`numbers`.
    """
    return isinstance(leaf, Real) or not (is_tensor(leaf) or numbers(name, leaf).flags.writeable)


def shape_of(name: str, leaf: Any) -> tuple[int, ...]:
    """The shape of :func:`numbers`, without waiting for what another library still computes."""
    found = getattr(leaf, "shape", None)
    if found is None or _traced(leaf):
        return numbers(name, leaf).shape
    return (*map(int, found), 2) if "complex" in str(getattr(leaf, "dtype", "")) else tuple(map(int, found))


def gradient(name: str, leaf: Any) -> Numbers | None:
    """The gradient that a tensor holds; None where it has none."""
    found = getattr(leaf, "grad", None) if is_tensor(leaf) and getattr(leaf, "is_leaf", True) else None
    return None if found is None else numbers(f"{name}.grad", found)


def _tensor(name: str, leaf: Any) -> Numbers:
    device = getattr(leaf, "device", "cpu")
    if str(getattr(device, "type", device)) != "cpu":
        raise InputError(
            f"{name} is on {device}; allowed: tensors in the CPU's memory, which are read in place; try a dict of "
            "copies, params = {n: p.detach().cpu() for n, p in net.named_parameters()}, and update(params) a step"
        )
    bare = leaf.detach()
    try:
        array: Numbers = np.asarray(_plain(bare).numpy())
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise _no_numbers(name, leaf, error) from None
    return _real(name, leaf, array)


def _plain(bare: Any) -> Any:
    """A tensor that NumPy can read: itself, or a copy of one that is kept in another way."""
    if str(getattr(bare, "layout", "torch.strided")) != "torch.strided":
        bare = bare.to_dense()
    if getattr(bare, "is_quantized", False):
        bare = bare.dequantize()
    if str(getattr(bare, "dtype", "")).rpartition(".")[2].startswith(NARROW):
        bare = bare.float()
    for resolve in ("resolve_conj", "resolve_neg"):  # views whose sign is changed when they are read
        bare = getattr(bare, resolve, lambda one=bare: one)()
    return bare


def _real(name: str, leaf: object, array: Numbers) -> Numbers:
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1)
    if array.dtype.kind not in "fiub":
        raise _no_numbers(name, leaf, f"dtype {array.dtype}")
    return array


def _traced(leaf: object) -> bool:
    """Whether it stands for numbers that are not there yet, in a function that JAX is about to compile."""
    return type(leaf).__name__.endswith("Tracer")


def _no_numbers(name: str, leaf: object, why: object) -> InputError:
    said = str(why).partition("\n")[0]
    tip = "; try update outside of the compiled function, with what it returns" if _traced(leaf) else ""
    return InputError(f"array {name!r}: got {type(leaf).__name__} ({said}); allowed: numbers{tip}")
