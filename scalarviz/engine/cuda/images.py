"""Machine code of kernels: carried here from another machine, from the cache on disk, or compiled."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from . import carried, kept
from .catalog import Kernel


def image(kernel: Kernel, capability: tuple[int, int], driver: int, link: Callable[[str], bytes]) -> bytes:
    """What the driver loads for a device of that capability.

    Parameters
    ----------
    kernel : Kernel
    capability : (int, int)
    driver : int
        Its version, as the driver says it.
    link : callable
        From PTX to machine code.
    """
    if (made := carried.load(kernel, entry(kernel), capability)) is not None:
        return made
    name = image_name(kernel, capability, driver)
    found = kept.load(name)
    if found is None:
        found = link(text(kernel, capability))
        kept.store(name, found)
    return found


@lru_cache(maxsize=1024)
def text(kernel: Kernel, capability: tuple[int, int]) -> str:
    """The kernel's PTX, its entry under the name of :func:`entry`."""
    name = text_name(kernel, capability)
    found = kept.load(name)
    if found is None:
        found = _compiled(kernel, capability).encode()
        kept.store(name, found)
    return found.decode()


def _compiled(kernel: Kernel, capability: tuple[int, int]) -> str:
    found = kernel.ptx(capability)
    mangled = re.search(r"\.visible \.entry (\w+)\(", found)
    if mangled is None:
        raise AssertionError(f"no entry in the code of {kernel.name}")
    return found.replace(mangled.group(1), entry(kernel))


def entry(kernel: Kernel) -> str:
    """What the kernel is called in its code, where names are of English letters."""
    return re.sub(r"\W", "_", f"{kernel.name}_{kernel.dtype}", flags=re.ASCII)


def text_name(kernel: Kernel, capability: tuple[int, int]) -> str:
    """Under which name :func:`text` is kept."""
    return f"{_file(kernel, capability)}.ptx"


def image_name(kernel: Kernel, capability: tuple[int, int], driver: int) -> str:
    """Under which name :func:`image` is kept."""
    return f"{_file(kernel, capability)}-{driver}.cubin"


def _file(kernel: Kernel, capability: tuple[int, int]) -> str:
    return f"{entry(kernel)}-{kernel.key}-sm_{capability[0]}{capability[1]}"
