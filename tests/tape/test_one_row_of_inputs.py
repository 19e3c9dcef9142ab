"""Neurons that read the same numbers share one tuple of rows: what a layer costs grows with its inputs once."""

from __future__ import annotations

import numpy as np

import scalarviz as sv
from scalarviz import nn


def test_neurons_of_a_layer_share_their_rows():
    net = nn.Sequential(nn.Conv2d(1, 5, 2, seed=0), nn.Flatten(), nn.Linear(20, 7, seed=1))
    tape = sv.record(lambda row: net(np.reshape(row, (1, 3, 3))), 9)
    rows = [node.args for node in tape.nodes if node.code == "dot"]
    assert len(rows) == 27
    assert len({id(row) for row in rows}) == len(set(rows)) == 5


def test_a_forgotten_value_gives_its_number_to_no_other():
    """Weights are made when they are asked for: those of a sum live as long as the recording does."""
    weights = nn.Linear(40, 1, seed=3).weight
    tape = sv.record(lambda row: sum(weights[0][k] * row[k] for k in range(40)), 40)
    assert sorted(node.index for node in tape.nodes if node.code == "param") == list(range(40))
