"""Machine code of the fake GPU: PTX behind a header that names the processor it is for."""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

from ptx.machine import Module

MAGIC = b"\x7fELF fake cubin "
HEAD = 64


class Refused(Exception):
    """A call returns this error, by its name in ``CUresult``."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


@functools.lru_cache(512)
def module_of(text: str, contract: bool) -> Module:
    """One machine for one text, however often it is loaded."""
    return Module(text, contract)


def check_ptx(text: str, capability: tuple[int, int], driver: int) -> None:
    """What the compiler in a driver refuses: no PTX, PTX of a newer toolkit, or for a newer GPU."""
    version = re.search(r"^\s*\.version\s+(\d+)\.(\d+)", text, re.MULTILINE)
    target = re.search(r"^\s*\.target\s+sm_(\d+)", text, re.MULTILINE)
    if version is None or target is None or ".entry" not in text:
        raise Refused("CUDA_ERROR_INVALID_PTX")
    needed = 10 * (int(version[1]) + 4) if int(version[1]) >= 9 else 120  # PTX 9.0 came with CUDA 13.0
    if needed > driver // 100 and int(version[1]) >= 9:
        raise Refused("CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
    if int(target[1]) > 10 * capability[0] + capability[1]:
        raise Refused("CUDA_ERROR_NO_BINARY_FOR_GPU")


def cubin(text: str, capability: tuple[int, int]) -> bytes:
    """An image for that processor."""
    head = MAGIC + f"sm_{capability[0]}{capability[1]} {len(text.encode())} ".encode()
    return head.ljust(HEAD, b"\0") + text.encode()


def raw(image: Any, size: int | None = None) -> bytes:
    """The bytes behind what a call was given: an object with a buffer, or an address."""
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if hasattr(image, "__array_interface__"):
        return bytes(memoryview(image).cast("B"))
    address = int(image)
    if size is not None:
        return ctypes.string_at(address, size)
    if ctypes.string_at(address, len(MAGIC)) == MAGIC:
        head = ctypes.string_at(address, HEAD)
        return ctypes.string_at(address, HEAD + int(head[len(MAGIC) :].split()[1]))
    return ctypes.string_at(address)


def load(image: bytes, capability: tuple[int, int], driver: int, contract: bool) -> Module:
    """The module of an image, PTX or machine code."""
    if image.startswith(MAGIC):
        words = image[len(MAGIC) : HEAD].split()
        made_for = int(words[0][3:])
        if len(image) < HEAD + int(words[1]):
            raise Refused("CUDA_ERROR_INVALID_IMAGE")
        if made_for // 10 != capability[0] or made_for % 10 > capability[1]:
            raise Refused("CUDA_ERROR_NO_BINARY_FOR_GPU")
        return module_of(image[HEAD : HEAD + int(words[1])].decode(), contract)
    try:
        text = image.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        raise Refused("CUDA_ERROR_INVALID_IMAGE") from None
    if ".version" not in text:
        raise Refused("CUDA_ERROR_INVALID_IMAGE")
    check_ptx(text, capability, driver)
    return module_of(text, contract)
