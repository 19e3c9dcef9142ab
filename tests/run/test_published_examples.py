"""M. Mazur, "A Step by Step Backpropagation Example": the run, opened, says every number that is printed there."""

import numpy as np
import pytest

from scalarviz import Run, nn, optim


def printed(found, *texts):
    """As in the lesson: rounded to its decimals."""
    found = np.atleast_1d(np.asarray(found, np.float64)).ravel().tolist()
    assert len(found) == len(texts)
    for number, text in zip(found, texts, strict=True):
        decimals = len(text.partition(".")[2])
        assert f"{number:.{decimals}f}" == text, (found, texts)


NEW = (
    "0.149780716", "0.19956143", "0.24975114", "0.29950229", "0.35891648", "0.408666186", "0.511301270", "0.561370121",
)  # fmt: skip
DATA = [[0.05, 0.10]], [[0.01, 0.99]]


def mazur():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.Linear(2, 2), nn.Sigmoid())
    net[0].weight.data, net[0].bias.data = [[0.15, 0.20], [0.25, 0.30]], [0.35, 0.35]
    net[2].weight.data, net[2].bias.data = [[0.40, 0.45], [0.50, 0.55]], [0.60, 0.60]
    rule = optim.SGD([net[0].weight, net[2].weight], lr=0.5)  # biases are kept as they are
    return Run(net, nn.MSELoss(), rule, DATA, dtype="float64")


@pytest.mark.ci
def test_the_training(capsys):
    run, eight = mazur(), [0, 1, 2, 3, 6, 7, 8, 9]  # w1 to w8
    w1, w5 = "0.weight[0][0]", "2.weight[0][0]"
    opened = run.open()
    printed(opened.loss, "0.298371109")
    printed(opened.gradient[eight][[0, 4]], "0.000438568", "0.082167041")
    printed(opened.new_values[eight], *NEW)
    for name, delta, x in ((w5, "0.138498562", "0.593269992"), (w1, "0.008771355", "0.05")):
        (term,) = opened.terms(name).array
        printed([term["delta"], term["x"]], delta, x)
    printed(opened.update(w5).after, "0.35891648")
    run.step()
    assert run.values[eight] == pytest.approx(opened.new_values[eight], abs=1e-15)
    moved = run.compare(0, 1)
    assert moved.changed == 8
    printed(moved.after[eight], *NEW)
    why = run.why(w5)
    printed([why.gradient, why.engine_gradient, why.now], "0.082167041", "0.082167041", "0.35891648")
    assert "0.4 − 0.5 · 0.08216704 = 0.358916" in capsys.readouterr().out
    printed(run.open().loss, "0.291027774")
    run.step(9_999)
    printed(run.loss, "0.0000351085")
    printed(run.predict(DATA[0]), "0.0159", "0.9841")
    run.to(1)
    printed(run.values[eight], *NEW)


def test_the_step_in_small_steps():
    opened = mazur().open()
    for stage, row in (("0", "0.3775 0.3925"), ("1", "0.593269992 0.596884378"), ("2", "1.105905967 1.224921404"),
                       ("3", "0.75136507 0.772928465")):  # fmt: skip
        printed(opened.rows[stage], *row.split())
    printed(opened.deltas["3"], "0.74136507", "-0.217071535")
    printed(opened.deltas["2"], "0.138498562", "-0.038098237")
    printed(opened.deltas["1"][0], "0.036350306")
    said = {step.numbers for step in opened.micro_steps()}
    assert said >= {
        "0.15 · 0.05 = 0.0075", "0.0075 + 0.02 + 0.35 = 0.3775", "σ(0.3775) = 0.5933", "0.2373 + 0.2686 + 0.6 = 1.106",
        "0.7414 · 0.1868 = 0.1385", "(0.0554 − 0.01905) · 0.2413 = 0.008771", "0.1385 · 0.5933 = 0.08217",
        "0.008771 · 0.05 = 0.0004386", "0.4 − 0.5 · 0.08217 = 0.3589", "0.15 − 0.5 · 0.0004386 = 0.1498",
    }  # fmt: skip
    output, hidden = (step for step in opened.micro_steps() if step.kind == "delta" and step.units[0] == 0)
    assert (output.formula, hidden.formula) == ("(y − t) · y · (1 − y)", "(Σ w · δ) · y · (1 − y)")
