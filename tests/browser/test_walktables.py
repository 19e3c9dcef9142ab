"""Opened steps of a page take little room, and come back to the bit."""

from __future__ import annotations

import json

import numpy as np

import scalarviz as sv
from kit.unpacked import unpacked
from scalarviz.run.sources.played import RecordedSource
from scalarviz.view.page.document import document_of
from scalarviz.view.page.page import gathered
from scalarviz.view.page.walks import led_slopes, walk_parts, walks_of
from scalarviz.view.shown.subject import subject_of

from .players import scene

BACK = """async ([texts, said, document, weights]) => {
    const numbers = Float32Array.from(weights), columns = document.texels;
    const run = { document, tables: { weight: { numbers, columns, frames: numbers.length / columns, errors: null } } };
    const table = await walkTable(name => texts[name] ?? null, said, run);
    return Array.from(new Uint32Array(table.numbers.buffer));
}"""


def told_of(optimizer, steps=8):
    made = scene("rgb", hidden=(6, 5), optimizer=optimizer, lr=0.01)
    with sv.Recording(made, every=2, micro=True, gradients=True, activations=True) as recording:
        made.run.step(steps)
        with recording.read() as recorded:
            source = RecordedSource(recorded)
            subject = subject_of(source)
            document = document_of(subject, (900, 500))
            places = list(range(len(recorded)))
            said, rows = walks_of(subject, source, places, document)
            frames = []
            for place in places:
                source.stand(place)
                frames.append(source.frame())
            _, tables = gathered(subject, frames, document, ("weight",))
    return said, rows, document, tables["weight"]


def test_they_come_back_to_the_bit_whatever_trains(scripts):
    page = scripts("walktables.js")
    for optimizer in ("sgd", "adam"):
        said, rows, document, weights = told_of(optimizer)
        assert sum(walk["alone"] for walk in said["walks"]) == len(rows) / 2
        parts = walk_parts(said, rows, document, weights)
        back = page.evaluate(BACK, [parts, json.loads(json.dumps(said)), document, weights.ravel().tolist()])
        assert np.array_equal(np.array(back, np.uint32).reshape(rows.shape), rows.view(np.uint32)), optimizer


def test_what_follows_is_not_written_again():
    said, rows, document, weights = told_of("sgd", 40)
    parts = {name: json.loads(text) for name, text in walk_parts(said, rows, document, weights).items()}
    assert (parts["alone"]["order"], parts["after"]["order"]) == (0, 0)
    bare = 4 * rows[:, : document["parameters"]].size  # bytes of the new weights as they are
    assert len(parts["after"]["data"]) < 0.1 * bare
    alone = parts["alone"]["frames"]
    led = led_slopes(said, rows[:alone, 2 * document["parameters"] :], document)
    assert np.allclose(led, rows[:alone, : document["parameters"]], rtol=1e-6, atol=1e-12)
    assert np.array_equal(unpacked(parts["alone"], led), rows[:alone, : document["parameters"]])
