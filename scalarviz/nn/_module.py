"""`Module`: a part of a network. It holds parameters and other modules, and is called with one sample.

Parts are attributes, or items of list attributes (nested lists too). `Weights` lists the single weights of a module
as `Weight` objects.
"""

from __future__ import annotations

import copy
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import attributes
from ..checks import check_set_to_none, flag, mapping, text
from ..errors import InputError, ScalarvizError, StateError, TypeMismatchError, listing, shown
from ..scalar import Weight, tracing
from ..scalar.array import Values
from ..scalar.nested import flatten, shape_of
from ..scalar.number import Many, as_number
from ..scalar.outputs import plain
from ..scalar.sample import Sample
from ..scalar.value import UNTRACKED, backward_between
from ._absent import METHODS, PLACE
from ._buffer import Buffer
from ._draws import Draw, Function, next_draw, no_bias, pytorch_default
from ._inputs import ONE_INPUT, SEVERAL, as_argument, as_input, as_lists, as_result, from_sample, is_ours
from ._numbers import Numbers
from ._parameter import FloatArray, Parameter, ParameterView, fitted, float_array
from ._parts import Kept, LoadResult, PartPlace, Parts, Weights, fitting, held_at, parts_in, parts_of, written
from ._to_onnx import write

if TYPE_CHECKING:
    from ..io.atomic import StrPath
    from ._draws import Function
    from ._elementwise import Elementwise


def tree(module: Module) -> str:
    """Return a module and everything below it as text, one line each.

    If `extra_repr` is not empty, it replaces the parameters.
    """
    own = module.extra_repr()
    lines = [(name, _brief(part)) for name, part in module._members() if not own or isinstance(part, Module)]
    if not lines:
        return f"{type(module).__name__}({own})"
    inside = "\n".join([*filter(None, [own]), *(f"({name}): {text}" for name, text in lines)]).replace("\n", "\n  ")
    return f"{type(module).__name__}(\n  {inside}\n)"


def _brief(part: Module | Parameter | Weight) -> str:
    if isinstance(part, Parameter):
        return f"Parameter of shape {part.shape}"
    return f"Weight {part.data:.6g}" if isinstance(part, Weight) else repr(part)


"""How many users' forwards are running in this thread: inside one, an array is no batch."""


_SUBSCRIPTS = re.compile(r"(.*?)((?:\[\d+\])+)")


class _Books:
    """The private state of a module."""

    __slots__ = ("buffers", "inputs", "outputs", "owners", "places", "recordings", "rule", "said")

    def __init__(self) -> None:
        self.inputs: Any = ()
        self.outputs: Any = None
        self.owners: list[weakref.ref[Module]] = []
        self.buffers: tuple[str, ...] = ()
        self.places: dict[int, PartPlace] = {}  # by the id of a part; valid while the part is still at its place
        self.recordings: dict[Any, Any] = {}  # by the shape of a sample: how to compute a batch
        self.rule: Function | None = None  # the initialiser that last drew the own parameters; pickling forgets it
        self.said = False  # whether a warning said that objects compute its batches


