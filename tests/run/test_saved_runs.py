"""Files of runs: what they hold of how a run trains, what stays as it is, and what is refused before anything changes.

`test_files` has the laws of every kind of file; `test_training_rules` lets a fresh run go on from one with every
rule; `tests/io` has what no file of weights can be.
"""

import base64
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from kit.edits import trains_by
from kit.learning import SCHEDULES, make_schedule
from kit.networks import NETWORKS
from kit.runs import bits
from scalarviz import nn, optim
from scalarviz.errors import FileFormatError, InputError, TypeMismatchError
from scalarviz.io import load_tensors, save_tensors
from scalarviz.optim import lr_scheduler
from scalarviz.optim.lr_scheduler import described, remade
from scalarviz.run import Run
from scalarviz.run.state import OTHER_FILES

X = np.random.default_rng(0).random((12, 3))
KEY, SUM, FORMAT = "scalarviz.run", "scalarviz.sha256", "scalarviz.format"
RULE = ("groups", "members", "momenta", "initial", "limits", "before", "frozen", "schedule")


def make(kind: Any = optim.SGD, schedule: str | None = None, dtype: str = "float64", **more: Any) -> Run:
    """Two parameter groups."""
    net = NETWORKS["classes"].ours()
    optimizer = kind([{"params": list(net[0].parameters())}, {"params": list(net[2].parameters()), "lr": 0.02}], lr=0.1)
    make_schedule(schedule, optimizer)
    return Run(net, nn.MSELoss(), optimizer, (X, X), engine="numpy", dtype=dtype, batch_size=5, seed=3, **more)


def changed(run: Run) -> Run:
    run.step(4)
    run.optimizer.param_groups[1]["lr"] = 0.07
    run.optimizer.param_groups[0]["weight_decay"] = 0.1
    run.change(l1=0.01, clip_norm=0.5, clip_value=0.2)
    run.do(sv.run.edits.SetFrozen(2, [True, False, True, True]))
    run.step(3)
    return run


def everything(run: Run) -> Any:
    return bits(run), trains_by(run), [tuple(part.tolist() for part in line) for line in run.history.lines]


def text_of(path: Path) -> dict[str, Any]:
    return json.loads(load_tensors(path)[1][KEY])


# ---- how a run trains


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name != "lambda"])
def test_a_schedule_is_described_and_made_again(name):
    one, two = make().optimizer, make().optimizer
    own = make_schedule(name, one)
    said = json.loads(json.dumps(described(own)))
    again = remade(said, two, 2)
    assert described(again) == said
    assert two.lr_schedule is None
    assert remade(said, one, 2) is own
    if name != "plateau":
        np.testing.assert_array_equal(again.at(np.arange(39)), own.at(np.arange(39)))


def test_a_state_that_the_other_run_does_not_have_yet_comes_with_the_file(tmp_path):
    run, other = changed(make(optim.RMSprop)), make(optim.RMSprop)
    run.optimizer.param_groups[1]["momentum"] = 0.8
    run.step(2)
    run.save(tmp_path / "a.safetensors")
    other.load(tmp_path / "a.safetensors")
    for each in (run, other):
        each.step(5)
    assert other.values.tobytes() == run.values.tobytes()
    assert text_of(tmp_path / "a.safetensors")["frozen"] == {"0.weight": [2, 3, 4, 6]}


def test_a_schedule_of_functions_is_the_runs_own(tmp_path):
    def made(lr: float) -> Run:
        run = make()
        run.optimizer.lr = lr
        lr_scheduler.LambdaLR(run.optimizer, lambda count: 1 / (1 + count))
        return run

    run = made(0.4)
    run.step(5)
    run.save(tmp_path / "a.safetensors")
    with pytest.raises(InputError, match="LambdaLR"):
        make().load(tmp_path / "a.safetensors")
    other = made(0.1)
    other.load(tmp_path / "a.safetensors")
    for each in (run, other):
        each.step(4)
    assert other.values.tobytes() == run.values.tobytes()


def test_what_is_kept_is_the_runs(tmp_path):
    path = tmp_path / "a.safetensors"
    run = changed(make(schedule="step"))
    run.save(path, {"who": "me"})
    other = make(l2=0.2, schedule="cosine")
    assert other.load(path, keep=["weight_decay", "clip_norm", "schedule"]).notes == {"who": "me"}
    limits = other.frame().settings.limits
    assert (limits.l1, limits.l2, limits.clip_norm) == (0.01, 0.0, None)
    assert other.optimizer.param_groups[0]["weight_decay"] == 0.0
    assert (type(other.optimizer.lr_schedule).__name__, other.lr) == ("CosineAnnealingLR", 0.1)
    scaled = make()
    scaled.lr = 0.8
    scaled.load(path, keep=["lr"])
    assert scaled.optimizer.lr_schedule.base_lrs[0] == 0.8
    assert scaled.lr == pytest.approx(0.8 * 0.7**3)  # three times in seven steps
    bare = make()
    bare.load(path, optimizer=False)
    assert (bare.optimizer.lr_schedule, bare.steps) == (None, 7)
    assert bare.values.tobytes() == run.values.tobytes()
    for wrong, error in ((["speed"], InputError), ("lr", TypeMismatchError), (3, TypeMismatchError)):
        with pytest.raises(error, match="keep"):
            other.load(path, keep=wrong)
    run.set_numbers(run.model[0].weight[0], lr=0.3)
    run.save(path)
    with pytest.raises(InputError, match=r"3 parameter groups.* 2"):
        other.load(path, keep=["lr"])


