"""What `scalarviz texture` paints, against NumPy: places, encodings, transforms, pictures of every kind."""

import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from kit.commands import make_scene, moment_of, reader_of
from kit.inside_scenes import Motif, bilinear
from scalarviz.io import load_picture, load_tensors

RNG = np.random.default_rng(5)
SMALL = np.rint(RNG.random((6, 8, 3)) * 255).astype(np.uint8)


@pytest.fixture
def picture(tmp_path):
    """A file of 8 x 6 pixels."""
    path = tmp_path / "small.png"
    Image.fromarray(SMALL).save(path)
    return path


@pytest.fixture
def paint(blind):
    return lambda *arguments: blind("texture", *arguments)


def by_hand(path, rgb, encoded=True):
    """What the saved network makes of every pixel, written out in NumPy."""
    w, _ = load_tensors(path)
    high, wide = rgb.shape[:2]
    rows = []
    for i in range(high):
        for j in range(wide):
            place = (j + 0.5) / wide, (i + 0.5) / high
            rows.append([f(math.pi * 2**k * c) for c in place for k in range(3) for f in (math.sin, math.cos)])
            if not encoded:
                rows[-1] = list(place)
    x = np.array(rows)
    names = sorted(int(name[: -len(".weight")]) for name in w if name[0].isdigit() and name.endswith(".weight"))
    for name in names:
        x = x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
        x = 1 / (1 + np.exp(-x)) if name == names[-1] else np.where(x > 0, x, 0.01 * x)
    return x.reshape(rgb.shape)


@pytest.mark.parametrize("encoding", ["sin", "none"])
def test_the_ratio_is_that_of_the_saved_weights_by_hand(paint, picture, encoding):
    line = paint(picture, "--steps", 30, "--encoding", encoding, "--hidden", "9,7", "--save", "w.safetensors",
                 "--output", "o.png", "--json").json  # fmt: skip
    made, rgb = by_hand("w.safetensors", SMALL, encoding == "sin"), SMALL / 255
    assert line["psnr"] == pytest.approx(-10 * math.log10(((made - rgb) ** 2).mean()), abs=1e-3)
    assert line["weights"] == (12 if encoding == "sin" else 2) * 9 + 9 + 9 * 7 + 7 + 7 * 3 + 3
    assert np.abs(load_picture("o.png").rgb - made).max() < 0.6 / 255


def test_bilinear_is_what_its_four_pixels_say():
    rgb = RNG.random((4, 5, 3)).astype(np.float32)
    for x, y in RNG.random((200, 2)) * 1.2 - 0.1:
        u, v = min(max(x * 5 - 0.5, 0), 4), min(max(y * 4 - 0.5, 0), 3)
        wanted = sum(
            rgb[i, j].astype(float) * max(0, 1 - abs(v - i)) * max(0, 1 - abs(u - j))
            for i in range(4) for j in range(5)
        )  # fmt: skip
        np.testing.assert_allclose(bilinear(rgb, np.array([[x, y]], np.float32))[0], wanted, atol=2e-6)
    assert bilinear(rgb[:1, :1], np.array([[0.3, 0.9]], np.float32)).tolist() == rgb[:1, 0].tolist()


def built(picture, **more):
    return make_scene("texture", **{"picture": picture, "batch": 16, "hidden": (8,), "steps": 40, **more})


def test_a_transform_is_switched_live_and_undone(picture):
    scene = built(picture)
    run, (control, _) = scene.run, scene.controls
    painting = scene.panels[0]
    run.step(5)
    before = run.frame()
    for name in ("zoom", "transpose", "zoom"):
        run.do(control.change(name, reader_of(scene)))
        assert control.value(reader_of(scene)) == name
        wanted = painting.wanted(moment_of(scene))
        np.testing.assert_array_equal(wanted, Motif(scene.first.rgb, name).target_colours)
        run.step(5)
    assert control.change("zoom", reader_of(scene)) is None
    assert control.value(replace(reader_of(scene), frame=before)) == "identity"  # what was painted then
    run.undo()
    assert control.value(reader_of(scene)) == "transpose"
    run.to(0)
    assert control.value(reader_of(scene)) == "identity"
    rgb = scene.first.rgb
    np.testing.assert_allclose(
        Motif(rgb[:6, :6], "transpose").target_colours, rgb[:6, :6].transpose(1, 0, 2), atol=1e-6
    )


@pytest.mark.ci
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Image.new("RGB", (1, 1), (200, 30, 40)), ""),
        (lambda: Image.fromarray(np.full((4, 4, 4), 128, np.uint8)), "transparent pixels become white"),
        (lambda: Image.new("RGB", (2100, 1000)), "learning 1483 x 706 of 2100 x 1000 pixels"),
    ],
)  # fmt: skip
def test_any_picture_is_painted(paint, tmp_path, make, said):
    make().save(tmp_path / "p.png")
    result = paint("p.png", "--steps", 2, "--hidden", "4", "--json")
    assert result.code == 0
    assert result.json["psnr"] > 0
    assert said in result.err