class Module:
    """A part of a network. Subclass it, set parts as attributes, override `forward`.

    Each attribute that is a `Parameter`, a `Weight` or a `Module` is a part, and so is each such item of a list or
    tuple (nested too). ``self.w = sv.Weight(0.0)`` is the parameter ``"w"``; the first module of
    ``self.layers = [...]`` is ``"layers.0"``.

    Examples
    --------
    >>> class Line(Module):
    ...     def __init__(self):
    ...         self.slope, self.offset = Weight(2.0), Weight(1.0)
    ...     def forward(self, x):
    ...         return self.slope * x + self.offset
    >>> Line()(3.0).data
    7.0
    """

    # This state lives in a slot, so that vars(self) holds only what the user set.
    __slots__ = ("__dict__", "__weakref__", "_kept")

    _kept: _Books
    _elementwise: ClassVar[bool] = False
    """Whether `forward` applies one operation to each number, also to outputs of a batch."""

    @property
    def _books(self) -> _Books:
        """The private state, made on first access. So a subclass need not call ``super().__init__()``.

        A ``__new__`` that takes any arguments would hide the signature of every layer from editors.
        """
        try:
            return self._kept
        except AttributeError:
            books = _Books()
            object.__setattr__(self, "_kept", books)
            return books

    def __setattr__(self, name: str, value: Any) -> None:
        array = isinstance(value, np.ndarray) or hasattr(value, "detach")
        if array and name in self._books.buffers and not hasattr(type(self), name) and not _has_graph(value):
            value = plain(value).view(Numbers)  # which knows PyTorch's words
        object.__setattr__(self, name, value)
        for _, part in parts_in(name, value, KINDS):
            self._adopt(part)

    # ---- calling

    def forward(self, *inputs: Any, **named: Any) -> Any:  # for checkers, an override may take anything
        """Return the outputs of the module for one input; a subclass overrides it.

        Parameters
        ----------
        *inputs
            The inputs of the call: numbers as Values, sequences and arrays as arrays of Values, with the shape of one
            sample. None, flags, text and lists of arrays arrive as they are.
        """
        raise TypeMismatchError(f"{type(self).__name__} has no forward(self, x); define it before you call the module")

    def __call__(self, *inputs: Any, **named: Any) -> Result:
        """Call ``forward`` with one sample: numbers, Values, or sequences and arrays of them.

        An array of two or more dimensions is a batch, unless a sample is known to have its shape. The result is an
        array of the outputs, which remembers the call: a loss that is computed from it has ``backward()``.
        """
        depth = getattr(tracing.FORWARDS, "depth", 0)
        batch = any(isinstance(x, Many) and x.taped for x in inputs)  # as of a loss that is a module
        alone = (
            (depth == 0 or batch)
            and len(inputs) == 1
            and not (named and any(hasattr(x, "ndim") for x in named.values()))
        )
        axes = getattr(inputs[0], "ndim", 0) if alone else 0
        if alone and type(axes) is int and (axes > 1 or batch) and (batch or not isinstance(inputs[0], Many)):
            from ._batch import batch_outputs

            found: Result | None = batch_outputs(self, inputs[0], named)
            if found is not None:
                return found
        result: Result
        kind: Any = type(self)
        if batch and not is_ours(kind):
            return self.forward(*inputs, **named)  # type: ignore[no-any-return]
        if is_ours(kind):
            given = [as_input(x, self) for x in inputs]
            result = self.forward(*given, **named)
        else:
            several = len(getattr(inputs[0], "shape", ())) > 0 if inputs else False
            given = [x if several and type(x) is int else as_argument(x, self) for x in inputs]
            named = {name: as_argument(x, self) if hasattr(x, "shape") else x for name, x in named.items()}
            tracing.FORWARDS.depth = depth + 1
            try:
                result = self.forward(*given, **named)
            except (TypeError, ValueError) as error:
                arrays = [x for x in (*inputs, *named.values()) if len(getattr(x, "shape", ())) > 1]
                _explain(error, len(arrays) > 1 and depth == 0)
                raise
            finally:
                tracing.FORWARDS.depth = depth
            result = as_result(result, Sample if from_sample(inputs) or from_sample(named.values()) else Values)
        self._keep(given, result)
        return result

    def _row_size(self) -> int:
        """Return how many numbers one row of outputs has, if each row counts as a call of its own; else 0."""
        return 0

    def _keep(self, given: list[Any], result: Any) -> None:
        """Store the inputs and outputs of a call: in the recording if one is active, else for `backward`.

        They are lists, as in-place words such as ``h *= 2`` change arrays.
        """
        recorder = tracing.active()
        if recorder is not None:
            if recorder.by_torch is not tracing.torch_tracks():
                raise InputError("torch.no_grad() inside forward is not recorded; write h.detach() for its results")
            numbers = flatten(result)
            size = self._row_size() or len(numbers) or 1
            recorder.taps += [(self, numbers[k : k + size]) for k in range(0, len(numbers), size)]
            if recorder.calls is not None:
                recorder.calls.append((self, [as_lists(x) for x in given], as_lists(result)))
        else:
            last = self._books
            last.inputs, last.outputs = [as_lists(x) for x in given], as_lists(result)

    def backward(self, upstreams: SupportsFloat | ArrayLike = 1.0) -> NDArray[np.float64]:
        """Walk from the outputs of the last call to its inputs; the weights in between accumulate gradients.

        Parameters
        ----------
        upstreams : float or array
            The upstream gradient of each output (one number: the same for all).

        Returns
        -------
        ndarray of float64
            The gradient with respect to the input of the last call, in its shape; with several inputs, to all in a row.

        Raises
        ------
        StateError
            The module has not been called yet, or only under ``sv.no_grad()``.
        InputError
            The number of upstream gradients differs from the number of outputs.
        """
        outputs, title = flatten(self._books.outputs), type(self).__name__
        if not outputs:
            raise StateError(f"{title}.backward: there is no graph yet; call the module with a sample first")
        if any(value._parents is UNTRACKED for value in outputs):
            raise StateError(
                f"{title}.backward: the last call was under sv.no_grad(), which builds no graph; call the module "
                "again without no_grad"
            )
        whole = isinstance(upstreams, np.ndarray) and upstreams.ndim == 0  # an array of shape () is one number
        many = isinstance(upstreams, Sequence | np.ndarray) and not whole
        given: list[Any] = np.ravel(np.array(upstreams, object)).tolist() if many else [upstreams] * len(outputs)
        if len(given) != len(outputs):
            raise InputError(f"{title}.backward: expected {len(outputs)} numbers, one per output; got {len(given)}")
        numbers = [as_number(u, f"{title}.backward: an upstream gradient") for u in given]
        inputs = self._books.inputs
        found = np.array(backward_between(outputs, numbers, flatten(inputs)))
        return found.reshape(shape_of(inputs[0])) if len(inputs) == 1 else found

    # ---- parts

    def _members(self) -> Iterator[tuple[str, Module | Parameter | Weight]]:
        """Yield each direct part with its name."""
        return ((written(place), part) for place, part in parts_of(vars(self), KINDS))

    def _adopt(self, part: Module | Parameter | Weight | Buffer) -> None:
        """Store a weak reference to this module in `part`, from which the part's name is found. No cycle is made."""
        if isinstance(part, Weight):
            if isinstance(part._block, Parameter):  # an element of an array: the array names it
                return
            owners: list[weakref.ref[Any]] = part._block.owners
        else:
            owners = part._books.owners if isinstance(part, Module) else part.owners
        if not any(ref() is self for ref in owners):
            owners[:] = [ref for ref in owners if ref() is not None]
            owners.append(weakref.ref(self))

    def path_of(self, part: object, below: tuple[Module, ...] = ()) -> str | None:
        """Return the path of a direct part (a module or a parameter's block) from the root; None if it is no part."""
        place = self._place_of(part)
        if place is None:
            return None
        path, name = self._path((*below, self)), written(place)
        return f"{path}.{name}" if path else name

    def _place_of(self, part: object) -> PartPlace | None:
        """Return the place of a direct part or of its block. It notes all places at once: a run asks for all names."""
        places, part = self._books.places, _named(part)
        found = places.get(id(part))
        if found is not None and _named(held_at(vars(self), found)) is part:
            return found
        places.clear()
        for place, member in parts_of(vars(self), (*KINDS, Buffer)):
            places.setdefault(id(_named(member)), place)
        return places.get(id(part))

    def _path(self, below: tuple[Module, ...]) -> str:
        for ref in self._books.owners:
            owner = ref()
            # stop at a module that holds its own parent
            path = owner.path_of(self, below) if owner is not None and not any(owner is m for m in below) else None
            if path is not None:
                return path
        return ""

    def full_name(self) -> str:
        """Return the path from the root (``"0"``); empty for the root itself."""
        return self._path((self,))

    def children(self) -> list[Module]:
        """Return the direct parts that are modules."""
        return [part for _, part in self._members() if isinstance(part, Module)]

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Yield this module (named `prefix`) and every module below it with its path, parents first, each once."""
        seen: set[int] = set()
        for name, module in self._walk(prefix, ()):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def _walk(self, prefix: str, above: tuple[int, ...]) -> Iterator[tuple[str, Module]]:
        yield text(prefix, "the argument 'prefix'"), self
        for name, part in self._members():
            self._adopt(part)  # a list may have grown since it was set
            if isinstance(part, Module) and id(part) not in (*above, id(self)):
                yield from part._walk(f"{prefix}.{name}" if prefix else name, (*above, id(self)))

    def named_parameters(
        self, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter | Weight]]:
        """Yield each parameter with its path, in the order of definition; parameters of a module before its children's.

        Every path begins with `prefix`. With `remove_duplicate` a tied parameter appears once, under its first name.
        """
        seen: set[int] = set()
        remove_duplicate = flag(remove_duplicate, "named_parameters: remove_duplicate")
        for path, module in self._walk(prefix, ()):
            for name, part in module._members():
                if isinstance(part, Module) or (remove_duplicate and id(part) in seen):
                    continue
                seen.add(id(part))
                yield (f"{path}.{name}" if path else name), part

    def parameters(self) -> Parts:
        """Return each parameter once, in the order of `named_parameters`."""
        found: dict[int, Parameter | Weight] = {}
        self._gather(found, set())
        return Parts(found.values())

    def weights(self) -> Weights:
        """Return each single weight once, as `Weight` objects, in the order of `parameters`."""
        return Weights(self.parameters())

    def _gather(self, found: dict[int, Parameter | Weight], seen: set[int]) -> None:
        """Collect the parameters in the order of `named_parameters`, without names: loops call this at every step."""
        seen.add(id(self))
        modules = []
        for (_, numbers), part in parts_of(vars(self), KINDS):
            if numbers:
                self._adopt(part)  # the list may have grown since it was set
            if isinstance(part, Module):
                modules.append(part)
            else:
                found[id(part)] = part
        for module in modules:
            if id(module) not in seen:
                module._gather(found, seen)

    def fans(self, part: Parameter | Weight) -> tuple[int, int]:
        """Return ``(fan_in, fan_out)`` of a direct part: the inputs and outputs that an initialiser counts."""
        shape = part.shape if isinstance(part, Parameter) else ()
        if len(shape) < 2:
            return (shape[0] if shape else 1), 1
        return int(np.prod(shape[1:])), shape[0]

    def constant_start(self, part: Parameter | Weight) -> float | None:
        """Return the number that every element of a direct part starts from, or None if an initialiser draws them."""
        return None

    def modules(self) -> Iterator[Module]:
        """Yield this module and every module below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct parts that are modules, with their names."""
        return ((name, part) for name, part in self._members() if isinstance(part, Module))

    def add_module(self, name: str, module: Module) -> None:
        """Set a part by its name, like ``self.name = module``."""
        setattr(self, text(name, "add_module: the name"), module)

    def buffers(self) -> list[NDArray[Any]]:
        """Return each buffer once, as an array, in the order of `named_buffers`."""
        return [array for _, array in self.named_buffers()]

    def apply(self, function: Callable[[Module], Any]) -> Any:
        """Call ``function(module)`` for every module below and then for this one; return this module.

        :func:`nn.init.apply` applies an initialiser, which a run remembers.
        """
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # ---- training mode

    @property
    def training(self) -> bool:
        """True in training mode. :meth:`train` and :meth:`eval` set it for the whole tree.

        If a graph depends on it, a Run trains one graph and predicts and evaluates with another.
        """
        training: bool = vars(self).get("training", True)
        if training and (recorder := tracing.active()) is not None:
            if recorder.evaluation:
                return False
            recorder.modes[self] = None
        return training

    @training.setter
    def training(self, training: bool) -> None:
        vars(self)["training"] = training

    def train(self, mode: bool = True) -> Any:
        """Set ``training`` of this module and of all modules below it; return this module. See :class:`Dropout`."""
        training = flag(mode, "train: mode")
        for _, module in self.named_modules():
            module.training = training
        return self

    def eval(self) -> Any:
        """Switch to evaluation mode, for predictions: ``train(False)``."""
        return self.train(False)

    # ---- parameters and buffers of the whole tree

    def _entries(self, prefix: str = "") -> Iterator[tuple[str, Parameter | Weight | Kept]]:
        """Yield parameters and buffers by path in PyTorch's order: for each self its parameters, then its buffers."""
        for path, owner in self._walk(prefix, ()):
            own = [(n, p) for n, p in owner._members() if isinstance(p, Parameter | Weight)]
            for name, part in (*own, *owner._own_buffers()):
                yield (f"{path}.{name}" if path else name), part

    def _own_buffers(self) -> Iterator[tuple[str, Kept]]:
        for name in self._books.buffers:
            kept = vars(self).get(name)
            part = kept if isinstance(kept, Buffer) else getattr(self, name)
            if part is not None:  # None stands for no buffer, as in PyTorch
                yield name, part

    def _buffers(self, prefix: str, once: bool) -> Iterator[tuple[str, Kept]]:
        """Yield buffers by path. With `once` a shared one comes once, else under each of its names."""
        seen: set[int] = set()
        for name, part in self._entries(prefix):
            if isinstance(part, Buffer | np.ndarray) and not (once and id(part) in seen):
                seen.add(id(part))
                yield name, part

    def register_buffer(self, name: str, array: ArrayLike) -> None:
        """Keep `array` under the attribute `name`: in the state_dict, in copies and pickles, but never trained.

        Raises
        ------
        InputError
            `name` is no identifier, or names something that is not a buffer.
        TypeMismatchError
            `array` is no array of real numbers.
        """
        title = f"register_buffer of {type(self).__name__}"
        if not text(name, f"{title}: the name").isidentifier():
            raise InputError(f"{title}: the name must be a Python identifier, got {shown(name)}")
        if hasattr(self, name) and name not in self._books.buffers:
            raise InputError(f"{title}: {shown(name)} already exists and is not a buffer; choose another name")
        numbers = float_array(array, f"{title}: {name!r}")
        kept = np.asarray(array).dtype
        books = self._books
        books.buffers = tuple(dict.fromkeys((*books.buffers, name)))
        setattr(self, name, numbers.astype(kept if kept.kind in "biu" else np.float64))

    def named_buffers(self, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield each buffer with its path, as an array; with `remove_duplicate` each once, under its first name."""
        found = self._buffers(prefix, flag(remove_duplicate, "named_buffers: remove_duplicate"))
        return ((name, part.data if isinstance(part, Buffer) else part) for name, part in found)

    def to(self, *place: Any, **named: Any) -> Self:
        """Return the module: its weights are on the CPU, in float64; a Run's engine and dtype choose otherwise.

        Raises
        ------
        InputError
            Another device or dtype was asked for.
        """
        for asked in (*place, *named.values()):
            if not isinstance(asked, bool) and str(asked).removeprefix("torch.") not in ("cpu", "float64", "double"):
                raise InputError(f"to({shown(asked)}): weights are on the CPU, in float64; {PLACE}")
        return self

    cpu = double = to

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set every gradient to 0, "not computed yet": what PyTorch's None means."""
        check_set_to_none(set_to_none)
        for part in self.parameters():
            part.zero_grad()

    def _matching(self, pattern: str) -> list[Parameter | ParameterView | Weight]:
        """Return the parameters whose name matches, or the row or Weight that `pattern` names with subscripts."""
        text(pattern, "a pattern of parameters, such as '0.*',")
        named = dict(self.named_parameters(remove_duplicate=False))
        found: list[Parameter | ParameterView | Weight] = [p for name, p in named.items() if fnmatchcase(name, pattern)]
        if found:
            return found
        subscripts = _SUBSCRIPTS.fullmatch(pattern)
        part = named.get(subscripts[1]) if subscripts else None
        if subscripts and isinstance(part, Parameter):
            return [part[tuple(int(i) for i in re.findall(r"\d+", subscripts[2]))]]
        raise InputError(f"no parameter of {type(self).__name__} matches {shown(pattern)}; allowed: {listing(named)}")

    def freeze(self, pattern: str = "*") -> None:
        """Freeze the parameters whose name matches (``"0.*"``, ``"0.weight[4][2]"``): optimisers skip them.

        Raises
        ------
        InputError
            No parameter has such a name.
        """
        for part in self._matching(pattern):
            part.frozen = True

    def unfreeze(self, pattern: str = "*") -> None:
        """Undo `freeze` for the parameters whose name matches; InputError if none matches."""
        for part in self._matching(pattern):
            part.frozen = False

    def initialize(self, initializer: Function | None = None, seed: int | None = 0) -> None:
        """Re-initialise every parameter; see :func:`scalarviz.nn.init.apply`."""
        rule = pytorch_default() if initializer is None else initializer
        if not callable(rule):
            raise TypeMismatchError(
                f"an initialiser must be a function (shape, fan_in, fan_out, draw), got {shown(initializer)}"
            )
        for owner, part, values in self._drawn(lambda _: rule, seed):
            part.data = values if isinstance(part, Parameter) else float(values)
            owner._books.rule = rule

    def _drawn(
        self, rule_of: Callable[[Module], Function], seed: int | None, draw_of: Callable[..., Draw] = next_draw
    ) -> Iterator[tuple[Module, Parameter | Weight, FloatArray]]:
        """Yield new numbers for every parameter, and the module whose it is."""
        done: set[int] = set()
        for path, owner in self.named_modules():
            rule = rule_of(owner)
            for name, part in owner._members():
                if not isinstance(part, Parameter | Weight) or id(part) in done:
                    continue
                draw = draw_of(seed, len(done))
                done.add(id(part))
                shape = part.shape if isinstance(part, Parameter) else ()
                fill = getattr(rule, "bias", no_bias) if name == "bias" else rule
                constant = owner.constant_start(part)
                made = np.full(shape, constant) if constant is not None else fill(shape, *owner.fans(part), draw)
                values = fitted(made, shape, f"the initial value of {f'{path}.{name}'.lstrip('.')}")
                if (padding := getattr(owner, "padding_idx", None)) is not None:
                    values = values.copy()
                    values[padding] = 0.0
                yield owner, part, values

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of all parameters and buffers as arrays, by name; a tied one under each name, as in PyTorch.

        A torch.nn.Module with the same names can load it: ``theirs.load_state_dict(net.state_dict())``.
        """
        return {n: np.array(p if isinstance(p, np.ndarray) else p.data).view(Numbers) for n, p in self._entries()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> LoadResult:
        """Copy arrays into the parameters and buffers of the same names. An error changes nothing.

        Parameters
        ----------
        state_dict : mapping of str to array-like
        strict : bool
            False: missing and unexpected names are only reported.

        Returns
        -------
        LoadResult
            ``missing_keys`` and ``unexpected_keys``.

        Raises
        ------
        InputError
            Names are missing or unexpected, or shapes differ; one message lists all of them.
        """
        mapping(state_dict, "load_state_dict: the state")
        flag(strict, "load_state_dict: strict")
        own = dict(self._entries())
        missing = [name for name in own if name not in state_dict]
        unexpected = [str(name) for name in state_dict if name not in own]
        arrays, faults = {}, []
        for name in own.keys() & state_dict.keys():
            part = own[name]
            try:
                arrays[name] = fitting(state_dict[name], part, name)
            except (InputError, TypeMismatchError) as error:
                faults.append(str(error))
        if strict:
            faults += [f"missing: {listing(missing)}"] if missing else []
            faults += [f"unexpected: {listing(unexpected)}"] if unexpected else []
        if faults:
            advice = "; strict=False ignores missing and unexpected names" if strict and (missing or unexpected) else ""
            raise InputError(f"load_state_dict of {type(self).__name__}: " + "; ".join(sorted(faults)) + advice)
        for name, array in arrays.items():
            part = own[name]
            if isinstance(part, np.ndarray):
                part[...] = array
            else:
                part.data = float(array) if isinstance(part, Weight) else array
        return LoadResult(missing, unexpected)

    def to_onnx(self, path: StrPath, shape: Any = None, *, dtype: str = "float32") -> None:
        """Write the module in evaluation mode to an ONNX file (opset 17, IR 8), the whole file or nothing.

        Parameters
        ----------
        path : path
            An existing file is replaced in one step.
        shape : tuple of int, or a list of them, optional
            The shape of one sample: ``(1, 28, 28)``, or ``()`` for a single number. A module with several inputs needs
            a list with one shape each. Not needed if the module knows it, as `Linear` does, or if a Run trains the
            module.
        dtype : {"float32", "float64"}
            The type of all numbers. Weights of a Run in float32 are written exactly; float64 weights are rounded for
            float32.

        Raises
        ------
        MissingDependencyError
            The package `onnx` is not installed.
        InputError
            The shape is needed or does not fit, the file cannot be written, or ONNX lacks an operation of the module.
        TracingError
            Its forward needs the number of a Value, as in ``if x > 0``.

        Notes
        -----
        The file takes N samples at once as ``input`` and returns ``output``. Weights have the names of the state_dict.
        A layer becomes the ONNX node of its kind if there is one; all else becomes vectorised nodes. Inputs that only
        choose rows of an :class:`Embedding` are int64.

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
        write(self, path, shape, dtype)

    def __deepcopy__(self, memo: dict[int, object]) -> Module:
        twin: Module = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin._books.buffers, twin._books.rule = self._books.buffers, self._books.rule
        for name, value in vars(self).items():
            setattr(twin, name, copy.deepcopy(value, memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_buffers": self._books.buffers}  # references to the owners are made again

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._books.buffers = state["_buffers"]
        for name, value in state.items():
            if name != "_buffers":
                setattr(self, name, value)

    if not TYPE_CHECKING:
        __getattr__ = attributes(METHODS)

    # ---- printing

    def extra_repr(self) -> str:
        """Return the text between the parentheses of a module without children."""
        return ""

    def __repr__(self) -> str:
        return tree(self)


def _explain(error: TypeError | ValueError, several: bool) -> None:
    """Add to the error of a user's forward that it gets one input, or that a sample has no batch axis."""
    text, python = str(error), not isinstance(error, ScalarvizError) and not hasattr(error, "__notes__")
    if python and "values to unpack" in text:
        sides = text.rpartition("got ")[2].rstrip(")")
        error.add_note(
            f"A sample has no batch axis. For x.shape, name its sides alone and count them from the end, as in T, C = "
            f"x.shape[-2:]; here are {sides}. An array of two or more axes is a batch: one sample is net(x.tolist())."
        )
    elif python and "forward() missing" in text:
        error.add_note(ONE_INPUT)
    if several:
        error.add_note(SEVERAL)


def _has_graph(x: Any) -> bool:
    return isinstance(x, Many) and not (x.taped and not getattr(x, "requires_grad", True))


def _named(part: object) -> object:
    """Return the object that stands for a part when names are looked up: the block of a Weight, else the part."""
    return part._block if isinstance(part, Weight) else part


KINDS = (Module, Parameter, Weight)
"""The types that are parts of a module."""

if TYPE_CHECKING:  # Any as a base: an editor offers what is listed, and a checker accepts what else the object may have

    class Result(Elementwise, Any):  # type: ignore[misc]
        """What a call of a module returns: an array mostly, a Value, or what a forward makes of them."""

        data: Any
        grad: Any

        def backward(self, upstream: float = 1.0) -> None: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...

    class Part(Module, Any):  # type: ignore[misc]
        """A module of a class that a checker does not know."""

        weight: Parameter
        bias: Parameter | Any

        def __getitem__(self, index: Any) -> Part: ...
