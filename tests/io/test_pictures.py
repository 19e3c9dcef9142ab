"""Every kind of picture arrives as sRGB in 0..1, and goes out as it came."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image, ImageCms

from kit.refusals import refusals
from scalarviz.errors import InputError, MissingDependencyError, UnknownNameError
from scalarviz.io import example_photo, load_picture, save_picture

COLOURS = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[255, 255, 255], [0, 0, 0], [255, 153, 0]]], np.uint8)


def lab():
    return ImageCms.profileToProfile(
        Image.fromarray(COLOURS), ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
    )


@pytest.mark.parametrize(("mode", "suffix", "tolerance"), [
    ("RGB", "png", 0), ("RGBA", "png", 0), ("P", "png", 0), ("CMYK", "tif", 2), ("YCbCr", "tif", 3), ("RGB",
        "bmp", 0),
    ("P", "gif", 0), ("RGBX", "tif", 0), ("LAB", "tif", 60),  # 8-bit Lab cuts saturated colours
])  # fmt: skip
def test_coloured_modes(tmp_path, mode, suffix, tolerance):
    image = lab() if mode == "LAB" else Image.fromarray(COLOURS).convert(mode)
    image.save(tmp_path / f"x.{suffix}")
    picture = load_picture(tmp_path / f"x.{suffix}")
    assert (picture.rgb.dtype, picture.size) == (np.float32, (3, 2))
    assert np.abs(picture.rgb * 255 - COLOURS).max() <= tolerance
    assert np.abs(picture.rgb[1, :2] * 255 - COLOURS[1, :2]).max() <= min(tolerance, 3)


def srgb_with_red_and_green_swapped():
    """An sRGB profile whose red primary is green and the other way round."""
    data = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    tags = {bytes(data[i : i + 4]): i for i in range(132, 132 + 12 * int.from_bytes(data[128:132], "big"), 12)}
    red, green = tags[b"rXYZ"], tags[b"gXYZ"]
    data[red : red + 4], data[green : green + 4] = data[green : green + 4], data[red : red + 4]
    return bytes(data)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_another_colour_profile_becomes_srgb(tmp_path, mode):
    image = Image.fromarray(COLOURS).convert(mode)
    image.save(tmp_path / "x.png", icc_profile=srgb_with_red_and_green_swapped())
    picture = load_picture(tmp_path / "x.png")
    assert np.abs(picture.rgb * 255 - COLOURS[..., [1, 0, 2]]).max() <= 1
    assert (picture.alpha is not None) == (mode == "RGBA")


@pytest.mark.parametrize("mode", ["1", "L", "LA"])
def test_grey_modes(tmp_path, mode):
    level = np.array([[0, 255], [255, 0]], np.uint8)
    Image.fromarray(level).convert(mode).save(tmp_path / "x.png")
    picture = load_picture(tmp_path / "x.png")
    np.testing.assert_array_equal(picture.rgb, np.repeat(level[..., None], 3, 2) / np.float32(255))
    assert (picture.alpha is not None) == (mode == "LA")


def test_a_transparent_colour_of_a_palette_is_alpha(tmp_path):
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((1, 0), 1)
    image.save(tmp_path / "x.png", transparency=0)
    picture = load_picture(tmp_path / "x.png")
    np.testing.assert_array_equal(picture.alpha, [[0, 1]])
    np.testing.assert_array_equal(picture.rgb[0, 1], [0, 0, 1])


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation_is_turned(tmp_path, orientation):
    upright = Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10)
    turns = Image.Transpose
    undo = {2: turns.FLIP_LEFT_RIGHT, 3: turns.ROTATE_180, 4: turns.FLIP_TOP_BOTTOM, 5: turns.TRANSPOSE}
    undo |= {6: turns.ROTATE_90, 7: turns.TRANSVERSE, 8: turns.ROTATE_270}
    stored = upright.transpose(undo[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored.save(tmp_path / "x.png", exif=exif)
    np.testing.assert_array_equal(np.rint(load_picture(tmp_path / "x.png").rgb * 255), np.asarray(upright))


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (301, 2)])
def test_any_size_comes_back_bit_for_bit_with_its_alpha(tmp_path, size):
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (size[1], size[0], 4)).astype(np.uint8)
    save_picture(tmp_path / "x.png", levels[..., :3] / 255.0, levels[..., 3] / 255.0)
    picture = load_picture(tmp_path / "x.png")
    np.testing.assert_array_equal(np.rint(picture.rgb * 255), levels[..., :3])
    np.testing.assert_array_equal(np.rint(picture.alpha * 255), levels[..., 3])


def test_values_outside_the_range_are_clipped_and_nan_is_refused(tmp_path):
    save_picture(tmp_path / "x.png", np.array([[[-1.0, 0.5, 7.0]]]))
    assert np.asarray(Image.open(tmp_path / "x.png")).tolist() == [[[0, 128, 255]]]


PIXEL = np.zeros((1, 1, 3))


@refusals({
    **{f"name {name}": (lambda it, name=name: save_picture(it / name, PIXEL), InputError, ".png") for name in
       ("x", "x.gif", "x.mp4", ".png")},
    "no number": (lambda it: save_picture(it / "y.png", PIXEL * np.nan), InputError, "finite"),
    "an alpha in a JPEG": (lambda it: save_picture(it / "y.jpg", PIXEL, np.ones((1, 1))), InputError, ".png"),
    "no such example": (lambda it: example_photo("dog"), UnknownNameError, "'dog'", "face, cat, astronaut"),
})  # fmt: skip
def test_what_cannot_become_a_picture_leaves_no_file(tmp_path, refusal):
    refusal.check(tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_example_is_a_photograph(monkeypatch):
    photo = example_photo()
    assert photo.size == (240, 240)
    assert photo.rgb.std() > 0.1
    monkeypatch.setattr("scalarviz.io.pictures.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="data extra"):
        example_photo()
