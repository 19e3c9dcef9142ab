"""A training step as ONNX: onnxruntime repeats what the run does, for every network, rule, loss and operation."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import scalarviz as sv
from kit.commands import make_scene
from kit.learning import LOSSES, OPTIMISERS, SCHEDULES, make_optimizer, make_schedule
from kit.networks import NETWORKS
from kit.onnx_files import assert_near, session
from scalarviz import nn, optim
from scalarviz.errors import InputError
from scalarviz.scalar import function, ops

NEAR = {"float64": 1e-10, "float32": 1e-5}
every_dtype = pytest.mark.parametrize("dtype", NEAR)


NO_KERNEL = ("many activations",)
"""Where onnxruntime has `Erf` for float32 alone; there the standard's own evaluator computes."""


def runtime_of(name):
    return ReferenceEvaluator if name in NO_KERNEL else session


def repeat(run, folder, steps=3, runtime=session, near=None):
    """Let a runtime do the next steps of a run beside it, from what the file begins with, and compare all numbers."""
    run.to_onnx(folder / "step.onnx", training=True)
    near = near or NEAR[run.dtype]
    made, problem, samples = runtime(str(folder / "step.onnx")), run._problem, run.samples()
    graph = onnx.load(folder / "step.onnx").graph
    whole = {port.name for port in graph.input if port.type.tensor_type.elem_type == onnx.TensorProto.INT64}
    sides = {port.name: [side.dim_value for side in port.type.tensor_type.shape.dim[1:]] for port in graph.input}
    given = {}
    for step in range(steps):
        picked = problem.indices(run.steps)
        for name, array in zip(("input", "target"), samples, strict=True):
            given[name] = array[picked].reshape(len(picked), *sides[name]).astype(int if name in whole else run.dtype)
        if step:
            rates = np.ravel(run.optimizer.lr_pace.table(1, problem.epoch)).astype(run.dtype)
            given["lr"] = rates if len(rates) > 1 else rates.reshape(())
        *changed, loss = made.run(None, given)
        given |= {port.name.removeprefix("new."): new for port, new in zip(graph.output, changed, strict=False)}
        run.step()
        assert_near(loss, run.loss, near)
    frame = run.frame(state=True)
    wanted = {t.name: t.of(frame.values) for t in run._graph.kept} | sv.run.state.optimizer_state(run)
    assert {*given, "lr"} == {*wanted, "step", "lr", "input", "target"}
    assert given["step"] == run.steps
    for name, array in wanted.items():
        assert given[name].shape == array.shape, name
    assert_near(*(np.concatenate([np.ravel(part[name]) for name in wanted]) for part in (given, wanted)), near)


def make_run(network, optimizer="sgd_momentum", loss=None, targets=None, batch=5, dtype="float64", **more):
    row = NETWORKS[network]
    net = row.ours()
    loss = loss or nn.MSELoss()
    rule = make_optimizer(optimizer, net.parameters()) if isinstance(optimizer, str) else optimizer(net)
    y = np.random.default_rng(3).normal(size=(12, *row.outputs)) if targets is None else targets
    return sv.Run(net, loss, rule, (row.samples(12), y), batch_size=batch, engine="numpy", dtype=dtype, **more)


@pytest.mark.ci
@pytest.mark.parametrize("network", [name for name, row in NETWORKS.items() if not row.draws])
def test_every_network(network, tmp_path):
    with make_run(network) as run:
        repeat(run, tmp_path, runtime=runtime_of(network))


@pytest.mark.ci
@every_dtype
@pytest.mark.parametrize("rule", [*OPTIMISERS, "own", "groups"])
def test_every_rule(rule, dtype, tmp_path):
    with make_run("mlp", rule, dtype=dtype) as run:
        repeat(run, tmp_path, 12)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss(loss, tmp_path):
    row = LOSSES[loss]
    net = nn.Sequential(
        nn.Linear(4, 3, seed=1), {"probabilities": nn.Sigmoid, "logs": nn.LogSoftmax}.get(row.outputs, nn.Tanh)()
    )
    x = np.random.default_rng(0).normal(size=(12, 4))
    with sv.Run(
        net,
        row.ours(),
        optim.Adam(net.parameters()),
        (x, row.wanted(12, 3)),
        batch_size=5,
        engine="numpy",
        dtype="float64",
    ) as run:
        repeat(run, tmp_path, runtime=runtime_of(loss))


@pytest.mark.parametrize(
    "settings",
    [{"weight": [1.0, 2.0, 0.5]}, {"ignore_index": 1}, {"weight": [3.0, 1.0, 2.0], "ignore_index": 0}],
    ids=str,
)
def test_a_mean_divides_by_the_weights_of_its_classes(settings, tmp_path):
    classes = np.arange(12) % 3
    with make_run("classes", loss=nn.CrossEntropyLoss(**settings), targets=classes) as run:
        repeat(run, tmp_path)


