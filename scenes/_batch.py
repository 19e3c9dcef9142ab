"""How many samples a step takes of those that there are."""

from __future__ import annotations

from typing import Any


def batch_of(options: Any, there: int, thing: str, notes: list[str]) -> int:
    """The size of a batch; where ``--batch`` asks for more samples than there are, a note says so.

    Parameters
    ----------
    options : SceneOptions
        With `batch`, and `sampling` where the scene has it: what is drawn out of all may be more than all.
    there : int
        Samples to learn from.
    thing : str
        What one of them is ("colour").
    notes : list of str
        Lines for the console.
    """
    drawn = getattr(options, "sampling", "epochs") == "replacement"
    batch: int = options.batch if drawn else min(options.batch, there)
    if options.given("batch") and batch < options.batch:
        all_of = f"the one {thing} that there is" if batch == 1 else f"all {batch:,} {thing}s that there are"
        notes.append(f"a batch is {all_of}, not {options.batch:,}")
    return batch
