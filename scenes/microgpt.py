"""A GPT as in the well-known 200-line script learns to invent names; every weight is a cube."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from pydantic import Field

import scalarviz as sv
from scalarviz import optim
from scalarviz.errors import InputError
from scalarviz.run import Moment, Story
from scalarviz.run.checks import check_run
from scalarviz.run.panels import LossCurve, TestCurve

from ._batch import batch_of
from ._gpt import GPT, next_letter, weights_of
from ._gpt_looked_at import TEMPERATURE, board, new_word, plan_of
from ._schedule import follow
from ._words import Words, load_words
from .options import SceneOptions, ScheduleFlag

LR, BETAS = 0.01, (0.85, 0.99)
SHOWN = "olivia"
FALL = 0.05  # who knows how frequent letters are has a loss of 2.8, who knows all of the names one of 2


class Options(SceneOptions):
    """The flags of ``scalarviz microgpt``: each field is one."""

    rare = SceneOptions.rare | {"heads", "context"}
    steps: int = Field(4000, ge=1, le=10**12, description="training steps")
    text: Path | None = Field(
        None,
        description="a file of words, one a line, in the place of the names",
        json_schema_extra={"metavar": "FILE", "shown": "32,033 given names"},
    )
    embd: int = Field(16, ge=1, le=256, description="numbers a letter")
    heads: int = Field(4, ge=1, le=256, description="parts of them that look back by themselves")
    layers: int = Field(1, ge=1, le=16, description="how often attention and a network follow each other")
    context: int = Field(16, ge=2, le=64, description="the longest word, with its beginning")
    batch: int = Field(64, ge=1, le=10**6, description="words a step")
    lr: float = Field(LR, gt=0, allow_inf_nan=False, description="learning rate of Adam")
    schedule: ScheduleFlag = ("linear", None)


def build(options: Options) -> sv.Scene:
    """Put the scene together: words, network, loss, optimiser, and what to show.

    Raises
    ------
    InputError, FileFormatError
        For options that contradict each other and files that cannot be used; before anything is written.
    """
    if options.embd % options.heads:
        raise InputError(f"--heads must divide --embd, got {options.embd} numbers for {options.heads} heads")
    words = load_words(options.text, options.context)
    weights = weights_of(words.tokens, options.context, options.embd, options.layers)
    check_run(weights, options.dtype, len(optim.Adam.state), options.engine)
    net = GPT(words.tokens, options.context, options.embd, options.heads, options.layers, options.seed)
    adam = optim.Adam(net.parameters(), lr=options.lr, betas=BETAS)
    follow(options.schedule, adam, options.steps)
    notes = _notes(words, options)
    batch = batch_of(options, len(words.train), "word", notes)
    run = sv.Run(
        net,
        next_letter,
        adam,
        data=words.samples(words.train),
        batch_size=batch,
        **options.of_run,
    )
    known = set(SHOWN) <= set(words.letters) and len(SHOWN) < options.context
    shown = SHOWN if known else words.test[0][: options.context - 1]
    probe, target = words.samples([shown])
    return sv.Scene(
        name="microgpt",
        run=run,
        probe=probe[0],
        probe_target=target[0],
        panels=(
            board(words, shown, options.heads, options.layers),
            LossCurve(f"{batch:,} words a step", _test_curve(words)),
        ),
        notes=notes,
        plan=plan_of(options.layers, options.embd),
        story=Story("They should invent names, letter by letter.", claim=_claim_of(words, options), fall=FALL),
    )


def _notes(words: Words, options: Options) -> list[str]:
    notes = [
        f"{len(words.train):,} different words to learn from, {len(words.test):,} held back, "
        f"{len(words.letters)} letters"
    ]
    longer = sum(len(word) >= options.context for word in (*words.train, *words.test))
    if longer:
        notes.append(f"{longer:,} of them are longer than --context {options.context} holds, and are cut")
    return notes


def _claim_of(words: Words, options: Options) -> Callable[[Moment], str]:
    def claim(moment: Moment) -> str:
        """Words that it makes up, as they come."""
        made = [new_word(moment, words, options.heads, options.layers, k, TEMPERATURE).word for k in range(3)]
        return f"They now say {', '.join(word or 'nothing' for word in made)}."

    return claim


def _test_curve(words: Words) -> TestCurve:
    inputs, targets = words.samples(words.test)
    return TestCurve(f"{len(inputs):,} held-back words", inputs, targets)


def report(scene: sv.Scene) -> dict[str, float]:
    """What the last line and the JSON say beyond what they say of every scene."""
    curve = next(panel for panel in scene.panels if isinstance(panel, LossCurve)).test
    assert isinstance(curve, TestCurve)
    return {"test_loss": round(float(scene.run.evaluate(curve.inputs, curve.targets)), 4), "guessing": _guessing(scene)}


def _guessing(scene: sv.Scene) -> float:
    """The loss of one who knows nothing: log of how many letters there are."""
    tokens = next(tensor.shape[0] for tensor in scene.run.tensors if tensor.name == "token.weight")
    return round(float(np.log(tokens)), 4)