# ---- earlier versions


OLD = (
    "c-noC-%7(U6vp*UMy|u?(xjb(A%f@w=$#$qtT|Z=%~H~AV;g-wU%^N4Uhv8blT<+w%-#3PcfRxI<?<rFGbu}r4kS1zOR_kVzJeC)zBx_pZc7&A"
    "T#(*j*B4|l5p?1eq6{JrLb_vzK@~)`23*Pt61eGHqni`j@$cdOcI36U+YT)Frf6fRZ_q|tGL8A#XxzG;9#Im|7X1j;>;qEJ_88y+n@#OXi4`2b"
    "yhAh_hu^`6+KdBeKjbhF`eQw1tOn;doc+Rm4NPPn%d2$FBqnLb6M<Zb3{oW^%PY>1F@_>bq{^jWd9K!cp3ZqLu;Q4DIVj1<KuI!PH_(T(#zXnk"
    "yOf1?H3aoETTv2EZ<OlMdFN9?`6^b9`~6c(+23kTXKXbLlh^&``s4Y1`FQiT`~;>knN$"
)
"""Five steps of seed 7 of the run below, written by a version whose checksum left the text out."""


def of_old() -> Run:
    net = nn.Sequential(nn.Linear(2, 1))
    net.initialize(nn.init.pytorch_default(), seed=3)
    data = np.eye(2), np.ones((2, 1))
    return Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.5), data, engine="numpy", seed=7)


def test_files_of_earlier_versions_are_read(tmp_path):
    path, run, fresh = tmp_path / "old.safetensors", of_old(), of_old()
    whole = zlib.decompress(base64.b85decode(OLD))
    path.write_bytes(whole)
    saved = run.load(path)
    assert (saved.steps, saved.seed, saved.dtype, saved.notes) == (5, 7, "float32", {"who": "me"})
    fresh.step(5)
    assert run.values.tobytes() == fresh.values.tobytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(FileFormatError, match="damaged"):
        run.load(path)


# ---- what is refused


def refused(path: Path, *facts: Any, run: Run | None = None) -> None:
    """In one line that names the file and leaves the run as it was."""
    run = run or make()
    run.step(2)
    before = everything(run)
    with pytest.raises((FileFormatError, InputError)) as caught:
        run.load(path)
    said = str(caught.value)
    assert not [fact for fact in (*facts, str(path)[:60]) if str(fact).lower() not in said.lower()], said
    assert "\n" not in said
    assert len(said) < 700
    assert everything(run) == before


