"""`Target`: what a point of the time bar stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Target:
    """What a touch asks for.

    Attributes
    ----------
    kind : {"step", "branch", "action", "nothing"}
        Go to a step, switch to a branch, do what a button says, or nothing.
    step : int
        Of kind ``"step"``.
    branch : int
        Its number, of kind ``"branch"``.
    action : str
        A name of the table of actions, of kind ``"action"``.
    """

    kind: Literal["step", "branch", "action", "nothing"]
    step: int = 0
    branch: int = 0
    action: str = ""


NOTHING = Target("nothing")
