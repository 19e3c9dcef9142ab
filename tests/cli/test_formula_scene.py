"""What `scalarviz expression` fits, against least squares and NumPy, and the graph beside its cubes."""

import math

import numpy as np
import pytest

from kit.commands import make_scene, moment_of
from scalarviz.run import panels


@pytest.fixture
def run(blind):
    """`scalarviz expression` with its line."""
    return lambda *arguments: blind("expression", "--json", *arguments)


def test_a_line_through_a_table_is_that_of_least_squares(run, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 2, 50)
    y = 0.7 * x - 0.2 + 0.05 * rng.standard_normal(50)
    rows = "\n".join(f"{a!r},{b!r}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
    (tmp_path / "line.csv").write_text(f"x,y\n{rows}\n")
    said = run("--expr", "slope*x + offset", "--csv", "line.csv", "--dtype", "float64", "--lr", "0.05").json
    slope, offset = np.polyfit(x, y, 1)
    assert math.isclose(said["weight slope"], slope, abs_tol=1e-4)
    assert math.isclose(said["weight offset"], offset, abs_tol=1e-4)
    assert math.isclose(said["rms"], float(np.sqrt(np.mean((slope * x + offset - y) ** 2))), abs_tol=1e-6)
    assert said["weights"] == 2


# ---- the graph beside the cubes


def test_the_graph_has_the_numbers_of_the_moment_and_touches_nothing():
    """Values against the formula in NumPy, gradients against the run's own for a batch of that one row."""
    scene = make_scene("expression", steps=100, dtype="float64")
    panel = next(panel for panel in scene.panels if isinstance(panel, panels.GraphPanel))
    source = moment_of(scene).source
    early = scene.run.frame(scene.probe)
    scene.run.step(100)
    before = scene.run.values.copy(), scene.run.frame().gradient.copy()
    frames = early, scene.run.frame(scene.probe)
    for frame in frames:
        made = panel.made(moment_of(scene, frame))
        assert made.note == "row 1 of 60"
        written, filled = made.title.removeprefix("y = ").split(" = ")
        numbers = {"x": 0.7, "tanh": math.tanh} | dict(zip("awbc", np.round(frame.values, 2), strict=True))
        said, formula = (
            part.replace("\N{MINUS SIGN}", "-").replace("\N{MIDDLE DOT}", "*") for part in (filled, written)
        )
        assert math.isclose(eval(said, numbers), eval(formula, numbers))  # our own text
        error = made.roots[0]
        a, w, b, c = frame.values
        x, y = scene.probe[0], scene.probe_target[0]
        assert math.isclose(error.data, float((a * np.tanh(w * x + b) + c - y) ** 2), rel_tol=1e-12)
        graph = {node.label: node for node in _all(error) if node.label}
        wanted = source.sample_gradient(scene.probe, scene.probe_target, frame.values)
        found = [graph[name].grad for name in "awbc"]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-15)
    assert frames[0].values[0] != frames[1].values[0]
    assert (scene.run.values == before[0]).all()
    assert (scene.run.frame().gradient == before[1]).all()


def _all(root):
    seen, stack = {}, [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            stack += node.parents
    return list(seen.values())


# ---- bad input


def test_names_that_are_numbers_are_no_weights_and_that_is_said(run):
    result = run("--expr", "a*x + b*sin(pi*x) + e", "--steps", "2")
    assert "in the formula pi is 3.14159 and e is 2.71828; a weight needs another name" in result.err
    assert result.json["weights"] == 2
    assert "another name" not in run("--expr", "a*x + b", "--steps", "2").err


def test_another_column_is_learnt_beside_columns_of_words(run, tmp_path):
    """The line through a table of R's, whose last column is words: numpy's least squares."""
    x = np.linspace(1.5, 5.0, 40)
    y = 2.0 * x - 3.0 + 0.3 * np.sin(17 * x)
    rows = "".join(
        f'"{k + 1}",{b!r},{a!r},{"long" if a > 3 else "short"}\n'
        for k, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
    )
    (tmp_path / "geyser.csv").write_text('"","waiting","duration","kind"\n' + rows)
    said = run(
        "--csv", "geyser.csv", "--target", "waiting", "--expr", "a*duration + b", "--dtype", "float64", "--lr", "0.05"
    )
    assert "the first column only numbers the rows, so it is left out" in said.err
    slope, offset = np.polyfit(x, y, 1)
    assert said.json["weight a"] == pytest.approx(slope, abs=1e-4)
    assert said.json["weight b"] == pytest.approx(offset, abs=1e-4)
