"""Code whose source this package has written itself, so that `inspect`, tracebacks and debuggers show it."""

from __future__ import annotations

import linecache
from typing import Any


def define(name: str, source: str, namespace: dict[str, Any]) -> None:
    """Run `source` in `namespace`, as the text of a file called ``<scalarviz name>``.

    Another text under the same name takes the place of the first, so that nothing grows.
    """
    file = f"<scalarviz {name}>"
    # no time: linecache then looks for no file on disk
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), namespace)
