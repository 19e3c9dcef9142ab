"""Tables, arrays, weights and colours come out of files as they were put in, whoever wrote them, to the bit.

`.npz` files and safetensors files of other programs are read by functions that stand behind the front door.
"""

from __future__ import annotations

import csv
import gzip
import io as streams
import json
import math
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image, ImageFilter

from kit.files import same
from kit.refusals import refusals
from scalarviz import io, nn
from scalarviz.errors import FileFormatError, InputError, TypeMismatchError
from scalarviz.io.archive import read_arrays
from scalarviz.io.foreign import entries_of, tensors_of

# ---- tables

PLAIN = "width,height,kind\n1.5,2,caf\u00e9\n-3e-1,4,tea\n"
COMMAS = PLAIN.replace(",", ";").replace(".", ",")
WAYS = {
    "utf-8": PLAIN.encode(), "mark": b"\xef\xbb\xbf" + PLAIN.encode(), "latin-1": PLAIN.encode("latin-1"),
    "utf-16": PLAIN.encode("utf-16"), "utf-32": PLAIN.encode("utf-32"), "empty row": b",,,\n" + PLAIN.encode(),
    "empty row, semicolons": b";;;\n" + COMMAS.encode(), "crlf": PLAIN.replace("\n", "\r\n").encode(),
    "semicolons": COMMAS.encode(), "tabs": PLAIN.replace(",", "\t").encode(),
    "tabs, decimal comma": PLAIN.replace(",", "\t").replace(".", ",").encode("latin-1"),
    "blank": ("\n" + PLAIN.replace("\n", "\n\n") + ",,\n").encode(), "quoted": PLAIN.replace("caf\u00e9",
        '"caf\u00e9"').encode(),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_the_same_table_in_many_ways_of_writing(tmp_path, way):
    (tmp_path / "t.csv").write_bytes(WAYS[way])
    table = io.read_csv(tmp_path / "t.csv")
    assert (table.names, len(table)) == (("width", "height", "kind"), 2)
    assert (table.numbers("width").tolist(), table.numbers("height").tolist()) == ([1.5, -0.3], [2, 4])
    assert list(table.words("kind")) == ["caf\u00e9", "tea"]


@pytest.mark.parametrize("numbers", [(0, 1, 2), (1, 2, 3), (17, 4, 250)])
@pytest.mark.parametrize("form", ["{}", '"{}"'])
def test_the_numbers_of_the_rows_are_left_out(numbers, form):
    """pandas' `to_csv` writes them before the columns, without a name; after a shuffle in any order; R in quotes."""
    rows = "".join(f"{form.format(number)},{k},{k * k}\n" for k, number in enumerate(numbers))
    table = io.parse_csv(form.format("") + ",x,y\n" + rows)
    assert table.names == ("x", "y")
    assert (table.numbers("x").tolist(), table.numbers("y").tolist()) == ([0, 1, 2], [0, 1, 4])
    assert len(table.notes) == 1
    assert io.parse_csv("n,x,y\n" + rows).notes == ()


def test_a_cell_may_hold_the_mark_a_quotation_or_a_line_end():
    table = io.parse_csv('name,n\n"a, b",1\n"say ""no""",2\n"two\nlines",3\nlast,x\n')
    assert list(table.words("name")) == ["a, b", 'say "no"', "two\nlines", "last"]
    with pytest.raises(FileFormatError, match=r"line 6: .*'n'.*'x'"):
        table.numbers("n")


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6)), min_size=1))
def test_what_the_standard_library_writes_is_read_to_the_bit(rows):
    out = streams.StringIO()
    csv.writer(out).writerows([("a", "b"), *rows])
    table = io.parse_csv(out.getvalue())
    np.testing.assert_array_equal(np.column_stack([table.numbers("a"), table.numbers("b")]), np.array(rows))


# ---- arrays


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_an_idx_file_is_its_array(tmp_path, pack):
    wanted = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    (tmp_path / "pictures").write_bytes(pack(idx(wanted)))
    assert same(io.read_idx(tmp_path / "pictures", 3), wanted)


@pytest.mark.parametrize("name", ["t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz", "t10k-labels.idx1-ubyte"])
def test_idx_files_are_found_under_the_names_in_use(tmp_path, name):
    (tmp_path / name).touch()
    assert io.find_idx(tmp_path, "t10k-labels-idx1-ubyte") == tmp_path / name


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_wrote_comes_back(tmp_path, save):
    x = np.arange(12.0).reshape(4, 3)
    given = {"x": x, "y": np.array([True, False]), "z": np.array(3, ">i2")}
    save(tmp_path / "a.npz", other=x, **given)
    found = read_arrays(tmp_path / "a.npz", ("x", "y", "z"), ("x",), "data set")
    assert list(found) == ["x", "y", "z"]
    assert same(found, given)


DTYPES = st.sampled_from([np.float16, np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_])
ARRAYS = DTYPES.flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))


