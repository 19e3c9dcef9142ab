"""`.npz` files that anybody may have made: read as NumPy wrote them, or refused in one line."""

from __future__ import annotations

import io
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.errors import FileFormatError, InputError, ScalarvizError
from scalarviz.io.archive import read_arrays

X = np.arange(12.0).reshape(4, 3)


def packed(save=np.savez, **arrays):
    made = io.BytesIO()
    save(made, **arrays)
    return made.getvalue()


def read(path):
    return read_arrays(path, ("x", "y", "z"), ("x",), "data set")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_wrote_comes_back(tmp_path, save):
    (tmp_path / "a.npz").write_bytes(packed(save, x=X, y=np.array([True, False]), other=X, z=np.array(3, ">i2")))
    found = read(tmp_path / "a.npz")
    assert list(found) == ["x", "y", "z"]
    for name, array in np.load(tmp_path / "a.npz").items():
        if name != "other":
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype


def archive(**parts):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two parts with one name
        for name, content in parts.items():
            file.writestr(name.replace("_2", "").replace("_npy", ".npy"), content)
    return made.getvalue()


def npy(shape, content=b""):
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


BAD = {
    "empty": (b"", "is no .npz file of numbers"),
    "no array": (archive(x_npy=b"not an array"), "is no .npz file of numbers"),
    "short": (archive(x_npy=npy((4,), bytes(8))), "is no .npz file of numbers"),
    "lying": (archive(x_npy=npy((2**40, 2**40), bytes(8))), "is no .npz file of numbers"),
    "large": (archive(x_npy=npy((2**40,), bytes(8))), ""),
    "twice": (archive(x_npy=npy((1,), bytes(8)), x_npy_2=npy((1,), bytes(8))), "two arrays of one name"),
    "texts": (packed(x=np.array(["a"])), "x must hold real numbers"),
    "objects": (packed(x=np.array([None])), "is no .npz file of numbers"),
    "complex": (packed(x=np.array([1j])), "x must hold real numbers"),
    "other": (packed(y=X), "has no array x, it has y"),
    "odd names": (archive(**{"a\nb": b"", "c" * 300: b""}), "it has 'a\\nb', 'ccc"),
}


@pytest.mark.parametrize("name", BAD)
def test_others_are_refused_in_one_line(tmp_path, name):
    content, says = BAD[name]
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises((FileFormatError, InputError)) as caught:
        read(tmp_path / "a.npz")
    said = str(caught.value)
    assert says in said
    assert "\n" not in said
    assert len(said) < 400


def test_what_unpacks_to_more_than_there_is_is_not_unpacked(tmp_path, monkeypatch):
    (tmp_path / "a.npz").write_bytes(packed(np.savez_compressed, x=np.zeros(10**6)))
    monkeypatch.setattr("scalarviz.memory.free_memory", lambda: 10**7)
    with pytest.raises(InputError, match="GB of memory"):
        read(tmp_path / "a.npz")


@given(data=st.data())
def test_a_file_with_other_bytes_is_read_or_refused(data, tmp_path_factory):
    save = data.draw(st.sampled_from([np.savez, np.savez_compressed]))
    encoded = bytearray(packed(save, x=X, y=np.arange(4)))
    for _ in range(data.draw(st.integers(1, 4))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed.npz"
    path.write_bytes(encoded[: data.draw(st.integers(0, len(encoded)))] if data.draw(st.booleans()) else encoded)
    try:
        found, said = read(path), ""
    except ScalarvizError as error:
        found, said = {}, str(error)
    assert "\n" not in said
    assert all(array.dtype.kind in "biuf" for array in found.values())
