"""Three hidden units learn exclusive or; sigmoid often gets stuck.

The network has no biases; a third input that is always 1 replaces them. The first weights are uniform between -1 and 1.
The loss is the sum of squares times ``--factor``. Each step uses one of the four samples (``--batch 4``: all four).
The table counts the seeds from 0 to 59 that learn it: after 20,000 steps with learning rate 0.1, all four outputs are
within 0.3 of their targets.

==========  =======  ============  ==========
activation  --batch  --factor 0.5  --factor 1
==========  =======  ============  ==========
tanh        1        59            60
tanh        4        58            58
sigmoid     1        30            44
sigmoid     4        53            53
==========  =======  ============  ==========

With the defaults, only seed 42 is stuck. With ``--activation sigmoid``, these are stuck: 0, 2, 3, 5, 7, 9, 14, 16, 21,
22, 27, 29 to 32, 34, 37, 39 to 41, 43, 44, 47, 50, 52 to 55, 57 and 58. Their outputs stay near one half, for two of
the four samples or for all of them.
"""

from __future__ import annotations

import csv
import io
import weakref
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

import scalarviz as sv
from scalarviz import nn
from scalarviz.io import check_target, write_bytes
from scalarviz.run import Run, Story
from scalarviz.run.controls import Reader
from scalarviz.run.edits import Change, Edit, SetBatchSize, Several
from scalarviz.run.panels import Axis, LossCurve, PlaneMap, Points, TestCurve
from scalarviz.run.scene.own_controls import is_sequence

from . import kit
from .options import Positive, SceneOptions, ScheduleFlag, Steps, file_ending, flag

LOGGED, MOMENTS = 100, 2000
"""Steps between two moments of the log, and its most moments; in longer runs they are farther apart."""
LogFile = Annotated[Path, file_ending(".csv", what="a log is", usual="log")]
BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
WANTED = np.array([[0.0], [1.0], [1.0], [0.0]])
HIDDEN = 3
PACE = 100  # steps per frame
NEAR = 0.3  # an output within this distance of its target is right
ACTIVATIONS = {"tanh": nn.Tanh, "sigmoid": nn.Sigmoid}


