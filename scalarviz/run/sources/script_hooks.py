"""Follow a user's script while it trains: by PyTorch's global hooks, or by its class `Value`.

The script is unchanged and need not know. `TorchHooks` and `ValueHooks` call ``begin(x, called)`` before the first
step, with the weights and their name in the script. After every step they call the function that it returns, as
:meth:`Watched.update` is called.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial, wraps
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from numbers import Real
from operator import attrgetter
from types import FrameType, SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

ReportStep = Callable[..., object]
BeginReports = Callable[[Any, str, "LayerFlow | None"], ReportStep]


def script_name(thing: object, names: Mapping[str, Any]) -> str:
    """Return the name of a thing in `names`, or that of its class."""
    return next((name for name, one in list(names.items()) if one is thing), type(thing).__name__.lower())


# ---- PyTorch


PASSED_ON = ("Dropout", "Flatten", "Identity")
"""Layers that change no number of a sample in evaluation mode."""
STATELESS_LAYERS = ("Linear", "ReLU", "LeakyReLU", "ELU", "GELU", "SiLU", "Sigmoid", "Tanh", "Softplus", "LogSigmoid")
"""Layers that depend only on a sample and their weights: calling them again disturbs nothing."""
FUNCTIONS = ("relu", "tanh", "sigmoid")
"""Functions that a forward may apply between two layers."""


ENOUGH = 16
"""Samples of a batch that identify the function between two layers."""


class LayerFlow:
    """One sample's outputs at each layer of a chain of layers, at the current weights.

    `calls` are the layers with their first input samples and outputs, the network last. The rows are computed from
    `sample` again, because those that the hooks saw belong to the weights before the step.
    """

    def __init__(self, torch: Any, names: Mapping[int, str], calls: list[tuple[Any, Any, Any]]) -> None:
        _, whole, left = calls[-1]
        self._torch, self.sample = torch, whole[:1]
        self.layers = list[tuple[str, str, Callable[[Any], Any], int]]()  # path, kind, function, number of outputs
        made = whole
        for layer, given, out in calls[:-1]:
            kind = type(layer).__name__
            self._between(made, given)
            if kind not in PASSED_ON:
                if kind not in STATELESS_LAYERS or not type(layer).__module__.startswith("torch.nn.modules."):
                    raise ValueError(kind)
                forward = partial(type(layer).forward, layer)  # without the hooks of the script
                self.layers.append((names[id(layer)], kind.lower(), forward, out[0].numel()))
            made = out
        self._between(made, left)

    def _between(self, made: Any, given: Any) -> None:
        """Find the function between two layers; ValueError if it is unknown."""
        made, given = made.reshape(len(made), -1), given.reshape(len(given), -1)
        if self._torch.equal(made, given):
            return
        for name in FUNCTIONS:
            function = getattr(self._torch, name)
            if self._torch.equal(function(made), given):
                path = f"{self.layers[-1][0]} {name}" if self.layers else name
                self.layers.append((path, name, function, made.shape[1]))
                return
        raise ValueError("something else is done between two layers")

    def set_sample(self, batch: Any) -> None:
        """Show the first sample of a batch, if it has the shape of the others."""
        if getattr(batch, "shape", ())[1:] == self.sample.shape[1:] and len(batch):
            self.sample = batch[:1].detach()

    def rows(self) -> dict[str, NDArray[np.float64]]:
        """Return the sample and each layer's output."""
        row = self.sample.reshape(1, -1)
        rows: dict[str, NDArray[np.float64]] = {"input": row[0].double().numpy()}
        with self._torch.no_grad():
            for name, _, function, _ in self.layers:
                row = function(row)
                rows[name or "linear"] = row[0].double().numpy()
        return rows


