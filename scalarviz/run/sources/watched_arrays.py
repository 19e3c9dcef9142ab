"""The arrays of another library: find them in trees and modules, read them in place, and flatten them for a frame."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, TypeMismatchError, typed
from ...nn import Module, Parameter
from ...scalar import Value, Weight
from ..core.graph import grouped
from ..core.tensors import BUFFERS, Role, Tensor

Numbers = NDArray[Any]
NARROW = ("bfloat16", "float8_", "float6_", "float4_", "int4", "uint4", "int2", "uint2")
"""Prefixes of types that NumPy lacks; these are widened, which is a copy."""


def is_tensor(x: object) -> bool:
    """Return whether it is a tensor as in PyTorch, which can be detached from its graph."""
    return callable(getattr(x, "detach", None)) and callable(getattr(x, "numpy", None))


def is_array(x: object) -> bool:
    """Return whether it holds numbers in a shape."""
    return is_tensor(x) or ((hasattr(x, "__array__") or hasattr(x, "__dlpack__")) and hasattr(x, "shape"))


def numbers(name: str, leaf: Any) -> Numbers:
    """Return the numbers of an array in its own shape, without a copy if NumPy has its type.

    Complex numbers get another axis: real and imaginary part. InputError: the array is on a GPU, was
    given away, or holds no real numbers; `name` is for the message.
    """
    tensor, device = is_tensor(leaf), getattr(leaf, "device", "cpu")
    if tensor and str(getattr(device, "type", device)) != "cpu":
        raise InputError(
            f"{name} is on {device}; allowed: tensors in CPU memory; try a dict of "
            "copies, params = {n: p.detach().cpu() for n, p in net.named_parameters()}, and update(params) per step"
        )
    try:
        array: Numbers = np.asarray(_plain(leaf.detach()).numpy() if tensor else leaf)
    except (RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, RuntimeError) and not tensor:  # JAX: its memory was donated to a step
            why = str(error).partition("\n")[0]
            raise InputError(f"{name}: {why}; try update(params) with the arrays that the step returned") from None
        raise _no_numbers(name, leaf, error) from error
    if array.dtype.name.startswith(NARROW):
        array = array.astype(np.float32)
    if array.dtype.kind not in "fiubc":
        raise _no_numbers(name, leaf, f"dtype {array.dtype}")
    return np.stack([array.real, array.imag], axis=-1) if array.dtype.kind == "c" else array


def shape_of(name: str, leaf: Any) -> tuple[int, ...]:
    """Return the shape of :func:`numbers`, without waiting for another library's computation."""
    found = getattr(leaf, "shape", None)
    if found is None or _traced(leaf):
        return numbers(name, leaf).shape
    return (*map(int, found), 2) if "complex" in str(getattr(leaf, "dtype", "")) else tuple(map(int, found))


def _plain(bare: Any) -> Any:
    """Return a tensor that NumPy can read: itself, or a copy in another layout."""
    if str(getattr(bare, "layout", "torch.strided")) != "torch.strided":
        bare = bare.to_dense()
    if str(getattr(bare, "dtype", "")).rpartition(".")[2].startswith(NARROW):
        bare = bare.float()
    for resolve in ("resolve_conj", "resolve_neg"):  # views whose sign changes on reading
        bare = getattr(bare, resolve, lambda one=bare: one)()
    return bare


def _traced(leaf: object) -> bool:
    """Return whether it stands for future numbers, in a function that JAX is compiling."""
    return type(leaf).__name__.endswith("Tracer")


def _no_numbers(name: str, leaf: object, why: object) -> InputError:
    said = str(why).partition("\n")[0]
    tip = "; call update outside the compiled function, with its result" if _traced(leaf) else ""
    return InputError(f"array {name!r}: got {type(leaf).__name__} ({said}); allowed: numbers{tip}")


# ---- The weights of a torch.nn.Module, by its own methods: PyTorch is not imported here


def is_module(x: object) -> bool:
    """Return whether it has parameters, buffers and a state_dict, as modules of PyTorch do, and ours."""
    if isinstance(x, Module):
        return True
    names = ("named_parameters", "named_buffers", "state_dict")
    if isinstance(x, type) or not all(callable(getattr(x, name, None)) for name in names):
        return False
    module: Any = x
    return all(is_tensor(one) for _, one in module.named_parameters())


