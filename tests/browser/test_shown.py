"""What a frame becomes in the browser (numbers, marks, ranges that grow) against what the window makes of it."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.view.cubes.atlas import DEAD, FROZEN, NOT_COMPUTED, Atlas
from scalarviz.view.cubes.scale import OWN, ActivationScale, Coloring
from scalarviz.view.ink.theme import DARK
from scalarviz.view.page.document import document_of, flags_of, texels_of
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.layout import layout_for

SIZE = (640, 400)
NASTY = np.float32([np.nan, np.inf, -np.inf, 0.0, 1e-40, 3e30])

PLAY = """text => {
    const { document, frames } = JSON.parse(text), shown = new Shown(document);
    const numbers = text => new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
    const coded = bytes => btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
    return JSON.stringify(frames.map(({ quantity, seconds, texels, flags, rows }) => {
        const frame = { flags: Uint8Array.from(atob(flags), c => c.charCodeAt(0)),
            texels: Object.fromEntries(Object.entries(texels).map(([name, text]) => [name, numbers(text)])),
            rows: Object.fromEntries(Object.entries(rows).map(([name, text]) => [name, numbers(text)])) };
        shown.update(frame, document.quantities.find(({ name }) => name === quantity), seconds);
        return { range: shown.range, activation: shown.activation, growing: shown.growing, clipped: shown.clippedShare,
            drawn: coded(new Uint8Array(shown.drawn.buffer)), flags: coded(shown.flags) };
    }));
}"""


def coded(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def runs():
    rng = np.random.default_rng(0)
    inputs = rng.random((32, 3)).astype(np.float32)
    for layers in (
        [nn.Linear(3, 3), nn.Sigmoid()],
        [nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3), nn.Tanh()],
        [nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3)],
    ):
        net = nn.Sequential(*layers)
        yield sv.Run(net, nn.MSELoss(), optim.Adam(net.parameters(), lr=0.05), (inputs, 1 - inputs), engine="numpy")


def frames(run, rng, count):
    """Frames of random numbers that jump by decades, now and then with NaN, infinities, zeros, and what is missing."""
    run.step(2)
    subject = subject_of(run)
    frame = subject.frame()
    size, scale = 1.0, len(frame.values)
    for step in range(count):
        size *= float(np.exp(rng.normal(0, rng.choice([0.02, 1.5]))))
        values, gradient, update = (np.float32(rng.normal(0, size * s, scale)) for s in (1.0, 0.01, 0.001))
        for block in (values, gradient, update):
            if rng.random() < 0.3:
                where = rng.random(scale) < rng.choice([0.1, 1.0])
                block[where] = rng.choice(NASTY, where.sum())
        computed = np.full(scale, rng.random() < 0.8) & (rng.random(scale) < rng.choice([0.7, 1.0]))
        rows = {name: np.float32(rng.normal(0, size, np.shape(row))) for name, row in frame.activations.items()}
        dead = {name: rng.random(len(np.ravel(rows[name]))) < 0.3 for name in frame.dead}
        yield replace(frame, step=step, values=values, gradient=gradient, update=update, computed=computed, dead=dead,
                      frozen=rng.random(scale) < 0.2, activations=rows)  # fmt: skip


def window(subject, plates, plan):
    """Ranges, numbers and marks of the same frames as the window has them."""
    colouring = Coloring(subject.tensors, DARK)
    activations = ActivationScale(subject.stages, DARK)
    for frame, quantity, seconds in plan:
        colouring.change(DARK, quantity, None)
        colouring.update(frame, seconds)
        activations.update(frame, seconds)
        atlas = Atlas(plates)  # marks anew for each frame: what a mark was before does not matter
        atlas.set_flat(colouring.drawn)
        count = slice(0, atlas.parameters)
        atlas.set_flags(count, FROZEN, frame.frozen[count])
        atlas.set_flags(count, NOT_COMPUTED, None if quantity == "weight" else colouring.missing(frame)[count])
        for plate in plates:
            if plate.kind == "activation":
                atlas.set_row(plate, frame.activations[plate.name])
                atlas.set_flags(atlas.span(plate), DEAD, frame.dead.get(plate.name))
        yield colouring, activations, atlas


@pytest.mark.parametrize("index", range(3), ids=["one layer", "batch norm", "relu"])
@pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero):RuntimeWarning")
def test_numbers_marks_and_ranges_are_the_windows(scripts, index):
    rng, run = np.random.default_rng(index), list(runs())[index]
    subject = subject_of(run)
    document = document_of(subject, SIZE)
    plates = layout_for(subject.tensors, subject.stages, SIZE).plates
    quantity, plan, given = "weight", [], []
    for frame in frames(run, rng, 120):
        quantity = str(rng.choice(list(OWN))) if rng.random() < 0.2 else quantity
        seconds = None if rng.random() < 0.1 else float(rng.choice([0.016, 0.2, 2.0]))
        plan.append((frame, quantity, seconds))
        texels = {name: coded(texels_of(frame, document, name)) for name in ("weight", "gradient", "update")}
        rows = {name: coded(np.ravel(row)) for name, row in frame.activations.items()}
        given.append({"quantity": quantity, "seconds": seconds, "texels": texels, "rows": rows,
                      "flags": coded(flags_of(frame, document))})  # fmt: skip
    found = json.loads(scripts("quantity.js").evaluate(PLAY, json.dumps({"document": document, "frames": given})))
    grew = 0
    for step, (got, (colouring, activations, atlas)) in enumerate(
        zip(found, window(subject, plates, plan), strict=True)
    ):
        where = f"frame {step}, {colouring.quantity}"
        wanted = colouring.range
        assert got["range"]["scale"] == wanted.scale, where
        assert (got["range"]["low"], got["range"]["high"]) == pytest.approx((wanted.low, wanted.high), rel=1e-6), where
        rows = (activations.range.low, activations.range.high)
        assert (got["activation"]["low"], got["activation"]["high"]) == pytest.approx(rows, rel=1e-6), where
        assert got["growing"] == (colouring.growing or activations.growing), where
        grew += got["growing"]
        used = atlas.values.size
        flags = np.frombuffer(base64.b64decode(got["flags"]), np.uint8)[:used]
        np.testing.assert_array_equal(flags, atlas.flags.ravel(), where)
        drawn = np.frombuffer(base64.b64decode(got["drawn"]), np.float32)[:used]
        sound = (flags & 7) == 0
        np.testing.assert_allclose(drawn[sound], atlas.values.ravel()[sound], rtol=1e-5, atol=0, err_msg=where)
    assert grew > 10
