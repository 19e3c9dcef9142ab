"""The arrays of another library: found in trees and modules, read where they lie, made flat for a frame."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, TypeMismatchError, shown
from ...nn import Module
from ..core.frame import BUFFERS, Role, Tensor
from ..core.graph import grouped

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
    """The numbers of an array in its own shape, without a copy where NumPy has its type.

    Complex ones get another axis: real and imaginary part. InputError for an array that is on a GPU, was
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
    """The shape of :func:`numbers`, without waiting for what another library still computes."""
    found = getattr(leaf, "shape", None)
    if found is None or _traced(leaf):
        return numbers(name, leaf).shape
    return (*map(int, found), 2) if "complex" in str(getattr(leaf, "dtype", "")) else tuple(map(int, found))


def _plain(bare: Any) -> Any:
    """A tensor that NumPy can read: itself, or a copy of one that is kept in another way."""
    if str(getattr(bare, "layout", "torch.strided")) != "torch.strided":
        bare = bare.to_dense()
    if str(getattr(bare, "dtype", "")).rpartition(".")[2].startswith(NARROW):
        bare = bare.float()
    for resolve in ("resolve_conj", "resolve_neg"):  # views whose sign is changed when they are read
        bare = getattr(bare, resolve, lambda one=bare: one)()
    return bare


def _traced(leaf: object) -> bool:
    """Whether it stands for numbers that are not there yet, in a function that JAX is about to compile."""
    return type(leaf).__name__.endswith("Tracer")


def _no_numbers(name: str, leaf: object, why: object) -> InputError:
    said = str(why).partition("\n")[0]
    tip = "; call update outside the compiled function, with its result" if _traced(leaf) else ""
    return InputError(f"array {name!r}: got {type(leaf).__name__} ({said}); allowed: numbers{tip}")


# ---- The weights of a torch.nn.Module, asked by its own methods: PyTorch is not imported here


def is_module(x: object) -> bool:
    """Whether it names parameters and buffers, and keeps them in a state_dict, as modules of PyTorch do."""
    names = ("named_parameters", "named_buffers", "state_dict")
    if isinstance(x, type) or not all(callable(getattr(x, name, None)) for name in names):
        return False
    module: Any = x
    return all(is_tensor(one) for _, one in module.named_parameters())


def module_parts(module: Any, path: str) -> list[Part]:
    """The parameters of a module that stands at a path, and the buffers that it keeps in files."""
    parameters, made_anew = dict(module.named_parameters()), _made_anew(module)
    for name, one in parameters.items():
        if type(one).__name__.startswith("Uninitialized"):
            raise InputError(f"{name} has no shape yet; run one batch through the network first")
    begin = f"{path}." if path else ""
    return [
        *(Part(begin + name, one, role_of(name), not one.requires_grad) for name, one in parameters.items()),
        *(Part(begin + name, one, _buffer(one)) for name, one in module.named_buffers() if name not in made_anew),
    ]


def _made_anew(module: Any) -> set[str]:
    """Names of buffers that no file holds, as each layer knows its own; a state_dict may have other names."""
    layers = module.named_modules() if callable(getattr(module, "named_modules", None)) else [("", module)]
    return {
        f"{path}.{name}" if path else name
        for path, layer in layers
        for name in getattr(layer, "_non_persistent_buffers_set", ())
    }


def _buffer(one: Any) -> Role:
    """A number that counts batches is one that is not drawn."""
    whole = not (one.is_floating_point() or one.is_complex())
    return "count" if whole and not len(one.shape) else "buffer"


# ---- The arrays of a tree by name: nested dicts, lists, tuples and dataclasses, as JAX


DEEPEST = 100
"""Levels of a tree: a deeper one holds itself."""


