"""A batch that is larger than the data: what is taken, and what is said of it."""

from __future__ import annotations

import pytest
from scalarviz.scenes._batch import batch_of
from scalarviz.scenes.rgb import Options
from scalarviz.scenes.xor import Options as WithoutSampling


@pytest.mark.parametrize(
    ("flags", "there", "batch", "said"),
    [
        ({"batch": 16}, 1, 1, ["a batch is the one row that there is, not 16"]),
        ({"batch": 5000}, 1200, 1200, ["a batch is all 1,200 rows that there are, not 5,000"]),
        ({"batch": 16}, 16, 16, []),
        ({}, 3, 3, []),  # nobody asked for more
        ({"batch": 16, "sampling": "replacement"}, 1, 16, []),  # drawn out of all: the same one 16 times
    ],
)
def test_a_batch_is_what_there_is(flags, there, batch, said):
    notes: list[str] = []
    assert batch_of(Options(**flags), there, "row", notes) == batch
    assert notes == said


def test_a_scene_may_have_no_way_of_sampling():
    notes: list[str] = []
    assert batch_of(WithoutSampling(batch=4), 2, "bit", notes) == 2
    assert notes == ["a batch is all 2 bits that there are, not 4"]
