"""IDX files: arrays written byte by byte here, plain and gzipped, and everything that is no such file."""

from __future__ import annotations

import gzip
import random
import struct

import numpy as np
import pytest

from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import find_idx, read_idx

PICTURES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


def idx(array, kind=8):
    """The bytes of a file, as the format's description has them."""
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape) + array.tobytes()


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress], ids=["plain", "gzipped"])
def test_an_array_comes_back(tmp_path, pack):
    path = tmp_path / "pictures"
    path.write_bytes(pack(idx(PICTURES)))
    found = read_idx(path, 3)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, PICTURES)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "begins with nothing"),
        (b"\x89PNG\r\n\x1a\n", "begins with 89 50 4e 47, wanted 00 00 08 03"),
        (idx(PICTURES[0]), "begins with 00 00 08 02"),
        (idx(PICTURES, kind=0x0D), "begins with 00 00 0d 03"),
        (idx(PICTURES)[:7], "within its header"),
        (idx(PICTURES)[:-1], "2 x 3 x 4 needs 24 bytes, 23 are there"),
        (idx(PICTURES) + b"x", "longer than the 24 bytes"),
        (struct.pack(">BBBB3I", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 9), "says that it holds"),
        (struct.pack(">BBBB3I", 0, 0, 8, 3, 0, 28, 28), "allowed: 1 to"),
        (gzip.compress(idx(PICTURES), mtime=0)[:-9], "cut short"),
        (b"\x1f\x8b" + b"rubbish, no gzip at all", "is damaged"),
    ],
)
def test_what_is_no_idx_file_is_one_clear_line(tmp_path, content, says):
    path = tmp_path / "pictures"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=says) as caught:
        read_idx(path, 3)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match="there is no file of digits"):
        read_idx(tmp_path / "none", 3)
    with pytest.raises(InputError, match="is a folder"):
        read_idx(tmp_path, 3)


@pytest.mark.parametrize("name", ["t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz", "t10k-labels.idx1-ubyte"])
def test_files_are_found_under_the_names_in_use(tmp_path, name):
    (tmp_path / name).touch()
    assert find_idx(tmp_path, "t10k-labels-idx1-ubyte") == tmp_path / name


def test_files_that_are_missing_are_named(tmp_path):
    with pytest.raises(InputError, match=r"holds no train-images-idx3-ubyte and no train-images-idx3-ubyte\.gz"):
        find_idx(tmp_path, "train-images-idx3-ubyte")
    with pytest.raises(InputError, match="there is no folder"):
        find_idx(tmp_path / "none", "train-images-idx3-ubyte")


def test_devices_and_names_that_no_file_has(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for path, says in [
        ("/dev/zero", "device or a pipe"),
        (tmp_path / "loop", "too many levels"),
        (tmp_path / ("n" * 5000), "file name too long"),
        ("a\0b", "can be no file's name"),
    ]:
        with pytest.raises(InputError, match=says):
            read_idx(path, 3)


@pytest.mark.parametrize("pack", [lambda b: b, lambda b: gzip.compress(b, mtime=0)], ids=["plain", "gzipped"])
def test_seeded_damage_ends_in_an_array_or_in_one_line(tmp_path, pack):
    path, content, chance = tmp_path / "pictures", pack(idx(PICTURES)), random.Random(0)
    refused = []
    for _ in range(500):
        data = bytearray(content)
        place = chance.randrange(len(data))
        data[place : place + chance.randrange(1, 4)] = bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
        path.write_bytes(data)
        try:
            assert read_idx(path, 3).ndim == 3
        except FileFormatError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert not any("\n" in line for line in refused)
