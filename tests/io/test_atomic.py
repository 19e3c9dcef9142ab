"""Files are written whole or not at all, and what stands in the way is said."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from scalarviz.errors import InputError
from scalarviz.io import check_target, replacing, write_bytes


def test_a_file_is_written_and_nothing_is_left_beside_it(tmp_path):
    write_bytes(tmp_path / "new" / "folder" / "a.bin", b"abc")
    assert (tmp_path / "new" / "folder" / "a.bin").read_bytes() == b"abc"
    assert os.listdir(tmp_path / "new" / "folder") == ["a.bin"]


def test_an_error_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as fresh:
        assert fresh.suffix == ".png"
        fresh.write_bytes(b"half")
        1 / 0  # noqa: B018
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_full_disk_is_said_and_the_old_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def full(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="no space left on device"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_really_full_disk(tmp_path):
    with pytest.raises(InputError, match="no space left"), replacing(tmp_path / "a") as fresh:
        fresh.write_bytes(b"")
        with open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")
    assert os.listdir(tmp_path) == []


def test_a_folder_of_that_name(tmp_path):
    (tmp_path / "x.png").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        write_bytes(tmp_path / "x.png", b"")


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="is a file, not a folder"):
        check_target(tmp_path / "file" / "x.png")


def test_a_device_is_not_replaced():
    with pytest.raises(InputError, match="not a regular file"):
        check_target(os.devnull)


def test_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the tests may run as root, who may write anywhere
    with pytest.raises(InputError, match="no permission"):
        check_target(tmp_path / "x.png")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(InputError, match="too long"):
        write_bytes(tmp_path / ("x" * 300), b"")