@given(tensors=st.dictionaries(st.text("abc.01", min_size=1, max_size=6), ARRAYS, max_size=4))
@settings(max_examples=25)
def test_weights_come_back_bit_for_bit_and_other_programs_read_them(tmp_path_factory, tensors):
    path = tmp_path_factory.getbasetemp() / "w.safetensors"
    io.save_tensors(path, tensors, {"step": "7"})
    back, metadata = io.load_tensors(path)
    assert same(back, tensors)
    assert metadata["step"] == "7"
    for theirs in (safetensors.numpy.load_file(path), tensors_of(path, entries := entries_of(path), entries)):
        assert same(theirs, tensors)
    safetensors.numpy.save_file(tensors, path)
    assert same(io.load_tensors(path), (tensors, {}))


def test_the_same_numbers_and_text_are_the_same_file(tmp_path):
    for k in range(8):
        io.save_tensors(
            tmp_path / f"{k}.safetensors", {"w": np.ones(3), "b": np.zeros(2)}, {"step": "7", "a": "\u00e4"}
        )
    (content,) = {path.read_bytes() for path in tmp_path.iterdir()}
    assert int.from_bytes(content[:8], "little") % 8 == 0


def test_arrays_that_are_not_contiguous_or_of_the_other_byte_order(tmp_path):
    base = np.arange(12.0).reshape(3, 4)
    tensors = {"t": base.T, "s": base[:, ::2], "b": base.astype(">f8"), "scalar": np.float32(3)}
    io.save_tensors(tmp_path / "w", tensors)
    back, _ = io.load_tensors(tmp_path / "w")
    for name, array in tensors.items():
        np.testing.assert_array_equal(back[name], array)
    assert back["scalar"].shape == ()


def test_one_flipped_bit_is_noticed(tmp_path):
    io.save_tensors(tmp_path / "w", {"w": np.arange(10.0)})
    data = bytearray((tmp_path / "w").read_bytes())
    data[-3] ^= 1
    (tmp_path / "w").write_bytes(data)
    with pytest.raises(FileFormatError, match="damaged or was edited"):
        io.load_tensors(tmp_path / "w")


def small_float(code, bits, bias, *, infinite):
    """A float of eight bits by its definition, in Python's numbers."""
    sign, rest = -1.0 if code & 128 else 1.0, code & 127
    exponent, mantissa = rest >> bits, rest & (2**bits - 1)
    if infinite and exponent == 2 ** (7 - bits) - 1:
        return sign * math.inf if mantissa == 0 else math.nan
    if not infinite and rest == 127:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - bits)
    return sign * math.ldexp(2**bits + mantissa, exponent - bias - bits)


BRAIN = np.array([1.5, -2.0, 2.0**127, np.inf, 2.0**-130, 0.0], np.float32)  # eight bits of mantissa are enough
FLOATS = {
    "F8_E4M3": (bytes(range(256)), [small_float(code, 3, 7, infinite=False) for code in range(256)]),
    "F8_E5M2": (bytes(range(256)), [small_float(code, 2, 15, infinite=True) for code in range(256)]),
    "BF16": ((BRAIN.view(np.uint32) >> 16).astype("<u2").tobytes(), BRAIN),
}


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_that_numpy_has_not(tmp_path, kind):
    content, wanted = FLOATS[kind]
    header = json.dumps({"w": {"dtype": kind, "shape": [len(wanted)], "data_offsets": [0, len(content)]}}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + content)
    found = tensors_of(path, entries_of(path), ["w"])["w"]
    np.testing.assert_array_equal(found, np.array(wanted, np.float32), strict=True)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e5m2", "float8_e4m3fn", "float64"])
def test_what_pytorch_writes_in_any_type_of_floats_is_a_networks_weights(torch, tmp_path, name):
    from safetensors.torch import save_file

    theirs = {"0.weight": torch.linspace(-3.0, 3.0, 6).reshape(2, 3), "0.bias": torch.tensor([1e-3, -0.0])}
    theirs = {key: tensor.to(getattr(torch, name)) for key, tensor in theirs.items()}
    save_file(theirs, tmp_path / "w")
    net = nn.Sequential(nn.Linear(3, 2, seed=0))
    net.load_state_dict(io.load_tensors(tmp_path / "w")[0])
    for key, array in net.state_dict().items():
        np.testing.assert_array_equal(array, theirs[key].double().numpy())


@pytest.mark.ci
def test_the_line_that_a_pickle_is_answered_with_makes_a_safetensors_file(torch, tmp_path):
    weights = {"0.weight": torch.arange(6.0).reshape(2, 3).T, "0.bias": torch.ones(2, dtype=torch.bfloat16)}
    weights["tied"] = weights["0.weight"]
    torch.save(weights, tmp_path / "my net.pt")
    with pytest.raises(FileFormatError) as caught:
        io.load_tensors(tmp_path / "my net.pt")
    code = re.search(r'python -c "(.*)"$', str(caught.value))[1]
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=tmp_path)
    found, _ = io.load_tensors(tmp_path / "my net.safetensors")
    assert found.keys() == weights.keys()
    assert all(np.array_equal(found[name], tensor.float().numpy()) for name, tensor in weights.items())


# ---- tables of colours