def can_be_read(x: object) -> bool:
    """Whether it may have numbers to watch: a module, a dict, or a container of some array."""
    if isinstance(x, Module):
        return False
    if is_module(x) or isinstance(x, Mapping):
        return True
    if not (_several(x) or _record(x) or _registered(x)):
        return False
    try:
        return any(is_array(leaf) or is_module(leaf) for _, leaf in leaves(x))
    except (InputError, TypeMismatchError):  # of a list of something else: whoever takes those says what is wrong
        return False


def leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    """Name and array of each leaf in order; names are the keys, indices and fields on the way, joined by dots.

    Takes mappings, sequences, dataclasses and whatever JAX was told to take apart (modules of flax.nnx),
    nested at will; a torch.nn.Module in it is a leaf. Passes over None, functions, keys of random numbers,
    and fields of a dataclass that hold no array. InputError if a container holds itself.
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
        raise InputError(f"{name[:40]}...: nested deeper than {DEEPEST} levels; a container may not contain itself")
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
            f"{name or 'what is shown'}: got {type(x).__name__}; allowed: arrays of real numbers, in nested dicts, "
            "lists, tuples and dataclasses"
        )


def _children(x: Any) -> Iterator[tuple[str, Any]] | None:
    """The keyed parts of a container; None for what is none."""
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
    """What JAX takes out of an object, if the loop has imported JAX and told it how; None for all others."""
    jax = sys.modules.get("jax")
    if jax is None or _several(x) or isinstance(x, Iterator | Set):  # JAX warns of what can only be walked
        return None
    found = jax.tree_util.tree_flatten_with_path(x, is_leaf=lambda one: one is not x)[0]
    if len(found) == 1 and found[0][1] is x:
        return None
    return [(_key(way[0]), part) for way, part in found]


def _key(key: Any) -> str:
    """One step of JAX's way to a leaf: a field, a key or a number."""
    return str(next((getattr(key, kind) for kind in ("name", "key", "idx") if hasattr(key, kind)), key))


def _random(x: object) -> bool:
    """Whether it is the state of a generator of random numbers: a typed key of JAX, or what flax.nnx keeps for one."""
    held = any(kind.__name__ == "RngState" for kind in type(x).__mro__)
    return held or str(getattr(x, "dtype", "")).startswith("key<")


def _several(x: object) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str | bytes | bytearray)


def _record(x: object) -> bool:
    return is_dataclass(x) and not isinstance(x, type)


def _holds(part: Any) -> bool:
    """Whether a field of a dataclass may hold arrays: its numbers, words and functions say how it was made."""
    if is_array(part) or isinstance(part, Mapping) or _record(part) or is_module(part):
        return True
    return not _numbers_only(part) if _several(part) else _registered(part) is not None


def _numbers_only(x: Any, depth: int = 0) -> bool:
    """Whether it is a list of numbers, perhaps of lists of these: one array. A list that holds itself is none."""
    if depth > DEEPEST or not _several(x) or hasattr(x, "_fields") or not len(x):
        return False
    return all(isinstance(one, Real) or _numbers_only(one, depth + 1) for one in x)


# ---- `Part`: one array of what is watched, by name


@dataclass(frozen=True, slots=True)
class Part:
    """One array; `leaf` is held, not copied, and `frozen` means that no gradient goes to it."""

    name: str
    leaf: Any
    role: Role = "weight"
    frozen: bool = False

    @property
    def gradient(self) -> Any:
        """What a tensor of PyTorch holds; None where there is none."""
        held = is_tensor(self.leaf) and getattr(self.leaf, "is_leaf", True) and self.role not in BUFFERS
        return getattr(self.leaf, "grad", None) if held else None


def role_of(name: str, leaf: object = None) -> Role:
    """What an array is drawn as, by the words of its name; flax says which arrays are statistics of batches."""
    *way, last = name.split(".")
    if "batch_stats" in way or any(kind.__name__ == "BatchStat" for kind in type(leaf).__mro__):
        return "buffer"
    return "bias" if last == "bias" or last.startswith("bias_") or last.endswith("_bias") else "weight"


# ---- Whether two trees hold the same arrays but for their numbers: asked at every step


