"""Names of keys that Qt and vispy do not agree on."""

from __future__ import annotations

from typing import Any

from .display import qt_core


def unnamed(event: Any) -> str | None:
    """The name of a key that vispy has none for: Tab with Shift is another key to Qt."""
    return "Tab" if event is not None and event.key() == qt_core().Qt.Key.Key_Backtab else None


def modifiers(event: Any) -> set[str]:
    """Names of the keys that are held down besides."""
    return {str(getattr(key, "name", key)) for key in event.modifiers}
