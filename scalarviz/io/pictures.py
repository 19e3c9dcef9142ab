"""Pictures on disk: read any mode of the usual formats as sRGB in 0..1, and write them."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import integer, real_array
from ..errors import FileFormatError, InputError, TypeMismatchError, UnknownNameError, listing, shown, typed
from .atomic import StrPath, as_path, check_source, check_target, in_wheel, of_disk, path_text, unreadable, write_bytes

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage
    from PIL.ImageFile import ImageFile


Array = NDArray[np.float32]
Floating = NDArray[np.floating]

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".tif": "TIFF", ".tiff": "TIFF"}
READ = ("PNG", "JPEG", "WEBP", "AVIF", "BMP", "GIF", "TIFF", "PPM")
"""The readable formats, by pillow's names. pillow knows thirty more, for special purposes."""
LARGEST = 2**26
"""The most pixels to read: more than most cameras have, less than fills the memory."""
_NOWHERE = logging.NullHandler()
EXAMPLES: dict[str, tuple[str, tuple[int, int, int, int] | None]] = {
    "face": ("data/chelsea.png", (138, 20, 378, 260)),  # square
    "cat": ("data/chelsea.png", None),  # Stefan van der Walt's, CC0
    "astronaut": ("data/astronaut.png", None),  # Eileen Collins, by NASA, public domain
}
"""Photographs in scikit-image's wheel by name, and the used part: left, top, right, bottom in pixels."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: sRGB (H, W, 3) in 0..1, and the opacity (H, W) in 0..1, or None."""

    rgb: Array
    alpha: Array | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.rgb.shape[1], self.rgb.shape[0]

    @property
    def pixels(self) -> Array:
        """The colours as rows, shape (H * W, 3)."""
        return self.rgb.reshape(-1, 3)

    @property
    def opaque(self) -> NDArray[np.bool_]:
        """A mask of the visible `pixels`, shape (H * W,); fully transparent pixels have no meaningful colour."""
        return np.ones(len(self.pixels), bool) if self.alpha is None else self.alpha.reshape(-1) > 0

    def with_colours(self, rows: Floating) -> Picture:
        """Return the picture with other colours, shape (H * W, 3) or (H, W, 3); the opacity stays."""
        return Picture(np.asarray(rows, np.float32).reshape(self.rgb.shape), self.alpha)


def load_picture(path: StrPath) -> Picture:
    """Read a picture: grey, palette, CMYK, 16 bits, with or without alpha; rotated by its EXIF data.

    An animation gives its first frame. Other colour profiles (Display P3, Adobe RGB) become sRGB; without a profile the
    colours are taken as sRGB. 16-bit RGB files arrive with the 8 bits that pillow keeps. 32-bit whole numbers are
    scaled by the file's SMaxSampleValue, else by the full range. FileFormatError: the file is no picture of a kind in
    `READ`, is damaged, has more than `LARGEST` pixels, or its white level is unknown.
    """
    from PIL import Image, UnidentifiedImageError

    source = check_source(path, "picture")
    logging.getLogger("PIL").addHandler(_NOWHERE)  # without a handler Python prints the log
    try:
        with warnings.catch_warnings():
            # pillow warns of large pictures and odd metadata; users cannot fix either
            warnings.simplefilter("ignore")
            with source.open("rb") as file, Image.open(file, formats=_kinds()) as opened:
                return _decode(opened)
    except UnidentifiedImageError:
        raise FileFormatError(f"{path} is not a readable picture; allowed are {listing(_kinds())}") from None
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except Image.DecompressionBombError:
        raise FileFormatError(f"{path} is too large: it has more than {LARGEST:,} pixels; make it smaller") from None
    except MemoryError:
        raise FileFormatError(f"{path} is too large for the memory of this machine; make it smaller") from None
    except Exception as error:  # pillow's decoders raise anything from TypeError to struct.error
        if of_disk(error):
            raise unreadable(path, error) from None
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileFormatError(f"{path} is damaged or of an unsupported kind: {reason}") from None


def load_pair(source: StrPath, graded: StrPath) -> tuple[Picture, Picture]:
    """Read two versions of one picture; InputError if their sizes differ, or no pixel is opaque in both."""
    first, second = load_picture(source), load_picture(graded)
    if first.size != second.size:
        sizes = ["{} x {}".format(*picture.size) for picture in (first, second)]
        raise InputError(
            f"{source} has {sizes[0]} pixels and {graded} has {sizes[1]}; give two versions of one picture"
        )
    if not (first.opaque & second.opaque).any():
        raise InputError(f"no pixel of {source} and {graded} is opaque in both")
    return first, second


def _kinds() -> tuple[str, ...]:
    """Return `READ` without formats unknown to this pillow, which raises KeyError for them."""
    return READ if find_spec("PIL.AvifImagePlugin") else tuple(kind for kind in READ if kind != "AVIF")


