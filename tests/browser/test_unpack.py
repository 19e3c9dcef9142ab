"""Packed tables in the browser: the bits that Python packed."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest

from kit.unpacked import bytes_of, unpacked
from scalarviz.view.page.pack import deflated, dense_text, led_updates, packed, text_of

SEND = """async said => {
    const table = await unpackTable(JSON.parse(said));
    const bytes = new Uint8Array(table.numbers.buffer);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return [btoa(text), table.errors && [...table.errors]];
}"""


def tables():
    """Every kind of number: smooth ones, noise, all bit patterns, and those at the ends."""
    rng = np.random.default_rng(0)
    time = np.linspace(0, 3, 50)[:, None]
    yield (np.sin(time + np.arange(7)) * 2).astype(np.float32)
    yield rng.normal(size=(20, 30)).astype(np.float32)
    yield rng.integers(0, 2**32, (40, 5), np.uint32).view(np.float32)
    ends = [0.0, -0.0, np.nan, np.inf, -np.inf, 3.4028235e38, -3.4028235e38, 1e-45, -1e-45, 1.17549435e-38]
    yield np.array([rng.permutation(ends) for _ in range(12)], np.float32)
    yield np.zeros((0, 4), np.float32)
    yield np.zeros((1, 1), np.float32)


def test_every_bit_comes_back(scripts):
    page = scripts("unpack.js")
    for table in tables():
        for exact in (True, False):
            said = packed(table, exact=exact, dense=len(table) % 40 == 0)
            data, errors = page.evaluate(SEND, json.dumps(said))
            found = np.frombuffer(base64.b64decode(data), "<f4").reshape(said["frames"], said["columns"])
            assert np.array_equal(np.isnan(found), np.isnan(table))
            assert (errors is None) == exact
            if exact:
                assert np.array_equal(found.view(np.uint32), table.view(np.uint32))
            else:
                assert np.array_equal(found, unpacked(said), equal_nan=True)


def test_dense_texts(scripts):
    """Any bytes come back; no letter has to be escaped in HTML, JSON, a template or a script."""
    rng = np.random.default_rng(1)
    page = scripts("unpack.js")
    parts = [rng.integers(0, 256, size, np.uint8).tobytes() for size in (0, 1, 2, 3, 4, 5, 999, 1000)]
    texts = [dense_text(part) for part in [*parts, bytes(8), b"\xff" * 9]]
    found = page.evaluate("texts => texts.map(text => [...bytesOf(text)])", texts)
    assert [bytes(part) for part in found] == [bytes_of(one) for one in texts] == [*parts, bytes(8), b"\xff" * 9]
    assert not set("".join(texts)) & set("&<>\"'`\\")
    assert len(texts[7]) == 1251


def descent(steps, rate):
    """Values, gradients and updates (N, 3) of float32 gradient descent, at some of its steps, and those."""
    rng, kept = np.random.default_rng(2), []
    w, matrix = rng.normal(size=3).astype(np.float32), rng.normal(size=(3, 3)).astype(np.float32)
    for step in range(max(steps) + 1):
        g = matrix.T @ (matrix @ w)
        after = w - np.float32(rate) * g
        if step in steps:
            kept.append((after, g, after - w))
        w = after
    return [np.array(part, np.float32) for part in zip(*kept, strict=True)]


def test_updates_follow_from_what_is_around_them(scripts):
    page = scripts("unpack.js")
    steps = [0, 10, 20, 21, 22, 23, 40]
    values, gradients, updates = descent(steps, 0.01)
    rates = [0.01] * 6 + [float("nan")]
    for given_gradients in (gradients, None):
        led = led_updates(values, given_gradients, steps, rates)
        assert np.array_equal(led[3:6], updates[3:6])
        assert given_gradients is None or np.abs(led[:3] - updates[:3]).max() <= 2e-7
        said, alone = packed(updates, led=led), packed(updates)
        assert given_gradients is None or (said["order"] == 0 and len(said["data"]) < 0.8 * len(alone["data"]))
        assert np.array_equal(unpacked(said, led), updates)
        parts = [values, given_gradients, updates]
        told = [None if part is None else part.ravel().tolist() for part in parts]
        found = page.evaluate("""async ([[values, gradients, updates], steps, rates, said]) => {
            const table = list => list && { frames: 7, columns: 3, numbers: Float32Array.from(list), errors: null };
            const led = ledUpdates(table(values), table(gradients), steps, rates.map(Number), 3);
            const found = await unpackTable(said, led);
            return [[...led].map(String), [...new Uint32Array(found.numbers.buffer)]]; }""",
            [told, steps, [str(rate) for rate in rates], said])  # fmt: skip
        assert np.array_equal(np.array(found[0], float).reshape(7, 3), led, equal_nan=True)
        assert found[1] == updates.view(np.uint32).ravel().tolist()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"frames": 4}, "shorter"), ({"frames": 2}, "longer"), ({"bits": 7}, "not one of ours"),
     ({"order": 9}, "not one of ours"), ({"order": 0}, "not one of ours"),
     ({"frames": -1}, "not one of ours"), ({"frames": 1e300}, "not one of ours"),
     ({"data": text_of(deflated(bytes(10**7)))}, "longer"), ({"data": "%%%"}, "atob|encoded"),
     ({"data": "AAAA"}, "decompress|corrupt|junk|truncated|Compressed")],
)  # fmt: skip
def test_hostile_data_are_refused(scripts, wrong, words):
    said = packed(np.ones((3, 2), np.float32)) | wrong
    page = scripts("unpack.js")
    error = page.evaluate("said => unpackTable(JSON.parse(said)).then(() => '', String)", json.dumps(said))
    assert re.search(words, error), error