def grade(colours):
    """Something that treats the three channels differently."""
    r, g, b = np.moveaxis(colours, -1, 0)
    return np.stack([r**2, 0.5 * g + 0.5 * b, 1 - r * g], axis=-1)


def test_the_file_has_33_points_and_red_changes_fastest(tmp_path):
    io.write_cube(tmp_path / "x.cube", io.sample(lambda c: c, title='my "grade"'))
    lines = (tmp_path / "x.cube").read_text().splitlines()
    assert lines[0] == "TITLE \"my 'grade'\""
    assert {"LUT_3D_SIZE 33", "DOMAIN_MIN 0.000000 0.000000 0.000000"} <= set(lines)
    rows = [[float(number) for number in line.split()] for line in lines if line[0].isdigit()]
    assert len(rows) == 33**3
    assert (rows[0], rows[1], rows[33], rows[33 * 33]) == ([0, 0, 0], [1 / 32, 0, 0], [0, 1 / 32, 0], [0, 0, 1 / 32])


def test_a_table_is_its_function_between_its_points_and_exact_on_them(tmp_path):
    io.write_cube(tmp_path / "x.cube", io.sample(grade))
    colours = np.random.default_rng(0).random((500, 3))
    # linear in each cell; the curvature of r**2 leaves at most step**2 / 4
    np.testing.assert_allclose(
        io.read_cube(tmp_path / "x.cube")(colours), grade(colours), atol=(1 / 32) ** 2 / 4 + 1e-6
    )
    lut, level = io.sample(grade, points=5), np.linspace(0, 1, 5)
    colours = np.stack(np.meshgrid(level, level, level), axis=-1)
    np.testing.assert_allclose(lut(colours), grade(colours), atol=1e-15)
    np.testing.assert_allclose(lut(np.array([-1.0, 2.0, 0.5])), grade(np.array([0, 1, 0.5])))


def test_pillow_applies_the_same_table_alike():
    lut = io.sample(grade, points=9)
    picture = np.random.default_rng(1).integers(0, 256, (20, 30, 3)).astype(np.uint8)
    table = ImageFilter.Color3DLUT(9, lut.table.reshape(-1, 3).tolist())
    theirs = np.asarray(Image.fromarray(picture).filter(table))
    assert np.abs(lut(picture / 255.0) * 255 - theirs).max() <= 1.01


def test_tables_of_other_programs(tmp_path):
    rows = "\n".join(f"{r} {g} {b}" for b in (0, 1) for g in (0, 1) for r in (0, 1))
    text = f"# made elsewhere\r\n\r\nDOMAIN_MIN 0 0 0\nDOMAIN_MAX 2 2 2\nLUT_3D_SIZE 2\n{rows}\n"
    (tmp_path / "x.cube").write_text(text)
    np.testing.assert_allclose(io.read_cube(tmp_path / "x.cube")(np.array([1.0, 0.5, 2.0])), [0.5, 0.25, 1.0])
    rows = "\r".join(f"\t{r}.\t+{g}e0  .{b}E+1 " for b in (0, 1) for g in (0, 1) for r in (0, 1))
    text = f'\ufeff#\tmade elsewhere\r\n\r\nTITLE\t"a \u2028 b"\r\nLUT_3D_SIZE\t2 \r\n{rows}'
    (tmp_path / "x.cube").write_bytes(text.encode())
    lut = io.read_cube(tmp_path / "x.cube")
    assert (lut.title, lut.table[1, 0, 1].tolist()) == ("a \u2028 b", [1, 0, 1])


# ---- what cannot be asked or written


@refusals({
    "no such column": (lambda it: io.parse_csv("x,y\n1,2\n").column("z"), InputError, "'z'", "x, y"),
    "no text": (lambda it: io.parse_csv(7), TypeMismatchError, "7"),
    "no idx": (lambda it: io.find_idx(it, "images-idx3-ubyte"), InputError, "images-idx3-ubyte",
        "images-idx3-ubyte.gz"),
    "no folder of idx": (lambda it: io.find_idx(it / "none", "images"), InputError, "there is no folder"),
    "weights into a folder": (lambda it: io.save_tensors(it, {}), InputError, "is a folder"),
    "complex weights": (lambda it: io.save_tensors(it / "w", {"w": np.zeros(3, complex)}), InputError, "'w'",
        "complex128"),
    "objects": (lambda it: io.save_tensors(it / "w", {"w": np.array([None])}), InputError, "'w'"),
    "a table called a picture": (lambda it: io.write_cube(it / "x.png", io.sample(grade, 2)), InputError, ".cube"),
    "a table that is none": (lambda it: io.write_cube(it / "x.cube", 3), TypeMismatchError, "io.Lut", "int"),
    "colours that are none": (lambda it: io.write_cube(it / "z.cube", io.sample(lambda c: c * np.nan, 2)),
        InputError, "finite"),
    "one point": (lambda it: io.sample(grade, 1), InputError, ">= 2", "1"),
})  # fmt: skip
def test_what_cannot_be_done_leaves_no_file(tmp_path, refusal):
    refusal.check(tmp_path)
    assert list(tmp_path.iterdir()) == []
