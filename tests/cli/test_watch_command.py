"""`scalarviz watch`: a script runs as it is, and what is recorded of it are the numbers that it has without us."""

import builtins
import functools
import json
import sys

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import page_of, process
from scalarviz.run.sources.script_hooks import OnHost, hooks

NETWORK = """
import argparse, json, pathlib, sys
import torch
import torch.nn.functional as F
import helper

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--html")
    told = parser.parse_args()
    torch.manual_seed(0)
    net, x = Net(), torch.linspace(-1, 1, 12).reshape(6, 2)
    assert not any(one.grad is not None for one in net.parameters())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    seen = {"values": [], "gradients": [], "losses": [], "argv": sys.argv, "html": told.html, "helper": helper.NAME}
    keep = lambda: seen["values"].append(torch.cat([p.detach().ravel() for p in net.parameters()]).tolist())
    keep()
    for _ in range(5):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), x[:, :1] * x[:, 1:])
        loss.backward()
        optimizer.step()
        keep()
        seen["gradients"].append(torch.cat([p.grad.ravel() for p in net.parameters()]).tolist())
        seen["losses"].append(loss.item())
    pathlib.Path("seen.json").write_text(json.dumps(seen))

if __name__ == "__main__":
    main()
    sys.exit(5)
"""
NAMES = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
VALUES = """
import json, pathlib, random
from engine import Value

class Neuron:
    def __init__(self, n):
        self.w, self.b = [Value(random.uniform(-1, 1)) for _ in range(n)], Value(0.0)

    def __call__(self, x):
        total = self.b
        for w, v in zip(self.w, x):
            total = total + w * v
        return total

    def parameters(self):
        return [*self.w, self.b]

class Layer:
    def __init__(self, n, m):
        self.neurons = [Neuron(n) for _ in range(m)]

    def __call__(self, x):
        return [neuron(x) for neuron in self.neurons]

    def parameters(self):
        return [p for neuron in self.neurons for p in neuron.parameters()]

class MLP:
    def __init__(self, *sizes):
        self.layers = [Layer(n, m) for n, m in zip(sizes, sizes[1:])]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x[0]

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]

random.seed(1)
model, seen = MLP(2, 3, 1), {"values": [], "gradients": [], "losses": []}
rows = lambda layer, get: [get(w) for n in layer.neurons for w in n.w] + [get(n.b) for n in layer.neurons]
keep = lambda get: [x for layer in model.layers for x in rows(layer, get)]
seen["values"].append(keep(lambda v: v.data))
for _ in range(4):
    loss = Value(0.0)
    for x, y in (([1.0, 2.0], 1.0), ([-1.0, 0.5], -1.0)):
        error = model(x) + Value(-y)
        loss = loss + error * error
    for p in model.parameters():
        p.grad = 0.0
    loss.backward()
    seen["gradients"].append(keep(lambda v: v.grad))
    for p in model.parameters():
        p.data -= 0.05 * p.grad
    seen["values"].append(keep(lambda v: v.data))
    seen["losses"].append(loss.data)
pathlib.Path("seen.json").write_text(json.dumps(seen))
"""
ENGINE = """
class Value:
    def __init__(self, data, children=(), rule=lambda: None):
        self.data, self.grad, self._prev, self._backward = data, 0.0, set(children), rule

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))
        def rule():
            self.grad += out.grad
            other.grad += out.grad
        out._backward = rule
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other))
        def rule():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out._backward = rule
        return out

    def backward(self):
        order, seen = [], set()
        def build(v):
            if id(v) not in seen:
                seen.add(id(v))
                for child in v._prev:
                    build(child)
                order.append(v)
        build(self)
        self.grad = 1.0
        for v in reversed(order):
            v._backward()
"""
LOOSE = """
from engine import Value
w, b, rate = Value(0.5), Value(0.0), 0.1
for k in range(3):
    for x in (1.0, 2.0):  # two gradients a step
        error = w * x + b + Value(-x)
        (error * error).backward()
    w.data, b.data = w.data - rate * w.grad, b.data - rate * b.grad
    w.grad = b.grad = 0.0
    print(w.data, b.data)
"""


