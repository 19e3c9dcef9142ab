"""Source text that was written by this package, where `inspect`, tracebacks and debuggers find it."""

from __future__ import annotations

import linecache


def remember(name: str, text: str) -> str:
    """Show `text` as the file called `name`; returns the name, for :func:`compile`.

    Another text under the same name takes the place of the first, so that nothing grows.
    """
    # no time: linecache then takes the entry for what it is, and looks for no file
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name
