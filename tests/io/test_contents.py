"""Tables, arrays, weights and colours come out of files as they were put in, whoever wrote them, to the bit. Whatever
else stands in a file is refused in one line that names it; nothing in it is executed, and its size does not matter.

Two readers stand behind the front door: `.npz` files (data sets) and safetensors files of other programs (imports).
"""

import gzip
import io as streams
import json
import math
import os
import pickle
import struct
import tracemalloc
import warnings
import zipfile
import zlib

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image, ImageCms

from kit.files import flipped, same
from kit.refusals import Refusal, refusals
from scalarviz import io
from scalarviz.data.samples import read_arrays
from scalarviz.errors import (
    FileFormatError,
    InputError,
    MissingDependencyError,
    ScalarvizError,
    TypeMismatchError,
    UnknownNameError,
)
from scalarviz.io import example_photo, load_picture, save_picture, weights
from scalarviz.io.weights import entries_of, tensors_of


def read_foreign(path):
    entries = entries_of(path)
    return tensors_of(path, entries, entries)


def read_table(path):
    table = io.read_csv(path)
    for name in table.names:
        table.are_numbers(name)
    return table.numbers("x")


READERS = {
    "idx": lambda path: io.read_idx(path, 3), "npz": lambda path: read_arrays(path, ("x", "y", "z"), ("x",),
        "data set"),
    "cube": io.read_cube, "table": read_table, "weights": io.load_tensors, "foreign": read_foreign,
    "picture": io.load_picture,
}  # fmt: skip
X, NUMBERS = np.arange(12.0).reshape(4, 3), np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


def packed(save=np.savez, **arrays):
    made = streams.BytesIO()
    save(made, **arrays)
    return made.getvalue()


def archive(*parts):
    made = streams.BytesIO()
    with zipfile.ZipFile(made, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two parts with one name
        for name, content in parts:
            file.writestr(name, content)
    return made.getvalue()


def npy(shape, content=bytes(8)):
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def idx(array, kind=8):
    """The bytes of a file, as the format's description has them."""
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape) + array.tobytes()


def headed(*sides):
    return struct.pack(">BBBB3I", 0, 0, 8, 3, *sides)


def tensor(kind, shape, content=bytes(8)):
    header = json.dumps({"w": {"dtype": kind, "shape": shape, "data_offsets": [0, len(content)]}}).encode()
    return struct.pack("<Q", len(header)) + header + content


def picture(kind="PNG", mode="RGB"):
    made = streams.BytesIO()
    Image.new(mode, (32, 32)).save(made, kind)
    return made.getvalue()