@pytest.fixture
def script(tmp_path):
    """Write a script into a folder of its own, beside modules that it imports."""

    def write(text):
        folder = tmp_path / "scripts"
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text(text, encoding="utf-8")
        (folder / "engine.py").write_text(ENGINE, encoding="utf-8")
        (folder / "helper.py").write_text("NAME = 'beside it'\n", encoding="utf-8")
        return folder / "train.py"

    yield write
    for name in ("engine", "helper"):
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """Afterwards the process is as it was."""
    before = sys.argv, list(sys.path), list(sys.meta_path), builtins.__build_class__, sys.modules["__main__"]
    yield
    assert (sys.argv, sys.path, sys.meta_path, builtins.__build_class__, sys.modules["__main__"]) == before


def same(recorded, seen, names):
    """What was recorded is what the script has noted."""
    assert [tensor.name for tensor in recorded.tensors] == names
    frames = [recorded.frame(k) for k in range(len(recorded))]
    assert [frame.step for frame in frames] == list(range(len(seen["values"])))
    np.testing.assert_allclose([frame.values for frame in frames], seen["values"], rtol=1e-6)
    np.testing.assert_allclose([frame.gradient for frame in frames[1:]], seen["gradients"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose([frame.loss for frame in frames[1:]], seen["losses"], rtol=1e-6)
    moves = np.diff(np.array(seen["values"]), axis=0)
    np.testing.assert_allclose([frame.update for frame in frames[1:]], moves, rtol=1e-4, atol=1e-6)


def test_a_script_of_pytorch_is_recorded_as_it_is(cli, script, tmp_path, torch):
    backward = torch.Tensor.backward
    result = cli("watch", "--recording", "a.svz", "--html", "a.html", script(NETWORK), "--html", "of the script")
    assert (result.code, result.out) == (5, "")
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["argv"], seen["html"], seen["helper"]) == (
        [str(tmp_path / "scripts" / "train.py"), "--html", "of the script"], "of the script", "beside it")  # fmt: skip
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        same(recorded, seen, NAMES)
        assert recorded.complete
        assert (recorded.about.name, recorded.frame(-1).lr) == ("net", 0.05)
    assert "wrote a.html" in result.err
    assert torch.Tensor.backward is backward


def test_a_step_that_calls_a_closure_is_recorded_like_any_other(cli, script, tmp_path, torch):
    """As Lightning's do: the network is called first when the step has begun."""
    opened = NETWORK[NETWORK.index("        optimizer.zero") : NETWORK.index("\n        optimizer.step()")]
    closed = (
        f"        def closure():\n{opened.replace('        ', '            ')}\n            return loss\n"
        "        loss = optimizer.step(closure)"
    )
    source = NETWORK.replace(f"{opened}\n        optimizer.step()", closed)
    assert closed in source
    cli("watch", "--recording", "a.svz", script(source))
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        same(recorded, json.loads((tmp_path / "seen.json").read_text()), NAMES)
        assert recorded.about.name == "net"


def test_a_class_value_of_the_scripts_own_is_followed(cli, script, tmp_path):
    assert cli("watch", "--recording", "a.svz", script(VALUES)).code == 0
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        same(recorded, json.loads((tmp_path / "seen.json").read_text()), [
            "layers.0.neurons.w", "layers.0.neurons.b", "layers.1.neurons.w", "layers.1.neurons.b"])  # fmt: skip
        assert [tensor.shape for tensor in recorded.tensors] == [(3, 2), (3,), (1, 3), (1,)]
        assert recorded.about.name == "model"


WORDS = {  # what a class calls its numbers and gradients, and what else it has
    "usual": {}, "others": {"data": "v", "grad": "gradient"},
    "a count": {"data": "v", "self.data, self.grad": "self.uses = 0; self.data, self.grad"},
    "a float": {"data": "_v", "def __add__": "def __float__(self): return self.data\n\n    def __add__",
                "self.data, self.grad": "self.rate = 0.5; self.data, self.grad"},
    "slots": {"data": "v", "class Value:": "class Value:\n    __slots__ = 'data', 'grad', '_prev', '_backward'"},
}  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_single_values_are_found_by_their_names(cli, script, tmp_path, words):
    def said(text):
        return functools.reduce(lambda done, pair: done.replace(*pair), reversed(WORDS[words].items()), text)

    path = script(said(LOOSE))
    (path.parent / "engine.py").write_text(said(ENGINE))
    result = cli("watch", "--recording", "a.svz", path)
    wanted = [[0.5, 0.0], *([float(x) for x in line.split()] for line in result.out.splitlines())]
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        assert sorted(tensor.name for tensor in recorded.tensors) == ["b", "w"]
        found = [
            {t.name: float(t.of(frame.values)) for t in recorded.tensors} for frame in map(recorded.frame, range(4))
        ]
        np.testing.assert_allclose([[one["w"], one["b"]] for one in found], wanted, rtol=1e-6)
        slopes = -np.diff(np.array(wanted), axis=0) / 0.1
        steps = [{t.name: float(t.of(recorded.frame(k).gradient)) for t in recorded.tensors} for k in range(1, 4)]
        np.testing.assert_allclose([[one["w"], one["b"]] for one in steps], slopes, rtol=1e-4)
        assert len(recorded) == 4


ENDS = {  # what the script does after its steps: exit code, what is said
    "import sys; sys.exit(3)": (3, ""),
    "import sys; sys.exit('\\x1b[31mno data')": (1, "\x1b[31mno data\n"),
    "def f():\n    return {}['missing']\nf()": (1, 'Traceback (most recent call last):\n  File "{}", line '),
    "import signal; signal.raise_signal(signal.SIGINT)": (130, "interrupted; the frames so far are kept"),
    "raise KeyboardInterrupt": (130, "interrupted; the frames so far are kept"),
}


@pytest.mark.parametrize("end", ENDS)
def test_however_it_ends_its_exit_code_and_its_record_are_kept(cli, script, tmp_path, end):
    code, said = ENDS[end]
    path = script(f"{LOOSE}print('runs', __file__)\n{end}")
    result = cli("watch", "--recording", "a.svz", path.relative_to(tmp_path))
    assert result.code == code
    assert result.out.endswith(f"runs {path}\n")
    assert said.format(path) in result.err
    assert "runpy" not in result.err
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        assert (recorded.complete, len(recorded), recorded.steps[-1]) == (True, 4, 3)


def test_a_file_that_somebody_else_writes_meanwhile_is_kept_and_the_script_goes_on(cli, script, tmp_path):
    other = "import pathlib\npathlib.Path('a.svz').write_text('of somebody else')\n"
    result = cli("watch", "--recording", "a.svz", script(other + LOOSE))
    assert (result.code, len(result.out.splitlines())) == (2, 3)
    assert "a.svz" in result.err
    assert "picture" not in result.err
    assert (tmp_path / "a.svz").read_text() == "of somebody else"


REFUSED = {
    ("--html", "a.html"): "SCRIPT",
    ("--html", "a.html", "no.py"): "there is no file no.py",
    ("--headless", "{}"): "--html FILE or --recording FILE",
    ("--every", "3", "{}"): "--recording",
    ("--recording", "a.txt", "{}"): ".svz",
    ("--nothing", "{}"): "--nothing",
    ("--html", "a.html", "{}"): "attribute data (or as float(value))",
    ("{}", "--html", "a.html"): "put it before",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_cannot_be_watched_is_said(cli, script, arguments, tmp_path):
    path = script("print('ran')")
    result = cli("watch", *(one.format(path) for one in arguments))
    assert result.code == 2
    assert REFUSED[arguments] in result.err
    assert ("ran" in result.out) == (REFUSED[arguments] in ("attribute data (or as float(value))", "put it before"))
    assert not [one.name for one in tmp_path.iterdir() if one.name != "scripts"]


def test_a_syntax_error_is_pythons(cli, script):
    path = script("x = = 3\n")
    result = cli("watch", "--html", "a.html", path)
    assert result.code == 1
    assert f'  File "{path}", line 1\n' in result.err
    assert "SyntaxError" in result.err
    assert "Traceback" not in result.err


def test_a_shape_that_changes_ends_the_record_and_says_so(cli, script, tmp_path, torch):
    grown = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
rule = torch.optim.SGD(net.parameters(), 0.1)
for k in range(6):
    if k == 3:
        net[1] = torch.nn.Linear(3, 4)
    net(torch.ones(1, 2)).sum().backward()
    rule.step()
print("on")
"""
    result = cli("watch", "--recording", "a.svz", "--html", "a.html", script(grown))
    assert (result.code, result.out) == (0, "on\n")
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        assert (recorded.complete, [*recorded.steps]) == (True, [0, 1, 2, 3])
        assert "'1.weight' changed from (1, 3) to (4, 3)" in recorded.frame(-1).stopped_by
    assert "changed from (1, 3) to (4, 3)" in page_of(tmp_path / "a.html")["about"]["line"]


def test_two_networks_are_watched_by_their_names_and_what_lies_elsewhere_is_said(cli, script, tmp_path, torch):
    pair = """
import torch
first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
rule = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
for _ in range(2):
    rule.zero_grad()
    second(first(torch.ones(1, 2))).sum().backward()
    rule.step()
"""
    assert cli("watch", "--recording", "a.svz", script(pair)).code == 0
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        assert [t.name for t in recorded.tensors] == ["first.weight", "first.bias", "second.weight", "second.bias"]
        assert len(recorded) == 3
    away = "import torch\nw = torch.ones(2, device='meta', requires_grad=True)\nrule = torch.optim.SGD([w], 0.1)\n"
    result = cli("watch", "--html", "b.html", script(away + "w.sum().backward(); rule.step(); print('on')"))
    assert (result.code, result.out) == (2, "on\n")
    assert "is not watched: parameters.0 is on meta" in result.err


def test_files_lie_where_the_command_was_typed_though_the_script_goes_elsewhere(cli, script, tmp_path):
    path = script("import os, pathlib\nos.chdir(pathlib.Path(__file__).parent)\n" + LOOSE)
    assert cli("watch", "--recording", "a.svz", "--html", "a.html", path).code == 0
    assert {"a.svz", "a.html"} <= {one.name for one in tmp_path.iterdir()}


def test_a_second_optimiser_is_said_once(cli, script, torch):
    two = """
import torch
G, D = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
rules = torch.optim.SGD(D.parameters(), 0.1), torch.optim.Adam(G.parameters(), 0.1)
for _ in range(3):
    for rule in rules:
        D(G(torch.ones(1, 2))).sum().backward()
        rule.step()
"""
    result = cli("watch", "--recording", "a.svz", script(two))
    assert result.err.count("(Adam) takes steps; scalarviz reads only the first (SGD)") == 1
    with sv.load_recording("a.svz") as recorded:
        assert (recorded.about.name, len(recorded)) == ("D", 4)


@pytest.mark.ci
def test_a_loop_without_an_optimiser_is_recorded_like_any_other(tmp_path, script):
    """In a process of its own: in this one, other tests have optimisers."""
    source = NETWORK
    for old, new in {
        "    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)\n": "",
        "optimizer.zero_grad()": "[p.grad.zero_() for p in net.parameters() if p.grad is not None]",
        "optimizer.step()": "with torch.no_grad(): [p.sub_(0.05 * p.grad) for p in net.parameters()]",
    }.items():
        assert old in source
        source = source.replace(old, new)
    assert process(tmp_path, "watch", "--recording", "a.svz", script(source)).code == 5
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        same(recorded, json.loads((tmp_path / "seen.json").read_text()), NAMES)
        assert recorded.about.name == "net"


@pytest.mark.filterwarnings("error", "ignore:`torch.jit:DeprecationWarning")
def test_a_trace_meets_no_hook(cli, script, torch):
    """PyTorch warns about code that it cannot trace."""
    traced = NETWORK.replace("        keep()\n        seen", "        keep(); torch.jit.trace(net, x)\n        seen")
    assert traced != NETWORK
    assert cli("watch", "--recording", "a.svz", script(traced)).code == 5


@pytest.mark.ci
def test_a_compiled_network_is_followed_under_its_own_names(tmp_path, script):
    """In a process of its own: the compiler changes how Python runs, for as long as the process lives."""
    compiled = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
fast, rule = torch.compile(net, backend="eager", fullgraph=True), torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    fast(torch.ones(1, 2)).sum().backward()
    rule.step()
"""
    assert process(tmp_path, "watch", "--recording", "a.svz", script(compiled)).code == 0
    with sv.load_recording(tmp_path / "a.svz") as recorded:
        assert [t.name for t in recorded.tensors] == ["0.weight", "0.bias", "2.weight", "2.bias"]
        assert (recorded.about.name, len(recorded)) == ("net", 4)


def chain(torch, kind):
    """A network, and the names and kinds of its rows; None where its layers form no chain that is known."""
    nn = torch.nn

    class Functions(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.drop, self.b = nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2)

        def forward(self, x):
            return torch.sigmoid(self.b(self.drop(torch.relu(self.a(x.flatten(1))))))

    class Judged(Functions):
        def __init__(self):
            super().__init__()
            self.loss = nn.MSELoss()

        def forward(self, x):
            self.loss(x, x)
            return super().forward(x)

    class Residual(Functions):
        def forward(self, x):
            return self.b(self.a(x) + x.sum())

    return {
        "layers": (nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.3), nn.Linear(4, 2)),
                   {"0": "linear", "1": "leakyrelu", "2": "linear"}),
        "functions": (Functions(), {"a": "linear", "a relu": "relu", "b": "linear", "b sigmoid": "sigmoid"}),
        "judged": (Judged(), {"a": "linear", "a relu": "relu", "b": "linear", "b sigmoid": "sigmoid"}),
        "one layer": (nn.Linear(3, 2), {"linear": "linear"}),
        "residual": (Residual(), None),
        "norm": (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), None),
    }[kind]  # fmt: skip


