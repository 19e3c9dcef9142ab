"""What comes into a window: files chosen in Qt's dialogue or dropped on it, a line typed into a field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .display import qt_core


def ask_file(widget: Any, title: str, endings: Sequence[str], then: Callable[[Path], object]) -> None:
    """Open a dialogue for a file whose name has one of the endings; `then` gets the one that is chosen."""
    dialogue = qt_widgets().QFileDialog(widget, title, "", f"{' '.join(f'*{ending}' for ending in endings)};;*")
    dialogue.setFileMode(qt_widgets().QFileDialog.FileMode.ExistingFile)
    dialogue.setAttribute(qt_core().Qt.WidgetAttribute.WA_DeleteOnClose)
    dialogue.fileSelected.connect(lambda name: then(Path(name)))
    dialogue.open()


def ask_text(widget: Any, title: str, label: str, text: str, then: Callable[[str], object]) -> None:
    """Open a field for one line, filled with `text`; `then` gets what was typed if that is accepted."""
    dialogue = qt_widgets().QInputDialog(widget)
    dialogue.setWindowTitle(title)
    dialogue.setLabelText(f"{title}\n{label}" if label else title)
    dialogue.setTextValue(text)
    dialogue.setAttribute(qt_core().Qt.WidgetAttribute.WA_DeleteOnClose)
    dialogue.textValueSelected.connect(then)
    dialogue.open()


def accept_drops(widget: Any, take: Callable[[Sequence[Path]], object]) -> object:
    """Let `take` have the files that are dropped on a widget; keep what is returned as long as the widget."""
    core = qt_core()
    kinds = core.QEvent.Type

    class Drops(core.QObject):  # type: ignore[name-defined,misc] # which binding is known at run time
        def eventFilter(self, watched: Any, event: Any) -> bool:
            if event.type() in (kinds.DragEnter, kinds.DragMove, kinds.Drop):
                files = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
                if files:
                    event.acceptProposedAction()
                    if event.type() == kinds.Drop:
                        take(files)
                return bool(files)
            return False

    drops = Drops()
    widget.setAcceptDrops(True)
    widget.installEventFilter(drops)
    return drops


def on_close(widget: Any, then: Callable[[], object]) -> object:
    """Call `then` where the desktop's own button closes a widget, which Qt only hides; keep what is returned."""
    core = qt_core()

    class Closes(core.QObject):  # type: ignore[name-defined,misc] # which binding is known at run time
        def eventFilter(self, watched: Any, event: Any) -> bool:
            if event.type() == core.QEvent.Type.Close:
                then()
            return False

    closes = Closes()
    widget.installEventFilter(closes)
    return closes


def qt_widgets() -> Any:
    """QtWidgets of the binding that vispy chose."""
    from importlib import import_module

    return import_module(f"{qt_core().__name__.rpartition('.')[0]}.QtWidgets")