def _decode(opened: ImageFile) -> Picture:
    from PIL import ImageOps

    width, height = opened.size
    if width * height > LARGEST:
        raise FileFormatError(
            f"{width:,} x {height:,} = {width * height:,} pixels are too many; allowed: {LARGEST:,}; make the picture "
            "smaller"
        )
    if width * height == 0:
        raise FileFormatError(f"it has no pixel: {width} x {height}")
    with _libtiff_silent() if opened.format == "TIFF" else nullcontext():
        opened.load()
    tags = getattr(opened, "tag_v2", {})  # rotation drops them
    image = ImageOps.exif_transpose(opened)
    if image.mode.startswith("I") or image.mode == "F":  # one channel with more than 8 bits
        return Picture(np.repeat(level(image, tags)[..., None], 3, axis=2))
    image = _as_srgb(image)
    if image.has_transparency_data:
        rgba = _in_unit_range(image.convert("RGBA"))
        return Picture(rgba[..., :3], rgba[..., 3])
    return Picture(_in_unit_range(image.convert("RGB")))


@contextmanager
def _libtiff_silent() -> Iterator[None]:
    """Silence libtiff inside the block: its decoders print to stderr, but the error that follows says the same."""
    try:
        former = os.dup(2)
    except OSError:  # stderr is closed
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(former, 2)
        os.close(former)


def _in_unit_range(image: PillowImage) -> Array:
    numbers = np.asarray(image, dtype=np.float32)  # a copy: pillow's own array has bytes
    numbers /= np.float32(255)
    return numbers


def _as_srgb(image: PillowImage) -> PillowImage:
    """Return the picture in sRGB, if it has another colour profile (phones write Display P3) or is in Lab."""
    from PIL import ImageCms

    embedded = image.info.get("icc_profile")
    if image.mode != "LAB" and not embedded:
        return image
    srgb = ImageCms.createProfile("sRGB")
    try:
        if image.mode == "LAB":
            profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB"))
        else:
            profile = ImageCms.ImageCmsProfile(io.BytesIO(embedded or b""))
        if image.mode in ("P", "PA"):
            image = image.convert("RGBA" if image.has_transparency_data else "RGB")
        mode = "RGBA" if image.mode == "RGBA" else "RGB"
        converted = ImageCms.profileToProfile(image, profile, srgb, outputMode=mode)
    except (ImageCms.PyCMSError, OSError):  # a damaged profile, or one for other channels
        return image
    return image if converted is None else converted


def check_picture_name(path: StrPath) -> Path:
    """Raise InputError if `path` cannot become a picture, by its suffix or its folder."""
    if as_path(path).suffix.lower() not in FORMATS:
        raise InputError(
            f"cannot write {path_text(path)}: the file name of a picture must end in one of {listing(FORMATS)}"
        )
    return check_target(path)


def save_picture(path: StrPath, rgb: Floating | NDArray[np.uint8], alpha: Floating | None = None) -> None:
    """Write 8-bit sRGB, rounded to the nearest level, whole or not at all. The suffix of `path` sets the format.

    `rgb` has the shape (H, W, 3): floats in 0..1 (clipped), or uint8 unchanged; `alpha` (H, W) is the opacity in 0..1.
    InputError if the file cannot be written, a value is not finite, or a JPEG would need transparency.
    """
    from PIL import Image

    target = check_picture_name(path)
    suffix = Path(path).suffix.lower()
    colours = _levels(rgb, path)
    if colours.ndim != 3 or colours.shape[2] != 3 or 0 in colours.shape:
        raise InputError(f"a picture must be an array of shape (H, W, 3), got {colours.shape}")
    if alpha is not None:
        if FORMATS[suffix] == "JPEG":
            raise InputError(f"cannot write {path_text(path)}: JPEG cannot store the picture's transparency; use .png")
        opacity = _levels(alpha, path)
        if opacity.shape != colours.shape[:2]:
            raise InputError(
                f"cannot write {path_text(path)}: alpha must have the shape {colours.shape[:2]}, got {opacity.shape}"
            )
        colours = np.dstack([colours, opacity])
    encoded = io.BytesIO()
    options = {"quality": 95, "subsampling": 0} if FORMATS[suffix] == "JPEG" else {}
    if FORMATS[suffix] == "WEBP":
        options = {"lossless": True}
    try:
        Image.fromarray(colours).save(encoded, FORMATS[suffix], **options)
    except (OSError, ValueError) as error:  # e.g. more than 65,535 pixels a side in a JPEG
        raise InputError(f"cannot write {path_text(path)}: {error}") from None
    write_bytes(target, encoded.getvalue())


def check_repaint(source: StrPath, target: StrPath) -> None:
    """Raise InputError if :func:`repaint` could not write: another kind of file, or a JPEG with transparency."""
    check_picture_name(target)
    if load_picture(source).alpha is not None and as_path(target).suffix.lower() in (".jpg", ".jpeg"):
        raise InputError(f"JPEG cannot store the transparency of {source}; use a .png file for --output")