ROWS = "".join(f"{r} {g} {b}\n" for b in (0, 1) for g in (0, 1) for r in (0, 1))
SIZE, LINE2 = "LUT_3D_SIZE 2\n", ("line 2", "three finite numbers")
HUGE = b"BM" + struct.pack("<5I", 54, 0, 54, 40, 9000) + struct.pack("<I", 9000) + b"\1\0\x18\0" + bytes(24)
BAD = {
    "idx": {
        b"": ("empty file",), b"\x89PNG\r\n\x1a\n": ("89 50 4e 47", "00 00 08 03"), idx(NUMBERS[0]): ("00 00 08 02",),
        idx(NUMBERS)[:7]: ("header",), idx(NUMBERS)[:-1]: (24, 23), headed(2**32 - 1, 2**32 - 1, 9): ("too large",),
        headed(0, 28, 28): ("0 x 28 x 28",),
        gzip.compress(idx(NUMBERS), mtime=0)[:-9]: ("cut short",), b"\x1f\x8b" + b"rubbish" * 9: ("damaged",),
    },
    "npz": {
        b"": (".npz",), archive(("x.npy", b"no array")): (".npz",), archive(("x.npy", npy((4,)))): (".npz",),
        archive(("x.npy", npy((2**40,)))): (),
        archive(("x.npy", npy((1,))), ("x.npy", npy((1,)))): ("two arrays with the same name",),
        packed(x=np.array([1j])): ("x", "real numbers"), packed(y=X): ("no array x", "y"),
        archive(("a\nb", b""), ("c" * 300, b"")): ("'a\\nb'", "ccc"),
    },
    "cube": {
        "": (".cube",), "LUT_1D_SIZE 2\n0 0 0\n1 1 1\n": ("1-D",), SIZE + "0 0 0\n": (1, 8), "\0" * 100: (),
        **{f"LUT_3D_SIZE{text}\n": ("2 to 256",) for text in
           (" two", " \u0662", "", " 1", " 257")},
        **{f"{SIZE}{text}\n": LINE2 for text in
           ("0 0", "0 0 nan", "0 0 1_000", "0 0 \u0661", "0 0 0 # black")},
        SIZE + "nan 0 0\n": ("line 2", "'nan'", "TITLE"), SIZE + SIZE: ("line 2", "LUT_3D_SIZE"),
        "LUT_1D_SIZE 2\n" + SIZE: ("1-D",), SIZE + "LUT_IN_VIDEO_RANGE\n": ("line 2", "LUT_IN_VIDEO_RANGE"),
        SIZE + "DOMAIN_MIN 0 0\n" + ROWS: ("DOMAIN_MIN",), SIZE + "DOMAIN_MAX 1 1 inf\n" + ROWS: ("DOMAIN_MAX",),
        SIZE + "DOMAIN_MAX 0 1 1\n" + ROWS: ("below",), b"\xff\xfe\x00\x81": ("not text",),
    },
    "table": {
        "": ("empty",), ",,,\n,,,\n": ("empty",),
        "x,y\n1_000,2\n": ("line 2", "'x'", "'1_000'"), "x\n1,2\n": ("line 2", "2 cells", "1 column"),
        "x,y\n": ("no rows",), "1,2,a\n3,4,b\n": ("'x'",), "1,2\n3,4\n": ("'1, 2'",),
            "x,y,x\n1,2,3\n": ("'x'", "two"),
        "x,,z\n1,2,3\n": ("column 2",), "x,y,kind\n1,2,a\n3,b\n": ("line 3", "2 cells", "3 columns", "'kind'"),
        "x,y\n1,2\n\n3,4,5\n": ("line 4", "3 cells", "2 columns"), "x,y\n1,2\n,4\n": ("line 3", "'x'", "empty"),
        "x,y\n1,2\n,4\n ,\n5,6\n,3\n": ("line 3", "1 other row"), ",x,y\n0,1,2\n0,3,4\n": ("column 1",),
        "x,y\n1,2\nNaN,4\n": ("line 3", "'NaN'", "finite"), 'x,y\n"1,2\n3,4\n': ("quotation mark",),
        "x,y\n" + "9" * 20_000 + ",1\n": ("line 2", "10,000"),
        ",".join(f"c{k}" for k in range(2000)) + "\n1\n": ("2,000 columns", "1,000"),
        b"PK\x03\x04rest": ("workbook", "CSV"), b"x,y\n1,\0\n": ("zero bytes",), b"\xff\xfex": ("utf-16",),
    },
    "weights": {
        b"": ("weights",), b"\x10" + b"\0" * 7 + b"not json at all!": ("weights",),
        b"\xff" * 64: ("weights",), safetensors.numpy.save({}, {"scalarviz.format": "3"}): ("format 3", "1, 2"),
        struct.pack("<Q", 2**40) + b"{}" * 9: (), tensor("F8_E8M0", [4], bytes(4)): ("weights",),
        safetensors.numpy.save({"w": np.arange(100.0)})[:-50]: (),
    },
    "foreign": {
        b"": (), b"\x10" + bytes(7) + b"{}": (), tensor("F32", [3]): ("read",), tensor("F32", [-1]): ("read",),
        tensor("F33", [2]): ("read",), tensor("C64", [1]): ("C64",),
    },
    "picture": {
        b"": ("not a readable picture",), b"hello": ("not a readable picture",), b"\x89PNG\r\n\x1a\n" + b"\0" * 40: (),
        HUGE: ("9,000 x 9,000", "81,000,000", "67,108,864"), picture()[:60]: ("damaged",),
        **{picture(kind, "F" if kind == "SPIDER" else "RGB"): ("PNG, JPEG, WEBP, AVIF, BMP",) for kind in
           ("SPIDER", "TGA", "PDF")},
    },
}  # fmt: skip
CASES = [(kind, content, facts) for kind, rows in BAD.items() for content, facts in rows.items()]


