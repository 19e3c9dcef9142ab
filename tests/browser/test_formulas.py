"""The formulas of a single layer in a browser, letter by letter those of the window."""

from __future__ import annotations

import numpy as np

from scalarviz.scalar.kernel import kernel
from scalarviz.view.ink.equation import neuron
from scalarviz.view.notes.layer import SYMBOLS

WRITTEN = """cases => cases.map(([kind, symbol, values, inputs, sums, outputs]) => {
    const number = text => Number(text.replace("inf", "Infinity")), rows = { input: inputs, sum: sums, last: outputs };
    const last = kind === null ? "sum" : "last", plates = [{ start: 0, shape: [1, 3] }, { start: 3 }];
    const words = { single: { weight: 0, bias: 1, sums: "sum", last, kind, symbol } }, names = { outputs: ["r"] };
    return formulasOf({ words, names, plates }, values.map(number), name => rows[name].map(number)).lines[0]; })"""


def test_they_are_the_windows(ask):
    """All ways to write a thousand layers of random numbers, some of which are no numbers."""
    rng, cases, wanted = np.random.default_rng(11), [], []
    for k in range(1000):
        kind = ("sigmoid", "tanh", "relu", None)[k % 4]
        weights = np.float32(rng.normal(0, 10.0 ** rng.uniform(-3, 3), 3))
        inputs, bias = np.float32(rng.normal(size=3)), np.float32(rng.normal())
        if k % 50 == 3:
            weights[k % 3] = (np.nan, np.inf, -np.inf)[k // 50 % 3]
        with np.errstate(invalid="ignore"):
            total = float(np.float32(weights @ inputs + bias))
        function = None if kind is None else kernel(kind).value
        outputs = [] if function is None else [float(np.float32(function(total)))]
        terms = [(float(w), float(x)) for w, x in zip(weights, inputs, strict=True)] + [(float(bias), None)]
        symbol = "" if kind is None else SYMBOLS.get(kind, kind)
        wanted.append(list(neuron("r", terms, total, symbol=symbol, output=(outputs or [None])[0], function=function)))
        parts = ([*weights, bias], inputs, [total], outputs)
        cases.append([kind, symbol, *([str(float(x)) for x in part] for part in parts)])
    assert ask("formulas.js", WRITTEN, cases) == wanted