def with_one(points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Inputs (N, 3): points of the plane (N, 2), and the constant 1."""
    return np.column_stack([points, np.ones(len(points))])


FOUR = kit.TwoBits(BITS, WANTED, lambda found, wanted: np.abs(found - wanted) < NEAR, with_one)


class Options(SceneOptions):
    """The flags of ``scalarviz xor``: each field is one."""

    rates = kit.rates(sgd=0.1)
    rare = SceneOptions.rare | {"factor", "log"}
    steps: Steps = flag("training steps", 20_000)
    activation: Literal["tanh", "sigmoid"] = flag("activation of the hidden units and of the output", "tanh")
    factor: float = flag("factor of the sum of squares: 0.5 as published, or 1", 0.5, choices=(0.5, 1.0))
    batch: int = flag("samples per step: one, or all four", 1, choices=(1, 4))
    lr: Positive = flag("learning rate", rates["sgd"])
    schedule: ScheduleFlag = None
    cells: int | None = flag("cells per side of the map, such as 8", None, ge=1, le=256, shown="smooth")
    log: LogFile | None = flag(
        "write the four outputs, their targets and their errors every 100 steps (.csv)", None, written=True
    )


def build(options: Options) -> sv.Scene:
    """Put the scene together: data, network, loss, optimiser, and what to show."""
    options = kit.resumed(options)
    net = network(options.activation)
    net.initialize(nn.init.uniform(-1, 1), seed=options.seed)
    loss = nn.MSELoss("sum", factor=options.factor)
    run = kit.train(options, net, loss, (with_one(BITS), WANTED), batch_size=options.batch)
    if options.log is not None:
        check_target(options.log)
        keep_log(run, options.steps)
    every = TestCurve("all 4 samples", with_one(BITS), WANTED, headline=False)
    curve = LossCurve("all 4 samples") if options.batch > 1 else LossCurve("single samples", every)
    return sv.Scene(
        name="xor",
        run=run,
        options=options,
        probe=with_one(BITS)[1],
        probe_target=WANTED[1],
        input_names=("x", "y", "1"),
        output_names=("output",),
        panels=(
            PlaneMap(
                "output over the unit square",
                *axes(options.cells),
                inputs=with_one,
                span=(0, 1),
                says=("0", "1"),
                cells=options.cells,
                points=lambda moment: Points(BITS, WANTED[:, 0]),
            ),
            FOUR.table("four samples", "expected", "computed"),
            curve,
        ),
        story=Story("They learn whether exactly one of two bits is 1.", claim=FOUR.claim, reached=FOUR.solved),
        controls=(BATCH, ACTIVATION),
        whole_loss=True,
        steps_a_frame=None if options.given("duration") else max(PACE, options.steps // 10**5),
    )


def network(activation: str) -> nn.Sequential:
    """Three inputs, three hidden units, one output; no biases."""
    kind = ACTIVATIONS[activation]
    return nn.Sequential(nn.Linear(3, HIDDEN, bias=False), kind(), nn.Linear(HIDDEN, 1, bias=False), kind())


def _activation_of(reader: Reader) -> str | None:
    kinds = {stage.kind for stage in reader.stages if stage.weight is None}
    return kinds.pop() if len(kinds) == 1 and kinds <= set(ACTIVATIONS) and is_sequence(reader) else None


def _other_activation(value: str, reader: Reader) -> Edit | None:
    """The edit that replaces the activation of both layers and keeps the weights; None if nothing changes."""
    if value == _activation_of(reader):
        return None
    return Several((Change(model=network(value)),), f"activation = {value}")


BATCH = Options.control(
    "batch", "batch", "Samples per step. One: quick and noisy. All four: smooth.",
    value=lambda reader: reader.settings and reader.settings.batch_size,
    change=lambda value, reader: SetBatchSize(value),
)  # fmt: skip
ACTIVATION = Options.control(
    "activation", "activation",
    "Bends each sum. Nearly every seed learns with tanh, half with sigmoid.",
    value=_activation_of, change=_other_activation,
)  # fmt: skip


def axes(cells: int | None) -> tuple[Axis, Axis]:
    """The axes of the unit square, with a margin that puts the corner cells on the samples."""
    room = 0.06 if cells is None else max(0.5 / max(cells - 1, 1), 0.06)
    return Axis("x", -room, 1 + room), Axis("y", -room, 1 + room)


def report(scene: sv.Scene) -> dict[str, int]:
    """Numbers that this scene adds to the last line and to the JSON."""
    return {"right": FOUR.count_right(scene.run)}


def finish(scene: sv.Scene, options: Options) -> list[Path]:
    """Write the log; returns the files."""
    if options.log is None:
        return []
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(_LOGS[scene.run])
    write_bytes(options.log, written.getvalue().encode())
    return [options.log]


_LOGS: weakref.WeakKeyDictionary[Run, list[list[str]]] = weakref.WeakKeyDictionary()


def keep_log(run: Run, steps: int) -> None:
    """Log the run from its present step on, one line per sample; a repeated step is logged again."""
    lines = _LOGS[run] = [["step", "x", "y", "1", "expected", "computed", "error"]]

    def write(run: Run) -> None:
        computed = run.predict(with_one(BITS)).tolist()
        for sample, (wanted,), (found,) in zip(with_one(BITS), WANTED, computed, strict=True):
            numbers = [*(f"{x:g}" for x in sample), f"{wanted:g}", f"{found:.9g}", f"{found - wanted:.9g}"]
            lines.append([str(run.steps), *numbers])

    write(run)
    run.on_step(write, every=LOGGED * max(1, -(-steps // (LOGGED * MOMENTS))))