def rewritten(path: Path, edit: Any) -> None:
    """With other text in its header."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    text = json.dumps({**header, "__metadata__": edit(header["__metadata__"])}).encode()
    assert text != data[8 : 8 + size]
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])


def without(text: dict[str, str], name: str) -> dict[str, str]:
    return {key: words for key, words in text.items() if key != name}


EDITED = {
    "steps": lambda text: {**text, KEY: text[KEY].replace('"steps": 3', '"steps": 4')},
    "more": lambda text: {**text, "more": "words"},
    "sum": lambda text: without(text, SUM),
    "no format": lambda text: without(text, FORMAT),
}


@pytest.mark.parametrize("name", EDITED)
def test_a_file_whose_text_was_edited_is_refused(name, tmp_path):
    run = make()
    run.step(3)
    run.save(tmp_path / "w", {"who": "me"})
    rewritten(tmp_path / "w", EDITED[name])
    refused(tmp_path / "w", *(("format", "1, 2") if name == "no format" else ("damaged", "edited")))


NONSENSE: dict[str, tuple[Any, ...]] = {
    '{"steps": 1e400}': ("1e400", "finite"), '{"steps": 9223372036854775808}': ("steps", 9007199254740992),
    '{"steps": -1}': ("steps", -1), '{"steps": true}': ("steps",), '{"steps": NaN}': ("NaN", "finite"),
    '{"steps": 1, "steps": 2}': ("steps", "twice"), '{"seed": 18446744073709551616}': ("seed",),
    '{"dtype": "float8"}': ("float8",), '{"optimizer": {}}': ("optimizer",), '{"hyperparameters": [1]}': ("hyperp",),
    '{"optimizer": "SGD", "hyperparameters": {"lr": -1}}': ("lr", -1), '{"notes": {"a": 1}}': ("notes",),
    "7": ("names",), "": ("the description of the run is invalid",), '{"steps": ' + "[" * 100000: (),
}  # fmt: skip


@pytest.mark.parametrize("text", NONSENSE, ids=range(len(NONSENSE)))
def test_a_description_that_says_nonsense_is_refused(text, tmp_path):
    save_tensors(tmp_path / "w", make().state_dict(), {KEY: text})
    refused(tmp_path / "w", *NONSENSE[text])


def stepping(**parts: Any) -> dict[str, Any]:
    return {"kind": "StepLR", "state": {}, "base_lrs": [1, 1], "arguments": {"step_size": 1}, **parts}


WRONG: list[tuple[str, Any, str]] = [
    ("groups", [{}], "members"), ("groups", {}, "groups"), ("groups", [{"lr": 1}, {"speed": 1}], "speed"),
    ("groups", [{"lr": 1}, {"lr": [1]}], "lr"), ("groups", [{}, {"a": {"b": 1}}], "groups"),
    ("members", {"x": []}, "members"), ("members", {"0.bias": [4, 2]}, "members"),
    ("members", {"0.bias": [4, 0]}, "groups"), ("momenta", [0.5], "momenta"), ("initial", [0.5, -1], "initial"),
    ("limits", [], "limits"), ("limits", {"l3": 1}, "limits"), ("limits", {"l1": -1}, "l1"),
    ("before", True, "before"), ("before", 2**60, "before"), ("frozen", {"x": [0, 1]}, "frozen"),
    ("frozen", {"0.weight": [0]}, "frozen"), ("frozen", {"0.weight": [0, 99]}, "frozen"),
    ("schedule", {"kind": "Own", "state": {}, "base_lrs": [1, 1]}, "Own"),
    ("schedule", stepping(base_lrs=[1]), "base_lrs"), ("schedule", stepping(arguments={"step_size": 0}), "step_size"),
    ("schedule", stepping(), "state"), ("schedule", stepping(arguments={"a": 1}), "argument"),
    ("schedule", stepping(state={"stepped": -3, "within": 0, "scales": [1.0, 1.0]}), "stepped"),
    ("schedule", stepping(state={"stepped": 3, "within": 0, "scales": [1.0]}), "scales"),
    ("schedule", stepping(kind="SequentialLR", arguments={"schedulers": [{}]}), "parts"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "part", "fact"), WRONG, ids=range(len(WRONG)))
def test_a_rule_that_cannot_be_is_refused(name, part, fact, tmp_path):
    make().save(tmp_path / "w")
    tensors, said = load_tensors(tmp_path / "w")
    save_tensors(tmp_path / "w", tensors, {KEY: json.dumps({**json.loads(said[KEY]), name: part})})
    refused(tmp_path / "w", fact)


MOMENTUM = "optimizer.momentum_buffer.0.weight"


@pytest.mark.parametrize(("name", "number", "dtype", "fact"), [
    ("0.weight", -np.inf, "float64", "-inf"), (MOMENTUM, np.nan, "float32", "nan"),
    ("0.weight", 1e300, "float32", "1e+300"), ("0.bias", None, "float64", "missing"),
])  # fmt: skip
def test_numbers_that_a_run_cannot_take_are_refused_by_name(name, number, dtype, fact, tmp_path):
    def momentum(groups: Any, lr: float) -> Any:
        return optim.SGD(groups, lr=lr, momentum=0.9)

    source = changed(make(momentum))
    source.save(tmp_path / "w")
    tensors, text = load_tensors(tmp_path / "w")
    if number is None:
        del tensors[name]
    else:
        tensors[name][0, 1] = number
    save_tensors(tmp_path / "w", tensors, {KEY: text[KEY]})
    refused(tmp_path / "w", fact, name.split("optimizer.")[-1], run=make(momentum, dtype=dtype))


@pytest.mark.parametrize("ending", [*sorted(OTHER_FILES), ".JPG"])
def test_a_run_is_not_saved_under_the_name_of_another_kind_of_file(ending, tmp_path):
    """The advice names a function that there is."""
    run = make()
    with pytest.raises(InputError, match=f"run{re.escape(ending)} ends like another kind of file") as error:
        run.save(tmp_path / f"run{ending}")
    function = re.search(r"'run.safetensors'; (\w+)\.([\w.]+)\(", str(error.value))
    found = {"sv": sv, "run": run, "np": np}.get(function[1])
    for name in function[2].split("."):
        found = found if found is None else getattr(found, name)
    assert found is None or callable(found)
    assert not list(tmp_path.iterdir())
