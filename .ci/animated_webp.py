"""An animated WebP of a film of the program: small, and without patches of colours that were there before.

Pillow's own animations leave pixels out that have changed a little, the more the lower the quality: a cube whose colour
drifts gets rectangles of old colours. Here a block of pixels is sent again as soon as it differs by more than `HARDLY`
from what was last sent, so that nothing drifts; blocks that stay cost nothing.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Picture = NDArray[np.uint8]

HARDLY = 6
"""Levels of 255 by which a pixel may differ from what was sent, unseen."""
BLOCK = 8
"""Pixels a side of what is sent or left out."""
GROUND = np.uint8(24)
"""What lies under pixels that are not sent."""
METHOD = 4
"""How long the encoder tries, 0 to 6."""


def animated(frames: Sequence[Picture], milliseconds: Sequence[int], quality: int) -> bytes:
    """The file of a film that begins again at its end.

    Parameters
    ----------
    frames : sequence of uint8 (H, W, 3)
        All of one size.
    milliseconds : sequence of int
        How long each is shown.
    quality : int
        Of the encoder, 0 to 100.
    """
    height, width = frames[0].shape[:2]
    side = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    chunks = [_chunk(b"VP8X", b"\x12\0\0\0" + side), _chunk(b"ANIM", b"\0\0\0\xff\0\0")]  # alpha, animation; for ever
    for (picture, (x, y)), shown in zip(_parts(frames), milliseconds, strict=True):
        high, wide = picture.shape[:2]
        numbers = (x // 2, y // 2, wide - 1, high - 1, shown)
        head = b"".join(struct.pack("<I", number)[:3] for number in numbers) + b"\0"  # drawn over what is there
        chunks.append(_chunk(b"ANMF", head + _still(picture, quality)))
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def smallest(frames: Sequence[Picture], milliseconds: Sequence[int], most: int, qualities: Sequence[int]) -> bytes:
    """The film of the best of these qualities that has at most so many bytes.

    Raises
    ------
    ValueError
        None has.
    """
    for quality in sorted(qualities, reverse=True):
        film = animated(frames, milliseconds, quality)
        if len(film) <= most:
            return film
    raise ValueError(f"a film of {len(frames)} frames has {len(film):,} bytes at quality {quality}; allowed: {most:,}")


def _parts(frames: Sequence[Picture]) -> Iterator[tuple[Picture, tuple[int, int]]]:
    """Of each frame what is to be sent, uint8 (h, w, 4), see-through where nothing is; and its place, both even."""
    sent: Picture | None = None
    for frame in frames:
        changed = np.ones(frame.shape[:2], bool) if sent is None else _blocks(_differs(frame, sent))
        sent = frame.copy() if sent is None else np.where(changed[..., None], frame, sent)
        rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
        if not len(rows):  # a frame has at least some pixels
            rows = columns = np.arange(2)
        y, x = int(rows[0]) // 2 * 2, int(columns[0]) // 2 * 2
        part = np.s_[y : int(rows[-1]) + 1, x : int(columns[-1]) + 1]
        # what is seen mixes a little with its neighbours in the encoder: those are as bright as in truth, and cheap
        under = np.where(_wider(changed)[..., None], _flat(frame), GROUND)
        seen = changed[part]
        yield np.dstack([np.where(seen[..., None], frame[part], under[part]), seen * np.uint8(255)]), (x, y)


def _differs(frame: Picture, other: Picture) -> NDArray[np.bool_]:
    return np.abs(frame.astype(np.int16) - other).max(axis=2) > HARDLY


def _blocks(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whole blocks that have a pixel of the mask."""
    height, width = mask.shape
    whole = np.pad(mask, ((0, -height % BLOCK), (0, -width % BLOCK)))
    rows, columns = (side // BLOCK for side in whole.shape)
    found = whole.reshape(rows, BLOCK, columns, BLOCK).any(axis=(1, 3))
    return found.repeat(BLOCK, 0).repeat(BLOCK, 1)[:height, :width]


def _wider(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask and a block around it."""
    wide = mask.copy()
    wide[BLOCK:] |= mask[:-BLOCK]
    wide[:-BLOCK] |= mask[BLOCK:]
    high = wide.copy()
    high[:, BLOCK:] |= wide[:, :-BLOCK]
    high[:, :-BLOCK] |= wide[:, BLOCK:]
    return high


def _flat(frame: Picture) -> Picture:
    """Each block in its mean colour."""
    height, width = frame.shape[:2]
    whole = np.pad(frame, ((0, -height % BLOCK), (0, -width % BLOCK), (0, 0)), mode="edge")
    rows, columns = (side // BLOCK for side in whole.shape[:2])
    mean = whole.reshape(rows, BLOCK, columns, BLOCK, 3).mean(axis=(1, 3)).astype(np.uint8)
    return mean.repeat(BLOCK, 0).repeat(BLOCK, 1)[:height, :width]


def _still(picture: Picture, quality: int) -> bytes:
    """The chunks of the pixels alone: ALPH, if some are see-through, and VP8."""
    packed = io.BytesIO()
    Image.fromarray(picture).save(packed, "WEBP", quality=quality, method=METHOD, exact=True)
    data, place, kept = packed.getvalue(), 12, b""
    while place < len(data):
        name, (length,) = data[place : place + 4], struct.unpack("<I", data[place + 4 : place + 8])
        end = place + 8 + length + length % 2
        if name in (b"ALPH", b"VP8 ", b"VP8L"):
            kept += data[place:end]
        place = end
    return kept


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
