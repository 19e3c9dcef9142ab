"""Broken pictures: seeded damage to valid files of every format ends in a picture or in one clear line."""

from __future__ import annotations

import io
import os
import random
import warnings

import numpy as np
import pytest
from PIL import Image, ImageCms

from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import load_picture

KINDS = [
    ("PNG", "RGB", {}), ("PNG", "RGBA", {}), ("PNG", "P", {}), ("PNG", "I;16", {}), ("PNG", "RGB", {"extras": True}),
    ("JPEG", "RGB", {"extras": True}), ("JPEG", "CMYK", {"progressive": True}), ("MPO", "RGB", {"save_all": True}),
    ("WEBP", "RGB", {"extras": True}), ("WEBP", "RGBA", {"lossless": True}), ("AVIF", "RGB", {"extras": True}),
    ("BMP", "RGB", {}), ("BMP", "1", {}), ("GIF", "P", {"save_all": True}),
    ("TIFF", "RGB", {"compression": "raw", "extras": True}), ("TIFF", "RGBA", {"compression": "tiff_lzw"}),
    ("TIFF", "1", {"compression": "group4"}), ("TIFF", "RGB", {"compression": "jpeg"}),
    ("TIFF", "CMYK", {"compression": "tiff_deflate"}), ("TIFF", "F", {}), ("TIFF", "I;16", {}), ("TIFF", "LAB", {}),
    ("PPM", "RGB", {}), ("PPM", "1", {}), ("PPM", "F", {}),
]  # fmt: skip
RUNS = [b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\xff\xff"]


def encoded(kind, mode, options):
    """A small valid file."""
    rng = np.random.default_rng(0)
    if mode == "F":
        image = Image.fromarray(rng.random((9, 9)).astype(np.float32))
    elif mode == "I;16":
        image = Image.fromarray(rng.integers(0, 65536, (9, 9)).astype(np.uint16))
    else:
        image = Image.fromarray(rng.integers(0, 256, (13, 17, 3)).astype(np.uint8)).convert(mode)
    more = {name: value for name, value in options.items() if name != "extras"}
    if options.get("extras"):
        exif = Image.Exif()
        exif[0x0112], exif[0x010E] = 6, "a description"
        more |= {"exif": exif, "icc_profile": ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()}
    if more.get("save_all"):
        more["append_images"] = [image.transpose(Image.Transpose.ROTATE_180)]
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def damaged(content, chance):
    """A copy that is cut, or has some bytes changed, removed or put in; more often near its beginning."""
    if chance.random() < 0.15:
        return content[: chance.randrange(len(content))]
    data = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 3, 7])):
        place = chance.randrange(min(len(data), 200) if chance.random() < 0.6 else len(data))
        what = chance.randrange(4)
        if what == 0:
            data[place] ^= 1 << chance.randrange(8)
        elif what == 1:
            data[place : place + 4] = chance.choice(RUNS)
        elif what == 2:
            del data[place : place + chance.randrange(1, 10)]
        else:
            data[place:place] = data[: chance.randrange(1, 20)]
        data = data or bytearray(b"\0")
    return bytes(data)


@pytest.mark.parametrize(("kind", "mode", "options"), KINDS, ids=[f"{k}-{m}-{n}" for n, (k, m, _) in enumerate(KINDS)])
def test_damage_ends_in_a_picture_or_in_one_line(tmp_path, capfd, kind, mode, options):
    content, path = encoded(kind, mode, options), tmp_path / "x"
    path.write_bytes(content)
    load_picture(path)  # valid
    chance, refused = random.Random(f"{kind} {mode}"), []
    for _ in range(60):
        path.write_bytes(damaged(content, chance))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                picture = load_picture(path)
                assert 0 <= picture.rgb.min() <= picture.rgb.max() <= 1
            except FileFormatError as error:
                refused.append(str(error))
    assert len(refused) > 5
    for line in refused:
        assert str(path) in line
        assert "\n" not in line
        assert len(line) < 500
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["DDS", "SPIDER", "TGA", "PCX", "ICO", "PDF", "EPS", "JPEG2000"])
def test_formats_that_nobody_means_are_refused_by_name(tmp_path, kind):
    image = Image.new("F" if kind == "SPIDER" else "RGB", (32, 32))
    image.save(tmp_path / "x", kind)
    with pytest.raises(FileFormatError, match="not a picture; those that are read are PNG, JPEG, WEBP, AVIF, BMP"):
        load_picture(tmp_path / "x")


@pytest.mark.parametrize(
    "raised", [TypeError, RuntimeError, NotImplementedError, AttributeError, MemoryError, KeyError]
)
def test_whatever_a_decoder_raises_is_one_line(tmp_path, monkeypatch, raised):
    Image.new("RGB", (3, 2)).save(tmp_path / "x.png")

    def load(self):
        raise raised("two\nlines")

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", load)
    with pytest.raises(FileFormatError, match=r"x\.png is (damaged|too large)") as caught:
        load_picture(tmp_path / "x.png")
    assert "\n" not in str(caught.value)


def test_ctrl_c_in_a_decoder_is_no_broken_picture(tmp_path, monkeypatch):
    Image.new("RGB", (3, 2)).save(tmp_path / "x.png")

    def load(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", load)
    with pytest.raises(KeyboardInterrupt):
        load_picture(tmp_path / "x.png")


def test_a_picture_that_says_it_is_huge_is_not_decoded(tmp_path, monkeypatch):
    header = b"BM" + (54).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little") + (40).to_bytes(4, "little")
    size = (9000).to_bytes(4, "little") + (9000).to_bytes(4, "little") + b"\1\0\x18\0" + bytes(24)
    (tmp_path / "x.bmp").write_bytes(header + size)
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("it was decoded"))
    with pytest.raises(FileFormatError, match="9,000 x 9,000 = 81,000,000 pixels, at most 67,108,864; make it smaller"):
        load_picture(tmp_path / "x.bmp")


def test_names_that_are_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, says in [
        (tmp_path / "pipe", "device or a pipe"),
        ("/dev/zero", "device or a pipe"),
        (tmp_path, "is a folder, not a picture"),
        (tmp_path / "none", "there is no picture"),
        (tmp_path / ("n" * 5000), "file name too long"),
        (tmp_path / "loop", "too many levels of symbolic links"),
        ("a\0b", r"'a\\x00b' can be no file's name"),
        ("a\ud800b", "can be no file's name"),
        (tmp_path / "none" / "x", "there is no picture"),
    ]:
        with pytest.raises(InputError, match=says) as caught:
            load_picture(name)
        assert len(str(caught.value)) < 400