@pytest.mark.parametrize("kind", ["layers", "functions", "judged", "one layer", "residual", "norm"])
def test_rows_are_what_the_first_sample_makes_at_the_weights_that_are_shown(torch, kind):
    torch.manual_seed(3)
    net, wanted = chain(torch, kind)
    seen, rule = [], torch.optim.SGD(net.parameters(), 0.1)

    def begin(x, name, flow):
        seen.append(sv.watch(x))
        if flow is not None:
            seen[0].show_flow(flow)
        return seen[0].update

    followed, drawn = hooks(begin)[0], torch.random.get_rng_state
    followed.install()
    try:
        for _ in range(4):
            x = torch.randn(20, 3)
            net(x).square().sum().backward()
            rule.step()
            with torch.no_grad():
                net(torch.randn(20, 3))  # an evaluation, after which the batch of the step is still the one shown
            after = drawn()
            frame = seen[0].frame()
            assert torch.equal(drawn(), after)  # looking draws nothing
            assert {stage.name: stage.kind for stage in seen[0].stages} == (wanted or {})
            if wanted:
                with torch.no_grad():
                    out = net.eval()(x[:1])[0]
                net.train()
                np.testing.assert_allclose(frame.activations["input"], x[0])
                np.testing.assert_allclose(frame.activations[list(wanted)[-1]], out, rtol=1e-5)
                assert list(frame.activations) == ["input", *wanted]
                assert sv.render(seen[0], size=(320, 240)).shape == (240, 320, 3)
            else:
                assert not frame.activations
    finally:
        followed.remove()