class OnHost:
    """A tensor on a GPU, which is copied at each read."""

    def __init__(self, tensor: Any) -> None:
        self._tensor, self.shape, self.dtype = tensor, tuple(tensor.shape), str(tensor.dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        here = self._tensor.detach().cpu()
        found: NDArray[Any] = (here.float() if here.element_size() < 4 else here).numpy()
        return found if dtype is None else found.astype(dtype)


class TorchHooks(MetaPathFinder):
    """Follows the modules that the first optimiser of a script trains, from the import of PyTorch on."""

    def __init__(self, begin: BeginReports, note: Callable[[str], object]) -> None:
        self._begin, self._note, self._process = begin, note, os.getpid()
        # modules that were called before the first step, with their first input and output samples
        self._called = dict[int, tuple[Any, list[Any]]]()
        self._root: Any = None
        self._flow: LayerFlow | None = None
        self._coming: Any = None  # the optimiser whose first step has begun
        self._optimizer: Any = None  # the optimiser whose steps count
        self._other = False  # whether there is another one
        self._by_hand = SimpleNamespace(param_groups=[{"params": list[Any]()}])  # stands for it in a loop without one
        self._sums: list[Any] | None = None  # of the parameters of `_by_hand`, at the last backward
        self._loss: Any = None
        self._report_step: ReportStep | None = None
        self._gpu_parameters = dict[str, Any]()  # parameters on a GPU
        self._grads = dict[str, Any]()  # of a loop without an optimiser, which may clear them before it is looked at
        self._undo = list[Callable[[], object]]()

    def install(self) -> None:
        """Hook PyTorch when it is imported."""
        if "torch" in sys.modules:
            self._hook()
        else:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Remove every hook, and count the last step of a loop without an optimiser."""
        self._count_by_hand()
        with suppress(ValueError):
            sys.meta_path.remove(self)
        while self._undo:
            self._undo.pop()()

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Find PyTorch at its import as usual, and hook it once it is loaded."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                self._hook()

            loader.exec_module = exec_module
        return spec

    def _hook(self) -> None:
        modules: Any = importlib.import_module("torch.nn.modules.module")
        steps: Any = importlib.import_module("torch.optim.optimizer")
        torch: Any = sys.modules["torch"]
        tensor, compiling = torch.Tensor, getattr(getattr(torch, "compiler", None), "is_compiling", bool)
        backward, tracing = tensor.backward, torch.jit.is_tracing

        def unless_compiled(hook: Callable[..., None]) -> Callable[..., None]:
            """Skip the hook under torch.compile, which refuses code that it cannot translate, or a trace."""
            return lambda *given: None if compiling() or tracing() else hook(*given)

        @wraps(backward)
        def noted(loss: Any, *args: Any, **options: Any) -> Any:
            self._count_by_hand(loss)
            self._loss = loss.detach() if loss.dim() == 0 else None
            self._start()  # inside a closure of an optimiser's step: the weights are still the old ones
            done = backward(loss, *args, **options)
            if self._optimizer is self._by_hand:
                self._grads = {name: OnHost(p.grad.clone()) for name, p in self._named.items() if p.grad is not None}
            return done

        tensor.backward = noted
        self._undo += [
            lambda: setattr(tensor, "backward", backward),
            modules.register_module_forward_hook(unless_compiled(self._after_forward)).remove,
            steps.register_optimizer_step_pre_hook(unless_compiled(self._before_step)).remove,
            steps.register_optimizer_step_post_hook(unless_compiled(self._after_step)).remove,
        ]

    def _after_forward(self, module: Any, inputs: Any, output: Any) -> None:
        if self._optimizer is None:
            self._called.pop(id(module), None)
            first = [x[:ENOUGH].detach() if hasattr(x, "detach") and x.dim() else None for x in (*inputs[:1], output)]
            self._called[id(module)] = module, first
        elif module is self._root and self._flow is not None and inputs and getattr(output, "requires_grad", False):
            self._flow.set_sample(inputs[0])

    def _flow_of(self, root: Any) -> LayerFlow | None:
        """Return the flow through a network, if its last call before the first step was a chain of layers."""
        inside = {id(module): name for name, module in root.named_modules()}
        leaves = [(m, *first) for m, first in self._called.values() if id(m) in inside and not [*m.children()]
                  and type(m).__module__ != "torch.nn.modules.loss"]  # fmt: skip
        with suppress(Exception):  # networks may do anything, and then have no chain
            return LayerFlow(sys.modules["torch"], inside, [*leaves, (root, *self._called[id(root)][1])])
        return None

    def _before_step(self, optimizer: Any, args: Any, options: Any) -> None:
        if os.getpid() != self._process:
            return
        if self._optimizer is None:
            self._coming = optimizer
            if self._called:  # otherwise the step calls a closure, which calls the network
                self._start()
        elif self._optimizer is self._by_hand:
            self._optimizer = optimizer
        elif optimizer is not self._optimizer and not self._other:
            self._other, kinds = True, [type(one).__name__ for one in (optimizer, self._optimizer)]
            self._note("a second optimiser ({}) takes steps; scalarviz reads only the first ({})".format(*kinds))

    def _count_by_hand(self, loss: Any = None) -> None:
        """Count a step of a loop without an optimiser: its parameters have changed since the last backward."""
        group, torch = self._by_hand.param_groups[0], cast(Any, sys.modules.get("torch"))
        if loss is not None and self._optimizer is None and self._sums is None and os.getpid() == self._process:
            tensors, optimizers = ([one for one in gc.get_objects() if issubclass(type(one), kind)]
                                   for kind in (torch.Tensor, torch.optim.Optimizer))  # fmt: skip
            if not optimizers:
                group["params"] = [p for p in tensors if p.is_leaf and p.requires_grad and p.device.type != "meta"]
                self._coming = self._by_hand
        sums = [one.detach().sum().item() for one in group["params"]]
        if self._optimizer is self._by_hand and sums != self._sums:
            self._after_step(self._by_hand, None, None)
        self._sums = sums

    def _start(self) -> None:
        """Follow the optimiser whose first step has begun, if any."""
        optimizer, self._coming = self._coming, None
        if optimizer is None:
            return
        self._optimizer = optimizer
        trained = {id(one) for group in optimizer.param_groups for one in group["params"]}
        found = [one for one, _ in self._called.values() if any(id(p) in trained for p in one.parameters())]
        inner = {id(below) for one in found for below in one.modules() if below is not one}
        roots = [getattr(one, "_orig_mod", one) for one in found if id(one) not in inner]  # as if not compiled
        if len(roots) == 1:
            self._root, self._flow = roots[0], self._flow_of(roots[0])
        self._called.clear()
        names = vars(sys.modules["__main__"])
        self._named = {
            f"{script_name(one, names)}.{name}" if len(roots) > 1 else name: p
            for one in roots for name, p in one.named_parameters()
        } or {f"parameters.{k}": p for k, p in enumerate(optimizer.param_groups[0]["params"])}  # fmt: skip
        self._gpu_parameters = {name: p for name, p in self._named.items() if p.device.type not in ("cpu", "meta")}
        if self._gpu_parameters:
            name = script_name(roots[0], names) if len(roots) == 1 else "networks"
            self._report_step = self._begin(self._copies("data"), name, None)
        elif len(roots) == 1:
            self._report_step = self._begin(roots[0], script_name(roots[0], names), self._flow)
        else:
            groups: dict[str, Any] = {script_name(one, names): one for one in roots}
            groups = groups or {"parameters": [*optimizer.param_groups[0]["params"]]}
            self._report_step = self._begin(groups, "networks", None)

    def _after_step(self, optimizer: Any, args: Any, options: Any) -> None:
        self._start()
        if optimizer is self._optimizer and self._report_step is not None and os.getpid() == self._process:
            grads = {"grads": self._copies("grad")} if self._gpu_parameters else {}
            grads = {"grads": self._grads} if optimizer is self._by_hand else grads
            self._report_step(loss=self._loss, lr=optimizer.param_groups[0].get("lr"), **grads)

    def _copies(self, part: str) -> dict[str, Any]:
        """Return parameters on a GPU, or their gradients, by name."""
        found = {name: getattr(one, part) for name, one in self._gpu_parameters.items()}
        return {name: OnHost(one) for name, one in found.items() if one is not None}


# ---- A class with numbers and gradients, as in micrograd


class ValueHooks:
    """Follows the weights whose gradients a class `Value` computes: one with `backward`, `+` and `*`.

    A step counts if the weights have changed at the next `backward`, or at the end.
    """

    def __init__(self, begin: BeginReports) -> None:
        self._begin, self._build = begin, builtins.__build_class__
        self._weights = dict[str, NDArray[Any]]()  # arrays of objects
        self._now = dict[str, NDArray[np.float64]]()  # the watched arrays
        self._gradients = dict[str, NDArray[np.float64]]()
        self._get_number: Callable[[Any], Any] = float  # of one Value, see `_getters`
        self._get_gradient: Callable[[Any], Any] = float
        self._loss: float | None = None
        self._report_step: ReportStep | None = None
        self._in_backward = False

    def install(self) -> None:
        """Check every class that is defined from now on."""

        def build(body: Any, name: str, *bases: Any, **options: Any) -> Any:
            made = self._build(body, name, *bases, **options)
            if {"backward", "__add__", "__mul__"} <= vars(made).keys():
                self._follow(made)
            return made

        python: Any = builtins
        python.__build_class__ = build

    def remove(self) -> None:
        """Stop checking classes, and report the last step."""
        builtins.__build_class__ = self._build
        self._safely(self._step)

    def _follow(self, kind: Any) -> None:
        backward = kind.backward
        if not callable(backward) or kind.__module__.partition(".")[0] in ("torch", "scalarviz"):
            return

        @wraps(backward)
        def followed(value: Any, *args: Any, **options: Any) -> Any:
            if self._in_backward:
                return backward(value, *args, **options)
            self._in_backward = True
            try:
                self._safely(self._before, kind, sys._getframe(1))
                return backward(value, *args, **options)
            finally:
                self._in_backward = False
                self._safely(self._after, value)

        kind.backward = followed

    def _safely(self, look: Callable[..., object], *given: Any) -> None:
        """Read the script's numbers; a class whose numbers cannot be read is no longer followed."""
        try:
            look(*given)
        except (TypeError, ValueError, AttributeError, RecursionError):
            self._weights.clear()
            self._report_step = self._report_step or (lambda **_: None)

    def _before(self, kind: Any, frame: FrameType) -> None:
        if self._report_step is not None:
            self._step()
            return
        found = list(_trained(kind, frame))
        for name, thing in found:
            for path, values in _arrays(thing, kind).items():
                self._weights[f"{name}.{path}".strip(".") if len(found) > 1 or not path else path] = values
        if self._weights:
            self._get_number, self._get_gradient = _getters(next(iter(self._weights.values())).flat[0])
            self._now = self._read(self._get_number)
            self._report_step = self._begin(self._now, found[0][0] if len(found) == 1 else "weights", None)

    def _after(self, value: Any) -> None:
        self._gradients = self._read(self._get_gradient)
        with suppress(TypeError, ValueError):
            self._loss = float(self._get_number(value))

    def _step(self) -> None:
        new = self._read(self._get_number)
        if self._report_step is None or all(np.array_equal(new[name], self._now[name], equal_nan=True) for name in new):
            return
        for name, numbers in new.items():
            self._now[name][...] = numbers
        self._report_step(grads=self._gradients, loss=self._loss)

    def _read(self, get: Callable[[Any], Any]) -> dict[str, NDArray[np.float64]]:
        found = dict[str, NDArray[np.float64]]()
        for name, values in self._weights.items():
            flat = [np.asarray(get(one), np.float64) for one in values.ravel()]
            found[name] = np.stack(flat).reshape((*values.shape, *flat[0].shape))
        return found


def _getters(value: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return what reads the number and the gradient of a Value.

    The number is `data`, ``float(value)`` or the first attribute with a float; the gradient is an attribute with
    "grad" in its name. TypeError if one is missing.
    """
    held = [name for name, x in _attributes(value).items() if isinstance(x, Real | np.ndarray)]
    held.sort(key=lambda name: isinstance(getattr(value, name), int))  # an int may be a count or a flag
    slopes = [name for name in ("grad", *held) if "grad" in name and hasattr(value, name)]
    numbers = [name for name in ("data", *held) if "grad" not in name and hasattr(value, name)]
    if not slopes or not (numbers or hasattr(value, "__float__")):
        raise TypeError
    by_name = "data" in numbers or not hasattr(value, "__float__")
    return attrgetter(numbers[0]) if by_name else float, attrgetter(slopes[0])


def _trained(kind: type, frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    """Yield the holders of weights, by names of the script: objects with `parameters()`, or leaves of the graph."""
    scopes = list[Mapping[str, Any]]()
    while frame is not None and frame.f_globals.get("__name__") != "runpy":
        scopes += [frame.f_locals] if frame.f_locals is frame.f_globals else [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    names = {name: thing for scope in reversed(scopes) for name, thing in scope.items() if not name.startswith("__")}
    once = {id(thing): (name, thing) for name, thing in reversed(names.items())}
    holders = [(name, thing) for name, thing in once.values() if _holds(thing, kind)]
    inner = {id(v) for _, thing in holders for v in thing.parameters()}
    whole = [(n, t) for n, t in holders if not any(t is not o and {id(v) for v in t.parameters()} < {
        id(v) for v in o.parameters()} for _, o in holders)]  # fmt: skip
    if inner:
        yield from reversed(whole)
        return
    for name, thing in reversed(list(once.values())):
        if (isinstance(thing, kind) and _is_leaf(thing, kind)) or (
            isinstance(thing, list) and (found := list(_values(thing, kind))) and all(_is_leaf(v, kind) for v in found)
        ):
            yield name, thing


def _holds(thing: Any, kind: type) -> bool:
    if isinstance(thing, type) or not callable(getattr(thing, "parameters", None)):
        return False
    with suppress(Exception):  # a method of this name may be anything
        return any(isinstance(one, kind) for one in thing.parameters())
    return False


def _values(x: Any, kind: type) -> Iterator[Any]:
    if isinstance(x, kind):
        yield x
    elif isinstance(x, list | tuple | set):
        for one in x:
            yield from _values(one, kind)


def _is_leaf(value: Any, kind: type) -> bool:
    """Return whether it was computed from no others."""
    return not any(list(_values(one, kind)) for one in _attributes(value).values())


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for base in type(value).__mro__ for name in getattr(base, "__slots__", ())]
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name, None) for name in slots}}


def _arrays(thing: Any, kind: type) -> dict[str, NDArray[Any]]:
    """Return the Values in a thing as arrays of objects by path; similar neurons are rows of one array."""
    wanted = {id(v) for v in thing.parameters()} if callable(getattr(thing, "parameters", None)) else None

    def gathered(x: Any, above: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        if isinstance(x, kind):
            if wanted is not None and id(x) not in wanted:
                return {}
            one = np.empty((), object)
            one[()] = x
            return {"": one}
        if id(x) in above or isinstance(x, str | bytes | type):
            return {}
        above = (*above, id(x))
        if isinstance(x, list | tuple):
            return _stacked([found for one in x if (found := gathered(one, above))])
        parts = x if isinstance(x, dict) else getattr(x, "__dict__", {})
        return {f"{name}.{path}".strip("."): array for name, part in list(parts.items())
                for path, array in gathered(part, above).items()}  # fmt: skip

    return gathered(thing, ())


def _stacked(parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return the parts of a list, stacked as rows if all have equal shapes of at most one axis."""
    shapes = [{path: array.shape for path, array in part.items()} for part in parts]
    if parts and all(one == shapes[0] for one in shapes) and all(len(shape) < 2 for shape in shapes[0].values()):
        return {path: np.stack([part[path] for part in parts]) for path in shapes[0]}
    return {f"{k}.{path}".strip("."): array for k, part in enumerate(parts) for path, array in part.items()}


def hooks(begin: BeginReports, note: Callable[[str], object] = str) -> tuple[TorchHooks, ValueHooks]:
    """Return the hooks that follow a script; the first one that sees a step begins, the others stay silent.

    `note` gets a line about parts of the script that are not followed.
    """
    begun = list[object]()

    def first(kind: object, x: Any, name: str, flow: LayerFlow | None) -> ReportStep:
        if begun and begun[0] is not kind:
            return lambda **_: None
        begun.append(kind)
        return begin(x, name, flow)

    return TorchHooks(partial(first, TorchHooks), note), ValueHooks(partial(first, ValueHooks))
