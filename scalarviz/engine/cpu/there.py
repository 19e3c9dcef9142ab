"""Check whether numba can be used; its settings may prevent that. Loads numba only if there are settings."""

from __future__ import annotations

import importlib
import os
import warnings
from functools import lru_cache
from pathlib import Path

from ...errors import listing
from ..cache import SETTINGS_FILE
from ..cost import has_package

INSTEAD = 'or use engine="numpy"'


def no_numba() -> str:
    """Return why numba cannot be used, as one clause that follows its name; empty if it can."""
    if not has_package("numba"):
        return f"needs numba, which is not installed here: pip install numba; {INSTEAD}"
    given = tuple(f"{name}={os.environ.get(name, '')}" for name in sorted(os.environ) if name.startswith("NUMBA_"))
    return _refused(given) if given or Path(SETTINGS_FILE).is_file() else ""


@lru_cache(maxsize=8)
def _refused(settings: tuple[str, ...]) -> str:
    """Return the reason why numba refuses its settings; empty if it accepts them."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            config = importlib.import_module("numba").config
        except Exception as error:  # numba raises anything, such as ValueError for no threads
            given = listing(settings) or f"the file {SETTINGS_FILE}"
            return f"cannot be loaded with {given}: {' '.join(str(error).split())}; correct or unset them, {INSTEAD}"
    for warning in said:  # numba's text ends in a traceback
        warnings.warn_explicit(str(warning.message).partition("\n")[0], RuntimeWarning, filename="numba", lineno=0)
    if config.DISABLE_JIT:
        return f"cannot compile while NUMBA_DISABLE_JIT={config.DISABLE_JIT}: unset it, {INSTEAD}"
    return ""
