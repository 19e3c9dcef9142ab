"""Networks put together at random on the real PTX, in every cut of the work, against the objects."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from test_ptx_runs import shape

from kit.drawn import BATCHES, Drawn, drawn_losses
from kit.runs import TOLERANCE, loss_and_gradient
from scalarviz import nn

pytestmark = pytest.mark.cuda
__all__ = ["shape"]
CUTS = (
    {},
    {"chunk_bytes": 20_000, "threads": 64, "slices": 3, "loss_slices": 5},
    {"lanes": 4, "block_threads": 32, "alone": 0},
    {"lanes": 8, "block_threads": 64},
)
"""Whole batches, chunks, blocks of lanes, one block by itself."""
QUICK = 4


@pytest.mark.parametrize("seed", [*range(QUICK), *(pytest.param(s, marks=pytest.mark.slow) for s in range(QUICK, 42))])
def test_a_random_network_agrees_with_objects(seed, fake_driver, shape):
    draw, make = Random(seed), np.random.default_rng(seed)
    sizes = (draw.randint(1, 9),) if seed % 3 else (draw.randint(1, 2), draw.randint(2, 6), draw.randint(2, 6))
    net = Drawn(draw, sizes)
    loss, samples = draw.choice(drawn_losses(net)), draw.choice([*BATCHES, 36, 64])
    outputs = net.last.out_features
    classes = isinstance(loss, nn.CrossEntropyLoss)
    targets = make.integers(0, outputs, samples) if classes else make.random((samples, outputs))
    data = make.normal(size=(samples, *sizes)), targets
    shape(**CUTS[seed % len(CUTS)])
    for dtype, tolerance in TOLERANCE.items():
        wanted = loss_and_gradient(net, loss, data, engine="objects", dtype=dtype)
        assert np.isfinite(wanted).all()
        found = loss_and_gradient(net, loss, data, engine="cuda", dtype=dtype)
        assert np.linalg.norm(found - wanted) <= tolerance * np.linalg.norm(wanted)
