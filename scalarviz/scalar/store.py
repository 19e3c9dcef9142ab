"""The numbers of parameters: a struct of flat arrays, and movable blocks that point into it.

Only a `Store` holds value, gradient and flags of each scalar parameter, at one index each. A `Block` is a span of a
store. It can be moved to another store (a `Run` gathers its weights into one); holders of the block, or of a `Weight`
of it, need not notice.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import OutOfRangeError, StateError, TypeMismatchError, shown
from . import tracing

if TYPE_CHECKING:
    from .weight import Weight


class Gate(Protocol):
    """Guards the numbers of a store while another thread changes them."""

    def mine(self) -> bool:
        """Return whether the calling thread is the training thread, which may use the arrays."""

    def call(self, function: Callable[[], Any]) -> Any:
        """Call `function` when the arrays may be used, wait for it, and return its result."""

    def request(self, sample: NDArray[Any] | None = None, *, state: bool = False) -> Any:
        """Request a frame of the run, with the activations of a sample and the optimiser's state; does not wait."""

    def answer(self) -> None:
        """Deliver requested frames; the training thread calls it between two calls of the engine."""

    def number(self, name: str) -> Any:
        """Return a number of the optimiser, including edits that are still waiting."""

    def read_numbers(self, what: Literal["value", "grad", "frozen"], span: slice) -> NDArray[Any]:
        """Return a read-only copy of values, gradients or frozen flags, all of the same moment."""

    def do(self, edit: Any, *, gesture: str = "") -> None:
        """Set values or flags as soon as the arrays may be used. Does not wait; reads see the edit at once."""

    def moved(self, place: Callable[[int, int], int | None]) -> None:
        """Move waiting edits after spans of the store have moved."""


