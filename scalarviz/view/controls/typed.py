"""Numbers as people type them."""

from __future__ import annotations

import re

from ...errors import InputError, shown

_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
"""``1,024``, ``12,000.5``: commas between thousands. One alone in a number that need not be whole is a decimal one."""


def number_of(text: str, name: str, *, whole: bool) -> int | float:
    """A number as people type it: ``0.03``, ``0,03``, ``1e-3``, ``1,024`` where it has to be `whole`, ``1_024``.

    Raises
    ------
    InputError
        It is none; `name` says for what it was typed.
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if _GROUPS.fullmatch(plain) and (whole or plain.count(",") > 1 or "." in plain):
        plain = plain.replace(",", "")
    elif plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    if re.fullmatch(r"[+-]?\d{1,18}", plain):
        return int(plain)
    try:
        return float(plain)
    except ValueError:
        said = shown(text) if plain else "nothing"
        raise InputError(f"{name}: {said} is no number; such as {'16' if whole else '0.03 or 1e-3'}") from None
