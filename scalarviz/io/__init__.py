"""Files: pictures, colour look-up tables, weights, IDX. Functions import pillow and safetensors themselves.

Open `weights` or `pictures` first; every file is written by `atomic`: whole or not at all.
"""

from .atomic import check_target, replacing, write_bytes
from .idx import find_idx, read_idx
from .lut import Lut, check_lut_name, read_cube, sample, write_cube
from .pictures import Picture, check_picture_name, example_photo, load_picture, save_picture, shrink
from .weights import load_tensors, save_tensors

__all__ = [
    "Lut",
    "Picture",
    "check_lut_name",
    "check_picture_name",
    "check_target",
    "example_photo",
    "find_idx",
    "load_picture",
    "load_tensors",
    "read_cube",
    "read_idx",
    "replacing",
    "sample",
    "save_picture",
    "save_tensors",
    "shrink",
    "write_bytes",
    "write_cube",
]
