"""`pair_subject`: two recordings as what a picture is made of: names that both give to a sample's numbers."""

from __future__ import annotations

from ...run.sources.played import RecordedSource
from ...run.sources.recorded_pair import RecordedPair
from ..shown.subject import NOTHING, Sample, Subject, recorded_sample


def pair_subject(pair: RecordedPair) -> Subject:
    """The subject of a comparison; what its inputs and outputs are called where both call them alike."""
    a, b = (recorded_sample(one) if isinstance(one, RecordedSource) else NOTHING for one in pair.pair)
    if not pair.way:
        return Subject(pair)
    count = pair.way[-1].outputs
    inputs = a.inputs if a.inputs == b.inputs else tuple(f"x{k}" for k in range(len(a.inputs)))
    outputs = a.outputs if a.outputs == b.outputs else tuple(f"y{k}" for k in range(count))
    return Subject(pair, sample=Sample(inputs, outputs, sheet=a.sheet and b.sheet))