class Owner(Protocol):
    """A Run that trains the numbers of a store; setting them from outside is an edit."""

    def _write(self, start: int, numbers: NDArray[Any]) -> None:
        """Set the values from index `start` on."""

    def _freeze(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Set which values the optimiser skips."""

    def _lend(self) -> None:
        """Note that a writable view is about to be handed out."""


class Store:
    """Flat arrays with one index for each parameter; float64 for stand-alone weights, else the dtype of their Run."""

    __slots__ = ("__weakref__", "computed", "frozen", "gate", "grad", "owner", "revision", "value")

    def __init__(self, size: int, dtype: DTypeLike = np.float64) -> None:
        self.value: NDArray[Any] = np.zeros(size, dtype)
        self.grad: NDArray[Any] = np.zeros(size, dtype)
        self.computed = np.zeros(size, np.uint8)  # 1 if a gradient has been computed since the last `zero_grad`
        self.frozen = np.zeros(size, np.uint8)  # 1 if the optimiser must skip the value
        self.owner: weakref.ref[Owner] | None = None  # writes from outside go through it
        self.gate: Gate | None = None  # reads go through it while the Run trains in a thread
        # counts changes of values from outside (not by an optimiser): it shows whether cached results still match the
        # values. Writes into a live view are not counted
        self.revision = 0

    def gate_here(self) -> Gate | None:
        """Return the gate that the calling thread must use, or None."""
        gate = self.gate  # another thread may remove it meanwhile
        return None if gate is None or gate.mine() else gate


class Block:
    """A span of a store. Indexing returns its `Weight` objects, always the same one for the same index."""

    __slots__ = (
        "__weakref__", "_only", "_proxies", "computed", "computed_flags", "flat_grad", "flat_value", "frozen_flags",
        "grads", "owners", "size", "start", "store", "values",
    )  # fmt: skip

    proxy: ClassVar[Callable[[Block, int], Weight]]
    """Makes the object of one number. ``weight``, which defines that class, sets it."""
    buffer: ClassVar[bool] = False
    """True if the numbers get no gradient and no optimiser holds them; a graph reads them like parameters."""

    def __init__(self, size: int, dtype: DTypeLike = np.float64) -> None:
        self.size = size
        self.owners: list[weakref.ref[Any]] = []  # the modules that hold it; the first one alive names it
        # a stand-alone weight has its own block without a dictionary, which would take a third of its memory
        self._only: weakref.ref[Weight] | None = None
        self._proxies: weakref.WeakValueDictionary[int, Weight] | None = None
        self._point(Store(size, dtype), 0)

    def _point(self, store: Store, start: int) -> None:
        """Make the block point to ``store[start : start + size]``; no numbers are copied."""
        self.store, self.start = store, start
        parts = store.value, store.grad, store.computed, store.frozen
        if self.size < len(store.value):
            span = slice(start, start + self.size)
            parts = parts[0][span], parts[1][span], parts[2][span], parts[3][span]
        self.flat_value, self.flat_grad, self.computed, self.frozen_flags = parts
        # memoryviews read and write one element three times as fast as NumPy indexing
        self.values: Any = memoryview(self.flat_value.data)
        self.grads: Any = memoryview(self.flat_grad.data)
        self.computed_flags: Any = memoryview(self.computed.data)

    def _move(self, store: Store, start: int) -> None:
        """Copy the block's numbers to ``store[start : start + size]`` and point there."""
        old = (self.flat_value, self.flat_grad, self.computed, self.frozen_flags)
        self._point(store, start)
        for new, array in zip((self.flat_value, self.flat_grad, self.computed, self.frozen_flags), old, strict=True):
            new[:] = array

    # ---- access from outside: nothing is touched while a thread trains the numbers

    def _write(self, start: int, numbers: NDArray[Any]) -> None:
        """Set the values from flat index `start` on; `numbers` is flat. For a Run's weights it is an edit."""
        owner = self._owner()
        if owner is None:
            self.flat_value[start : start + len(numbers)] = numbers
            self.store.revision += 1
        else:
            owner._write(self.start + start, numbers)

    def _freeze(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Set which values from `start` on an optimiser skips. For a Run's weights it is an edit."""
        owner = self._owner()
        if owner is None:
            self.frozen_flags[start : start + len(flags)] = flags
        else:
            owner._freeze(self.start + start, flags)

    def _owner(self) -> Owner | None:
        return None if self.store.owner is None else self.store.owner()

    def _gate(self) -> Gate | None:
        """Return the gate that this thread must use, or None."""
        return self.store.gate_here()

    def _span(self, start: int, stop: int) -> slice:
        return slice(self.start + start, self.start + stop)

    def _seen(self, what: Literal["value", "grad", "frozen"], start: int, stop: int) -> NDArray[Any]:
        """Return values, gradients or frozen flags: a live view, or a read-only copy while a thread trains them."""
        if (recorder := tracing.active()) is not None:
            recorder.reads = True
        gate = self._gate()
        if gate is not None:
            return gate.read_numbers(what, self._span(start, stop))
        if what == "value" and (owner := self._owner()) is not None:
            owner._lend()
        numbers = self.flat_value if what == "value" else self.flat_grad if what == "grad" else self.frozen_flags
        return numbers[start:stop]

    def _own_grads(self) -> None:
        """Raise a StateError if another thread trains these weights: it computes the gradients."""
        if self._gate() is not None:
            name = self.name or "a weight"
            raise StateError(
                f"{name}: cannot set .grad while another thread trains this weight; close the window (or the Worker) "
                "first"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        raise StateError(
            "cannot copy or pickle the reference of an optimiser or a graph to a Weight; copy the Weight and create "
            "the optimiser again from the copy"
        )

    def weight(self, index: int) -> Weight:
        """Return the `Weight` at flat `index`; the object is kept as long as something refers to it."""
        if self._proxies is None:
            only = None if self._only is None else self._only()
            if only is not None:
                return only
            self._proxies = weakref.WeakValueDictionary()
        try:
            proxy = self._proxies.get(index)
        except TypeError:  # not hashable, so not a number
            proxy = None
        if proxy is None:
            self._check_index(index)
            proxy = self._proxies[index] = Block.proxy(self, index)
        return proxy

    def _check_index(self, index: object) -> None:
        what = f"{self.name or 'a block'}: the index of a weight"
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise TypeMismatchError(f"{what} must be a whole number, got {shown(index)}")
        if not 0 <= index < self.size:
            raise OutOfRangeError(f"{what} must be in 0 .. {self.size - 1}, got {shown(index)}")

    def _adopt(self, weight: Weight) -> None:
        """Make `weight` the object of a block of size 1 (a stand-alone Weight has its own block)."""
        self._only = weakref.ref(weight)

    def held(self) -> list[Weight]:
        """Return the block's `Weight` objects that are still referenced."""
        if self._proxies is not None:
            return list(self._proxies.values())
        only = None if self._only is None else self._only()
        return [] if only is None else [only]

    @property
    def name(self) -> str:
        """The path of its first living owner in the network (``"0.weight"``); empty without one."""
        for owner in [ref() for ref in self.owners]:
            path = owner.path_of(self) if owner is not None else None
            if path is not None:
                return str(path)
        return ""

    def weight_name(self, index: int) -> str:
        """Return the name of the scalar at flat `index`; empty for a block without names."""
        return self.name

    def zero_grad(self) -> None:
        """Set every gradient to 0, "not computed yet", and discard the inputs that ``Weight.forward`` stored."""
        if self.store.gate is not None:
            self._own_grads()
        self.flat_grad[:] = 0
        self.computed[:] = 0
        for proxy in self.held():
            proxy._inputs = None

    def add_gradient(self, terms: NDArray[Any], read: NDArray[Any]) -> None:
        """Add a gradient of the whole block; the flags in `read` say which numbers have one."""
        if self.store.gate is not None:
            self._own_grads()
        self.flat_grad += terms
        self.computed |= read

    def _accumulate(self, start: int, terms: list[float]) -> None:
        """Add `terms` to the gradients from flat index `start` on."""
        if self.store.gate is not None:
            self._own_grads()
        stop = start + len(terms)
        if stop - start < 16:  # below this a loop over the memoryview is faster than a NumPy call
            grads = self.grads
            for i, term in enumerate(terms, start):
                grads[i] += term
        else:
            self.flat_grad[start:stop] += terms
        self.computed[start:stop] = 1
