"""Where numbers live: one struct of flat arrays, and movable blocks that point into it.

A `Store` is the only truth: value, gradient and flags of every scalar parameter, one index each. A `Block` is
a span of a store; it can be re-pointed to another store (a `Run` gathers its weights into one), and whoever
holds the block, or a `Weight` of it, follows without noticing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import OutOfRangeError, StateError, TypeMismatchError, shown

if TYPE_CHECKING:
    from .weight import Weight


class Gate(Protocol):
    """Stands before the numbers of a store while another thread changes them."""

    def mine(self) -> bool:
        """Whether the thread that asks is that one, and may touch the arrays."""

    def call(self, function: Callable[[], Any]) -> Any:
        """What `function` gives, called when the arrays may be touched; waits for it."""

    def request(self, sample: NDArray[Any] | None = None, *, state: bool = False) -> Any:
        """Ask for a frame of the run, with the activations of a sample and the optimiser's state; does not wait."""

    def answer(self) -> None:
        """Give frames to those who wait for one; called between two calls of the engine, by the thread that trains."""

    def number(self, name: str) -> Any:
        """A number of the optimiser, with what waits to be set."""

    def read_numbers(self, what: Literal["value", "grad", "frozen"], span: slice) -> NDArray[Any]:
        """A read-only copy of values, gradients or flags of frozen weights, of one consistent moment."""

    def do(self, edit: Any, *, gesture: str = "") -> None:
        """Set values or flags when the arrays may be touched; does not wait, and is seen at once."""

    def moved(self, place: Callable[[int, int], int | None]) -> None:
        """Spans of the store are elsewhere now: what waits for them waits for them there."""


