"""What cannot be done is refused in a line or two, with exit code 2, before anything is trained or written.

A row is a command line and facts that its message holds: the flag or the bad value, what is allowed, what to try.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import SCENES, flags_of, listing, main, make_scene
from scalarviz import nn
from scalarviz.cli.scene_files import TAUGHT
from scalarviz.io import save_picture, save_tensors

pytestmark = pytest.mark.ci  # some rows train an ONNX file, which `make test` has no package for
LONG = "n" * 5000
BAD_VALUES: dict[str, list[str]] = {
    "steps": ["", "1.5", "1e3", "--steps", "0", "9" * 20], "seed": ["-1", str(2**64)], "batch": ["0", "100000000"],
    "fps": ["1000"], "lr": ["x", "inf", "0", "-1"], "dtype": ["float8"], "duration": ["0", "1e9"],
    "size": ["1280", "0x0", "1280x720x3", "1.5x2", "160x159", "8193x720"],
    "hidden": ["0", "16,", "16;16", "999999"], "threads": ["0", "100000"], "engine": ["", "cuda:99", "numba:1"],
    "pair": ["#ff8800", "red:blue", "#ff8800:#0044cc:#fff"], "picture": ["missing.png", "folder", "text.txt"],
    "source": ["folder"], "apply": ["text.txt"], "load": ["missing.png", "text.txt"],
    "output": ["folder", "text.txt/x.png", "x.mp4"], "out": ["folder", "", "text.txt/x.png", "x.mp3"],
    "export_lut": ["x.png"], "save": ["folder", "text.txt/w.safetensors"], "recording": ["w", "one.svz"],
    "html": ["folder"], "html_data": ["-1", "1e9", "inf", "4MB"], "every": ["0", "9" * 20],
    "open": ["-1", "1.5", "x"], "sampling": ["Epochs"], "at": ["-1", "9" * 20],
    "schedule": ["Cosine", "cosine:", "linear:0", "linear:1.5", "cycle:1:2", "linear:9999999999999", "constant:5",
                 "step", "plateau"],
    "break_on": ["", "loss <", "no_such > 1", "__import__('os')", "0.weight[9][9] > 0", "(" * 200,
                 "loss < " + "1" * 10_000],
}  # fmt: skip
SWITCHES = {"--headless", "--json", "--paused", "--presenter", "--random-coordinates"}
PARTNERS = {"--source": "--graded good.png", "--graded": "--source good.png", "--apply": "--output o.png",
            "--output": "--apply good.png", "--every": "--recording x.svz",
            "--html-data": "--html x.html"}  # fmt: skip
"""Flags that come in pairs get a good partner, so that the bad value itself is what is wrong."""
TRAIN_VALUES: dict[str, list[str]] = {
    "network": ["missing.onnx", "text.txt"], "data": ["missing.npz", "good.png", ""], "trained": ["*.nope"],
    "samples": ["M", "7", "1"], "test": ["1", "-0.1"], "onnx": ["folder", "x.pt"],
}  # fmt: skip


class Pair(nn.Module):
    """Two outputs, the second a part of the first."""

    def __init__(self):
        self.whole = nn.Linear(2, 2, seed=0)

    def forward(self, x):
        y = self.whole(x)
        return y, [y[0]]


def write_arrays():
    x, y = np.ones((4, 2)), np.array([0, 1, 1, 0])
    ring = np.random.default_rng(0).normal(size=(40, 2))
    for name, arrays in {
        "set": {"x": x, "y": y},
        "ring": {"x": ring, "y": (np.hypot(*ring.T) > 1.1).astype(int)},
        "wide": {"x": np.ones((4, 3)), "y": y},
        "short": {"x": x, "y": y[:3]},
        "nan": {"x": np.where(np.arange(8).reshape(4, 2) == 7, np.nan, x), "y": y},
        "test": {"x": x, "y": y, "x_test": x, "y_test": [0, 9, 0, 0]},
        "labels": {"x": x, "y": [0, 1, 5, 0]},
    }.items():
        np.savez(f"{name}.npz", **arrays)
    nn.Linear(2, 2, seed=0).to_onnx("net.onnx")
    nn.Linear(2, 1, seed=0).to_onnx("one.onnx")
    Pair().to_onnx("pair.onnx", (2,))


TEXTS = {
    "one.csv": "y\n1\n2\n", "words.csv": "x,y\n1,red\n2,blue\n", "head.csv": "x,y\n",
    "wide.csv": "n,odd,square,kind\n" + "".join(f"{k},1,{k},b\n" for k in range(9)),
    "trees.csv": "x,y,kind\n1,2,a\n3,4,b\n5,6,a\n7,8,b\n", "curve.csv": "x,y\n1,2\n3,4\n5,7\n",
    "alike.csv": "x,y,kind\n1,2,a\n3,4,a\n", "level.csv": "x,y,n\n1,2,3\n3,4,3\n",
    "column.csv": "x\n1\n2\n", "letter.csv": "x,y,kind\na,2,u\n3,4,v\n",
    "oops.csv": "x,y,n\n1,2,1.5\n3,4,oops\n5,6,2.5\n7,8,4\n",
    "many.csv": "x,y,kind\n" + "".join(f"1,2,w{k}\n" for k in range(9)),
    "large.csv": "x,y,kind\n-1e308,2,u\n1e308,4,v\n", "near.csv": "x,y,kind\n1e15,2,u\n1000000000000000.125,4,v\n",
    "none.words": "", "good.words": "anna\nbo\nemma\n", "spaces.words": "good\ntwo words\n",
    "300.words": "\n".join(chr(0x4E00 + k) for k in range(300)), "text.txt": "no picture, no weights",
    "bad.onnx": "hello",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of every kind, good and bad; no command of this file may change it."""
    made, back = tmp_path_factory.mktemp("refusals"), os.getcwd()
    os.chdir(made)
    rng = np.random.default_rng(0)
    Path("folder").mkdir()
    for name, shape in (("good", (4, 4, 3)), ("wide", (4, 5, 3))):
        save_picture(f"{name}.png", rng.random(shape))
    save_picture("clear.png", np.zeros((4, 4, 3)), np.zeros((4, 4)))
    for name, text in TEXTS.items():
        Path(name).write_text(text, encoding="utf-8")
    write_arrays()
    save_tensors("other.safetensors", {"0.weight": np.zeros((3, 7))})
    save_tensors("a.safetensors", {"0.weight": rng.normal(size=(4, 6)), "0.bias": np.zeros(4)})
    for command in (
        "rgb --hidden 4 --save mlp", "digits --channels 3,5 --batch 8 --save digits",
        "neuron --save neuron", "texture good.png --hidden 5,6 --save texture", "playground --save play",
    ):  # fmt: skip
        assert main(shlex.split(f"{command}.safetensors --headless --engine numpy --steps 1")) == 0
    data = bytearray(Path("mlp.safetensors").read_bytes())
    data[-1] ^= 1
    Path("damaged.safetensors").write_bytes(data)
    for name, options in (("one", {}), ("hidden", {"hidden": (4,)})):
        scene = make_scene("rgb", **options)
        with sv.Recording(scene, every=5, path=f"{name}.svz"):
            scene.run.step(30)
    with sv.sweep("xor", None, 2, steps=2, options={"engine": "numpy"}, workers=0, results="runs.svs") as runs:
        assert len(list(runs)) == 2
    for link, aim in {"loop.safetensors": "loop.safetensors", "p.html": "one.svz"}.items():
        Path(link).symlink_to(aim)
    yield made
    os.chdir(back)


