"""LUTs: the file's order against pillow's own 3-D LUT, the round trip, and what is no LUT."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image, ImageFilter

from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import read_cube, sample, write_cube


def grade(colours):
    """Something that treats the three channels differently."""
    r, g, b = np.moveaxis(colours, -1, 0)
    return np.stack([r**2, 0.5 * g + 0.5 * b, 1 - r * g], axis=-1)


def test_the_file_has_33_points_and_red_changes_fastest(tmp_path):
    write_cube(tmp_path / "x.cube", sample(lambda c: c, title='my "grade"'))
    lines = (tmp_path / "x.cube").read_text().splitlines()
    assert lines[0] == "TITLE \"my 'grade'\""
    assert "LUT_3D_SIZE 33" in lines
    assert "DOMAIN_MIN 0.000000 0.000000 0.000000" in lines
    rows = [line for line in lines if line[0].isdigit()]
    assert len(rows) == 33**3
    assert rows[0] == "0.000000 0.000000 0.000000"
    assert rows[1] == "0.031250 0.000000 0.000000"
    assert rows[33] == "0.000000 0.031250 0.000000"
    assert rows[33 * 33] == "0.000000 0.000000 0.031250"


def test_a_round_trip_gives_the_function_back(tmp_path):
    lut = sample(grade)
    write_cube(tmp_path / "x.cube", lut)
    back = read_cube(tmp_path / "x.cube")
    np.testing.assert_allclose(back.table, lut.table, atol=5e-7)
    assert back.title == "scalarviz"
    colours = np.random.default_rng(0).random((500, 3))
    # bilinear in each cell; the curvature of r**2 leaves at most step**2 / 4
    np.testing.assert_allclose(back(colours), grade(colours), atol=(1 / 32) ** 2 / 4 + 1e-6)


def test_on_the_grid_interpolation_is_exact():
    lut = sample(grade, points=5)
    level = np.array([0, 0.25, 0.5, 0.75, 1])
    colours = np.stack(np.meshgrid(level, level, level), axis=-1)
    np.testing.assert_allclose(lut(colours), grade(colours), atol=1e-15)
    np.testing.assert_allclose(lut(np.array([-1.0, 2.0, 0.5])), grade(np.array([0, 1, 0.5])))


def test_pillow_applies_the_same_table_alike():
    lut = sample(grade, points=9)
    picture = np.random.default_rng(1).integers(0, 256, (20, 30, 3)).astype(np.uint8)
    table = ImageFilter.Color3DLUT(9, lut.table.reshape(-1, 3).tolist())
    theirs = np.asarray(Image.fromarray(picture).filter(table))
    assert np.abs(lut(picture / 255.0) * 255 - theirs).max() <= 1.01


def test_a_file_of_another_program(tmp_path):
    rows = "\n".join(f"{r} {g} {b}" for b in (0, 1) for g in (0, 1) for r in (0, 1))
    text = f"# made elsewhere\r\n\r\nDOMAIN_MIN 0 0 0\nDOMAIN_MAX 2 2 2\nLUT_3D_SIZE 2\n{rows}\n"
    (tmp_path / "x.cube").write_text(text)
    np.testing.assert_allclose(read_cube(tmp_path / "x.cube")(np.array([1.0, 0.5, 2.0])), [0.5, 0.25, 1.0])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no .cube file"),
        ("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n", "1-D LUT"),
        ("LUT_3D_SIZE two\n", "must be 2 to 256"),
        ("LUT_3D_SIZE 1000\n", "must be 2 to 256"),
        ("LUT_3D_SIZE 2\n0 0 0\n", "has 1 colours, LUT_3D_SIZE 2 needs 8"),
        ("LUT_3D_SIZE 2\n0 0\n", "line 2: wanted three numbers"),
        ("LUT_3D_SIZE 2\n0 0 nan\n", "line 2: wanted three numbers"),
        ("LUT_3D_SIZE 2\nnan 0 0\n", "line 2: 'nan' is no keyword of a LUT; there are TITLE"),
        ("LUT_3D_SIZE 2\n0 0 1e400\n", "line 2: wanted three numbers, got '0 0 1e400'"),
        ("LUT_3D_SIZE 2\n0 0 1_000\n", "line 2: wanted three numbers, got '0 0 1_000'"),
        ("LUT_3D_SIZE 2\n0 0 0x10\n", "line 2: wanted three numbers, got '0 0 0x10'"),
        ("LUT_3D_SIZE 2\n0 0 \u0661\n", "line 2: wanted three numbers"),
        ("LUT_3D_SIZE 2\n0 0 \uff11\n", "line 2: wanted three numbers"),
        ("LUT_3D_SIZE 2\n0 0 0 # black\n", "line 2: wanted three numbers, got '0 0 0 # black'"),
        ("LUT_3D_SIZE 2\n0 0 0 0\n", "line 2: wanted three numbers, got '0 0 0 0'"),
        ("LUT_3D_SIZE 2\n0,0,0\n", "line 2: wanted three numbers"),
        ("LUT_3D_SIZE 2\n-inf 0 0\n", "line 2: wanted three numbers"),
        ("LUT_3D_SIZE 2\n" + "9" * 5000 + " 0 0\n", "line 2: wanted three numbers"),
        ("LUT_3D_SIZE \u00b2\n", "must be 2 to 256"),
        ("LUT_3D_SIZE \u0662\n", "must be 2 to 256"),
        ("LUT_3D_SIZE 2 # two\n", "must be 2 to 256"),
        ("LUT_3D_SIZE\n", "must be 2 to 256, got ''"),
        ("LUT_3D_SIZE 0\n", "must be 2 to 256"),
        ("LUT_3D_SIZE 1\n0 0 0\n", "must be 2 to 256"),
        ("LUT_3D_SIZE 257\n", "must be 2 to 256"),
        ("LUT_3D_SIZE " + "9" * 5000 + "\n", "must be 2 to 256"),
        ("LUT_3D_SIZE 2\nLUT_3D_SIZE 2\n", "line 2: LUT_3D_SIZE stands there a second time"),
        ("LUT_1D_SIZE 2\nLUT_3D_SIZE 2\n", "a 1-D LUT before its 3-D LUT"),
        ("LUT_3D_SIZE 2\nLUT_IN_VIDEO_RANGE\n", "line 2: 'LUT_IN_VIDEO_RANGE' is no keyword"),
        ("LUT_3D_SIZE 2\nDOMAIN_MIN 0 0\n" + "0 0 0\n" * 8, "DOMAIN_MIN: wanted three numbers"),
        ("LUT_3D_SIZE 2\nDOMAIN_MAX 1 1 inf\n" + "0 0 0\n" * 8, "DOMAIN_MAX: wanted three numbers"),
        ("\0" * 100, "no .cube file|wanted three numbers"),
        ("LUT_3D_SIZE 2\nDOMAIN_MAX 0 1 1\n" + "0 0 0\n" * 8, "is not below"),
    ],
)
def test_what_is_no_lut(tmp_path, text, says):
    (tmp_path / "x.cube").write_text(text)
    with pytest.raises(FileFormatError, match=says) as caught:
        read_cube(tmp_path / "x.cube")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_what_programs_write_around_the_numbers(tmp_path):
    rows = "\r".join(f"\t{r}.\t+{g}e0  .{b}E+1 " for b in (0, 1) for g in (0, 1) for r in (0, 1))
    text = f'\ufeff#\tmade elsewhere\r\n\r\nTITLE\t"a \u2028 b"\r\nLUT_3D_SIZE\t2 \r\n{rows}'
    (tmp_path / "x.cube").write_bytes(text.encode())
    lut = read_cube(tmp_path / "x.cube")
    assert lut.title == "a \u2028 b"
    np.testing.assert_array_equal(lut.table[1, 0, 1], [1, 0, 1])


def test_a_device_or_a_file_without_end_is_no_lut(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(InputError, match="device or a pipe"):
            read_cube(path)
    with (tmp_path / "big.cube").open("wb") as file:
        file.truncate(10**10)  # sparse: it takes no room
    with pytest.raises(FileFormatError, match="more than 1,073,741,824 bytes"):
        read_cube(tmp_path / "big.cube")


def test_files_that_cannot_be_used(tmp_path):
    (tmp_path / "x.cube").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(FileFormatError, match="not text"):
        read_cube(tmp_path / "x.cube")
    with pytest.raises(InputError, match="there is no LUT"):
        read_cube(tmp_path / "y.cube")
    with pytest.raises(InputError, match=r"ends in \.cube"):
        write_cube(tmp_path / "x.png", sample(grade, 2))
    with pytest.raises(InputError, match="not a finite number"):
        write_cube(tmp_path / "z.cube", sample(lambda c: c * np.nan, 2))
    with pytest.raises(InputError, match="whole number >= 2, got 1"):
        sample(grade, 1)
    assert os.listdir(tmp_path) == ["x.cube"]
