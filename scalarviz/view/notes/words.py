"""What plates, rows of activations and their numbers are called: the words of a scenery, wherever it is drawn."""

from __future__ import annotations

from ...run.core.frame import is_chain
from ...run.panels import Features
from ...run.scene.scene import Plan
from ..cubes.scale import rows_of
from ..shown.subject import Subject
from ..space.layout import Layout


def is_single(subject: Subject, layout: Layout) -> bool:
    """Whether one small layer is all that there is: then inputs and outputs stand around it with their numbers."""
    return layout.mode == "few" and sum(stage.weight is not None for stage in subject.stages) == 1


def labelled(subject: Subject) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors that get a label, by name: biases stand beside their weights."""
    layers = any(stage.weight is not None for stage in subject.stages)
    return {t.name: t.shape for t in subject.tensors if not layers or t.role != "bias"}


def titles_in(plan: Plan | None) -> dict[str, str]:
    """What a plan calls its tensors."""
    return {} if plan is None else {placed.tensor: placed.title for placed in plan.plates}


def turned_in(plan: Plan) -> set[str]:
    """Tensors whose inputs a plan draws downwards."""
    return {placed.tensor for placed in plan.plates if placed.turned}


def row_words(subject: Subject) -> dict[str, str]:
    """What each row of activations is called, by its stage."""
    stages = subject.stages
    rows = rows_of(stages)
    if not is_chain(stages):  # several of a kind: the module's path tells them apart
        rows |= {s.name: s.name if s.kind in ("linear", *s.name.replace(".", " ").split())
                 else f"{s.name} {s.kind}".strip() for s in stages}  # fmt: skip
    if rows and stages:
        rows[stages[-1].name] = "output"
    if subject.sample.sheet:
        rows["input"] = "input, 0 to 1"
    return rows


def read_words(subject: Subject) -> tuple[str, ...]:
    """Names of what the first layer reads, where no panel says them."""
    told = any(isinstance(panel, Features) for panel in subject.panels)
    return () if told else subject.sample.inputs


def unit_words(subject: Subject) -> dict[str, tuple[str, ...]]:
    """Names of the inputs and the outputs, by their rows; the pad's picture speaks for itself."""
    stages, sample = subject.stages, subject.sample
    if not stages:
        return {}
    units = {} if sample.sheet else {"input": sample.inputs}
    return {**units, stages[-1].name: sample.outputs}


def side_words(subject: Subject) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """What columns and rows of a tensor are called that reads the sample or makes the output, where no row says it."""
    stages, sample, found = subject.way, subject.sample, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]()
    if subject.stages or not is_chain(stages):
        return found
    last = max((k for k, stage in enumerate(stages) if stage.weight is not None), default=0)
    for k, stage in enumerate(stages):
        if stage.weight is not None and len(stage.weight.shape) == 2:
            reads = sample.inputs if k == 0 and stage.whole else ()
            makes = tuple(f"to {name}" for name in sample.outputs) if k == last and k + 2 >= len(stages) else ()
            found[stage.weight.name] = reads, makes
    return found