def test_what_lies_on_a_gpu_is_copied_when_it_is_read(torch):
    """The copies are asked for at each look; here they lie in the CPU's memory."""
    w = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    watched = sv.watch({"net.weight": OnHost(w)})
    w += 1
    watched.update(grads={"net.weight": OnHost(w * 3)}, loss=1.0)
    frame = watched.frame()
    assert (frame.values.tolist(), frame.gradient.tolist()) == ([2.0, 3.0], [6.0, 9.0])


def test_a_class_of_which_no_numbers_can_be_read_does_not_stop_the_script(cli, script):
    odd = "from engine import Value\nw = Value(0.0)\nfor w.data in (1.0, 'one', 2.0):\n    pass\n"
    odd += "class Text(Value):\n    def __add__(self, other): pass\n    __mul__ = __add__\n"
    odd += "    def backward(self): self.data = 'changed'\nt = Text('text')\n"
    odd += "for k in range(3):\n    t.backward()\nprint(t.data)\n"
    result = cli("watch", "--html", "a.html", script(odd))
    assert (result.code, result.out) == (2, "changed\n")
    assert "nothing was trained" in result.err


def test_without_a_display_it_draws_a_picture(cli, script, tmp_path, no_display):
    result = cli("watch", "--size", "320x240", script(LOOSE))
    assert result.code == 0
    assert "a picture instead of a window: there is no display" in result.err
    assert (tmp_path / "out" / "train.png").stat().st_size > 1000
