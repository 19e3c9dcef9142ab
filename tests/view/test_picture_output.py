"""`sv.view.picture`: the pixels of `render` as an output of a notebook, with words that are true, in every form."""

from __future__ import annotations

import base64
import html
import io
import re

import numpy as np
import pytest
from PIL import Image

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.run import Scene

pytestmark = pytest.mark.gl
SIZE = (320, 240)


def scene_of():
    """Two inputs, one output, in the order of two samples; named, so that its words are known."""
    net = nn.Sequential(nn.Linear(2, 1))
    net[0].weight.data = [[0.5, -0.25]]  # drawn ones may fit so well that the loss is written with an exponent
    data = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0], [0.0]])
    run = sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), data=data, engine="numpy", batch_size=1)
    return Scene("pair", run, data[0][0], data[1][0])


def image(data):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))


def parts(picture):
    data, about = picture._repr_mimebundle_()
    found = re.fullmatch(r'<img alt="([^"]*)" width="(\d+)" src="data:image/webp;base64,([^"]+)">', data["text/html"])
    return html.unescape(found[1]), int(found[2]), image(found[3]), data, about


def test_html_holds_the_pixels_of_render_and_the_image_beside_it_looks_the_same():
    scene = scene_of()
    scene.run.step(3)
    picture = sv.view.picture(scene, SIZE)
    words, width, seen, data, about = parts(picture)
    wanted = sv.render(scene, SIZE, theme="light")
    assert np.array_equal(picture.pixels, wanted)
    assert np.array_equal(seen, wanted)  # every bit
    assert width == SIZE[0]
    assert np.abs(image(data["image/jpeg"]).astype(int) - wanted).mean() < 4
    loss = f"{scene.run.frame().loss:.4f}"
    assert words == data["text/plain"] == picture.words == f"pair, step 3, loss {loss}: 3 numbers as cubes"
    assert about == {"image/jpeg": {"alt": words}, "vscode_altText": words}
    assert repr(picture) == f"Picture({words})"


def test_words_say_the_moment_that_is_drawn_and_what_the_cubes_show():
    scene = scene_of()
    assert sv.view.picture(scene, SIZE).words == "pair, step 0: 3 numbers as cubes"  # no step, no loss
    scene.run.step(4)
    now = sv.view.picture(scene, SIZE, quantity="|gradient|").words
    assert now.startswith("pair, step 4, loss ")
    assert now.endswith("3 numbers as cubes, coloured by |gradient|")
    then = sv.view.picture(scene, SIZE, step=2).words
    assert then.startswith("pair, step 2, loss ")
    inside = sv.view.picture(scene, SIZE, inside=-1).words
    assert re.match(r"pair, inside step 5, micro-step (\d+) of \1 \(update\), 0.bias", inside)
    assert sv.view.picture(nn.Linear(2, 3), SIZE).words == "linear: 9 numbers as cubes"
    assert sv.view.picture(sv.Weight(1.0), SIZE).words == "weights: 1 number as a cube"


def test_pixels_of_ones_own_and_what_is_none(tmp_path):
    pixels = np.arange(2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)
    picture = sv.view.Picture(pixels[:, ::-1], 'a "hill" & a <b>lake</b>')
    words, width, seen, _, _ = parts(picture)
    assert (words, width) == ('a "hill" & a <b>lake</b>', 5)
    assert np.array_equal(seen, pixels[:, ::-1])
    assert np.array_equal(np.asarray(Image.open(picture.save(tmp_path / "own.png"))), pixels[:, ::-1])
    for bad in (np.zeros((2, 2)), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), np.uint8)):
        with pytest.raises(InputError, match="allowed: uint8"):
            sv.view.Picture(bad, "words")
    with pytest.raises(TypeMismatchError, match="Picture: the words"):
        sv.view.Picture(pixels, 3)
    with pytest.raises(TypeMismatchError):
        sv.view.picture("rgb")
    with pytest.raises(InputError):
        sv.view.picture(scene_of(), (1, 1))
