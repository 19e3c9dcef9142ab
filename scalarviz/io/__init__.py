"""Files: pictures, colour look-up tables, weights, IDX, tables. Functions import pillow and safetensors on demand.

Read `weights` or `pictures` first. `atomic` writes every file, whole or not at all, and checks those
that are read.
"""

from .atomic import check_target, replacing, write_bytes
from .csv_table import CsvTable, decoded, parse_csv, read_csv
from .idx import find_idx, read_idx
from .lut import Lut, check_lut_name, read_cube, sample, write_cube
from .pictures import (
    Picture,
    check_picture_name,
    check_repaint,
    example_photo,
    load_pair,
    load_picture,
    repaint,
    save_picture,
    shrink,
)
from .weights import load_tensors, save_tensors

__all__ = [
    "CsvTable", "Lut", "Picture", "check_lut_name", "check_picture_name", "check_repaint", "check_target", "decoded",
    "example_photo", "find_idx", "load_pair", "load_picture", "load_tensors", "parse_csv", "read_csv", "read_cube",
    "read_idx", "repaint", "replacing", "sample", "save_picture", "save_tensors", "shrink", "write_bytes", "write_cube",
]  # fmt: skip
