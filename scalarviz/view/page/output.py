"""`Output`: a picture in a notebook, in every form that somebody may look at it.

JupyterLab, VS Code and exported pages take the HTML, the only form that has words for who cannot see the picture. Who
takes HTML out (a viewer of untrusted files, LaTeX) finds the same picture as an image, who has neither finds the words.
"""

from __future__ import annotations

import html
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from .pack import text_of

WEBP, JPEG = 80, 60
"""Qualities. A WebP takes a third of what a PNG does, and no notebook shows it as an image; a JPEG is seen where it is
the only one: two thirds of the bytes of quality 80, and small print is as legible."""
Pixels = NDArray[np.uint8]


class Output:
    """What a cell's output holds.

    Parameters
    ----------
    html : str
        What most notebooks show.
    kind, image : str
        The type of an image, and its data as a notebook holds them; no image if empty.
    words : str
        What stands in its place.
    """

    def __init__(self, html: str, kind: str, image: str, words: str) -> None:
        self.html, self.kind, self.image, self.words = html, kind, image, words

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict[str, str], object]:
        image = {self.kind: self.image} if self.image else {}
        # `alt` is what nbconvert's classic page says, `vscode_altText` what VS Code does, of the image
        about = {self.kind: {"alt": self.words}, "vscode_altText": self.words} if image else {}
        return {"text/html": self.html, **image, "text/plain": self.words}, about

    def __repr__(self) -> str:
        return self.words


def webp(pixels: Pixels, *, lossless: bool = False) -> bytes:
    """A picture, uint8 (H, W, 3), as WebP."""
    return _written(pixels, "WEBP", lossless=lossless, quality=WEBP, method=4 if lossless else 6)


def jpeg(pixels: Pixels, quality: int = JPEG) -> bytes:
    """A picture, uint8 (H, W, 3), as JPEG."""
    return _written(pixels, "JPEG", quality=quality, optimize=True, progressive=True)


def _written(pixels: Pixels, kind: str, **how: object) -> bytes:
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **how)
    return buffer.getvalue()


def image_tag(data: bytes, kind: str, words: str, *, name: str = "", width: int = 0) -> str:
    """An image in HTML that holds its own data; the words are escaped."""
    classed, wide = f'class="{html.escape(name, quote=True)}" ' * bool(name), f' width="{width}"' * bool(width)
    alt = html.escape(words, quote=True)
    return f'<img {classed}alt="{alt}"{wide} src="data:{kind};base64,{text_of(data)}">'