class Owner(Protocol):
    """Trains the numbers of a store: what is set from outside is an edit of it."""

    def _write(self, start: int, numbers: NDArray[Any]) -> None:
        """Set the values from `start` on."""

    def _freeze(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Set which values are left alone by the optimiser."""

    def _lend(self) -> None:
        """A view that can be written to is about to be handed out."""


class Store:
    """Flat arrays, one index a parameter; float64 for stand-alone weights, else of the dtype of their Run."""

    __slots__ = ("__weakref__", "computed", "frozen", "gate", "grad", "owner", "revision", "value")

    def __init__(self, size: int, dtype: DTypeLike = np.float64) -> None:
        self.value: NDArray[Any] = np.zeros(size, dtype)
        self.grad: NDArray[Any] = np.zeros(size, dtype)
        self.computed = np.zeros(size, np.uint8)  # 1 where a gradient has been computed since the last `zero_grad`
        self.frozen = np.zeros(size, np.uint8)  # 1 where the optimiser must leave the value alone
        self.owner: weakref.ref[Owner] | None = None  # what is written from outside goes through it
        self.gate: Gate | None = None  # what is read goes through it while the Run trains in a thread
        # counts changes of values from outside, those of an optimiser left out: whoever kept numbers that were computed
        # from the values sees by it whether they still belong together. Writing into a live view is not seen
        self.revision = 0

    def gate_here(self) -> Gate | None:
        """What the thread that asks has to go through, if anything."""
        gate = self.gate  # another thread may open it meanwhile
        return None if gate is None or gate.mine() else gate


class Block:
    """A span of a store. Indexing gives its `Weight` objects, always the same one for the same index."""

    __slots__ = (
        "__weakref__", "_only", "_proxies", "computed", "computed_flags", "flat_grad", "flat_value", "frozen_flags",
        "grads", "owners", "size", "start", "store", "values",
    )  # fmt: skip

    proxy: ClassVar[Callable[[Block, int], Weight]]
    """Makes the object of one number; ``weight``, which defines that object, sets it."""
    buffer: ClassVar[bool] = False
    """Whether no gradient goes to its numbers and no optimiser holds them: a graph reads them as numbers of theta."""

    def __init__(self, size: int, dtype: DTypeLike = np.float64) -> None:
        self.size = size
        self.owners: list[weakref.ref[Any]] = []  # the modules that hold it; the first one alive names it
        # a stand-alone weight has a block of its own, and no dictionary: that would be a third of its memory
        self._only: weakref.ref[Weight] | None = None
        self._proxies: weakref.WeakValueDictionary[int, Weight] | None = None
        self._point(Store(size, dtype), 0)

    def _point(self, store: Store, start: int) -> None:
        """Let the block mean ``store[start : start + size]`` from now on (no numbers are copied)."""
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

    # ---- from outside: beside a thread that trains the numbers nobody touches them

    def _write(self, start: int, numbers: NDArray[Any]) -> None:
        """Set the values from flat index `start` of the block on; `numbers` is flat. Of a Run's weights: an edit."""
        owner = self._owner()
        if owner is None:
            self.flat_value[start : start + len(numbers)] = numbers
            self.store.revision += 1
        else:
            owner._write(self.start + start, numbers)

    def _freeze(self, start: int, flags: NDArray[np.bool_]) -> None:
        """Set which values from `start` on an optimiser leaves alone. Of a Run's weights: an edit."""
        owner = self._owner()
        if owner is None:
            self.frozen_flags[start : start + len(flags)] = flags
        else:
            owner._freeze(self.start + start, flags)

    def _owner(self) -> Owner | None:
        return None if self.store.owner is None else self.store.owner()

    def _gate(self) -> Gate | None:
        """What this thread has to go through, if anything."""
        return self.store.gate_here()

    def _span(self, start: int, stop: int) -> slice:
        return slice(self.start + start, self.start + stop)

    def _seen_values(self, start: int, stop: int) -> NDArray[Any]:
        """Values: a live view, or a read-only copy beside a thread that trains them."""
        gate = self._gate()
        if gate is not None:
            return gate.read_numbers("value", self._span(start, stop))
        if (owner := self._owner()) is not None:
            owner._lend()
        return self.flat_value[start:stop]

    def _seen_grads(self, start: int, stop: int) -> NDArray[Any]:
        """Gradients, likewise."""
        gate = self._gate()
        return self.flat_grad[start:stop] if gate is None else gate.read_numbers("grad", self._span(start, stop))

    def _seen_frozen(self, start: int, stop: int) -> NDArray[Any]:
        """Flags of frozen values, likewise."""
        gate = self._gate()
        return self.frozen_flags[start:stop] if gate is None else gate.read_numbers("frozen", self._span(start, stop))

    def _own_grads(self) -> None:
        """Raise a StateError where a thread trains these weights: the gradient is its own."""
        if self._gate() is not None:
            name = self.name or "a weight"
            raise StateError(
                f"{name}: cannot set .grad while a thread of its Run computes it at every step; close the window (or "
                "the Worker) first"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        raise StateError(
            "cannot copy or pickle the reference of an optimiser or a graph to a Weight; copy the Weight and create "
            "the optimiser again from the copy"
        )

    def weight(self, index: int) -> Weight:
        """The `Weight` at flat `index` (kept while somebody holds it)."""
        if self._proxies is None:
            only = None if self._only is None else self._only()
            if only is not None:
                return only
            self._proxies = weakref.WeakValueDictionary()
        try:
            proxy = self._proxies.get(index)
        except TypeError:  # not hashable, so no number
            proxy = None
        if proxy is None:
            self._check_index(index)
            proxy = self._proxies[index] = Block.proxy(self, index)
        return proxy

    def _check_index(self, index: object) -> None:
        title = f"a weight of {self.name or 'a block'}"
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise TypeMismatchError(f"{title}: the index must be a whole number, got {shown(index)}")
        if not 0 <= index < self.size:
            raise OutOfRangeError(
                f"{title}: there is no index {shown(index)}; it has {self.size} weights (0 .. {self.size - 1})"
            )

    def _adopt(self, weight: Weight) -> None:
        """Make `weight` the proxy of a block of one (a stand-alone Weight is the proxy of its own block)."""
        self._only = weakref.ref(weight)

    def held(self) -> list[Weight]:
        """The `Weight` objects of the block that somebody holds."""
        if self._proxies is not None:
            return list(self._proxies.values())
        only = None if self._only is None else self._only()
        return [] if only is None else [only]

    @property
    def name(self) -> str:
        """Path in the network of its first living owner (``"0.weight"``); empty without one."""
        for owner in [ref() for ref in self.owners]:
            path = owner.path_of(self) if owner is not None else None
            if path is not None:
                return str(path)
        return ""

    def weight_name(self, index: int) -> str:
        """Name of the scalar at flat `index`; empty for a block without names."""
        return self.name

    def zero_grad(self) -> None:
        """Set every gradient to 0, "not computed yet", and forget the inputs that ``Weight.forward`` pushed."""
        if self.store.gate is not None:
            self._own_grads()
        self.flat_grad[:] = 0
        self.computed[:] = 0
        for proxy in self.held():
            proxy._inputs = None

    def _accumulate(self, start: int, terms: list[float]) -> None:
        """Add `terms` to the gradients from flat index `start` on."""
        if self.store.gate is not None:
            self._own_grads()
        stop = start + len(terms)
        if stop - start < 16:  # below this a loop over the memoryview beats NumPy's call overhead
            grads = self.grads
            for i, term in enumerate(terms, start):
                grads[i] += term
        else:
            self.flat_grad[start:stop] += terms
        self.computed[start:stop] = 1