def module_parts(module: Any, path: str) -> list[Part]:
    """Return the parameters of a module at a path, and the buffers that it saves in files."""
    begin = f"{path}." if path else ""
    if isinstance(module, Module):  # its arrays move when a Run begins, so they are asked for at each step
        own = module.named_parameters()
        return [
            *(Part(begin + name, np.asarray(p.data), role_of(name), p.frozen, p) for name, p in own),
            *(Part(begin + name, one, "buffer" if one.shape else "count") for name, one in module.named_buffers()),
        ]
    parameters, made_anew = dict(module.named_parameters()), _made_anew(module)
    for name, one in parameters.items():
        if type(one).__name__.startswith("Uninitialized"):
            raise InputError(f"{name} has no shape yet; run one batch through the network first")
    return [
        *(Part(begin + name, one, role_of(name), not one.requires_grad) for name, one in parameters.items()),
        *(
            Part(begin + name, one, "count" if _counts(one) else "buffer")
            for name, one in module.named_buffers()
            if name not in made_anew
        ),
    ]


def _made_anew(module: Any) -> set[str]:
    """Return names of buffers that are not saved, from the layers; a state_dict may have other names."""
    layers = module.named_modules() if callable(getattr(module, "named_modules", None)) else [("", module)]
    return {
        f"{path}.{name}" if path else name
        for path, layer in layers
        for name in getattr(layer, "_non_persistent_buffers_set", ())
    }


def _counts(one: object) -> bool:
    """Return whether it is one whole number in an array, as the batches of a norm; it is not drawn."""
    return getattr(one, "shape", None) == () and "int" in str(getattr(one, "dtype", ""))


# ---- The arrays of a tree by name: nested dicts, lists, tuples and dataclasses, as JAX


DEEPEST = 100
"""Deepest level of a tree; a deeper one contains itself."""


def can_be_read(x: object) -> bool:
    """Return whether it may have numbers to watch: a module, a dict, or a container of arrays."""
    if is_module(x) or isinstance(x, Mapping):
        return True
    if not (_several(x) or _record(x) or _registered(x)):
        return False
    try:
        return any(is_array(leaf) or is_module(leaf) for _, leaf in leaves(x))
    except (InputError, TypeMismatchError):  # a list of something else: callers that take those report the error
        return False


def leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and array of each leaf in order; names are the keys, indices and fields on the way, joined by dots.

    Takes mappings, sequences, dataclasses and types that are registered with JAX (modules of flax.nnx),
    nested in any way; a torch.nn.Module in it is a leaf. Skips None, functions, random keys,
    and fields of a dataclass without arrays. InputError: a container contains itself.
    """
    taken: set[str] = set()
    for name, leaf in _walk(tree, "", 0):
        unique, count = name, 2
        while unique in taken:
            unique, count = f"{name} ({count})", count + 1
        taken.add(unique)
        yield unique, leaf


def _walk(x: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        raise InputError(f"{name[:40]!r}... is nested more than {DEEPEST} levels; a container may not contain itself")
    if _random(x):
        return
    if is_array(x) or isinstance(x, Real) or _numbers_only(x) or is_module(x):
        yield name, x
        return
    children = _children(x)
    if children is not None:
        for key, child in children:
            yield from _walk(child, f"{name}.{key}" if name else key, depth + 1)
    elif x is not None and (not callable(x) or hasattr(x, "named_parameters")):
        raise TypeMismatchError(
            f"{repr(name) if name else 'what is shown'}: got {typed(x)}; allowed: arrays of real numbers, in "
            "nested dicts, lists, tuples and dataclasses"
        )


def _children(x: Any) -> Iterator[tuple[str, Any]] | None:
    """Return the keyed parts of a container, or None."""
    if isinstance(x, Mapping):
        return ((str(key), child) for key, child in x.items())
    if (known := _registered(x)) is not None:
        return ((key, part) for key, part in known if _holds(part))
    if _several(x):
        names = getattr(x, "_fields", None) or map(str, range(len(x)))
        return zip(names, x, strict=True)
    if _record(x):
        return ((one.name, part) for one in fields(x) if _holds(part := getattr(x, one.name, None)))
    return None


def _registered(x: object) -> list[tuple[str, Any]] | None:
    """Return the parts of an object that is registered with JAX, if the loop has imported JAX; otherwise None."""
    jax = sys.modules.get("jax")
    if jax is None or _several(x) or isinstance(x, Iterator | Set):  # JAX warns about iterators
        return None
    found = jax.tree_util.tree_flatten_with_path(x, is_leaf=lambda one: one is not x)[0]
    if len(found) == 1 and found[0][1] is x:
        return None
    return [(_key(way[0]), part) for way, part in found]


def _key(key: Any) -> str:
    """Return one key of JAX's path to a leaf: a field, a key or a number."""
    return str(next((getattr(key, kind) for kind in ("name", "key", "idx") if hasattr(key, kind)), key))


