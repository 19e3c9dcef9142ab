"""Recordings for tests, held in memory: what a run shows at some of its steps, kept as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scalarviz.run.frame import NO_CURVE
from scalarviz.run.past import Branch
from scalarviz.run.recorded_source import Shown
from scalarviz.view.shown.subject import subject_of


class Memory:
    """The frames of a run that is stepped by hand: ``keep()`` at every step that is to be recorded.

    Parameters
    ----------
    scene : Scene
    kept : sequence of str
        What frames hold besides values.
    """

    def __init__(self, scene, *, kept=("gradient", "update", "activations")):
        self.kept = frozenset(kept)
        self.subject = subject_of(scene)
        self._run = scene.run
        known = self.subject.sample
        self.sample = Shown(known.inputs, known.outputs, known.target, known.colours, known.sheet, scene.whole_loss)
        self.facts = self.subject.source.facts
        self.tensors, self.stages = self._run.tensors, self._run.stages
        self._frames, self._branch = [], []

    def keep(self):
        frame, whole = self.subject.frame(), self.subject.loss_of_all
        bare = replace(frame, forward=None, units=None, data=None, settings=None, past=None, curve=NO_CURVE, state={},
                       dead=dict(frame.dead), saturated=dict(frame.saturated), whole_loss=whole(frame))  # fmt: skip
        if "activations" in self.kept:
            bare = replace(bare, probe_loss=self.subject.probe_loss(frame))
        else:
            bare = replace(bare, activations={})
        if "gradient" not in self.kept:
            bare = replace(bare, gradient=np.zeros_like(bare.values), computed=np.zeros_like(bare.computed))
        if "update" not in self.kept:
            bare = replace(bare, update=np.zeros_like(bare.values))
        self._frames.append(bare)
        self._branch.append(next((b.number for b in self._run.branches if b.current), 0))

    @property
    def steps(self):
        return np.array([frame.step for frame in self._frames], np.int64)

    @property
    def loss(self):
        return np.array([frame.loss for frame in self._frames])

    @property
    def lr(self):
        return np.array([frame.lr for frame in self._frames])

    @property
    def branch_of(self):
        return np.array(self._branch, np.int64)

    @property
    def branches(self):
        return self._run.branches or (Branch(0, None, 0, self._frames[-1].step),)

    def frame(self, k):
        return self._frames[k]

    def weight(self, index, frames):
        return np.array([float(self._frames[k].values[index]) for k in frames])
