"""Files of a run that were damaged, edited or made by others: one clear line before anything changes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import struct
import zlib

import numpy as np
import pytest
import safetensors.numpy

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import FileFormatError, InputError
from scalarviz.io import load_tensors, save_tensors
from scalarviz.run.checkpoint import KEY, read_checkpoint

OLD = (
    "c-noC-%7(U6vp*UMy|u?(xjb(A%f@w=$#$qtT|Z=%~H~AV;g-wU%^N4Uhv8blT<+w%-#3PcfRxI<?<rFGbu}r4kS1zOR_kVzJeC)zBx_pZc7&A"
    "T#(*j*B4|l5p?1eq6{JrLb_vzK@~)`23*Pt61eGHqni`j@$cdOcI36U+YT)Frf6fRZ_q|tGL8A#XxzG;9#Im|7X1j;>;qEJ_88y+n@#OXi4`2b"
    "yhAh_hu^`6+KdBeKjbhF`eQw1tOn;doc+Rm4NPPn%d2$FBqnLb6M<Zb3{oW^%PY>1F@_>bq{^jWd9K!cp3ZqLu;Q4DIVj1<KuI!PH_(T(#zXnk"
    "yOf1?H3aoETTv2EZ<OlMdFN9?`6^b9`~6c(+23kTXKXbLlh^&``s4Y1`FQiT`~;>knN$"
)
"""Five steps of seed 7, written by a version whose checksum left the text out."""


def a_run(dtype="float32", **settings):
    net = nn.Sequential(nn.Linear(2, 1))
    net.initialize(nn.init.pytorch_default(), seed=3)
    optimizer = settings.pop("optimizer", optim.SGD)(net.parameters(), lr=0.5)
    return sv.Run(
        net, nn.MSELoss(), optimizer, (np.eye(2), np.ones((2, 1))), engine="numpy", seed=7, dtype=dtype, **settings
    )


def everything(run):
    state = {name: array.tobytes() for name, array in run.optimizer_state().items()}
    curves = [tuple(part.tolist() for part in line) for line in run.history.lines]
    return run.values.tobytes(), state, run.steps, run.lr, curves


def refused(path, says, run=None):
    """Loading fails with one line that names the file, and leaves the run as it was."""
    run = run or a_run()
    run.step(2)
    before = everything(run)
    with pytest.raises((FileFormatError, InputError), match=says) as caught:
        run.load(path)
    assert everything(run) == before
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert str(path)[:60] in str(caught.value)


def header_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def write_header(path, header, rest):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + rest)


# ---- old files


def test_a_file_of_an_older_version_still_loads(tmp_path):
    path = tmp_path / "old.safetensors"
    path.write_bytes(zlib.decompress(base64.b85decode(OLD)))
    saved = read_checkpoint(path)
    assert (saved.steps, saved.seed, saved.dtype, saved.notes) == (5, 7, "float32", {"who": "me"})
    run, fresh = a_run(), a_run()
    run.load(path)
    fresh.step(5)
    assert run.values.tobytes() == fresh.values.tobytes()
    header, rest = header_of(path)
    assert header["__metadata__"]["scalarviz.format"] == "1"
    write_header(path, header, rest[:-1] + bytes([rest[-1] ^ 1]))
    refused(path, "damaged or was edited by hand")


def test_the_checksum_is_one_over_numbers_and_text(tmp_path):
    run = a_run()
    run.step(3)
    path = tmp_path / "w.safetensors"
    run.save(path, {"note": "caf\u00e9 \u2603"})
    tensors, text = load_tensors(path)
    said = text.pop("scalarviz.sha256")
    digest = hashlib.sha256()
    for name, array in sorted(tensors.items()):
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode() + array.tobytes())
    digest.update(json.dumps(text, sort_keys=True).encode())
    assert digest.hexdigest() == said


# ---- edited by hand


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: {**text, KEY: text[KEY].replace('"steps": 3', '"steps": 4')},
        lambda text: {**text, KEY: text[KEY].replace('"lr": 0.5', '"lr": 0.25')},
        lambda text: {**text, KEY: text[KEY].replace("me", "you")},
        lambda text: {**text, "more": "words"},
        lambda text: {**text, "scalarviz.format": "1"},
        lambda text: {name: words for name, words in text.items() if name != KEY},
        lambda text: {name: words for name, words in text.items() if name != "scalarviz.sha256"},
    ],
)
def test_edited_text_is_refused(tmp_path, edit):
    run = a_run()
    run.step(3)
    path = tmp_path / "w.safetensors"
    run.save(path, {"who": "me"})
    header, rest = header_of(path)
    assert edit(header["__metadata__"]) != header["__metadata__"]
    write_header(path, {**header, "__metadata__": edit(header["__metadata__"])}, rest)
    refused(path, "damaged or was edited by hand")


def test_our_text_without_its_format_is_refused(tmp_path):
    path = tmp_path / "w.safetensors"
    a_run().save(path)
    header, rest = header_of(path)
    del header["__metadata__"]["scalarviz.format"]
    write_header(path, header, rest)
    refused(path, "has format none, known are 1, 2")


# ---- text that is whole and nonsense


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ('{"steps": 1e400}', "1e400 is no finite number"),
        ('{"steps": 9223372036854775808}', r"steps must be a whole number <= 9007199254740992"),
        ('{"steps": ' + "9" * 4000 + "}", r"steps must be a whole number <= 9007199254740992"),
        ('{"steps": ' + "9" * 5000 + "}", "cannot be used"),
        ('{"steps": -1}', "steps must be a whole number >= 0, got -1"),
        ('{"steps": 1.5}', "steps must be a whole number"),
        ('{"steps": true}', "steps must be a whole number"),
        ('{"steps": "7"}', "steps must be a whole number"),
        ('{"steps": null}', "steps must be a whole number"),
        ('{"steps": [1]}', "steps must be a whole number"),
        ('{"steps": NaN}', "NaN is no finite number"),
        ('{"steps": 1, "steps": 2}', "'steps' stands there twice"),
        ('{"seed": -1}', "seed must be"),
        ('{"seed": 1e3}', "seed must be"),
        ('{"seed": 18446744073709551616}', "seed"),
        ('{"dtype": "float16"}', "dtype cannot be 'float16'"),
        ('{"dtype": ["float32"]}', "dtype cannot be"),
        ('{"optimizer": {}}', "optimizer cannot be {}"),
        ('{"optimizer": "SGD", "hyperparameters": {"lr": -1}}', "lr must be a number, at least 0; got -1"),
        ('{"optimizer": "SGD", "hyperparameters": {"lr": "fast"}}', "lr must be a number, at least 0; got 'fast'"),
        ('{"optimizer": "SGD", "hyperparameters": {"lr": true}}', "lr must be a number"),
        ('{"optimizer": "SGD", "hyperparameters": {"lr": Infinity}}', "Infinity is no finite number"),
        ('{"optimizer": "SGD", "hyperparameters": {"x": {"y": 1}}}', "hyperparameters cannot be"),
        ('{"hyperparameters": [1]}', "hyperparameters cannot be"),
        ('{"notes": {"a": 1}}', "notes cannot be"),
        ('{"notes": "' + "n" * 10000 + '"}', "notes cannot be"),
        ("[]", "wanted names and values"),
        ("7", "wanted names and values"),
        ("", "cannot be used"),
        ("{", "cannot be used"),
        ("[" * 100000, "nested too deeply|cannot be used"),
        ('{"steps": ' + "[" * 100000, "nested too deeply|cannot be used"),
    ],
    ids=lambda text: text[:40],
)
def test_a_description_that_says_nonsense(tmp_path, about, says):
    path = tmp_path / "w.safetensors"
    save_tensors(path, a_run().state_dict(), {KEY: about})
    refused(path, says)


# ---- numbers that no run can take


@pytest.mark.parametrize(
    ("name", "number", "dtype", "says"),
    [
        ("0.weight", np.nan, "float32", r"0\.weight\[0\]\[1\] is nan, not a finite number; nothing was changed"),
        ("0.weight", -np.inf, "float64", r"0\.weight\[0\]\[1\] is -inf, not a finite number"),
        ("0.weight", 1e300, "float32", r"0\.weight\[0\]\[1\] is 1e\+300, too large for float32"),
        ("optimizer.momentum_buffer.0.weight", np.nan, "float32", r"momentum_buffer\.0\.weight\[0\]\[1\] is nan"),
        (
            "optimizer.momentum_buffer.0.weight",
            1e39,
            "float32",
            r"momentum_buffer\.0\.weight\[0\]\[1\] is 1e\+39, too large",
        ),
    ],
)
def test_numbers_that_are_not_finite_in_the_run(tmp_path, name, number, dtype, says):
    def momentum(parameters, lr):
        return optim.SGD(parameters, lr=lr, momentum=0.9)

    source, path = a_run("float64", optimizer=momentum), tmp_path / "w.safetensors"
    source.step(1)
    source.save(path)
    tensors, text = load_tensors(path)
    tensors[name][0, 1] = number
    save_tensors(path, tensors, {KEY: text[KEY]})
    refused(path, says, a_run(dtype, optimizer=momentum))


def test_a_float64_file_that_fits_goes_into_a_float32_run(tmp_path):
    source, path = a_run("float64"), tmp_path / "w.safetensors"
    source.step(3)
    source.save(path)
    run = a_run()
    run.load(path)
    np.testing.assert_array_equal(run.values, source.values.astype(np.float32))
    with pytest.raises(InputError, match="steps must be a whole number <="):
        run.restore(run.state_dict(), {}, 2**63)


# ---- files that are none


def test_what_is_no_file_of_weights(tmp_path):
    a_run().save(tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    header, rest = header_of(tmp_path / "good")
    name = b'"0.bias":' + json.dumps(header["0.bias"]).encode()
    contents = {
        "empty": b"",
        "seven": b"1234567",
        "cut": good[:-1],
        "longer": good + b"\0",
        "huge header": struct.pack("<Q", 2**62) + b"{}",
        "long header": struct.pack("<Q", 99_000_000) + b"{}",
        "nested": struct.pack("<Q", 100_000) + b"[" * 100_000,
        "no text": struct.pack("<Q", 4) + b"\xff\xfe\xfd\xfc",
    }
    for kind, content in contents.items():
        (tmp_path / kind).write_bytes(content)
        refused(tmp_path / kind, "is not a file of weights that can be read")
    text = json.dumps(header).encode()
    write_header(tmp_path / "twice", text[:-1] + b"," + name + b"}", rest)
    refused(tmp_path / "twice", "'0.bias' stands there twice")
    big = {"0.weight": {"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]}}
    write_header(tmp_path / "big", big, b"")
    refused(tmp_path / "big", "too big")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "device or a pipe")
    refused("/dev/zero", "device or a pipe")
    refused(tmp_path, "is a folder")
    refused(tmp_path / "none", "there is no file of weights")
    refused(tmp_path / ("n" * 5000), "file name too long")
    run = a_run()
    for name in ("a\0b", "\ud800"):
        with pytest.raises(InputError, match="can be no file's name"):
            run.load(name)


def test_seeded_damage_is_refused_and_changes_nothing(tmp_path):
    source, path = a_run(), tmp_path / "w.safetensors"
    source.step(3)
    source.save(path, {"who": "me"})
    good, chance, run = path.read_bytes(), random.Random(0), a_run()
    run.step(2)
    before, harmless = everything(run), 0
    for _ in range(400):
        data = bytearray(good)
        place = chance.randrange(len(data))
        if chance.random() < 0.6:
            data[place] ^= 1 << chance.randrange(8)
        else:
            data[place : place + chance.randrange(1, 9)] = bytes(chance.randrange(256) for _ in range(4))
        path.write_bytes(data)
        try:
            run.load(path)
        except (FileFormatError, InputError) as error:
            said = str(error)
            assert everything(run) == before, said
            assert "\n" not in said
        else:  # only where nothing that counts was changed, such as a space between two entries
            harmless += 1
            assert run.values.tobytes() == source.values.tobytes()
            assert run.steps == 3
            run = a_run()
            run.step(2)
            before = everything(run)
    assert harmless < 20


def test_names_and_text_that_are_no_text(tmp_path):
    with pytest.raises(InputError, match="no text that UTF-8 can hold"):
        save_tensors(tmp_path / "w", {"\ud800": np.zeros(3)})
    with pytest.raises(InputError, match="no text that UTF-8 can hold"):
        save_tensors(tmp_path / "w", {"w": np.zeros(3)}, {"note": "\ud800"})
    assert os.listdir(tmp_path) == []


def test_an_optimiser_that_holds_a_function_or_numpys_numbers_is_saved(tmp_path):
    class Own(optim.Optimizer):
        def __init__(self, params, lr, schedule=None, numbers=()):
            super().__init__(params, lr)
            self.schedule, self.numbers = schedule, numbers

        def update(self, w, g, state, lr, t):
            return w - lr * g, {}

    run = a_run(optimizer=lambda parameters, lr: Own(parameters, lr, abs, (np.float32(0.5), float("inf"))))
    run.save(tmp_path / "w")
    held = read_checkpoint(tmp_path / "w").hyperparameters
    assert held == {"lr": 0.5, "schedule": "<built-in function abs>", "numbers": [0.5, "inf"]}


# ---- the history after going back


def test_the_steps_of_the_history_rise_after_going_back(tmp_path):
    run, path = a_run(), tmp_path / "w.safetensors"
    run.step(50)
    run.save(path)
    run.step(10)
    first = run.history.curve()
    run.load(path)
    assert len(run.history) == 0
    assert np.isnan(run.loss)
    run.step(3)
    assert run.history.step.tolist() == [51, 52, 53]
    assert run.frame().curve.step.tolist() == [51, 52, 53]
    old, new = run.history.lines
    for got, wanted in zip(old, first, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert old.step.tolist() == list(range(1, 61))
    np.testing.assert_array_equal(new.loss, old.loss[50:53])  # the same bits again
    state = run.state_dict()
    run.restore(state, {}, 53)  # the same number, but who knows whose weights
    run.restore(state, {}, 53)
    run.step(1)
    assert [line.step[-1] for line in run.history.lines] == [60, 53, 54]


def test_a_file_of_another_program_starts_at_step_0(tmp_path):
    safetensors.numpy.save_file(a_run().state_dict(), tmp_path / "w")
    run = a_run()
    run.step(4)
    run.load(tmp_path / "w")
    run.step(2)
    assert run.history.step.tolist() == [1, 2]
