"""Weights on disk come back bit for bit, or not at all."""

from __future__ import annotations

import os

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scalarviz import nn
from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import load_tensors, save_tensors
from scalarviz.io.weights import OPTIMIZER, under

DTYPES = st.sampled_from([np.float16, np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_])
ARRAYS = DTYPES.flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))


@given(tensors=st.dictionaries(st.text("abc.01", min_size=1, max_size=6), ARRAYS, max_size=4))
@settings(deadline=None, max_examples=60)
def test_a_round_trip_is_bit_for_bit(tmp_path_factory, tensors):
    path = tmp_path_factory.mktemp("w") / "w.safetensors"
    save_tensors(path, tensors, {"step": "7"})
    back, metadata = load_tensors(path)
    assert back.keys() == tensors.keys()
    for name, array in tensors.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()
    assert metadata["step"] == "7"


def test_the_same_numbers_and_text_are_the_same_file(tmp_path):
    files = []
    for k in range(8):
        save_tensors(tmp_path / f"{k}.safetensors", {"w": np.ones(3), "b": np.zeros(2)}, {"step": "7", "a": "\u00e4"})
        files.append((tmp_path / f"{k}.safetensors").read_bytes())
    assert len(set(files)) == 1
    assert int.from_bytes(files[0][:8], "little") % 8 == 0


def test_arrays_that_are_not_contiguous_or_of_the_other_byte_order(tmp_path):
    base = np.arange(12.0).reshape(3, 4)
    tensors = {"t": base.T, "s": base[:, ::2], "b": base.astype(">f8"), "scalar": np.float32(3)}
    save_tensors(tmp_path / "w", tensors)
    back, _ = load_tensors(tmp_path / "w")
    for name, array in tensors.items():
        np.testing.assert_array_equal(back[name], array)
    assert back["scalar"].shape == ()


def test_another_program_reads_it(tmp_path):
    save_tensors(tmp_path / "w.safetensors", {"0.weight": np.eye(3, dtype=np.float32)})
    np.testing.assert_array_equal(safetensors.numpy.load_file(tmp_path / "w.safetensors")["0.weight"], np.eye(3))


def test_a_file_without_our_text_is_read_by_name(tmp_path):
    theirs = {"0.weight": np.ones((2, 3), np.float32), "0.bias": np.zeros(2, np.float32)}
    safetensors.numpy.save_file(theirs, tmp_path / "w.safetensors")
    tensors, metadata = load_tensors(tmp_path / "w.safetensors")
    assert metadata == {}
    np.testing.assert_array_equal(tensors["0.weight"], theirs["0.weight"])


def test_one_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "w"
    save_tensors(path, {"w": np.arange(10.0)})
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="damaged or was edited by hand: its numbers and its text do not match"):
        load_tensors(path)


def test_a_newer_format_is_said(tmp_path):
    safetensors.numpy.save_file({}, tmp_path / "w", metadata={"scalarviz.format": "3"})
    with pytest.raises(FileFormatError, match="format 3, known are 1, 2"):
        load_tensors(tmp_path / "w")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x10" + b"\0" * 7 + b"not json at all!", b"\xff" * 64])
def test_what_is_no_file_of_weights(tmp_path, content):
    (tmp_path / "w").write_bytes(content)
    with pytest.raises(FileFormatError, match="not a file of weights"):
        load_tensors(tmp_path / "w")


def test_a_file_cut_off(tmp_path):
    save_tensors(tmp_path / "w", {"w": np.arange(100.0)})
    (tmp_path / "w").write_bytes((tmp_path / "w").read_bytes()[:-50])
    with pytest.raises(FileFormatError):
        load_tensors(tmp_path / "w")


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e5m2", "float8_e4m3fn", "float64"])
def test_what_pytorch_writes_in_any_type_of_floats_is_a_network_s_weights(tmp_path, name):
    torch = pytest.importorskip("torch", reason="no PyTorch (extra oracle)")
    from safetensors.torch import save_file

    theirs = {"0.weight": torch.linspace(-3.0, 3.0, 6).reshape(2, 3), "0.bias": torch.tensor([1e-3, -0.0])}
    theirs = {key: tensor.to(getattr(torch, name)) for key, tensor in theirs.items()}
    save_file(theirs, tmp_path / "w")
    net = nn.Sequential(nn.Linear(3, 2, seed=0))
    net.load_state_dict(load_tensors(tmp_path / "w")[0])
    for key, array in net.state_dict().items():
        np.testing.assert_array_equal(array, theirs[key].double().numpy())


def test_a_dtype_that_nobody_has(tmp_path):
    header = b'{"w":{"dtype":"F8_E8M0","shape":[4],"data_offsets":[0,4]}}'
    (tmp_path / "w").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    with pytest.raises(FileFormatError, match="not a file of weights that can be read"):
        load_tensors(tmp_path / "w")


def test_what_cannot_be_read_or_written(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        load_tensors(tmp_path / "w")
    with pytest.raises(InputError, match="is a folder"):
        load_tensors(tmp_path)
    with pytest.raises(InputError, match="is a folder"):
        save_tensors(tmp_path, {})
    with pytest.raises(
        InputError, match=r"cannot store 'w': it must be an array of real numbers, got ndarray \(dtype complex128"
    ):
        save_tensors(tmp_path / "w", {"w": np.zeros(3, complex)})
    with pytest.raises(InputError, match="cannot store 'w'"):
        save_tensors(tmp_path / "w", {"w": np.array([None])})
    assert os.listdir(tmp_path) == []


def test_the_optimiser_has_its_own_prefix():
    tensors = {"0.weight": np.zeros(1), OPTIMIZER + "m.0.weight": np.ones(1)}
    assert list(under(OPTIMIZER, tensors)) == ["m.0.weight"]