def _random(x: object) -> bool:
    """Return whether it is the state of a random generator: a typed key of JAX, or flax.nnx's wrapper of one."""
    held = any(kind.__name__ == "RngState" for kind in type(x).__mro__)
    return held or str(getattr(x, "dtype", "")).startswith("key<")


def _several(x: object) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str | bytes | bytearray)


def _record(x: object) -> bool:
    return is_dataclass(x) and not isinstance(x, type)


def _holds(part: Any) -> bool:
    """Return whether a field of a dataclass may hold arrays; its numbers, texts and functions are settings."""
    if is_array(part) or isinstance(part, Mapping) or _record(part) or is_module(part):
        return True
    return not _numbers_only(part) if _several(part) else _registered(part) is not None


def _numbers_only(x: Any, depth: int = 0) -> bool:
    """Return whether it is a list of numbers, perhaps nested: one array. A list that contains itself is none."""
    if depth > DEEPEST or not _several(x) or hasattr(x, "_fields") or not len(x):
        return False
    return all(isinstance(one, Real) or _numbers_only(one, depth + 1) for one in x)


# ---- `Part`: one watched array, by name


@dataclass(frozen=True, slots=True)
class Part:
    """One array; `leaf` is referred to, not copied, and `frozen` means that it gets no gradient."""

    name: str
    leaf: Any
    role: Role = "weight"
    frozen: bool = False
    own: Parameter | Weight | None = None  # of our module, whose numbers these are

    @property
    def gradient(self) -> Any:
        """The gradient of a parameter, or None."""
        if self.own is not None:
            return np.asarray(self.own.grad) if self.own.has_grad else None
        held = is_tensor(self.leaf) and getattr(self.leaf, "is_leaf", True) and self.role not in BUFFERS
        return getattr(self.leaf, "grad", None) if held else None


def role_of(name: str, leaf: object = None) -> Role:
    """Return the role of an array, by the words of its name; flax marks batch statistics."""
    *way, last = name.split(".")
    if _counts(leaf):
        return "count"
    if "batch_stats" in way or any(kind.__name__ == "BatchStat" for kind in type(leaf).__mro__):
        return "buffer"
    return "bias" if last == "bias" or last.startswith("bias_") or last.endswith("_bias") else "weight"


# ---- Compare two trees except for their numbers: at every step


def alike(new: Any, known: Any) -> bool:
    """Return whether a tree has the keys, container types, shapes and dtypes of a known one.

    False if this cannot be told quickly; the caller then checks it name by name. No number is read, so this never
    waits for JAX.
    """
    if new is known:
        return True
    if type(new) is not type(known):
        return False
    shape = getattr(new, "shape", None)
    if shape is not None:
        return bool(shape == known.shape and getattr(new, "dtype", None) == getattr(known, "dtype", None))
    if isinstance(new, Mapping):
        return new.keys() == known.keys() and all(alike(new[key], known[key]) for key in new)
    if isinstance(new, list | tuple):
        return len(new) == len(known) and all(map(alike, new, known))
    if is_dataclass(new):
        return all(alike(getattr(new, one.name, None), getattr(known, one.name, None)) for one in fields(new))
    return isinstance(new, int | float)


# ---- `Reader`: reads watched arrays in place: values, gradients, frozen flags


Float = NDArray[np.floating]
Flags = NDArray[np.bool_]
_SAME = "names and shapes must be the same in every call; open a new window for other arrays"


