"""A GPT of 4,192 weights: a step of the scene `microgpt` beside the well-known script's own way, and PyTorch.

    python benchmarks/microgpt.py

The scene's network and its names, Adam, float32 here and in PyTorch (the script computes in Python's floats). Batches
of 1, 32 and 512 names, other names at every step; the script has one name a step, as long as it is. PyTorch has the
same arrays of 16 places as our engine, which the goals are against; and once more arrays that are cut to the longest
name of the batch, which our engine cannot do. Both are made before, and attention is PyTorch's own. Contestants take
turns on one pinned thread in seconds of the processor; before, losses of the same first steps must agree. Writes
``results/microgpt.json``.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

from _timing import Timing, arguments, in_turns, pin_threads, write_report

pin_threads(1)

import _peer_script  # noqa: E402
import _peer_torch_gpt  # noqa: E402
import numpy as np  # noqa: E402
from scalarviz.scenes._gpt import GPT, next_letter  # noqa: E402
from scalarviz.scenes._words import Words, load_words  # noqa: E402

import scalarviz as sv  # noqa: E402
from scalarviz import optim  # noqa: E402

CONTEXT, EMBD, HEADS, LAYERS = 16, 16, 4, 1
ASKED = {1: 4.0, 32: 5.0, 512: 2.5}
"""Batches, and how many times as fast as PyTorch."""
SCRIPT_ASKED = 2000.0
"""How many times as fast as the script, of one name."""
OURS, EAGER, CUT, SCRIPT = "numba", "PyTorch eager", "PyTorch eager, cut", "the script's way"
CHECKED, AGREED = 3, 1e-4
"""Steps after which losses are compared."""
MADE = 64
"""Batches that PyTorch takes in turns, and names of the script."""
NOTES = (
    "Seconds of the processor of one thread, in turns: other programs were at work on the machine, which shows in the "
    "quarter points and hardly in ratios."
)


def ours(words: Words, batch: int) -> sv.Run:
    """The scene's run, with a rate that stays."""
    net = GPT(words.tokens, CONTEXT, EMBD, HEADS, LAYERS)
    adam = optim.Adam(net.parameters(), lr=_peer_script.LR, betas=_peer_script.BETAS, eps=_peer_script.EPS)
    data = words.samples(words.train)
    return sv.Run(net, next_letter, adam, data, batch_size=batch, engine="numba", dtype="float32")


def contestants(words: Words, batch: int) -> dict[str, Callable[[int], Any]]:
    """All over the same names in the same order."""
    run = ours(words, batch)
    arrays = run.state_dict()
    chosen = [run.problem.indices(step) for step in range(MADE)]
    inputs, targets = words.samples(words.train)
    whole, cut = (
        [_peer_torch_gpt.tensors(inputs[places], targets[places], shorter) for places in chosen]
        for shorter in (False, True)
    )

    def steps(count: int) -> float:
        run.step(count)
        return run.loss

    found: dict[str, Callable[[int], Any]] = {
        OURS: steps, EAGER: _peer_torch_gpt.steps(arrays, whole, HEADS), CUT: _peer_torch_gpt.steps(arrays, cut, HEADS)
    }  # fmt: skip
    if batch == 1:
        names = [[words.end, *words.ids(words.train[place]), words.end][: CONTEXT + 1] for (place,) in chosen]
        found[SCRIPT] = _peer_script.steps(arrays, names, HEADS)
    return found


def measure(words: Words, batch: int, rounds: int, seconds: float) -> dict[str, Timing]:
    """Timings of one step of each."""
    entered = contestants(words, batch)
    losses = {name: [some(1) for _ in range(CHECKED)] for name, some in entered.items()}
    if not all(np.allclose(found, losses[OURS], rtol=AGREED) for found in losses.values()):
        raise SystemExit(f"batch {batch}: the losses of the first steps differ: {losses}")
    gc.collect()
    return in_turns(entered, rounds=rounds, seconds=seconds, clock=time.process_time)


def goals(seconds: dict[str, float]) -> dict[str, Any]:
    """What was asked for beside what was measured, from medians."""
    asked = [(f"batch {batch}: times as fast as PyTorch eager", f"{batch}: {EAGER}", batch, least)
             for batch, least in ASKED.items()]  # fmt: skip
    asked.append(("batch 1: times as fast as the script's way", f"1: {SCRIPT}", 1, SCRIPT_ASKED))
    found = {}
    for name, peer, batch, least in asked:
        ratio = seconds[peer] / seconds[f"{batch}: {OURS}"]
        found[f"microgpt, {name}"] = {"measured": round(ratio, 2), "at_least": least, "reached": ratio >= least}
    return found


def main() -> None:
    parser = arguments(__doc__)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    words, timings = load_words(None, CONTEXT), dict[str, Timing]()
    for batch in ASKED:
        found = measure(words, batch, *((3, 0.05) if options.quick else (21, 0.25)))
        timings |= {f"{batch}: {name}": timing for name, timing in found.items()}
        for name, timing in found.items():
            print(f"batch {batch:4} {name:18} {timing!s:36} {timing.median / found[OURS].median:8.2f} times ours")
    verdicts = goals({name: timing.median for name, timing in timings.items()})
    for name, goal in verdicts.items():
        verdict = "reached" if goal["reached"] else "NOT reached"
        print(f"{name}: {goal['measured']:g}, at least {goal['at_least']:g} asked: {verdict}")
    if not options.quick:
        more = {"goals": verdicts, "notes": NOTES, "weights": 4192}
        packages = ("numpy", "numba", "llvmlite", "torch")
        print("written", write_report("microgpt", timings, packages, unit="one training step", **more))


if __name__ == "__main__":
    main()
