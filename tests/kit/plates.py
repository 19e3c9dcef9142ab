"""Chains of layers and named arrays as tensors and stages, workbenches without a window, and what is written on one."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np

from scalarviz.run.core.frame import Stage, Tensor
from scalarviz.view.ink.sketch import TextItem
from scalarviz.view.ink.text import CAP_HEIGHT
from scalarviz.view.out.offscreen import offscreen
from scalarviz.view.shown.subject import subject_of
from scalarviz.view.space.layout import Layout, layout_for
from scalarviz.view.workbench import Workbench

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def chain(*widths: int, bias: bool = True, kind: str = "tanh") -> tuple[list[Tensor], list[Stage]]:
    """Linear layers, each with an activation."""
    tensors: list[Tensor] = []
    stages: list[Stage] = []
    start = 0
    for k, (n_in, n_out) in enumerate(pairwise(widths)):
        weight = Tensor(f"{2 * k}.weight", (n_out, n_in), start)
        offset = Tensor(f"{2 * k}.bias", (n_out,), start + weight.size, "bias") if bias else None
        start += weight.size + (n_out if bias else 0)
        tensors += [weight] if offset is None else [weight, offset]
        stages += [Stage(f"{2 * k}", "linear", n_out, weight, offset), Stage(f"{2 * k + 1}", kind, n_out)]
    return tensors, stages


def arrays(*shapes: tuple[int, ...]) -> tuple[list[Tensor], list[Stage]]:
    """``t0``, ``t1``, ... of no stage."""
    starts = np.cumsum([0, *(prod(shape) for shape in shapes)])
    return [Tensor(f"t{k}", shape, int(starts[k])) for k, shape in enumerate(shapes)], []


def whole(parts: tuple[list[Tensor], list[Stage]], size: tuple[int, int]) -> Layout:
    """Their layout in all of a window."""
    return layout_for(*parts, size, (0.0, 0.0, float(size[0]), float(size[1])))


def bench_of(x: object, size: tuple[int, int] = (1280, 720), **more: object) -> Workbench:
    """The picture of a subject, or of what one is made of, with its present frame."""
    subject = subject_of(x)
    with offscreen():
        bench = Workbench(subject, size, **more)
        bench.update(subject.frame())
    return bench


def again(bench: Workbench, seconds: float | None = None) -> Workbench:
    """The same with the present frame."""
    with offscreen():
        bench.update(bench.subject.frame(), "", seconds)
    return bench


def texts(bench: Workbench) -> list[TextItem]:
    """Everything that is written."""
    return [item for sketch in bench.sketches for item in sketch.texts]


def said(bench: Workbench) -> list[str]:
    """The words alone."""
    return [item.text for item in texts(bench)]


def box_of(item: TextItem) -> Box:
    """Around its capitals."""
    return item.left, item.y - CAP_HEIGHT * item.size, item.left + item.width, item.y


def overlap(a: Box, b: Box, air: float = 0.0) -> bool:
    """Whether two boxes lie on each other by more than `air` both ways."""
    return min(a[2], b[2]) - max(a[0], b[0]) > air and min(a[3], b[3]) - max(a[1], b[1]) > air