def refused_in_a_line(call, *facts, error=FileFormatError):
    Refusal(call, error, facts).check()
    with pytest.raises(ScalarvizError) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(("kind", "content", "facts"), CASES, ids=[f"{kind} {k}" for k, (kind, *_) in enumerate(CASES)])
def test_other_contents_are_refused_in_a_line_that_names_the_file(tmp_path, kind, content, facts):
    path = tmp_path / "odd"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    refused_in_a_line(lambda: READERS[kind](path), "odd", *facts, error=(FileFormatError, InputError))


def named_oddly(folder):
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "file").touch()
    return {"pipe": folder / "pipe", "device": "/dev/zero", "folder": folder, "no": folder / "none",
        "too long": folder / ("n" * 5000),
            "too many levels": folder / "loop", "\\x00b": "a\0b", "": "a\ud800b",
                "there is no": folder / "none" / "x"}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
def test_names_that_are_no_file_are_refused(tmp_path, kind):
    for fact, name in named_oddly(tmp_path).items():
        refused_in_a_line(lambda name=name: READERS[kind](name), fact, error=InputError)


class Harm:
    """What a pickle of it does when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", ["net.pt", "net.pkl", "net.safetensors"])
@pytest.mark.parametrize("kind", ["foreign", "weights"])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_not_opened(tmp_path, name, kind, protocol):
    path = tmp_path / name
    path.write_bytes(pickle.dumps({"w": Harm(tmp_path / "harm")}, protocol))
    refused_in_a_line(lambda: READERS[kind](path), "pickle", "never opens", "net.safetensors")
    assert not (tmp_path / "harm").exists()


def test_what_unpacks_to_more_than_there_is_is_not_unpacked(tmp_path, monkeypatch):
    (tmp_path / "a.npz").write_bytes(packed(np.savez_compressed, x=np.zeros(10**6)))
    monkeypatch.setattr("scalarviz.checks.free_memory", lambda: 10**7)
    refused_in_a_line(lambda: READERS["npz"](tmp_path / "a.npz"), "GB of memory", error=InputError)


# ---- seeded damage

WHOLE = {
    "idx": idx(NUMBERS), "idx, gzipped": gzip.compress(idx(NUMBERS), mtime=0), "npz": packed(x=X, y=np.arange(4)),
    "npz, compressed": packed(np.savez_compressed, x=X, y=np.arange(4)), "cube": (SIZE + ROWS).encode(),
    "table": b"x,y\n1,2\n3,4\n", "weights": safetensors.numpy.save({"w": X}, {"scalarviz.format": "2"}),
    "foreign": tensor("BF16", [2, 2]), "picture": picture(), "picture, JPEG": picture("JPEG"),
}  # fmt: skip


def refused_of(content, reader, path, seed, count):
    """What is said of damaged copies that are not read; whatever is said is one line."""
    refused = []
    for number in range(count):
        path.write_bytes(flipped(content, zlib.crc32(f"{seed} {number}".encode())))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                reader(path)
            except (FileFormatError, InputError) as error:
                refused.append(str(error))
    assert [line for line in refused if "\n" in line or len(line) > 500 or path.name not in line] == []
    return refused


@pytest.mark.parametrize("kind", WHOLE)
def test_damage_ends_in_numbers_or_in_one_line(tmp_path, kind):
    assert len(refused_of(WHOLE[kind], READERS[kind.partition(",")[0]], tmp_path / "x", kind, 50)) > 5


def test_a_huge_picture_is_not_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("it was decoded"))
    (tmp_path / "x.bmp").write_bytes(HUGE)
    refused_in_a_line(lambda: io.load_picture(tmp_path / "x.bmp"), "81,000,000")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    (tmp_path / "x.png").write_bytes(picture())
    refused_in_a_line(lambda: io.load_picture(tmp_path / "x.png"), "too large")


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


# ---- arrays


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_an_idx_file_is_its_array(tmp_path, pack):
    (tmp_path / "pictures").write_bytes(pack(idx(NUMBERS)))
    assert same(io.read_idx(tmp_path / "pictures", 3), NUMBERS)


@pytest.mark.parametrize("head", [b"rubbish of no format", headed(2, 3, 4), headed(0, 3, 4)], ids=["none", "24", "0"])
def test_no_more_of_a_stream_is_unpacked_than_its_header_states(tmp_path, head):
    (tmp_path / "bomb").write_bytes(gzip.compress(head + bytes(1 << 26)))
    tracemalloc.start()
    with pytest.raises(FileFormatError, match=r"^.*(got 72 75|more than (24|0) numbers)"):
        io.read_idx(tmp_path / "bomb", 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_wrote_comes_back(tmp_path, save):
    given = {"x": X, "y": np.array([True, False]), "z": np.array(3, ">i2")}
    save(tmp_path / "a.npz", other=X, **given)
    found = READERS["npz"](tmp_path / "a.npz")
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
    for theirs in (safetensors.numpy.load_file(path), READERS["foreign"](path)):
        assert same(theirs, tensors)
    safetensors.numpy.save_file(tensors, path)
    assert same(io.load_tensors(path), (tensors, {}))


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
    (tmp_path / "w").write_bytes(tensor(kind, [len(wanted)], content))
    found = READERS["foreign"](tmp_path / "w")["w"]
    np.testing.assert_array_equal(found, np.array(wanted, np.float32), strict=True)
    if kind == "BF16":  # PyTorch's, for a network
        np.testing.assert_array_equal(io.load_tensors(tmp_path / "w")[0]["w"], wanted)


# ---- tables of colours


def grade(colours):
    """Something that treats the three channels differently."""
    r, g, b = np.moveaxis(colours, -1, 0)
    return np.stack([r**2, 0.5 * g + 0.5 * b, 1 - r * g], axis=-1)


def test_a_table_is_its_function_between_its_points_and_exact_on_them(tmp_path):
    io.write_cube(tmp_path / "x.cube", io.sample(grade))
    colours = np.random.default_rng(0).random((500, 3))
    # linear in each cell; the curvature of r**2 leaves at most step**2 / 4
    near = (1 / 32) ** 2 / 4 + 1e-6
    np.testing.assert_allclose(io.read_cube(tmp_path / "x.cube")(colours), grade(colours), atol=near)
    lut, level = io.sample(grade, points=5), np.linspace(0, 1, 5)
    colours = np.stack(np.meshgrid(level, level, level), axis=-1)
    np.testing.assert_allclose(lut(colours), grade(colours), atol=1e-15)
    np.testing.assert_allclose(lut(np.array([-1.0, 2.0, 0.5])), grade(np.array([0, 1, 0.5])))


# ---- what cannot be asked or written


@refusals({
    "no such column": (lambda it: io.parse_csv("x,y\n1,2\n").column("z"), InputError, "'z'", "'x', 'y'"),
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


# ---- pictures: sRGB in 0..1, and out as they came


COLOURS = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[255, 255, 255], [0, 0, 0], [255, 153, 0]]], np.uint8)


def lab():
    return ImageCms.profileToProfile(
        Image.fromarray(COLOURS), ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
    )


@pytest.mark.parametrize(("mode", "suffix", "tolerance"), [
    ("RGB", "png", 0), ("RGBA", "png", 0), ("P", "png", 0), ("CMYK", "tif", 2), ("YCbCr", "tif", 3), ("RGB",
        "bmp", 0),
    ("P", "gif", 0), ("RGBX", "tif", 0), ("LAB", "tif", 60),  # 8-bit Lab cuts saturated colours
])  # fmt: skip
def test_coloured_modes(tmp_path, mode, suffix, tolerance):
    image = lab() if mode == "LAB" else Image.fromarray(COLOURS).convert(mode)
    image.save(tmp_path / f"x.{suffix}")
    picture = load_picture(tmp_path / f"x.{suffix}")
    assert (picture.rgb.dtype, picture.size) == (np.float32, (3, 2))
    assert np.abs(picture.rgb * 255 - COLOURS).max() <= tolerance
    assert np.abs(picture.rgb[1, :2] * 255 - COLOURS[1, :2]).max() <= min(tolerance, 3)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits_keep_their_precision(tmp_path, suffix):
    level = np.array([[0, 1, 300], [40000, 65534, 65535]], np.uint16)
    Image.fromarray(level).save(tmp_path / f"x.{suffix}")
    np.testing.assert_allclose(load_picture(tmp_path / f"x.{suffix}").rgb[..., 1], level / 65535, rtol=1e-6)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotation_is_turned(tmp_path, orientation):
    upright = Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10)
    turns = Image.Transpose
    undo = {2: turns.FLIP_LEFT_RIGHT, 3: turns.ROTATE_180, 4: turns.FLIP_TOP_BOTTOM, 5: turns.TRANSPOSE}
    undo |= {6: turns.ROTATE_90, 7: turns.TRANSVERSE, 8: turns.ROTATE_270}
    stored = upright.transpose(undo[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored.save(tmp_path / "x.png", exif=exif)
    np.testing.assert_array_equal(np.rint(load_picture(tmp_path / "x.png").rgb * 255), np.asarray(upright))


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (301, 2)])
def test_any_size_comes_back_bit_for_bit_with_its_alpha(tmp_path, size):
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (size[1], size[0], 4)).astype(np.uint8)
    save_picture(tmp_path / "x.png", levels[..., :3] / 255.0, levels[..., 3] / 255.0)
    picture = load_picture(tmp_path / "x.png")
    np.testing.assert_array_equal(np.rint(picture.rgb * 255), levels[..., :3])
    np.testing.assert_array_equal(np.rint(picture.alpha * 255), levels[..., 3])


PIXEL = np.zeros((1, 1, 3))


@refusals({
    **{f"name {name}": (lambda it, name=name: save_picture(it / name, PIXEL), InputError, ".png") for name in
       ("x", "x.gif", "x.mp4", ".png")},
    "no number": (lambda it: save_picture(it / "y.png", PIXEL * np.nan), InputError, "finite"),
    "an alpha in a JPEG": (lambda it: save_picture(it / "y.jpg", PIXEL, np.ones((1, 1))), InputError, ".png"),
    "no such example": (lambda it: example_photo("dog"), UnknownNameError, "'dog'", "face, cat, astronaut"),
})  # fmt: skip
def test_what_cannot_become_a_picture_leaves_no_file(tmp_path, refusal):
    refusal.check(tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_example_is_a_photograph(monkeypatch):
    photo = example_photo()
    assert photo.size == (240, 240)
    assert photo.rgb.std() > 0.1
    monkeypatch.setattr("scalarviz.io.atomic.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="data extra"):
        example_photo()


def test_a_file_that_another_program_replaces_meanwhile_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "w.safetensors"
    io.save_tensors(path, {"a": np.zeros(3)})
    opened, left = weights._opened, [1, 2]

    def replaced(given):
        found = opened(given)
        if left:
            io.save_tensors(path, {"a": np.full(3, left.pop())})
        return found

    monkeypatch.setattr(weights, "_opened", replaced)
    np.testing.assert_array_equal(io.load_tensors(path)[0]["a"], np.ones(3))
