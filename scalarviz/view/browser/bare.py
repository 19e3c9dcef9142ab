"""Scripts without comments and indentation: a third of what a page would carry."""

from __future__ import annotations

import re

_COMMENTS = re.compile(r"^[ \t]*(?:/\*\*?[^\n]*?\*/|/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)


def bare(text: str) -> str:
    """`text` without the lines that are comments, without indentation and empty lines.

    A text between backticks that goes over lines would not be the same after it: ours have none (a test reads them).
    """
    return re.sub(r"\n\s*", "\n", _COMMENTS.sub("", text)).strip() + "\n"
