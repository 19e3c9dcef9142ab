"""The page's scripts, joined: the ES modules of ``js/`` that an entry needs, as one text without imports.

An inline script cannot import from a file, and nothing may be fetched; so the modules that one needs are put before it
and what makes them modules is taken out. Two rules for their text make that safe, and a test reads every file for
them: an import is one line, ``import { a, b } from "./name.js";``, and whatever stands at the top of a file has a name
that no other file has there, exported or not.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ...errors import InputError, UnknownNameError, listing, shown

FOLDER = Path(__file__).with_name("js")

_IMPORT = re.compile(r'^import \{ ([\w$]+(?:, [\w$]+)*) \} from "\./([\w-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|const\b|let\b)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)
_NAME = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let|var) +([\w$]+)", re.MULTILINE)


def script_names() -> list[str]:
    """The files in ``js/``, sorted."""
    return sorted(path.name for path in FOLDER.glob("*.js"))


@cache
def script(name: str) -> str:
    """The text of one file.

    Raises
    ------
    UnknownNameError
        There is no such file.
    """
    if name not in script_names():
        raise UnknownNameError(f"script {shown(name)} is not known; allowed: {listing(script_names())}")
    return (FOLDER / name).read_text(encoding="utf-8")


def imports_of(text: str) -> dict[str, list[str]]:
    """Names that a file takes from others, by the file that has them."""
    found: dict[str, list[str]] = {}
    for names, source in _IMPORT.findall(text):
        found.setdefault(source, []).extend(name.strip() for name in names.split(","))
    return found


def names_of(text: str) -> list[str]:
    """What stands at the top of a file, exported or not, in its order."""
    return _NAME.findall(text)


def order(*entries: str) -> list[str]:
    """The files that the entries need, each after those that it imports.

    Raises
    ------
    UnknownNameError
        A file that does not exist.
    InputError
        Files that import each other in a circle.
    """
    found: list[str] = []

    def visit(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            raise InputError(f"scripts import each other: {' -> '.join((*way[way.index(name) :], name))}")
        if name not in found:
            for other in imports_of(script(name)):
                visit(other, (*way, name))
            found.append(name)

    for entry in entries:
        visit(entry, ())
    return found


def plain(text: str) -> str:
    """One file's text without what makes it a module.

    Raises
    ------
    InputError
        An import or export in another form than this module's text allows.
    """
    bare = _EXPORT.sub("", _IMPORT.sub("", text))
    left = _LEFT.search(bare)
    if left:
        raise InputError(
            f"scripts.plain: {shown(left[0])} cannot be joined; allowed: "
            'import { a, b } from "./name.js"; and export before function, class, const, let'
        )
    return bare.strip() + "\n"


@cache
def joined(*entries: str) -> str:
    """One text for an inline script, or, with an ``export default`` after it, for a module.

    Parameters
    ----------
    *entries : str
        Names of files, such as ``"page.js"``; what they import comes with them, once.

    Returns
    -------
    str
        Its names are at the top: in an inline script of its own the page sees them.

    Raises
    ------
    UnknownNameError, InputError
        As :func:`order` and :func:`plain` say, and for two files that have a name in common.
    """
    files, owner = order(*entries), dict[str, str]()
    for file in files:
        for name in names_of(script(file)):
            if owner.setdefault(name, file) != file:
                raise InputError(f"scripts {owner[name]} and {file} both have {name!r}: joined they share one scope")
    return '"use strict";\n' + "\n".join(plain(script(file)) for file in files)