@pytest.fixture
def refused(cli, folder, monkeypatch):
    """Run a command that has to be refused: its facts are said, in few words, and nothing is written."""
    monkeypatch.chdir(folder)

    def run(arguments, *facts, lines=2):
        before = listing(folder)
        result = cli(*arguments)
        assert (result.code, result.out) == (2, ""), result.err
        assert all(fact.lower() in result.err.lower() for fact in facts), result.err
        said = result.err.splitlines()
        assert 1 <= len(said) <= lines, result.err
        assert said[0].startswith("scalarviz: ") or lines > 2
        assert "Traceback" not in result.err
        assert "Value error" not in result.err
        assert len(result.err) < 700, result.err
        assert listing(folder) == before
        return result

    return run


def flag_of(name):
    return "--" + {"break_on": "break"}.get(name, name.replace("_", "-"))


GIVEN = {"texture": "good.png", "microgpt": "--text good.words", "train": "net.onnx --data set.npz"}


@pytest.mark.parametrize("command", [*SCENES, "train"])
def test_no_flag_of_any_scene_takes_nonsense(refused, command):
    """A number that is none, which is no word that any of them knows either; what all have is tried with rgb."""
    flags = {flag for flag in flags_of(command) if flag[0] == "-"} - SWITCHES
    assert len(flags) > 15
    for flag in sorted(flags - (flags_of("rgb") if command != "rgb" else set())):
        value = "no such" if flag == "--break" else "nan"
        partner = PARTNERS.get(flag, "") if command == "rgb" or flag == "--every" else ""
        given = shlex.split(f"{GIVEN.get(command, '')} --headless --steps 1 {partner}")
        said = refused([command, *given, flag, value], lines=3).err
        assert value in said or flag[2:] in said.lower(), (flag, said)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, bad in BAD_VALUES.items() for value in bad])