@pytest.mark.parametrize("activation", [nn.LeakyReLU(0.01), nn.ELU(0.7), nn.Softplus(1.7), nn.LogSigmoid()], ids=repr)
def test_in_float64_nothing_is_rounded_to_float32(activation, tmp_path):
    net = nn.Sequential(nn.Linear(3, 5, seed=1), activation, nn.Linear(5, 1, seed=2))
    x, rule = 9 * np.random.default_rng(0).normal(size=(12, 3)), optim.Adam(net.parameters(), lr=0.1)
    with sv.Run(net, nn.MSELoss(), rule, (x, x[:, :1]), engine="numpy", dtype="float64") as run:
        repeat(run, tmp_path, 12, near=1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_gives_the_rate(schedule, tmp_path):
    def scheduled(net):
        made = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        make_schedule(schedule, made)
        return made

    with make_run("mlp", scheduled) as run:
        repeat(run, tmp_path, 8)


@every_dtype
@pytest.mark.parametrize("limits", [
    {"l1": 0.01, "l2": 0.02}, {"clip_norm": 0.05}, {"clip_value": 0.01}, {"clip_norm": 0.1, "l1": 0.02, "l2": 0.01},
], ids=str)  # fmt: skip
def test_every_limit_with_weights_that_stay(limits, dtype, tmp_path):
    with make_run("mlp", "adam", dtype=dtype, **limits) as run:
        run.model.freeze("0.bias")
        run.model[2].weight[0][1].frozen = True
        repeat(run, tmp_path)


NAMES = [name for name in ops.TABLE if not name.startswith("test_") and name not in ops.STAND_INS]


class EachOperation(nn.Module):
    """Every operation of the table, of numbers that stand by themselves."""

    def __init__(self):
        self.first, self.second = (nn.Parameter(a * np.linspace(0.35, 0.8, len(NAMES))) for a in (1.0, 0.9))

    def forward(self, x):
        found = []
        for a, b, name in zip(self.first, self.second, NAMES, strict=True):
            given = [a * x[0], b + x[1], sv.Value(0.3)][: len(ops.get(name).args)]
            found.append(function(name)(*given))
        return found


def test_every_operation(tmp_path):
    net, x = EachOperation(), np.random.default_rng(1).uniform(0.5, 1.0, (4, 2))
    with sv.Run(
        net,
        nn.MSELoss(),
        optim.SGD(net.parameters(), lr=0.5),
        (x, np.zeros((4, len(NAMES)))),
        engine="numpy",
        dtype="float64",
    ) as run:
        repeat(run, tmp_path, 1, ReferenceEvaluator, 1e-9)  # which rounds erf to float32


def picture(rule):
    random = np.random.default_rng(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, seed=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10, seed=2)
    )
    data = random.normal(size=(200, 1, 8, 8)), random.integers(0, 10, 200)
    return sv.Run(net, nn.CrossEntropyLoss(), rule(net.parameters()), data, batch_size=20)


@pytest.mark.parametrize("scene", ["xor", "rgb", "picture"])
@pytest.mark.parametrize("rule", ["SGD", "Adam"])
def test_a_hundred_steps(scene, rule, tmp_path):
    with picture(getattr(optim, rule)) if scene == "picture" else make_scene(scene).run as run:
        if scene != "picture" and rule == "Adam":
            run.change(optimizer="Adam", lr=0.01)
        repeat(run, tmp_path, 100)


def test_a_file_goes_on_from_where_the_run_stands_with_a_batch_of_any_size(tmp_path):
    with make_run("picture", "adam") as run:
        run.step(4)
        repeat(run, tmp_path)
        run.batch_size = 9
        made, (x, y) = session(tmp_path / "step.onnx"), run.samples()
        picked = run._problem.indices(run.steps)
        begun = {f"{name}": array for name, array in run.state_dict().items()} | sv.run.state.optimizer_state(run)
        given = {"input": x[picked].reshape(-1, 1, 6, 6), "target": y[picked], "step": np.array(run.steps)}
        new = made.run(["new.0.weight"], begun | given)
        run.step()
        assert_near(new, run.state_dict()["0.weight"], 1e-10)


def test_dropout_is_refused_until_the_run_takes_its_eval(tmp_path):
    with make_run("dropout") as run:
        with pytest.raises(InputError, match=r"call net\.eval\(\), then run\.change\(model=net\)"):
            run.to_onnx(tmp_path / "step.onnx", training=True)
        run.change(model=run.model.eval())
        repeat(run, tmp_path)


def test_a_file_is_plain_and_small(tmp_path):
    with picture(optim.Adam) as run:
        run.to_onnx(tmp_path / "step.onnx", training=True)
        run.to_onnx(tmp_path / "net.onnx")
        assert sv.load_onnx(tmp_path / "net.onnx").state_dict().keys() == run.state_dict().keys()
    graph = onnx.load(tmp_path / "step.onnx").graph
    assert all(not node.domain and not any(a.HasField("g") for a in node.attribute) for node in graph.node)
    assert len(graph.node) < 320
    names = [port.name for port in graph.input]
    assert names[:4] == ["0.weight", "0.bias", "4.weight", "4.bias"]
    assert names[-3:] == ["input", "target", "lr"]
    target = graph.input[-2].type.tensor_type
    assert (target.elem_type, len(target.shape.dim)) == (onnx.TensorProto.INT64, 1)  # classes
    assert [port.name for port in graph.output] == [*(f"new.{name}" for name in names[:-3]), "loss"]