def repaint(source: StrPath, target: StrPath, function: Callable[[Array], Floating]) -> None:
    """Apply a function to the colours (N, 3) of a picture and write the result; the opacity stays."""
    picture = load_picture(source)
    painted = picture.with_colours(function(picture.pixels))
    save_picture(target, painted.rgb, painted.alpha)


def _levels(values: Floating | NDArray[np.uint8], path: StrPath) -> NDArray[np.uint8]:
    given = real_array(values, f"cannot write {path_text(path)}: a picture")
    if given.dtype == np.uint8:
        return given.astype(np.uint8, copy=False)
    if not np.isfinite(given).all():
        raise InputError(f"cannot write {path_text(path)}: a colour is not a finite number")
    levels: NDArray[np.uint8] = np.rint(np.clip(given, 0.0, 1.0) * 255).astype(np.uint8)
    return levels


def shrink(picture: Picture, longest: int) -> Picture:
    """Return the picture scaled down so that no side exceeds `longest` pixels; the aspect stays.

    It is never enlarged.
    """
    from PIL import Image

    given: Any = picture
    if not isinstance(given, Picture):
        raise TypeMismatchError(f"shrink takes an io.Picture, got {typed(given)}")
    integer("shrink: 'longest'", longest, 1, LARGEST)
    width, height = picture.size
    factor = longest / max(width, height)
    if factor >= 1:
        return picture
    size = max(1, round(width * factor)), max(1, round(height * factor))

    def resized(channel: Array) -> Array:
        small = Image.fromarray(np.ascontiguousarray(channel)).resize(size, Image.Resampling.BOX)
        return np.asarray(small, dtype=np.float32)

    rgb = np.dstack([resized(picture.rgb[..., c]) for c in range(3)])
    return Picture(rgb, None if picture.alpha is None else resized(picture.alpha))


def example_photo(name: str = "face") -> Picture:
    """Return a photograph of `EXAMPLES` from scikit-image's wheel; nothing is downloaded.

    ``"cat"`` (451 x 300), its ``"face"`` (240 x 240), ``"astronaut"`` (512 x 512). MissingDependencyError without the
    ``data`` extra.
    """
    if name not in EXAMPLES:
        raise UnknownNameError(f"there is no example photograph {shown(name)}; allowed are {listing(EXAMPLES)}")
    file, part = EXAMPLES[name]
    photo = load_picture(in_wheel("skimage", file, "the example photograph needs"))
    left, top, right, bottom = part or (0, 0, *photo.size)
    return Picture(photo.rgb[top:bottom, left:right])


FULL_SCALES = (1.0, 255.0, 65535.0, 2.0**31 - 1)
BITS, SAMPLE_FORMAT, LARGEST_SAMPLE = 258, 339, 341  # tags of a TIFF
UNSIGNED = 1


def level(image: PillowImage, tags: Mapping[int, Any]) -> NDArray[np.float32]:
    """Return the brightness in 0..1 of a picture with one deep channel, shape (H, W).

    Parameters
    ----------
    image : PIL.Image.Image
    tags : mapping of int
        Tags of a TIFF; empty for other files.

    Raises
    ------
    FileFormatError
        A pixel is not finite, or the white level is unknown.
    """
    pixels = np.asarray(image)
    bits, kind = (tags.get(tag, (none,))[0] for tag, none in ((BITS, 0), (SAMPLE_FORMAT, UNSIGNED)))
    if image.mode == "I" and bits == 32 and kind == UNSIGNED:
        pixels = pixels.view(np.uint32)  # pillow has no unsigned mode: large numbers would be negative
    grey = pixels.astype(np.float64)
    if not np.isfinite(grey).all():
        raise FileFormatError("a pixel is not a finite number")
    if image.mode == "F" or not bits:
        white = _guess(grey, image.mode)
    elif bits < 32:
        white = 2.0 ** (bits if kind == UNSIGNED else bits - 1) - 1
    else:
        white = _of_32_bits(grey, kind == UNSIGNED, tags)
    return np.clip(grey / white, 0, 1).astype(np.float32)


def _guess(grey: NDArray[np.float64], mode: str) -> float:
    """Guess the white level if the file type does not give it: the smallest usual full scale that holds all numbers."""
    if mode not in ("F", "I"):
        return 65535.0
    scales = FULL_SCALES if mode == "F" else FULL_SCALES[2:]
    return next((s for s in scales if grey.max() <= s), float(grey.max()))


def _of_32_bits(grey: NDArray[np.float64], unsigned: bool, tags: Mapping[int, Any]) -> float:
    """Return the white level of 32-bit whole numbers: the file's, or the full range if anything is visible then."""
    said = float(np.max(tags.get(LARGEST_SAMPLE, 0)))
    if said > 0:
        return said
    white, largest = 2.0 ** (32 if unsigned else 31) - 1, grey.max()
    if 0 < largest < white / 255:
        raise FileFormatError(
            f"its pixels are 32-bit whole numbers up to {largest:.0f}, all black in the range 0 .. {white:.0f}; the "
            "tag SMaxSampleValue, which states white, is missing. Save the picture with 16 bits, or as floats in 0..1"
        )
    return white