def test_a_bad_value_of_a_flag_is_said(refused, name, value):
    arguments = [value] if name == "picture" else [flag_of(name), value]
    engine = [] if name == "engine" else ["--engine", "numpy"]
    partner = shlex.split(PARTNERS.get(flag_of(name), ""))
    line = ["rgb", "--headless", *engine, "--steps", "1", *partner, *arguments, "--json"]
    result = refused(line, lines=3 if name == "break_on" else 2)  # a caret stands below a condition
    assert value in result.err or flag_of(name)[2:].replace("_", "-") in result.err.lower()


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, bad in TRAIN_VALUES.items() for value in bad])
def test_a_bad_value_of_train_is_said(refused, name, value):
    given = {"network": "net.onnx", "data": "set.npz"} | {name: value}
    network = given.pop("network")
    flags = [part for key, text in given.items() for part in (flag_of(key), text)]
    refused(["train", network, *flags, "--steps", "1", "--engine", "numpy", "--headless", "--json"])


ROWS: dict[str, dict[str, tuple[str, ...]]] = {
    "rgb --headless --engine numpy --steps 1": {
        "--graded good.png": ("--source",),
        "--apply good.png": ("--output",),
        "good.png --pair #000:#fff": ("--pair", "PICTURE", "give one"),
        "--source good.png --graded wide.png": ("4 x 4", "wide.png", "5 x 4"),
        "--apply clear.png --output x.jpg": ("JPEG",),
        "--load mlp.safetensors --optimizer adam": ("--optimizer adam", "mlp.safetensors", "sgd"),
        "--load damaged.safetensors": ("damaged",),
        "--out x.png --out ./x.png": ("x.png", "both write"),
        "--no-such-flag": ("no such option", "scalarviz rgb --help"),
        "--micro": ("no such option", "leave out --micro"),
        "--open 3": ("no page is written", "--html"),
        "--html-data 3": ("no page is written", "--html"),
        "--recording one.svz": ("never overwrite",),
        "--story step": ("--story step", "--out"),
        "--story step --out x.png": ("needs a film", "--out step.mp4"),
        "--story short --out x.png": ("needs a film", "--out short.mp4"),
        "--story short --out x.mp4 --duration 3": ("--duration has no effect", "20 seconds"),
        "--at 31 --out x.png": ("--at 31", "0 to 1"),
        "--out x.gif --fps 60": ("50 frames a second", "60"),
        "--save loop.safetensors": ("points back to itself",),
        f"--save {LONG}.safetensors": ("file name too long",),
        "--load x\0y": ("--load",),
        "--hidden 99999,99999": ("10,000,599,996 weights", "860 GB of memory"),
    },
    "neuron --headless --engine numpy --steps 1": {
        "--weights 3": ("--weights", "got 3", "1, 2", "y = w x + b"),
        "--load neuron.safetensors --w 5": ("--w",),
        "--weights 2 --load neuron.safetensors": ("neuron.safetensors",),
    },
    "xor --headless --engine numpy --steps 1": {
        "--batch 2": ("--batch", "got 2", "1, 4", "one, or all four"),
        "--factor 0.7": ("--factor", "got 0.7", "0.5, 1"),
        "--log gone.csv --save gone.csv": ("gone.csv",),
    },
    "digits --headless --engine numpy --steps 1": {
        "--data cifar": ("--data", "cifar", "sklearn", "mnist:FOLDER"),
        "--channels 4": ("--channels", "two numbers"),
        "--load digits.safetensors --channels 6,12": ("--channels 6,12", "digits.safetensors", "3,5"),
        "--load mlp.safetensors": ("no network of this scene", "0.weight, 3.weight", "got 0.weight (4, 3)"),
    },
    "texture good.png --headless --engine numpy --steps 2": {
        "--frequencies 13": ("--frequencies",),
        "--epochs 2": ("--steps", "--epochs"),
        "--load texture.safetensors --hidden 9": ("--hidden 9", "texture.safetensors", "hidden layers are: 5,6"),
    },
    "texture --headless --engine numpy": {
        **{f"good.png --epochs {bad}": ("--epochs",) for bad in ("0", "-1", "nan", "inf", "two", "1e10")},
        "--batch 1 --epochs 1e9": ("--epochs", "at most 1,000,000,000,000"),
    },
    "microgpt --headless --engine numpy --steps 1": {
        "--embd 6 --heads 4": ("--embd must be a multiple of --heads",),
        "--text none.words": ("at least 2",),
        "--text spaces.words": ("line 2",),
        "--text 300.words": ("300 different letters",),
    },
    "playground --headless --engine numpy --steps 1": {
        "--data moons": ("--data", "moons", "circle, xor, gauss"),
        "--features x,z": ("x, y, x2",),
        "--features x,x": ("once",),
        "--hidden 65": ("got 65; allowed: at most 6 layers of 64 units",),
        "--load play.safetensors --hidden 2": ("--hidden 2", "play.safetensors", "hidden layers are: "),
        "--point 1,2": ("x,y,class",),
        "--point 1,2,7": ("got class '7'", "-1, 1"),
        "--point 1,nan,1": ("y must be a number; got 'nan'",),
        f"--without {','.join(map(str, range(250)))}": ("no training point would be left",),
        **{f"--without {bad}": ("whole numbers",) for bad in ("'1;2'", "-1", "1.5", "x", "9999999999")},
        "--columns x,y": ("--csv FILE",),
        "--csv trees.csv --data xor": ("--data and --csv",),
        "--csv curve.csv --features x,xy": ("--features: got xy;", "x, x2, sinx"),
        "--csv wide.csv": ("4 columns (n, odd, square, kind)", "--columns odd,square,kind"),
        "--csv alike.csv": ("class 'a'",),
        "--csv level.csv": ("3 in every row",),
        "--csv column.csv": ("1 column (x)", "one or two inputs"),
        "--csv letter.csv": ("line 2", "column 'x'", "'a'"),
        "--csv oops.csv": ("line 3", "column 'n'", "'oops'"),
        "--csv many.csv": ("9 different words (w0, w1, w2, w3, ...)",),
        "--csv large.csv": ("column 'x'", "1e+308", "1e+150"),
        "--csv near.csv": ("column 'x'", "1e+15", "too close"),
    },
    "expression --headless --engine numpy --steps 3": {
        "--expr 'x + x'": ("has no weight; every name except",),
        f"--expr {'+'.join(f'w{k}' for k in range(1001))}": ("1,001 weights",),
        "--expr tahn(w*x)": ("did you mean 'tanh'", "^"),
        "--expr @none.txt": ("there is no formula none.txt",),
        "--csv one.csv": ("has one column",),
        "--csv words.csv": ("not a number", "--target"),
        "--csv words.csv --target x --expr k*y": ("column 'y'", "'red'", "not a number"),
        "--csv head.csv": ("no rows",),
        "--expr 'w*x + e' --start e=1": ("e is the constant 2.71828", "w=0.5"),
        "--start a=1e39": ("float32",),
        "--start a=0.5 --start a=0.25": ("--start",),
        "--expr 'log(w - 5)*x'": ("nan at the start in 60 of 60 rows",),
    },
    "train --steps 2 --headless --engine numpy": {
        "net.onnx": ("--data", "got no value"),
        "net.onnx --data wide.npz": ("(3,)", "(2,)"),
        "net.onnx --data short.npz": ("got 4 and 3",),
        "net.onnx --data nan.npz": ("nan.npz", "x[3, 1] is nan", "1 of 4"),
        "net.onnx --data test.npz": ("test.npz", "y_test", "sample 1 is 9"),
        "net.onnx --data labels.npz": ("labels.npz", "sample 2 is 5"),
        "one.onnx --data ring.npz": ("one.onnx", "cross-entropy"),
        "pair.onnx --data ring.npz": ("pair.onnx", "2 outputs"),
    },
    "replay": {
        "": ("RECORDING", "got no value", "--recording"),
        "one.svz --out p.png --at 7": ("no step 7", "5 and 10"),
        "one.svz --out p.png --at 31": ("0 to 30",),
        "one.svz --headless": ("--headless", "--out", "--html", "--json"),
        "one.svz --steps 5 --html q.html": ("all steps",),
        "one.svz --html p.html": ("p.html", "is the recording itself"),
        "one.svz one.svz --html q.html --html-data 3": ("--html-data has no effect", "two recordings"),
        "one.svz hidden.svz --out p.png": ("nothing to compare", "0.weight", "3×3"),
    },
    "view": {
        "": ("got no value",),
        "bad.onnx": ("not an ONNX file",),
        "a.safetensors --headless": ("shows nothing",),
        "runs.svs a.safetensors": ("alone",),
    },
    "sweep": {
        "": ("SCENE", "got no value"),
        "xor --nope": ("scalarviz sweep xor --help",),
        "xor --grid lr=0.1,0.5": ("0.1,0.5", "'lr=0.1 0.5'"),
        "xor --lr '0.1 0.5'": ('--grid "lr=0.1 0.5"',),
        "xor --grid lr=0.1 --grid lr=0.2": ("'lr' is given twice",),
        "xor --results r.db": ("try r.svs",),
        "xor --report r.html --table r.html": ("--table and --report both write",),
        "xor --scheduler cluster": ("tls://HOST:PORT",),
    },
    "doctor": {
        "rgb": ("'rgb'", "doctor --ops rgb"),
        "--ops --report": ("--report or --ops",),
        "--ops gone.py": ("gone.py",),
    },
    "lessons": dict.fromkeys(
        ("''", "text.txt", "text.txt/x", "a\0b", "x" * 300, "--overwrite", "a b", "--force a", "--seed"), ()
    )
    | {
        "--check gone": ("needs a folder of notebooks",),
        "--check .": ("no notebooks",),
        "--check . a": ("takes its folder itself",),
        "--check . --outputs": ("takes its folder itself",),
        "--check . --table text.txt": ("--overwrite",),
        "--check . --seconds 0": ("seconds",),
        "--check . --megabytes 1": ("megabytes",),
        "--table marks.csv": ("--check",),
        "--seconds 5": ("--check",),
    },
    "": {
        "foo": ("foo", "scalarviz --help", ", ".join(TAUGHT)),
        f"{LONG}.py --steps 1": ("file name too long",),
        "tour": ("window", "no display"),
    },
}
"""Of each command what goes behind it, and facts that are said."""