def alike(new: Any, known: Any) -> bool:
    """Whether a tree has the keys, kinds of containers, shapes and dtypes of one that was taken over before.

    What cannot be told quickly is not alike: it is looked through name by name. No number is read, so nobody
    waits for what JAX still computes.
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


# ---- `Reader`: reads what is watched where it lies: values, gradients, and to which no gradient goes


Float = NDArray[np.floating]
Flags = NDArray[np.bool_]
_SAME = "allowed: the same names and shapes in every call; open a new window for other arrays"


class Reader:
    """A module of PyTorch, or a tree of arrays, and where its arrays lie in the flat arrays of a frame.

    Names and shapes stay what they are. TypeMismatchError or InputError for other things.
    """

    def __init__(self, x: Any) -> None:
        if not can_be_read(x):
            raise TypeMismatchError(
                f"watch: got {type(x).__name__} {shown(x)}; allowed: a torch.nn.Module, or arrays in nested dicts, "
                f"lists, tuples and dataclasses{_instead(x)}"
            )
        self.in_place = is_module(x)
        self._x: Any = x
        self._grads: Any = None
        self._former: Any = None  # what was given before, at the call before
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
        trains = any(is_tensor(leaf) and leaf.requires_grad for _, leaf in found)  # else it is a state_dict
        parts = list[Part]()
        for name, leaf in found:
            frozen = trains and is_tensor(leaf) and not leaf.requires_grad
            inside = is_module(leaf)
            parts += module_parts(leaf, name) if inside else [Part(name, leaf, role_of(name, leaf), frozen)]
        return parts

    def give(self, params: Any = None, grads: Any = None) -> None:
        """From now on these are the arrays and their gradients; all is taken over or nothing.

        Refuses other names or shapes than before, and params of a module, which is read in place.
        """
        if params is not None and self.in_place:
            raise InputError(
                "update: got params, but the window reads the module's own parameters; try update(loss=loss)"
            )
        if grads is not None and not alike(grads, self._grads):
            for name, leaf in leaves(grads):
                self._fit(f"grads: {name}", name, shape_of(name, leaf))
        if params is not None and not alike(params, self._x):
            self._fit_all({part.name: shape_of(part.name, part.leaf) for part in self._parts(params)})
        self._former = self._x if params is not None and params is not self._x else None
        if params is not None:
            self._x = params
        if params is not None or grads is not None:
            self._grads = grads

    def _fit(self, said: str, name: str, shape: tuple[int, ...]) -> None:
        """Refuse an unknown name, but for an array without numbers, or another shape."""
        place = self._places.get(name)
        if place is None and 0 not in shape:
            raise InputError(f"{said if name else 'an array without a name'} is new; {_SAME}")
        if place is not None and shape != place.shape:
            raise InputError(f"{said}: got the shape {shape}, before it was {place.shape}; {_SAME}")

    def _fit_all(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse any other arrays than those that there were: missing, new or of another shape."""
        for name, shape in shapes.items():
            self._fit(name, name, shape)
        missing = [name for name in self._places if name not in shapes]
        if missing:
            raise InputError(f"{missing[0]} is missing; {_SAME}")

    def values(self) -> Float:
        """The numbers of now, a copy (P,); the arrays may be others: a layer got another tensor."""
        self._now = self._parts(self._x)
        return self._flat({part.name: numbers(part.name, part.leaf) for part in self._now})

    def former(self) -> Float | None:
        """The numbers of the call before, (P,), where their arrays are still there and can have no others by now."""
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
        """Gradients, where there is one, and what is frozen, of the arrays of the last :meth:`values`."""
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
    """What to try with something that cannot be watched."""
    if isinstance(x, Module):
        return "; try sv.Run(net, ...), or sv.show(net)"
    if is_array(x):
        return "; try {'x': x}"
    if isinstance(x, Iterator):
        return "; try dict(net.named_parameters()), or list(x)"
    return "; try the network, or a dict of its weights"
