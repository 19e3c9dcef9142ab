"""Parameters and buffers of a module by name: find them, copy them, load them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import flag, mapping, text
from ..errors import InputError, TypeMismatchError, listing, shown
from ..scalar import Weight
from ._buffer import Buffer
from ._parameter import Parameter, ParameterView, fitted, float_array

if TYPE_CHECKING:
    from ._module import Module

_SUBSCRIPTS = re.compile(r"(.*?)((?:\[\d+\])+)")


class LoadResult(NamedTuple):
    """The names that did not match in a load with ``strict=False``."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def register(module: Module, name: str, array: ArrayLike) -> None:
    """See :meth:`Module.register_buffer`."""
    title = f"register_buffer of {type(module).__name__}"
    if not text(name, f"{title}: the name").isidentifier():
        raise InputError(f"{title}: the name must be a Python identifier, got {shown(name)}")
    if hasattr(module, name) and name not in module._books.buffers:
        raise InputError(f"{title}: {shown(name)} already exists and is not a buffer; choose another name")
    numbers = float_array(array, f"{title}: {name!r}")
    kept = np.asarray(array).dtype
    books = module._books
    books.buffers = tuple(dict.fromkeys((*books.buffers, name)))
    setattr(module, name, numbers.astype(kept if kept.kind in "biu" else np.float64))


Kept = Buffer | NDArray[Any]
"""A buffer: a `Buffer`, which a graph reads as it changes, or a user's array, which is a constant of each recording."""


def entries(module: Module, prefix: str = "") -> Iterator[tuple[str, Parameter | Weight | Kept]]:
    """Yield parameters and buffers by path in PyTorch's order: for each module its parameters, then its buffers."""
    for path, owner in module._walk(prefix, ()):
        own = [(n, p) for n, p in owner._members() if isinstance(p, Parameter | Weight)]
        for name, part in (*own, *_own_buffers(owner)):
            yield (f"{path}.{name}" if path else name), part


def buffers(module: Module, prefix: str, once: bool) -> Iterator[tuple[str, Kept]]:
    """Yield buffers by path. With `once` a shared one comes once, else under each of its names."""
    seen: set[int] = set()
    for name, part in entries(module, prefix):
        if isinstance(part, Buffer | np.ndarray) and not (once and id(part) in seen):
            seen.add(id(part))
            yield name, part


def _own_buffers(owner: Module) -> Iterator[tuple[str, Kept]]:
    for name in owner._books.buffers:
        kept = vars(owner).get(name)
        part = kept if isinstance(kept, Buffer) else getattr(owner, name)
        if part is not None:  # None stands for no buffer, as in PyTorch
            yield name, part


def load(module: Module, state_dict: Mapping[str, Any], strict: bool) -> LoadResult:
    """See :meth:`Module.load_state_dict`."""
    mapping(state_dict, "load_state_dict: the state")
    flag(strict, "load_state_dict: strict")
    own = dict(entries(module))
    missing = [name for name in own if name not in state_dict]
    unexpected = [str(name) for name in state_dict if name not in own]
    arrays, faults = {}, []
    for name in own.keys() & state_dict.keys():
        part = own[name]
        try:
            arrays[name] = _fitting(state_dict[name], part, name)
        except (InputError, TypeMismatchError) as error:
            faults.append(str(error))
    if strict:
        faults += [f"missing: {listing(missing)}"] if missing else []
        faults += [f"unexpected: {listing(unexpected)}"] if unexpected else []
    if faults:
        advice = "; strict=False ignores missing and unexpected names" if strict and (missing or unexpected) else ""
        raise InputError(f"load_state_dict of {type(module).__name__}: " + "; ".join(sorted(faults)) + advice)
    for name, array in arrays.items():
        part = own[name]
        if isinstance(part, np.ndarray):
            part[...] = array
        else:
            part.data = float(array) if isinstance(part, Weight) else array
    return LoadResult(missing, unexpected)


def _fitting(array: Any, part: Parameter | Weight | Kept, name: str) -> NDArray[np.float64]:
    if isinstance(part, Buffer):
        return part.fitted(array, name)
    return fitted(array, () if isinstance(part, Weight) else part.shape, name)


def matching(module: Module, pattern: str) -> list[Parameter | ParameterView | Weight]:
    """Return the parameters whose name matches, or the row or Weight that `pattern` names with subscripts."""
    text(pattern, "a pattern of parameters, such as '0.*',")
    named = dict(module.named_parameters(remove_duplicate=False))
    found: list[Parameter | ParameterView | Weight] = [p for name, p in named.items() if fnmatchcase(name, pattern)]
    if found:
        return found
    subscripts = _SUBSCRIPTS.fullmatch(pattern)
    part = named.get(subscripts[1]) if subscripts else None
    if subscripts and isinstance(part, Parameter):
        return [part[tuple(int(i) for i in re.findall(r"\d+", subscripts[2]))]]
    raise InputError(f"no parameter of {type(module).__name__} matches {shown(pattern)}; allowed: {listing(named)}")