def words_of(line):
    """As a shell takes it, where it can."""
    return line.split(" ") if "\0" in line or "#" in line or '"lr' in line else shlex.split(line)


@pytest.mark.parametrize(
    ("command", "line"),
    [pytest.param(c, line, id=f"{c.split(' ')[0]} {line[:50]!r}") for c, rows in ROWS.items() for line in rows],
)
def test_it_is_said_before_anything_is_done(refused, command, line):
    refused([*words_of(command), *words_of(line)] if line else words_of(command), *ROWS[command][line], lines=5)


def test_a_bad_condition_has_a_caret_below_it(refused):
    for text, said, under in (("los < 1", "did you mean 'loss'", "^"), ("grad >> 10", "character 7", "      ^")):
        line = ["rgb", "--headless", "--engine", "numpy", "--steps", "10", "--break", text, "--save", "w.safetensors"]
        first, again, caret = refused(line, "--break", text, "at character", said, lines=3).err.splitlines()
        assert first.startswith("scalarviz: --break")
        assert (again, caret) == (f"    {text}", f"    {under}")


@pytest.mark.parametrize(
    ("line", "facts"),
    [("digits --steps 1", ('"scalarviz[data]"',)),
     ("texture --steps 2", ('"scalarviz[data]"', "photo.png"))],
)  # fmt: skip
def test_what_is_not_installed_is_named_before_training(refused, monkeypatch, line, facts):
    monkeypatch.setattr("scalarviz.io.atomic.find_spec", lambda _: None)
    refused([*line.split(), "--headless", "--engine", "numpy"], *facts, lines=1)


def test_memory_is_counted_before_it_is_taken(refused, cli, monkeypatch):
    monkeypatch.setattr("scalarviz.checks.free_memory", lambda: 10**8)
    line = ["rgb", "--headless", "--engine", "numpy", "--steps", "1", "--batch", "2", "--hidden"]
    refused([*line, "2000,2000"], "4,016,003 weights", "of memory", "free")
    assert cli(*line, "200,200").code == 0


@pytest.mark.parametrize("line", ["view {}", "train {} --data x.npz", "rgb --load {}", "rgb --load={}"])
def test_a_pickle_is_refused_before_anything_heavy_is_loaded(line, tmp_path):
    """Nothing of ours that computes or draws is imported, so the answer comes at once."""
    path = tmp_path / "net.pt"
    path.write_bytes(b"PK\x03\x04rest")
    script = (
        f"import sys; from scalarviz.cli.main import main; code = main({line.format(path).split()!r}); "
        "print(code, [name for name in ('numba', 'onnx', 'vispy', 'typer', 'scalarviz.run') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "2 []\n"
    assert "holds a pickle" in done.stderr
    assert ("torch.onnx.export" in done.stderr) == line.startswith("train")
    assert ("net.safetensors" in done.stderr) == (not line.startswith("train"))
