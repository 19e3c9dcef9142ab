"""Safetensors files of other programs, and files that pickle wrote, against files that were made byte by byte."""

from __future__ import annotations

import json
import math
import pickle
import re
import struct
import subprocess
import sys

import numpy as np
import pytest

from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import load_tensors, save_tensors
from scalarviz.io.foreign import entries_of, tensors_of
from scalarviz.onnx.reading import read_graph


def written(path, kind, shape, content, **more):
    entries = {"w": {"dtype": kind, "shape": shape, "data_offsets": [0, len(content)]}, **more}
    header = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + content)
    return path


def read(path):
    entries = entries_of(path)
    return tensors_of(path, entries, entries)


def test_what_numpy_has(tmp_path):
    rng = np.random.default_rng(0)
    given = {name: rng.normal(size=(2, 3)).astype(name) for name in ("float16", "float32", "float64", "int8", "uint16")}
    given |= {"flags": np.array([True, False]), "one": np.array(3.0)}
    save_tensors(tmp_path / "a.safetensors", given)
    found = read(tmp_path / "a.safetensors")
    assert found.keys() == given.keys()
    for name, array in given.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
    one = tensors_of(tmp_path / "a.safetensors", entries_of(tmp_path / "a.safetensors"), ["one"])
    assert one.keys() == {"one"}


def small_float(code, bits, bias, *, infinite):
    """A float of eight bits by its definition, in Python's numbers."""
    sign, rest = -1.0 if code & 128 else 1.0, code & 127
    exponent, mantissa = rest >> bits, rest & (2**bits - 1)
    top = 2 ** (7 - bits) - 1
    if infinite and exponent == top:
        return sign * math.inf if mantissa == 0 else math.nan
    if not infinite and rest == 127:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - bits)
    return sign * math.ldexp(2**bits + mantissa, exponent - bias - bits)


@pytest.mark.parametrize(("kind", "bits", "bias", "infinite"), [("F8_E4M3", 3, 7, False), ("F8_E5M2", 2, 15, True)])
def test_floats_of_eight_bits(tmp_path, kind, bits, bias, infinite):
    path = written(tmp_path / "a.safetensors", kind, [256], bytes(range(256)))
    wanted = [small_float(code, bits, bias, infinite=infinite) for code in range(256)]
    assert np.array_equal(read(path)["w"], np.array(wanted, np.float32), equal_nan=True)


def test_bfloat16(tmp_path):
    numbers = np.array([1.5, -2.0, 2.0**127, np.inf, 2.0**-130, 0.0], np.float32)  # eight bits of mantissa are enough
    path = written(tmp_path / "a.safetensors", "BF16", [2, 3], (numbers.view(np.uint32) >> 16).astype("<u2").tobytes())
    assert np.array_equal(read(path)["w"], numbers.reshape(2, 3))


@pytest.mark.parametrize(
    ("kind", "shape", "content", "says"),
    [
        ("F32", [2**20, 2**20], bytes(8), "cannot|can be read"),
        ("F32", [3], bytes(8), "can be read"),
        ("F32", [-1], bytes(8), "can be read"),
        ("F33", [2], bytes(8), "can be read"),
        ("C64", [1], bytes(8), "type C64"),
        ("F8_E4M3FNUZ", [8], bytes(8), "type F8_E4M3FNUZ"),
    ],
)
def test_files_that_lie(tmp_path, kind, shape, content, says):
    path = written(tmp_path / "a.safetensors", kind, shape, content)
    with pytest.raises(FileFormatError, match=says) as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 8, b"\x10" + bytes(7) + b"{}", struct.pack("<Q", 2**40) + b"{}" * 9]
)
def test_no_safetensors_file(tmp_path, content):
    (tmp_path / "a.safetensors").write_bytes(content)
    for reader in (read, load_tensors):
        with pytest.raises(FileFormatError):
            reader(tmp_path / "a.safetensors")


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read(tmp_path / "a.safetensors")


# ---- pickles


class Harm:
    """What a pickle of it does when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", ["net.pt", "net.pkl", "net.onnx", "net.safetensors"])
@pytest.mark.parametrize("reader", [read, load_tensors, read_graph])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_not_opened(tmp_path, name, reader, protocol):
    path = tmp_path / name
    path.write_bytes(pickle.dumps({"w": Harm(tmp_path / "harm")}, protocol))
    with pytest.raises(FileFormatError, match="holds a pickle, which is never opened") as caught:
        reader(path)
    assert "net.safetensors" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "harm").exists()


@pytest.mark.slow
def test_the_line_makes_a_safetensors_file(tmp_path):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    weights = {"0.weight": torch.arange(6.0).reshape(2, 3).T, "0.bias": torch.ones(2, dtype=torch.bfloat16)}
    weights["tied"] = weights["0.weight"]
    path = tmp_path / "my net.pt"
    torch.save(weights, path)
    with pytest.raises(FileFormatError) as caught:
        load_tensors(path)
    code = re.search(r'python -c "(.*)"$', str(caught.value))[1]
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=tmp_path)
    found = read(tmp_path / "my net.safetensors")
    assert found.keys() == weights.keys()
    assert all(np.array_equal(found[name], tensor.float().numpy()) for name, tensor in weights.items())
