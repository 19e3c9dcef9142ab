"""`draw`: the graph of a Value, a neuron or a small network as a picture, in a notebook, a file or a window."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

import numpy as np

from ..checks import flag, integer, one_of
from ..errors import InputError, TypeMismatchError, shown
from ..nn import Module, Parameter
from ..scalar import Value
from ..scalar.nested import every
from ..scalar.single import Many
from .drawing import THEMES, Drawing, Roots, Theme
from .graph.shown import Wish, variables
from .graph.trial import called

MOST_DIGITS = 12
WINDOW = (1280, 720)
"""Logical pixels of a window at first."""


def draw(
    z: Any, *inputs: Any, chains: bool = False, unfold: str | Iterable[str] | bool = (), theme: Theme = "auto",
    window: bool = False, digits: int | None = None,
) -> Drawing:  # fmt: skip
    """Draw the graph of `z`: operations, data, gradients and names.

    Parameters
    ----------
    z : Value, Weight, list of Values, Module, neuron or function
        A result, with all that it was computed from; or what computes one from `inputs`.
    *inputs : float or sequence of float
        One sample for a module, a neuron (``net.perceptrons[0]``) or a function, which is called with it whenever the
        picture is asked for. Without inputs a module's last call is drawn.
    chains : bool
        Whether ``a + b + c`` is drawn as two sums; else it is one.
    unfold : str, iterable of str or True
        Of a graph with more than 60 nodes: modules (``"0"``) whose nodes are wanted, rows of weights
        (``"0.weight[3]"``), ``"inputs"``; True: all.
    theme : {"auto", "dark", "light"}
        Auto follows the notebook, or the system.
    window : bool
        Show it in a window, which follows the numbers. In a script this returns when the window is closed.
    digits : int, optional
        Decimals of the numbers, 0 to 12; default: two, and fewer for large ones.

    Returns
    -------
    Drawing
        The output of a notebook's cell; ``.svg`` is its text, ``.save("graph.png")`` writes it.

    Raises
    ------
    TypeMismatchError, InputError, UnknownNameError
        Something that has no graph; a module without inputs, not called yet; inputs of what is computed already; more
        than 2,000 nodes; a name that nothing can be unfolded by, another theme, too many digits.
    MissingDependencyError
        A window, and there is no Qt or no OpenGL.

    Notes
    -----
    A node without a name of its own has that of the variable that holds it where `draw` is called. Gradients are
    violet; they are hatched, without a number, where no ``backward()`` came by.

    Examples
    --------
    >>> import scalarviz as sv
    >>> a, w = sv.Value(2.0), sv.Weight(-0.7, name="w")
    >>> z = (a * w).tanh()
    >>> sv.draw(z)
    Drawing(z: 4 nodes, 4 drawn)
    """
    caller = sys._getframe(1)
    names = {**variables(caller.f_globals), **variables(caller.f_locals)}
    one_of(theme, THEMES, "draw: the theme")
    drawing = Drawing(*_asked(z, inputs), _wish(chains, unfold, names, digits), theme)
    if flag(window, "draw: window"):
        _open(drawing)
    return drawing


def graph_of(z: Any, caller: FrameType) -> Drawing:
    """The graph of what is computed already, with the names that a frame of the program has for it.

    Raises
    ------
    TypeMismatchError, InputError
        As :func:`draw`.
    """
    names = {**variables(caller.f_globals), **variables(caller.f_locals)}
    return Drawing(*_asked(z, ()), _wish(False, (), names, None), "auto")


def _wish(chains: bool, unfold: str | Iterable[str] | bool, names: dict[int, str], digits: int | None) -> Wish:
    """How a graph is wanted."""
    wanted = _unfold(unfold)
    places = None if digits is None else integer("draw: digits", digits, 0, MOST_DIGITS)
    return Wish(flag(chains, "draw: chains"), () if isinstance(wanted, bool) else wanted, wanted is True, names, places)


def _open(drawing: Drawing) -> None:
    """A window that serves itself where there is a prompt; elsewhere until it is closed."""
    from .graph_view import GraphView
    from .out.desktop import Window
    from .show import Handle

    handle = Handle(Window(lambda size: GraphView(drawing, size), drawing.of or "graph", WINDOW))
    drawing.handle = handle
    handle.begin()
    handle.wait()


def _asked(z: Any, inputs: tuple[Any, ...]) -> tuple[Roots, Module | None]:
    """What gives the results of which the graph is drawn, and the model that they are of."""
    if isinstance(z, Value | list | tuple | Many | np.ndarray) and not isinstance(z, Parameter):
        if inputs:
            raise InputError("draw: a Value is computed already and takes no inputs; give them to a Module")
        values = _values(z)
        return lambda: (values, None), None
    if isinstance(z, Module) and not inputs:
        last = _last_call(z)
        return lambda: (last, None), z
    if not callable(z) or isinstance(z, type | Parameter):
        raise TypeMismatchError(
            f"draw takes a Value, a Weight, a list of Values, or a Module with an example input; got "
            f"{type(z).__name__} {shown(z)}. Try sv.show(x) for what has cubes"
        )
    if not inputs:
        raise InputError(f"draw: {type(z).__name__} needs an example input, as in sv.draw(neuron, [0.5, 1.0])")
    return lambda: called(z, inputs), z if isinstance(z, Module) else None


def _values(z: Any) -> list[Value]:
    """The results of which the graph is drawn."""
    if isinstance(z, Value):
        return [z]
    values = every(z, "draw: a list")
    if not values:
        raise InputError("draw: the list is empty; give at least one Value")
    return values


def _last_call(module: Module) -> list[Value]:
    outputs = module._books.outputs
    if outputs is None:
        raise InputError(
            f"draw: this {type(module).__name__} has not been called yet; give an example input, as in "
            "sv.draw(net, [0.5, 1.0])"
        )
    return every(outputs, "draw: the module")


def _unfold(unfold: Any) -> tuple[str, ...] | bool:
    if isinstance(unfold, bool):
        return unfold
    if isinstance(unfold, str):
        return (unfold,)
    one = not isinstance(unfold, Iterable) or (isinstance(unfold, np.ndarray) and unfold.ndim == 0)
    given = (unfold,) if one else tuple(unfold)
    if not all(isinstance(name, str) for name in given):
        raise TypeMismatchError(f"draw: unfold is a name, several names or True, got {shown(unfold)}")
    return given
