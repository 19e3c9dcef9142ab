"""`Live`, the anywidget of a cell. Its class is made when it is first asked for: all else works without packages."""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...errors import MissingDependencyError, ScalarvizError

if TYPE_CHECKING:
    from ...run.sources.watched import Watched
    from .shown import Shown

MISSING = "{}: it shows what is live in a notebook's cell; install it: pip install 'scalarviz[notebook]'"


def need(name: str) -> Any:
    """An optional package of notebooks.

    Raises
    ------
    MissingDependencyError
        It is not there; the message says what to install.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependencyError(MISSING.format(name)) from error


def in_notebook() -> bool:
    """Whether there is a kernel that takes outputs one by one."""
    try:
        shell = import_module("IPython").get_ipython()
    except ImportError:
        return False
    return shell is not None and hasattr(shell, "kernel")


def follow(shown: Shown) -> None:
    """After each cell of the notebook look at what it has changed, as long as anybody looks."""
    events, weak = import_module("IPython").get_ipython().events, weakref.ref(shown)

    def look(*_: object) -> None:
        one = weak()
        if one is None or one.session.closed:
            events.unregister("post_run_cell", look)
            return
        with suppress(ScalarvizError):  # a cell that was run is not the place to say it
            one.look()

    events.register("post_run_cell", look)


def heard_where_sent(widget: Any) -> None:
    """Let the kernel take each message in the shell that it is addressed to.

    ipykernel 7.4 takes answers in the shell that a comm was last used from. Frames come from a thread of our own, for
    which that is whichever shell ran last: while a cell of the user's computes, all that is said would wait for it.
    """
    if hasattr(widget.comm, "_reply_subshell_for"):
        widget.comm._reply_subshell_for = lambda data, addressed: addressed


class InCell:
    """What `Live` does beside being an anywidget; :class:`~scalarviz.view.cell.shown.Shown` does what it says."""

    _shown: Shown
    _sending: threading.Lock

    def act(self, name: str, value: int | None = None) -> None:
        """Do an action of `scalarviz.view.watch.actions`, as its key does in the window: ``act("step", 10)``."""
        self._shown.act(name, value)

    @property
    def watched(self) -> Watched | None:
        """What another library trains, where that is shown: for ``sv.Recording(cell.watched)``."""
        return self._shown.watched

    def update(
        self, params: object = None, grads: object = None, *,
        loss: object = None, step: object = None, lr: object = None,
    ) -> None:  # fmt: skip
        """Show what a loop of your own has changed; it may say loss, step and learning rate too.

        Where a step makes new arrays (JAX) these are `params`, with their gradients `grads`.
        """
        self._shown.update(params, grads, loss=loss, step=step, lr=lr)

    def close(self) -> None:
        """Stop training and end its thread; the run is free again, and the last picture stays."""
        self._shown.close()
        super().close()  # type: ignore[misc]  # of the widget

    def _post(self, content: dict[str, object], buffers: list[bytes]) -> None:
        """To every place that shows it; where nobody can be reached any more nothing happens."""
        widget: Any = self
        with self._sending:
            try:
                widget.send(content, buffers)
            except (OSError, RuntimeError, ValueError):  # the socket is being closed
                return

    def _ipython_display_(self, **named: Any) -> None:
        widget: Any = self
        self._shown.appear()
        if widget.comm is not None:
            data, about = super()._repr_mimebundle_()  # type: ignore[misc]  # of the widget
            need("IPython.display").display(data, metadata=about, raw=True)
        self._shown.still.show()
        if self._shown.scene is None and in_notebook():
            follow(self._shown)

    def __repr__(self) -> str:
        return f"Live({self._shown.title})"


@cache
def live_class() -> type:
    """The class of what :func:`~scalarviz.view.cell.live.live` returns.

    Raises
    ------
    MissingDependencyError
        There is no anywidget.
    """
    anywidget, traitlets = need("anywidget"), need("traitlets")

    class Live(InCell, anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        """What a cell shows.

        ``w.act("step", 10)`` does an action of the window's table, ``w.update(loss=0.1)`` shows what a loop of yours
        has changed, ``w.close()`` stops it: the last picture stays.
        """

        _esm = traitlets.Unicode().tag(sync=True)
        _css = traitlets.Unicode().tag(sync=True)
        about = traitlets.Dict().tag(sync=True)

        def __init__(self, shown: Shown) -> None:
            super().__init__(_esm=shown.esm, _css=shown.css, about=shown.about)
            self._shown, self._sending = shown, threading.Lock()
            shown.post = self._post
            heard_where_sent(self)
            self.on_msg(lambda _, content, buffers: shown.hear(content))

    return Live
