"""Pictures of notebooks are packed: a few bytes, and what a colour means it means still."""

from __future__ import annotations

import importlib
import io
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

sys.path.append(str(Path(__file__).resolve().parents[2] / ".ci"))
packed = importlib.import_module("pack_png").packed


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def unpacked(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def drawn(grain):
    """A glow with grain, a legend from orange over white to blue, and faces with soft edges; (200, 300, 3)."""
    x = np.linspace(-1, 1, 300)
    ends = np.where(x[:, None] < 0, [[171, 70, 0]], [[10, 80, 155]])
    bar = (np.abs(x)[:, None] * ends + (1 - np.abs(x))[:, None] * 255).round()
    picture = np.full((200, 300, 3), 250.0)
    picture += grain.integers(0, 2, (200, 300, 1))
    picture[160:180] = bar
    for k in range(6):
        face = Image.new("L", (300, 200), 0)
        face.paste(255, (10 + 48 * k, 20, 50 + 48 * k, 60))
        share = np.asarray(face.resize((150, 100)).resize((300, 200), Image.Resampling.BICUBIC))[..., None] / 255
        picture = share * bar[25 + 50 * k] + (1 - share) * picture
    return picture.round().astype(np.uint8)


def test_what_is_even_keeps_its_colour_and_the_file_is_small():
    picture = drawn(np.random.default_rng(0))
    data = png(picture)
    small = packed(data)
    away = np.abs(unpacked(small) - picture).max(axis=2)
    assert len(small) < len(data) / 2
    assert away[162:178].max() <= 2  # the legend
    for k in range(6):
        assert away[28:52, 18 + 48 * k : 42 + 48 * k].max() <= 2
    assert (away > 8).mean() < 0.01


@given(arrays(np.uint8, (9, 7), elements=st.integers(0, 255)))
def test_few_colours_are_kept_to_the_bit(which):
    pixels = np.stack([which, which[::-1], 255 - which], axis=2)
    assert np.array_equal(unpacked(packed(png(pixels))), pixels)