class Reader:
    """Reads a module of PyTorch, or a tree of arrays, into the flat arrays of a frame.

    Names and shapes must not change. TypeMismatchError or InputError for other things.
    """

    def __init__(self, x: Any) -> None:
        if not can_be_read(x):
            raise TypeMismatchError(
                f"watch: got {typed(x)}; allowed: a Module, or arrays in nested dicts, "
                f"lists, tuples and dataclasses{_instead(x)}"
            )
        self.in_place = is_module(x)
        self._x: Any = x
        self._grads: Any = None
        self._former: Any = None  # the arrays of the call before
        self._now = self._parts(x)
        self._places, self._size, wide = dict[str, Tensor](), 0, False
        for part in self._now:
            array = numbers(part.name, part.leaf)
            wide |= part.role != "count" and (array.dtype.itemsize > 4 or array.dtype.kind != "f")
            if array.size:
                self._places[part.name] = Tensor(part.name, array.shape, self._size, part.role)
                self._size += array.size
        if not self._size:
            raise InputError("nothing to draw: got no numbers; allowed: at least one array with at least one element")
        self._dtype = np.dtype(np.float64 if wide else np.float32)
        self.tensors = grouped(list(self._places.values()))

    def _parts(self, x: Any) -> list[Part]:
        if self.in_place:
            return module_parts(x, "")
        found = list(leaves(x))
        trains = any(is_tensor(leaf) and leaf.requires_grad for _, leaf in found)  # otherwise it is a state_dict
        parts = list[Part]()
        for name, leaf in found:
            frozen = trains and is_tensor(leaf) and not leaf.requires_grad
            inside = is_module(leaf)
            parts += module_parts(leaf, name) if inside else [Part(name, leaf, role_of(name, leaf), frozen)]
        if all(part.role == "count" for part in parts):  # then they are all there is to show
            return [replace(part, role="weight") for part in parts]
        return parts

    def give(self, params: Any = None, grads: Any = None) -> None:
        """Take new arrays and their gradients, all or nothing.

        Refuses other names or shapes than before, and params of a module, which is read in place.
        """
        if params is not None and self.in_place:
            raise InputError(
                "update: got params, but the window reads the module's own parameters; try update(loss=loss)"
            )
        if grads is not None and not alike(grads, self._grads):
            for name, leaf in leaves(grads):
                self._fit(f"the array {name!r} of grads", name, shape_of(name, leaf))
        if params is not None and not alike(params, self._x):
            self._fit_all({part.name: shape_of(part.name, part.leaf) for part in self._parts(params)})
        self._former = self._x if params is not None and params is not self._x else None
        if params is not None:
            self._x = params
        if params is not None or grads is not None:
            self._grads = grads

    def _fit(self, said: str, name: str, shape: tuple[int, ...]) -> None:
        """Refuse an unknown name, unless the array is empty, or another shape."""
        place = self._places.get(name)
        if place is None and 0 not in shape:
            raise InputError(f"{said if name else 'an array without a name'} was not there before; {_SAME}")
        if place is not None and shape != place.shape:
            raise InputError(f"the shape of {said} changed from {place.shape} to {shape}; {_SAME}")

    def _fit_all(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse missing or new arrays, and other shapes."""
        for name, shape in shapes.items():
            self._fit(f"the array {name!r}", name, shape)
        missing = [name for name in self._places if name not in shapes]
        if missing:
            raise InputError(f"the array {missing[0]!r} is missing; {_SAME}")

    def values(self) -> Float:
        """Return a copy of the current numbers (P,); a layer may have got a new tensor."""
        self._now = self._parts(self._x)
        return self._flat({part.name: numbers(part.name, part.leaf) for part in self._now})

    def former(self) -> Float | None:
        """Return the numbers of the call before, (P,), if the arrays exist and cannot have changed; else None."""
        if self._former is None:
            return None
        parts = self._parts(self._former)
        try:
            found = {part.name: numbers(part.name, part.leaf) for part in parts}
            for part in parts:
                if not isinstance(part.leaf, Real) and (is_tensor(part.leaf) or found[part.name].flags.writeable):
                    return None
            return self._flat(found)
        except InputError:  # JAX has donated them to the step
            return None

    def _flat(self, found: Mapping[str, Numbers]) -> Float:
        self._fit_all({name: array.shape for name, array in found.items()})
        flat = np.empty(self._size, self._dtype)
        for name, place in self._places.items():
            _fill(flat, place, found[name])
        return flat

    def gradients(self) -> tuple[Float, Flags, Flags]:
        """Return gradients, which of them exist, and frozen flags, for the arrays of the last :meth:`values`."""
        given = {} if self._grads is None else dict(leaves(self._grads))
        flat = np.zeros(self._size, self._dtype)
        computed, frozen = np.zeros(self._size, bool), np.zeros(self._size, bool)
        for part in (part for part in self._now if part.name in self._places):
            place = self._places[part.name]
            frozen[place.span] = part.frozen
            own = given.get(part.name, part.gradient)
            if own is not None:
                said = f"the gradient of {part.name}"
                array = numbers(said, own)
                self._fit(said, part.name, array.shape)
                _fill(flat, place, array)
                computed[place.span] = True
        return flat, computed, frozen


def _fill(flat: Float, place: Tensor, array: Numbers) -> None:
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged network holds infinities
        flat[place.span] = array.reshape(-1)


def _instead(x: object) -> str:
    """Return a hint for something that cannot be watched."""
    if is_array(x):
        return "; try {'x': x}"
    if any(isinstance(one, Value) for one in (x if isinstance(x, list | tuple) else [x])):
        return "; try sv.draw(value) for the graph, or watch({'w': np.array([v.data for v in values])})"
    if isinstance(x, Iterator):
        return "; try dict(net.named_parameters()), or list(x)"
    return "; try the network, or a dict of its weights"
