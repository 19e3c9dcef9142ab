"""Files that Python's pickle wrote (PyTorch's ``.pt``): known by their first bytes, and never opened.

A pickle is a program that runs when it is read, so a file from elsewhere is turned into safetensors where it came from.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import FileFormatError
from .atomic import path_text

ENDINGS = (".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".bin")
ZIP, PICKLE = b"PK\x03\x04", b"\x80"
"""PyTorch writes an archive with a pickle in it; a pickle itself begins with a byte and its version."""
PROTOCOLS = (b"\x02", b"\x03", b"\x04", b"\x05")
OPENINGS = (b"}", b"\x95", b"c", b"]", b"\x8a")
"""What most pickles go on with: a dict, a frame, a class, a list, PyTorch's old number."""


def refuse_pickle(path: Path) -> None:
    """Say of a file that pickle or ``torch.save`` wrote how to make a safetensors file of it.

    Raises
    ------
    FileFormatError
        It is one, by its first bytes; an archive only if it is also called so.
    OSError
        It cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(4)
    named = path.suffix.lower() in ENDINGS
    pickle = head[:1] == PICKLE and head[1:2] in PROTOCOLS and (named or head[2:3] in OPENINGS)
    if pickle or (named and head == ZIP):
        raise FileFormatError(f"{path_text(path)} holds a pickle, which is never opened: {way_out(path)}")


def way_out(path: Path) -> str:
    """Why, and the line that makes a safetensors file of one that PyTorch wrote, for the end of a message."""
    source, target = path_text(path), path_text(path.with_suffix(".safetensors"))
    code = (
        "import torch, safetensors.torch as s; s.save_file({k: v.clone().contiguous() for k, v in "
        f"torch.load({source!r}, map_location='cpu', weights_only=True).items()}}, {target!r})"
    )
    return f'it can run any program when it is read; where you trust it: python -c "{code}"'
