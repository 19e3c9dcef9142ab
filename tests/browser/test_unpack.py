"""Packed tables in the browser: the bits that Python packed."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest

from scalarviz.view.browser.pack import deflated, packed, text_of, unpacked

SEND = """async said => {
    const table = await unpackTable(JSON.parse(said));
    const bytes = new Uint8Array(table.numbers.buffer);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return [btoa(text), table.errors && [...table.errors]];
}"""


def asked(page, said):
    data, errors = page.evaluate(SEND, json.dumps(said))
    table = np.frombuffer(base64.b64decode(data), "<f4").reshape(said["frames"], said["columns"])
    return table, errors


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
            said = packed(table, exact=exact)
            found, errors = asked(page, said)
            assert np.array_equal(np.isnan(found), np.isnan(table))
            assert (errors is None) == exact
            if exact:
                assert np.array_equal(found.view(np.uint32), table.view(np.uint32))
            else:
                assert np.array_equal(found, unpacked(said), equal_nan=True)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"frames": 4}, "shorter"), ({"frames": 2}, "longer"), ({"bits": 7}, "not one of ours"),
     ({"order": 9}, "not one of ours"), ({"frames": -1}, "not one of ours"), ({"frames": 1e300}, "not one of ours"),
     ({"data": text_of(deflated(bytes(10**7)))}, "longer"), ({"data": "%%%"}, "atob|encoded"),
     ({"data": "AAAA"}, "decompress|corrupt|junk|truncated|Compressed")],
)  # fmt: skip
def test_hostile_data_are_refused(scripts, wrong, words):
    said = packed(np.ones((3, 2), np.float32)) | wrong
    page = scripts("unpack.js")
    error = page.evaluate("said => unpackTable(JSON.parse(said)).then(() => '', String)", json.dumps(said))
    assert re.search(words, error), error
