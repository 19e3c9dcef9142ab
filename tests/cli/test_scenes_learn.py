"""Every scene learns what its file says, from seeds that it says it of."""

import operator
import shlex

import numpy as np
import pytest
from scalarviz.scenes import texture

from kit.commands import load_scene, make_scene, moment_of
from scalarviz import data

pytestmark = pytest.mark.ci
LESS, MORE = operator.lt, operator.gt
ADAM = "--optimizer adam --lr"
LEARNT = [
    ("neuron", "", "w", MORE, 1.045), ("neuron", "--weights 2", "b", LESS, 0.505),
    ("xor", "", "right", MORE, 3), ("uinn", "", "right", MORE, 3), ("expression", "", "rms", LESS, 0.035),
    ("rgb", "--steps 3000", "loss", LESS, 0.004),
    ("rgb", f"--steps 3000 --hidden 16,16 {ADAM} 0.01", "loss", LESS, 0.0003),
    ("rgb", f"--steps 2000 --pair #ff8800:#0044cc --pair #000:#fff {ADAM} 0.05", "loss", LESS, 1e-3),
    *(("rgb", f"--steps 300 --target {name} {ADAM} 0.05 --batch 100", "loss", LESS, 0.02) for name in data.TARGETS),
    ("digits", "", "accuracy", MORE, 0.95), ("digits", "--seed 6", "accuracy", MORE, 0.95),
    ("microgpt", "--text words.txt --embd 4 --heads 2 --context 5 --batch 100 --steps 60", "test_loss", LESS, 2.8),
    ("texture", "--photo astronaut --steps 1000", "psnr", MORE, 19),
    ("playground", "--seed 13", "accuracy", MORE, 0.97),
    ("playground", "--data plane --steps 1500", "test_loss", LESS, 0.005),
    # the published page's easiest state: the squares of x and y, and nothing between
    ("playground", "--hidden '' --features x2,y2 --lr 0.1 --steps 1500", "accuracy", MORE, 0.97),
    ("playground", "--csv three.csv --lr 0.1", "accuracy", MORE, 0.97),
    ("playground", "--csv two.csv", "accuracy", MORE, 0.97),
    ("playground", "--csv curve.csv", "test_loss", LESS, 0.01),
]  # fmt: skip


def write_tables():
    """Clouds of points in units of their own, a word each; a curve; words."""
    rng = np.random.default_rng(0)
    clouds = {"ash": (10.0, 200.0), "elm": (14.0, 260.0), "oak": (18.0, 190.0)}
    for file, kinds in (("three.csv", clouds), ("two.csv", ("ash", "oak"))):
        rows = [(*(rng.normal(clouds[kind], (0.5, 6.0))), kind) for kind in kinds for _ in range(60)]
        with open(file, "w") as out:
            out.write("leaf,height,tree\n" + "".join(f"{a:.4f},{b:.3f},{kind}\n" for a, b, kind in rows))
    with open("curve.csv", "w") as out:
        rows = "".join(f"{a:.3f};{1000 + 3 * a:.2f}\n".replace(".", ",") for a in np.linspace(20, 60, 200))
        out.write("t;p\n" + rows)
    with open("words.txt", "w") as out:
        out.write("\n".join(f"{a}{b}{c}" for a in "abc" for b in "ou" for c in "xyz"))


@pytest.mark.parametrize(("name", "flags", "key", "compared", "bound"), LEARNT)
def test_a_scene_learns_what_its_file_says(cli, name, flags, key, compared, bound):
    write_tables()
    result = cli(name, *shlex.split(flags), "--headless", "--engine", "numba", "--json")
    assert compared(result.json[key], bound), result.out
    if name == "microgpt":
        assert "using all 17 words" in result.err
        assert result.json[key] < result.json["guessing"]
    if name == "texture":  # the file says it, and what the encoding is worth; tenths follow the processor
        plain = cli(name, *shlex.split(flags), "--encoding", "none", "--headless", "--json").json[key]
        assert all(f"{number:.0f} dB" in texture.__doc__ for number in (result.json[key], plain))


SPIRAL = {"data": "spiral", "hidden": (8, 8)}


@pytest.mark.parametrize(
    ("name", "flags", "steps", "key", "compared", "bound"),
    [
        ("uinn", {}, 1000, "right", MORE, 3), ("expression", {}, 2000, "rms", LESS, 0.035),
        ("playground", {**SPIRAL, "features": "x,y,sinx,siny"}, 10_000, "accuracy", MORE, 0.95),
        ("playground", {**SPIRAL, "optimizer": "adam", "batch": 50}, 10_000, "accuracy", MORE, 0.90),
    ],
)  # fmt: skip
def test_the_first_seeds_learn_it(name, flags, steps, key, compared, bound):
    """The lines of the scenes' docstrings."""
    report = load_scene(name).module.report
    for seed in range(20):
        scene = make_scene(name, engine="numba", seed=seed, **flags)
        scene.run.step(steps)
        assert compared(report(scene)[key], bound), (seed, report(scene))
        if name == "expression":
            assert f" now {report(scene)[key]:.3g}." in scene.shown_story.claim(moment_of(scene))
        scene.run.close()
