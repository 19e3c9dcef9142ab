"""Pictures on disk: any mode and size that pillow reads, as sRGB in 0..1, and back."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError, InputError, MissingDependencyError, listing
from .atomic import StrPath, check_target, write_bytes
from .grey import is_deep, level

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

Array = NDArray[np.float32]
Floating = NDArray[np.floating]

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".tif": "TIFF", ".tiff": "TIFF"}
EXAMPLE_FILE = "data/chelsea.png"  # Stefan van der Walt's cat, CC0, in scikit-image's wheel
EXAMPLE_CROP = (138, 20, 378, 260)  # its face, square


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture.

    Attributes
    ----------
    rgb : ndarray of float32, shape (H, W, 3)
        sRGB in 0..1.
    alpha : ndarray of float32, shape (H, W), or None
        Opacity in 0..1; None where the file has none.
    """

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

    def with_colours(self, rows: Floating) -> Picture:
        """The same picture with other colours, shape (H * W, 3) or (H, W, 3); the alpha is kept."""
        return Picture(np.asarray(rows, np.float32).reshape(self.rgb.shape), self.alpha)


def load_picture(path: StrPath) -> Picture:
    """Read a picture: grey, palette, CMYK, 16 bits, with alpha or without; turned as its EXIF data say.

    The first frame of an animation is taken. Colours of another profile (Display P3, Adobe RGB) become sRGB; without a
    profile they are sRGB. 16-bit RGB files arrive with the 8 bits that pillow keeps of them. 32-bit whole numbers
    are scaled by the file's SMaxSampleValue, else by the full range.

    Raises
    ------
    InputError
        If there is no such file or it cannot be read.
    FileFormatError
        If it is no picture, or a damaged one, or nothing tells which of its numbers is white.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            # pillow warns of large pictures and of odd metadata; neither is the user's to mend
            warnings.simplefilter("ignore")
            with Image.open(Path(path)) as opened:
                opened.load()
                tags = getattr(opened, "tag_v2", {})  # turning makes a picture without them
                return _decode(ImageOps.exif_transpose(opened), tags)
    except FileNotFoundError:
        raise InputError(f"there is no picture {path}") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a picture") from None
    except PermissionError:
        raise InputError(f"no permission to read {path}") from None
    except UnidentifiedImageError:
        raise FileFormatError(f"{path} is not a picture that pillow can read") from None
    except Image.DecompressionBombError as error:
        raise FileFormatError(f"{path} is too large: {error}") from None
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        # pillow's decoders raise SyntaxError for broken PNG chunks, ValueError for modes it cannot convert
        raise FileFormatError(f"{path} is damaged or of an unsupported kind: {error}") from None


def _decode(image: PillowImage, tags: Mapping[int, Any]) -> Picture:
    if is_deep(image):
        return Picture(np.repeat(level(image, tags)[..., None], 3, axis=2))
    image = _as_srgb(image)
    if image.has_transparency_data:
        rgba = np.asarray(image.convert("RGBA"), dtype=np.float32) / np.float32(255)
        return Picture(rgba[..., :3], rgba[..., 3])
    return Picture(np.asarray(image.convert("RGB"), dtype=np.float32) / np.float32(255))


def _as_srgb(image: PillowImage) -> PillowImage:
    """The picture in sRGB, if it carries another colour profile (telephones write Display P3) or is in Lab."""
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
    except (ImageCms.PyCMSError, OSError):  # a damaged profile, or one of other channels than the picture's
        return image
    return image if converted is None else converted


def check_picture_name(path: StrPath) -> Path:
    """InputError if `path` cannot become a picture: its suffix or its folder."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"cannot write {path}: a picture's name ends in one of {listing(FORMATS)}")
    return check_target(path)


def save_picture(path: StrPath, rgb: Floating | NDArray[np.uint8], alpha: Floating | None = None) -> None:
    """Write 8-bit sRGB, rounded to the nearest level, whole or not at all. The suffix of `path` is the format.

    Parameters
    ----------
    path : path
        Ends in .png, .jpg, .jpeg, .webp, .tif or .tiff.
    rgb : ndarray, shape (H, W, 3)
        Floats in 0..1 (clipped), or uint8 as they are.
    alpha : ndarray, shape (H, W), optional
        Opacity in 0..1.

    Raises
    ------
    InputError
        If the file cannot be written, a value is not finite, or a JPEG should hold transparency.
    """
    from PIL import Image

    target = check_picture_name(path)
    suffix = Path(path).suffix.lower()
    colours = _levels(rgb, path)
    if colours.ndim != 3 or colours.shape[2] != 3 or 0 in colours.shape:
        raise InputError(f"a picture is an array of shape (H, W, 3), got {colours.shape}")
    if alpha is not None:
        if FORMATS[suffix] == "JPEG":
            raise InputError(f"cannot write {path}: JPEG has no transparency and the picture has; use .png")
        colours = np.dstack([colours, _levels(alpha, path)])
    encoded = io.BytesIO()
    options = {"quality": 95, "subsampling": 0} if FORMATS[suffix] == "JPEG" else {}
    if FORMATS[suffix] == "WEBP":
        options = {"lossless": True}
    try:
        Image.fromarray(colours).save(encoded, FORMATS[suffix], **options)
    except (OSError, ValueError) as error:  # e.g. more than 65,535 pixels a side in a JPEG
        raise InputError(f"cannot write {path}: {error}") from None
    write_bytes(target, encoded.getvalue())


def _levels(values: Floating | NDArray[np.uint8], path: StrPath) -> NDArray[np.uint8]:
    if values.dtype == np.uint8:
        return values.astype(np.uint8, copy=False)
    if not np.isfinite(values).all():
        raise InputError(f"cannot write {path}: a colour is not a finite number")
    levels: NDArray[np.uint8] = np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
    return levels


def shrink(picture: Picture, longest: int) -> Picture:
    """The picture made smaller, its aspect kept, so that no side is above `longest` pixels; never enlarged."""
    from PIL import Image

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


def example_photo() -> Picture:
    """A real photograph, 240 x 240, out of scikit-image's wheel: a cat's face. Nothing is downloaded.

    Raises
    ------
    MissingDependencyError
        Without the ``data`` extra.
    """
    spec = find_spec("skimage")  # located, not imported: that would cost half a second
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / EXAMPLE_FILE
        if path.is_file():
            left, top, right, bottom = EXAMPLE_CROP
            return Picture(load_picture(path).rgb[top:bottom, left:right])
    raise MissingDependencyError('the example photograph needs the data extra: pip install "scalarviz[data]"')
